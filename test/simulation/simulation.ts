/** One run: a seed, so many steps, and the end at which everything must be in order. */
import { Crashed } from './appliance.ts';
import { judgeChains, judgeEnd, judgeFailed, judgeSigned } from './auditor.ts';
import { combineLies, lie } from './liars.ts';
import * as nodes from './nodes.ts';
import * as operators from './operators.ts';
import { endOrphan, orphan, orphanSigns } from './orphan.ts';
import * as people from './people.ts';
import { heed, rollBack, snapshot } from './rollback.ts';
import type { Kind } from './seeds.ts';
import * as servers from './servers.ts';
import { steal } from './thief.ts';
import { Busy, type Time } from './time.ts';
import { twin } from './twin.ts';
import type { Wallet } from './wallet.ts';
import { Fault, World } from './world.ts';

/** What may happen at each step. Names are those of `--without`, `--only` and `--also`; a weight of 0 needs `--also`. */
export const ACTIONS: readonly (readonly [weight: number, name: string, action: people.Action])[] = [
  [10, 'request', people.createAndRequest],
  [18, 'pay', people.pay],
  [0, 'change coin', people.changeCoin],
  [4, 'double-spend', people.doubleSpend],
  [1, 'evict', people.evict],
  [2, 'prank', people.prank],
  [2, 'take back', people.takeBackPrank],
  [14, 'mine', people.mine],
  [5, 'reorganise', people.reorganise],
  [6, 'trouble', people.trouble],
  [0, 'lie', lie],
  [0, 'combine lies', combineLies],
  [2, 'fees', people.fees],
  [12, 'wait', people.wait],
  [2, 'clock', people.clock],
  [4, 'read', people.readOne],
  [10, 'withdraw', operators.withdraw],
  [2, 'sweep', operators.sweep],
  [12, 'approve', operators.approve],
  [1, 'reject', (world) => operators.reject(world)],
  [4, 'speed up', operators.replace('speed-up')],
  [3, 'cancel', operators.replace('cancel')],
  [2, 'batch', operators.batch],
  [2, 'bump', operators.bump],
  [4, 'inbox', operators.decideInbox],
  [1, 'policy', operators.changePolicy],
  [4, 'lock', operators.lockOrUnlock],
  [0, 'cut', operators.cutLine],
  [3, 'backup', operators.backup],
  [0.7, 'restore', operators.restore],
  [0.1, 'restore older', operators.restoreOlder],
  [0.15, 'words', operators.restoreWords],
  [3, 'crash', operators.crash],
  [1, 'orphan', orphan],
  [4, 'orphan signs', orphanSigns],
  [1, 'snapshot', snapshot],
  [0.4, 'roll back', rollBack],
  [2, 'heed', heed],
  [0.3, 'twin', twin],
  [1, 'crumbs', people.crumbs],
  [3, 'servers', servers.trouble],
  [1, 'older', nodes.older],
  [1, 'fill', nodes.fill],
  [2, 'send again', nodes.sendAgain],
];

/** Where there is a server that may lie. */
const LIAR_WEIGHTS: ReadonlyMap<string, number> = new Map([
  ['lie', 6],
  ['combine lies', 6],
]);
/** Milliseconds that each step takes by itself. */
const STEP_MS = 700;
const TRAIL_KEPT = 2_000;
const FAILED_JUDGED_STEPS = 10;

export type Outcome = {
  seed: number;
  steps: number;
  fault: string | null;
  trail: string[];
  actions: Map<string, number>;
};

/** Which actions may happen, and how often; what the appliance asks. */
export type Choice = { without?: ReadonlySet<string>; only?: ReadonlyMap<string, string | undefined>; kind?: Kind };
type Allowed = readonly (readonly [weight: number, value: { name: string; action: people.Action }])[];

/** Runs a seed. A fault ends it. */
export async function simulate(
  seed: number,
  steps: number,
  time: Time,
  wallet: Wallet,
  folder: string,
  connect: (world: World) => void,
  { without = new Set(), only = new Map(), kind = 'any' }: Choice = {},
): Promise<Outcome> {
  const world = new World(seed, time, wallet, folder, kind);
  connect(world);
  world.watch = watchSigner;
  const actions = new Map<string, number>();
  const allowed = ACTIONS.filter(([, name]) => !without.has(name)).map(([weight, name, action]) => {
    const ofLiar = kind === 'liars' ? LIAR_WEIGHTS.get(name) : undefined;
    return [Number(only.get(name) ?? ofLiar ?? weight), { name, action }] as const;
  });
  let fault: string | null = null;
  try {
    await world.open();
    time.forgetTurns();
    for (world.step = 1; world.step <= steps; world.step++) await step(world, actions, allowed);
    world.note('the end: everybody stops, blocks go on');
    await judgeEnd(world);
  } catch (error) {
    fault = error instanceof Fault || error instanceof Busy ? error.message : `${(error as Error).stack ?? error}`;
  }
  if (world.fault !== null) fault = world.fault;
  await endOrphan(world);
  world.appliance?.crash();
  await time.settle().catch(() => {});
  await world.appliance?.bury().catch(() => {});
  world.close();
  return { seed, steps: world.step, fault, trail: world.trail.slice(-TRAIL_KEPT), actions };
}

async function step(world: World, actions: Map<string, number>, allowed: Allowed): Promise<void> {
  const { name, action } = world.random.weighted(allowed);
  try {
    const said = await action(world);
    if (said !== '') {
      world.note(said);
      actions.set(name, (actions.get(name) ?? 0) + 1);
    }
    if (!world.appliance.isDead) await world.appliance.pass(STEP_MS);
    if (!world.appliance.isDead && world.step % FAILED_JUDGED_STEPS === 0) await judgeFailed(world);
  } catch (error) {
    if (!(error instanceof Crashed)) throw error;
    world.note(`${name}: ${error.message}`);
  }
  if (world.appliance.isDead) {
    await endOrphan(world);
    await world.restart();
    world.given.clear();
    world.note('the machine starts again');
    if (world.random.chance(0.8)) await world.appliance.unlock();
  }
  if (world.fault !== null) throw new Fault(world.fault);
  judgeChains(world);
}

/** Puts the thief, or only the auditor, before the signer of the machine that is alive. */
function watchSigner(world: World): void {
  const { signer } = world.appliance;
  world.appliance.onPowerCut = () => {
    for (const served of world.servers.values()) served.cut();
  };
  signer.onOrder = async (order, sign) => {
    try {
      if (world.thief && world.random.chance(0.5)) return await steal(world, order, sign);
      const signed = await sign(order);
      judgeSigned(world, order, signed.raw);
      return signed;
    } catch (error) {
      if (error instanceof Fault) world.fault ??= error.message;
      throw error;
    }
  };
}
