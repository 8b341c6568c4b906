/**
 * A payday on an anvil that dies at every point of it: withdrawals, a collection with its fundings, a speed-up, a
 * cancellation, and sweeps. A life that is begun from what was on the disk and on the chain at that point must end as if
 * nothing had happened: everybody is paid once, what was approved, and no nonce is used twice or left out.
 *
 * SCENARIO_POINT replays one point by its name; else it is a sample (`support/sample.ts`).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { EvmShop } from '../support/evm-shop.ts';
import { REPEAT, sampleOf } from '../support/sample.ts';
import { Payday } from './evm-payday.ts';
import { Recorder } from './evm-points.ts';

const ALL_MS = 1_800_000;
/** All points together take minutes. */
const ONE_OF = 72;
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

    const { SCENARIO_POINT: named } = process.env;
    const chosen = named === undefined ? sampleOf(points, ONE_OF) : points.filter(({ name }) => name === named);
    expect(chosen, `no point is ${named}`).not.toEqual([]);
    const wrong: string[] = [];
    for (const point of chosen.toReversed()) {
      const folder = await recorder.visit(point);
      try {
        for (const fault of await payday(folder)) wrong.push(`${point.name}: ${fault}`);
      } catch (error) {
        wrong.push(`${point.name}: ${(error as Error).message}`);
      }
    }
    console.info(`${points.length} points, killed at ${chosen.length}`);
    expect(wrong, REPEAT).toEqual([]);
  });
});
