/**
 * A data directory that comes back older, unannounced: a snapshot of a disk, a copy on another machine. Nobody tells the
 * service; it has to notice by what the chain, the signer's journal or its own marks know.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Appliance } from './appliance.ts';
import { askedBy, confirm, loseMachine } from './operators.ts';
import { mend } from './people.ts';
import type { World } from './world.ts';

/** `invoices`: how many there were. */
export type Snapshot = { folder: string; at: number; invoices: number };

const SNAPSHOTS_MAX = 3;
/** How long an operator does not look at what the service says. */
const UNSEEN_MS = 30_000;

/** Somebody copies the data directory while the service runs. */
export function snapshot(world: World): string {
  const folder = join(world.folder, `snapshot-${world.step}`);
  cpSync(world.appliance.folder, folder, { recursive: true, filter: (path) => !/lock(?:-journal)?$/.test(path) });
  world.snapshots.push({ folder, at: world.time.truth, invoices: world.invoices.length });
  for (const { folder: oldest } of world.snapshots.splice(0, world.snapshots.length - SNAPSHOTS_MAX)) {
    rmSync(oldest, { recursive: true, force: true });
  }
  return 'a snapshot of the disk is made';
}

/** The disk comes back older, in whole or the database alone, which a signer of another user does not notice. */
export async function rollBack(world: World): Promise<string> {
  const made = world.random.pick(world.snapshots);
  if (!made || world.electrum) return '';
  const whole = world.random.chance(0.5);
  const newer = join(world.folder, `newer-${world.step}`);
  cpSync(join(world.appliance.folder, 'vault'), newer, { recursive: true });
  await loseMachine(world);
  for (const network of world.networks.values()) mend(network);
  const folder = world.newFolder();
  cpSync(made.folder, folder, { recursive: true });
  if (!whole) {
    rmSync(join(folder, 'vault'), { recursive: true });
    cpSync(newer, join(folder, 'vault'), { recursive: true });
  }
  for (const invoice of world.invoices.slice(made.invoices)) invoice.lost = true;
  for (const invoice of world.invoices) invoice.asks = invoice.asks.flatMap((ask) => askedBy(ask, made.at) ?? []);
  world.backups.length = 0;
  world.olderBackups.length = 0;
  world.isUnwarned = true;
  world.isBlind ||= whole;
  world.appliance = await Appliance.start(folder, world.time, world.wallet, world.sources);
  if (world.random.chance(0.8)) await world.appliance.unlock();
  await world.appliance.pass(UNSEEN_MS);
  const said = `the ${whole ? 'data directory' : 'database'} comes back as it was at ${new Date(made.at).toISOString()}`;
  return `${said}; ${await heed(world)}`;
}

/** The operator does what a quarantine asks for. */
export async function heed(world: World): Promise<string> {
  const { quarantined } = await world.appliance.operator('restore.status', {});
  if (!quarantined) return 'it goes on';
  // whoever has read this looks whether a withdrawal was paid before it is approved
  world.isUnwarned = false;
  await confirm(world);
  return 'it is quarantined, and confirmed';
}
