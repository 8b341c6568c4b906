/**
 * Data of an account chain that is not what it was: the data directory comes back older, or a copy of it runs beside it. Nobody tells the
 * service; it has to notice by its own marks, by the signer's journal, or by transactions on the chain that it does not know.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { refused } from '../people.ts';
import { Fault } from '../world.ts';
import { approve, endFront, withdraw, withdrawals } from './actions.ts';
import type { AccountWorld } from './world.ts';

/** `invoices`: how many there were. */
export type Snapshot = { folder: string; at: number; invoices: number };

/** With the counter that the database is compared with. */
const STAMP = 'instance.json';
const SNAPSHOTS_MAX = 3;
const CONFIRM_TRIES = 60;
const SEEN_MS = 60_000;
const APPROVED_MAX = 3;
const PARTS = ['data directory', 'database with its stamp', 'database'] as const;

const copied = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, filter: (path) => !/lock(?:-journal)?$/.test(path) });

/** Somebody copies the data directory while the service runs. */
export function snapshot(world: AccountWorld): string {
  const folder = join(world.folder, `snapshot-${world.step}`);
  copied(world.appliance.folder, folder);
  world.snapshots.push({ folder, at: world.time.truth, invoices: world.invoices.length });
  for (const { folder: oldest } of world.snapshots.splice(0, world.snapshots.length - SNAPSHOTS_MAX)) {
    rmSync(oldest, { recursive: true, force: true });
  }
  return 'a snapshot of the disk is made';
}

/** The disk comes back older, in whole or in parts, which a signer of another user does not notice. */
export async function rollBack(world: AccountWorld): Promise<string> {
  const made = world.random.pick(world.snapshots);
  if (!made) return '';
  const part = world.random.pick(PARTS) ?? 'database';
  const kept = part === 'data directory' ? [] : part === 'database' ? ['vault', STAMP] : ['vault'];
  const folder = world.newFolder();
  copied(made.folder, folder);
  for (const name of kept) {
    rmSync(join(folder, name), { recursive: true, force: true });
    cpSync(join(world.appliance.folder, name), join(folder, name), { recursive: true });
  }
  const dead = world.appliance;
  dead.crash();
  await world.time.settle();
  await dead.bury();
  for (const left of [dead.folder, dead.crashedInto]) if (left) rmSync(left, { recursive: true, force: true });
  world.becomesOlder(made.invoices, part !== 'database');
  await world.startOn(folder);
  if (world.random.chance(0.8)) await world.appliance.unlock();
  await world.appliance.pass(SEEN_MS / 2);
  return `the ${part} comes back as it was at ${new Date(made.at).toISOString()}; ${await heed(world)}`;
}

/** The operator does what a quarantine asks for. */
export async function heed(world: AccountWorld): Promise<string> {
  const { quarantined } = await world.appliance.operator('restore.status', {});
  if (!quarantined) return world.isUnwarned ? 'it goes on' : '';
  world.isUnwarned = false;
  world.liar.end();
  world.health.fill('well');
  let why = '';
  for (let tries = 0; tries < CONFIRM_TRIES; tries++) {
    await world.appliance.pass(5_000);
    try {
      await world.appliance.operator('restore.confirm', { keep_keys: 'all' });
      // a disk from before a restore comes back only by the operator's hand, who is told not to
      for (const { folder } of world.snapshots.splice(0)) rmSync(folder, { recursive: true, force: true });
      return 'it is quarantined, and confirmed';
    } catch (error) {
      why = refused(error);
    }
  }
  throw new Fault(`a machine with older data cannot take over: ${why}`);
}

async function goOn(world: AccountWorld): Promise<void> {
  await world.network.mine(1);
  for (let part = 0; part < 6; part++) await world.appliance.pass(SEEN_MS / 6);
}

/** Some of what waits is approved on this machine, as if there were no other one. */
async function approveSome(world: AccountWorld): Promise<number> {
  const open = (await withdrawals(world)).filter(({ state }) => state === 'requested').length;
  const most = Math.min(open, world.random.whole(1, APPROVED_MAX));
  let approved = 0;
  world.isUnwarned = true;
  for (let i = 0; i < most; i++) {
    if (/ is approved/.test(await approve(world))) approved++;
    await world.appliance.pass(SEEN_MS / 10);
  }
  return approved;
}

/** Lets a copy run beside the machine: the operator approves there, and later here, what both were asked for. Then the copy ends. */
export async function twin(world: AccountWorld): Promise<string> {
  if (world.isUnwarned) return '';
  world.liar.end();
  world.health.fill('well');
  // each machine sees within a minute what is in a block: until one has seen the other, nothing can prevent that both pay
  for (const front of world.fronts) endFront(front);
  const first = world.appliance;
  // of two machines that run, neither stays behind unseen
  first.fuse = Number.POSITIVE_INFINITY;
  await first.unlock();
  await heed(world);
  await withdraw(world);
  const folder = world.newFolder();
  copied(first.folder, folder);
  world.becomesOlder(world.invoices.length, true);
  await world.startOn(folder);
  const second = world.appliance;
  await goOn(world);
  await second.unlock();
  const there = await approveSome(world);
  await goOn(world);
  world.appliance = first;
  await goOn(world);
  const here = first.isDead ? 0 : await approveSome(world);
  await goOn(world);
  second.crash();
  await world.restart();
  await second.bury();
  for (const left of [folder, second.crashedInto]) if (left) rmSync(left, { recursive: true, force: true });
  await world.appliance.unlock();
  await goOn(world);
  const said = await heed(world);
  world.isUnwarned = false;
  return `a second machine with this wallet pays ${there}, and the first ${here}${said === '' ? '' : `; ${said}`}`;
}
