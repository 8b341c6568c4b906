/**
 * The whole daemon in a process of its own, killed with SIGKILL at every commit of the withdrawal path and around every
 * call of its signer and its sources. Started again, every recipient must have been paid exactly once in the end, and
 * no coin be left over. `deaths.ts` chooses the points. Every moment of one process is tried in
 * test/unit/app/withdraw-crash-points.test.ts.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPEAT } from '../support/sample.ts';
import { type Outcome, tryDeaths } from './deaths.ts';
import { Shop } from './shop.ts';
import { type Death, type Origin, Victim } from './victim.ts';
import { auditPayouts } from './withdraw-auditor.ts';
import { payOut, prepare, SCENES, type Scene } from './withdraw-script.ts';

const AT_ONCE = 2;
const ALL_MS = 1_800_000;
/** All points together take minutes. */
const ONE_OF = 48;

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

describe.each(SCENES)('a payday on $name', (scene) => {
  it('pays everybody once, whatever point the process is killed at', { timeout: ALL_MS }, async () => {
    const once = await prepareOnce(scene);
    const calm = await payday(once, null);
    expect(calm).toMatchObject({ deaths: 0, faults: [] });
    expect(calm.calls).toBeGreaterThan(scene.replaces ? 15 : 9);

    const { wrong, told } = await tryDeaths(calm, ONE_OF, AT_ONCE, (death) => payday(once, death));
    console.info(`${scene.name}: ${told}`);
    expect(wrong, REPEAT).toEqual([]);
  });
});
