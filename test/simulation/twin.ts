/**
 * A second machine with the same wallet, on a copy of the data directory: nobody has stopped the first. Each must notice what the
 * other one pays, before it pays the same once more.
 */
import { cpSync, rmSync } from 'node:fs';
import { judgeChains } from './auditor.ts';
import { approveOne, withdraw, withdrawals } from './operators.ts';
import { endOrphan } from './orphan.ts';
import { mend } from './people.ts';
import { heed } from './rollback.ts';
import type { World } from './world.ts';

/** As long as a machine may take to see what is in a block. */
const SEEN_MS = 60_000;
const APPROVED_MAX = 3;

/** What waits is approved on the machine that the operator looks at, as if there were no other one. */
async function approveAll(world: World): Promise<number> {
  let approved = 0;
  world.isUnwarned = true;
  const open = (await withdrawals(world)).filter(({ state }) => state === 'requested');
  for (const one of open.slice(0, APPROVED_MAX)) {
    if ((await approveOne(world, one)).endsWith('is approved')) approved++;
    await world.appliance.pass(SEEN_MS / 10);
  }
  world.isUnwarned = false;
  return approved;
}

async function goOn(world: World): Promise<void> {
  for (const network of world.networks.values()) network.mine(1);
  for (let part = 0; part < 6; part++) await world.appliance.pass(SEEN_MS / 6);
}

/** Lets a copy run beside the machine: the operator approves there, and later here, what both were asked for. Then the copy ends. */
export async function twin(world: World): Promise<string> {
  if (world.electrum || world.isUnwarned) return '';
  await endOrphan(world);
  for (const network of world.networks.values()) mend(world, network);
  const first = world.appliance;
  // of two machines that run, neither stays behind unseen
  first.fuse = Number.POSITIVE_INFINITY;
  await first.unlock();
  await heed(world);
  await withdraw(world);
  // each machine pays what was approved before, and with other coins: until one has seen the other, nothing can prevent it
  await first.pass(SEEN_MS / 10);
  if ((await withdrawals(world)).some(({ state }) => state === 'approved')) return '';
  const folder = world.newFolder();
  rmSync(folder, { recursive: true, force: true });
  const copy: World['copies'][number] = { endedAt: null };
  world.copies.push(copy);
  cpSync(first.folder, folder, { recursive: true, filter: (path) => !/lock(?:-journal)?$/.test(path) });
  await world.startOn(folder);
  const second = world.appliance;
  const kept = [...world.kept];
  await goOn(world);
  await second.unlock();
  const there = await approveAll(world);
  await goOn(world);
  world.appliance = first;
  // no journal here knows what was signed there: a thief of both services uses an approval once on each
  world.kept.splice(0, world.kept.length, ...kept);
  await goOn(world);
  const here = first.isDead ? 0 : await approveAll(world);
  await goOn(world);
  judgeChains(world);
  // one power supply: the first starts again
  second.crash();
  await world.restart();
  await second.bury();
  copy.endedAt = world.time.truth;
  for (const left of [folder, second.crashedInto]) if (left) rmSync(left, { recursive: true, force: true });
  world.given.clear();
  await world.appliance.unlock();
  await goOn(world);
  // what the copy paid is in blocks
  const said = await heed(world);
  return `a second machine with this wallet pays ${there}, and the first ${here}${said === '' ? '' : `; ${said}`}`;
}
