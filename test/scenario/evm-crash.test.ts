/**
 * A payday on an anvil that dies at every point of it: withdrawals, a collection with its fundings, a speed-up, a
 * cancellation, and sweeps. A life that is begun from what was on the disk and on the chain at that point must end as if
 * nothing had happened: everybody is paid once, what was approved, and no nonce is used twice or left out.
 *
 * SCENARIO_POINT replays one point by its name, SCENARIO_ALL=1 takes every one, and SCENARIO_PART=0 to 35 every 36th.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { EvmShop } from '../support/evm-shop.ts';
import { Payday } from './evm-payday.ts';
import { type Point, Recorder } from './evm-points.ts';

const ALL_MS = 1_800_000;
/** One of so many points, another one each day: all of them together take minutes. */
const EVERY = process.env.SCENARIO_ALL ? 1 : 36;
const DAY_MS = 86_400_000;
const CHAIN = process.env.SCENARIO_CHAIN === 'BSC' ? 'BSC' : 'ETH';
const UNIT = CHAIN === 'BSC' ? 10n ** 18n : 10n ** 6n;

describe.skipIf(!hasAnvil)(anvilTitle(`a payday on anvil (${CHAIN})`), () => {
  let scene: EvmScene;
  let recorder: Recorder;
  let before: EvmShop;
  let deposits: string[];
  let config: string;

  beforeAll(async () => {
    scene = await EvmScene.start(CHAIN);
    recorder = new Recorder(scene);
    // a hint of each block saves half a second at each step
    const hinted = [scene.proxy.url, scene.anvil.url.replace('http', 'ws')];
    const [token, coin] = CHAIN === 'BSC' ? ['USDT_BEP20', 'BNB'] : ['USDT_ERC20', 'ETH'];
    config = scene.settings(token, coin).replace(/rpc = .*/, `rpc = ${JSON.stringify(hinted)}`);
    before = await EvmShop.open(scene, config);
    deposits = await Payday.prepare(before, UNIT);
    await before.service.daemon.stop();
  });
  afterAll(async () => {
    await before?.stop();
    await recorder?.close();
    await scene?.stop();
  });

  /** A life from what an earlier one left; returns what is wrong at its end. */
  async function payday(dataDir: string): Promise<string[]> {
    const shop = await EvmShop.goOn(scene, config, { dataDir, key: before.key });
    try {
      const day = new Payday(shop, UNIT, deposits);
      await day.payOut();
      return await day.audit();
    } finally {
      await shop.stop();
    }
  }

  it('pays everybody once, whatever point the process is killed at', { timeout: ALL_MS }, async () => {
    recorder.begin();
    try {
      expect(await payday(before.service.dataDir)).toEqual([]);
    } finally {
      recorder.end();
    }
    const { points } = recorder;
    expect(points.length).toBeGreaterThan(100);
    expect(points.filter(({ name }) => name.includes('call')).length).toBeGreaterThan(40);

    const today = Number(process.env.SCENARIO_PART ?? Math.floor(Date.now() / DAY_MS)) % EVERY;
    const isChosen = ({ name }: Point, at: number): boolean =>
      process.env.SCENARIO_POINT === undefined ? at % EVERY === today : name === process.env.SCENARIO_POINT;
    const chosen = points.filter(isChosen).reverse();
    const wrong: string[] = [];
    for (const point of chosen) {
      const folder = await recorder.visit(point);
      try {
        for (const fault of await payday(folder)) wrong.push(`${point.name}: ${fault}`);
      } catch (error) {
        wrong.push(`${point.name}: ${(error as Error).message}`);
      }
    }
    console.info(`${points.length} points, killed at ${chosen.length}`);
    expect(wrong).toEqual([]);
  });
});
