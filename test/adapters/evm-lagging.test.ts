/**
 * An endpoint with several servers, one of which is some seconds behind the others. On BNB Smart Chain that is more than a dozen blocks, and
 * it tells an empty list of the events in blocks that it does not have.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { anvilTitle, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { EvmScene } from './evm-controls.ts';
import { FactBook } from './fact-book.ts';

/** Some twelve seconds. */
const BEHIND = 26;
const UNITS = 5_000_000n;

describe.skipIf(!hasAnvil)(anvilTitle('an endpoint of which one server is behind'), () => {
  let scene: EvmScene;
  beforeAll(async () => {
    scene = await EvmScene.start('BSC');
  });
  afterAll(() => scene?.stop());

  it('tells payments in tokens also in blocks that this server does not have', async () => {
    const book = new FactBook();
    const script = Buffer.alloc(20, 0x66);
    const address = checksumAddress(script);
    const id = book.watch({ script, address });
    const adapter = scene.connect(book, [scene.proxy.url], () => false, 3_600_000);
    book.checkpoint = await adapter.begin(null, AbortSignal.timeout(25_000));
    await scene.anvil.mine();
    await book.catchUp(adapter);
    await scene.anvil.mine(4);
    await scene.payTokens([{ address, units: UNITS }]);
    await scene.anvil.mine(BEHIND);
    const its = book.tip.height + 5;
    scene.proxy.behaviour = {
      changed: ({ method, params }, result) => {
        const { toBlock } = (params[0] ?? {}) as { [key: string]: Json };
        const isBehind = method === 'eth_getLogs' && typeof toBlock === 'string' && Number(toBlock) >= its;
        return isBehind ? [] : result;
      },
    };
    await book.catchUp(adapter);
    expect(book.unitsAt(id, 'USDT_BEP20')).toBe(UNITS);
    await adapter.close();
  });
});
