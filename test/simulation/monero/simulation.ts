/** One run of Monero: a seed, so many steps, and the end at which everything must be in order. */
import { Crashed } from '../appliance.ts';
import type { Choice, Outcome } from '../simulation.ts';
import { Busy, type Time } from '../time.ts';
import type { Wallet } from '../wallet.ts';
import { Fault } from '../world.ts';
import * as actions from './actions.ts';
import { judge, judgeEnd } from './auditor.ts';
import { MoneroWorld } from './world.ts';

export const ACTIONS: readonly (readonly [weight: number, name: string, action: actions.MoneroAction])[] = [
  [10, 'request', actions.request],
  [16, 'pay', actions.pay],
  [24, 'mine', actions.mine],
  [3, 'reorganise', actions.reorganise],
  [10, 'wait', actions.wait],
  [10, 'lie', actions.lie],
  [3, 'trouble', actions.trouble],
  [8, 'withdraw', actions.withdraw],
  [1, 'sweep', actions.sweep],
  [12, 'approve', actions.approve],
  [1, 'reject', actions.reject],
  [1, 'speed up', actions.replace('speed-up')],
  [1, 'cancel', actions.replace('cancel')],
  [3, 'lock', actions.lockOrUnlock],
  [3, 'crash', actions.crash],
  [4, 'odd node', actions.oddNode],
  [1, 'reorganise deep', actions.reorganiseDeep],
];

/** Milliseconds that each step takes by itself. */
const STEP_MS = 2_000;

/** Runs a seed. A fault ends it. */
export async function simulateMonero(
  seed: number,
  steps: number,
  time: Time,
  wallet: Wallet,
  folder: string,
  connect: (world: MoneroWorld) => void,
  { without = new Set(), only = new Map() }: Choice = {},
): Promise<Outcome> {
  const world = new MoneroWorld(seed, time, wallet, folder);
  connect(world);
  const counts = new Map<string, number>();
  const allowed = ACTIONS.filter(([, name]) => !without.has(name)).map(([weight, name, action]) => {
    return [Number(only.get(name) ?? weight), { name, action }] as const;
  });
  let fault: string | null = null;
  try {
    await world.open();
    time.forgetTurns();
    for (world.step = 1; world.step <= steps; world.step++) {
      const { name, action } = world.random.weighted(allowed);
      await step(world, name, action, counts);
    }
    world.note('the end: everybody tells the truth, blocks go on');
    await judgeEnd(world);
  } catch (error) {
    fault = error instanceof Fault || error instanceof Busy ? error.message : `${(error as Error).stack ?? error}`;
  }
  world.appliance?.crash();
  await time.settle().catch(() => {});
  await world.appliance?.bury().catch(() => {});
  world.close();
  return { seed, steps: world.step, fault, trail: world.trail, actions: counts };
}

async function step(
  world: MoneroWorld,
  name: string,
  action: actions.MoneroAction,
  counts: Map<string, number>,
): Promise<void> {
  try {
    const said = await action(world);
    if (said !== '') {
      world.note(said);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    if (!world.appliance.isDead) await world.appliance.pass(STEP_MS);
    if (!world.appliance.isDead) await judge(world);
  } catch (error) {
    if (!(error instanceof Crashed)) throw error;
    world.note(`${name}: ${error.message}`);
  }
  if (!world.appliance.isDead) return;
  await world.restart();
  world.note('the machine starts again');
  if (world.random.chance(0.8)) await world.appliance.unlock();
}
