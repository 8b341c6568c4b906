/**
 * The whole daemon in a process of its own, killed with SIGKILL at every commit of the withdrawal path and around every
 * call of its signer and its sources. Started again, every recipient must have been paid exactly once in the end, and
 * no coin be left over. SCENARIO_DEATH replays one point ("committed 41"), SCENARIO_ALL=1 takes every point there is, and
 * SCENARIO_PART=0 to 23 every twenty-fourth of them. Every moment of one process is tried in
 * test/unit/app/withdraw-crash-points.test.ts.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Shop } from './shop.ts';
import { type Death, type Origin, Victim } from './victim.ts';
import { auditPayouts } from './withdraw-auditor.ts';
import { payOut, prepare, SCENES, type Scene } from './withdraw-script.ts';

const AT_ONCE = 2;
const ALL_MS = 1_800_000;
/** One of so many points, another one each day: all of them together take minutes. */
const EVERY = process.env.SCENARIO_ALL ? 1 : 24;
const DAY_MS = 86_400_000;

type Outcome = { commits: number; calls: number; deaths: number; faults: string[] };

type Prepared = { scene: Scene; before: Victim; origin: Origin };

let shop: Shop;
const prepared: Prepared[] = [];

beforeAll(async () => {
  shop = new Shop();
  await shop.open();
});
afterAll(async () => {
  for (const { before } of prepared) await before.destroy();
  await shop?.close();
});

/** The data that every payday of a scene begins with. */
async function prepareOnce(scene: Scene): Promise<Prepared> {
  const before = new Victim(shop, null);
  const made: Prepared = { scene, before, origin: { dataDir: before.dataDir, key: '' } };
  prepared.push(made);
  await prepare(before, scene);
  made.origin.key = before.key;
  await before.stop();
  return made;
}

async function payday({ scene, origin }: Prepared, death: Death | null): Promise<Outcome> {
  const victim = new Victim(shop, death, origin);
  try {
    const { till, swept, refund } = await payOut(victim, scene);
    const wanted = new Map<string, { amount: string | null; canceled: boolean }>();
    for (const [name, { wanted: asked }] of till.ids) {
      wanted.set(asked.address, { amount: asked.amount, canceled: name === 'canceled' });
    }
    for (const id of [...swept, refund]) wanted.set((await till.show(id)).address, { amount: null, canceled: false });
    const faults = await auditPayouts({
      dataDir: victim.dataDir,
      operator: victim.operator,
      cryptos: [scene.first, scene.main],
      get: async (path) => (await victim.call('GET', path)).text,
      wanted,
    });
    return { commits: victim.commits, calls: victim.calls, deaths: victim.deaths, faults };
  } finally {
    await victim.destroy();
  }
}

const numbered = (moment: Death['moment'], count: number): Death[] =>
  Array.from({ length: count }, (_, at) => ({ moment, commit: at + 1 }));

/** The one point of SCENARIO_DEATH, as a failure names it: "called 3". */
function replayed(): Death[] | null {
  const match = /^(committed|answered|calling|called) (\d+)$/.exec(process.env.SCENARIO_DEATH ?? '');
  return match && [{ moment: match[1] as Death['moment'], commit: Number(match[2]) }];
}

describe.each(SCENES)('a payday on $name', (scene) => {
  it('pays everybody once, whatever point the process is killed at', { timeout: ALL_MS }, async () => {
    const once = await prepareOnce(scene);
    const calm = await payday(once, null);
    expect(calm).toMatchObject({ deaths: 0, faults: [] });
    expect(calm.calls).toBeGreaterThan(scene.replaces ? 15 : 9);

    const { commits, calls } = calm;
    const all = [
      ...[...numbered('committed', commits), ...numbered('answered', commits)],
      ...[...numbered('calling', calls), ...numbered('called', calls)],
    ];
    const today = Number(process.env.SCENARIO_PART ?? Math.floor(Date.now() / DAY_MS)) % EVERY;
    const deaths = replayed() ?? all.filter((_, at) => at % EVERY === today);
    const wrong: string[] = [];
    let died = 0;
    const rest = [...deaths];
    const worker = async (): Promise<void> => {
      for (let death = rest.shift(); death; death = rest.shift()) {
        const where = `${death.moment} ${death.commit}`;
        try {
          const outcome = await payday(once, death);
          died += outcome.deaths;
          for (const fault of outcome.faults) wrong.push(`${where}: ${fault}`);
        } catch (error) {
          wrong.push(`${where}: ${(error as Error).message}`);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    console.info(
      `${scene.name}: ${commits} commits and ${calls} calls: ${all.length} points, killed at ${deaths.length}, ${died} deaths`,
    );
    expect(wrong).toEqual([]);
  });
});
