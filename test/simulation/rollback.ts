/**
 * A data directory that comes back older, unannounced: a snapshot of a disk, a copy on another machine. Nobody tells the
 * service; it has to notice by what the chain, the signer's journal or its own marks know.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { askedBy, confirm, loseMachine } from './operators.ts';
import { mend } from './people.ts';
import type { World } from './world.ts';

/** `invoices`: how many there were. */
export type Snapshot = { folder: string; at: number; invoices: number };

/** With the counter that the database is compared with. */
const STAMP = 'instance.json';
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

/** What of the disk comes back: all of it, the database with what lies beside it, or the database alone. */
const PARTS = ['data directory', 'database with its stamp', 'database'] as const;

/** The disk comes back older, in whole or in parts, which a signer of another user does not notice. */
export async function rollBack(world: World): Promise<string> {
  const made = world.random.pick(world.snapshots);
  if (!made || world.electrum) return '';
  const part = world.random.pick(PARTS);
  const newer = join(world.folder, `newer-${world.step}`);
  const kept = part === 'data directory' ? [] : part === 'database' ? ['vault', STAMP] : ['vault'];
  for (const name of kept) cpSync(join(world.appliance.folder, name), join(newer, name), { recursive: true });
  await loseMachine(world);
  for (const network of world.networks.values()) mend(world, network);
  const folder = world.newFolder();
  cpSync(made.folder, folder, { recursive: true });
  for (const name of kept) {
    rmSync(join(folder, name), { recursive: true, force: true });
    cpSync(join(newer, name), join(folder, name), { recursive: true });
  }
  for (const invoice of world.invoices.slice(made.invoices)) invoice.lost = true;
  for (const invoice of world.invoices) invoice.asks = invoice.asks.flatMap((ask) => askedBy(ask, made.at) ?? []);
  world.backups.length = 0;
  world.olderBackups.length = 0;
  world.isUnwarned = true;
  world.olderSince = world.time.truth;
  world.isBlind ||= part !== 'database';
  // the wallet's own record comes back older, too
  if (!kept.includes('vault')) world.policyEnded = false;
  await world.startOn(folder);
  if (world.random.chance(0.8)) await world.appliance.unlock();
  await world.appliance.pass(UNSEEN_MS);
  const said = `the ${part} comes back as it was at ${new Date(made.at).toISOString()}`;
  return `${said}; ${await heed(world)}`;
}

/** The operator does what a quarantine asks for; over Electrum only where he has the hours that it takes. */
export async function heed(world: World, hasHours = false): Promise<string> {
  const { quarantined } = await world.appliance.operator('restore.status', {});
  if (quarantined && world.electrum && !hasHours) return 'it is quarantined';
  if (!quarantined) return world.isUnwarned ? 'it goes on' : '';
  // whoever has read this looks whether a withdrawal was paid before it is approved
  world.isUnwarned = false;
  // no service takes over that has not caught up with its chains
  for (const network of world.networks.values()) mend(world, network);
  await confirm(world);
  // it has moved its addresses, as a restore does
  world.restoredAt.push(world.time.truth);
  world.jumps++;
  return 'it is quarantined, and confirmed';
}
