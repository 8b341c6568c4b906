/** The Core-RPC adapter on bcoin (BTC) and bcash (BCH): real chains, whose RPC departs from Core's in places. */
import { describe, expect, it } from 'vitest';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { minedBlock } from '../nodes/mined-block.ts';
import { hasNpmNodes, NpmNode, npmNodesTitle } from '../nodes/npm-node.ts';
import { type ChainControls, conformance } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { npmControls } from './npm-controls.ts';

async function controls(kind: 'bcoin' | 'bcash'): Promise<ChainControls> {
  const node = await NpmNode.start(kind);
  await node.fund();
  const chain = kind === 'bcoin' ? 'BTC' : 'BCH';
  return npmControls(node, (watch) => coreAdapter({ chain, network: 'regtest', url: node.url, watch, pollMs: 100 }));
}

describe.skipIf(!hasNpmNodes)(npmNodesTitle('on real nodes from npm'), () => {
  conformance({ name: 'Core RPC on bcoin', start: () => controls('bcoin'), rewardMaturity: 100 });
  conformance({ name: 'Core RPC on bcash', start: () => controls('bcash'), rewardMaturity: 100 });

  it('tells bcash from bcoin, which begin with the same block', async () => {
    const node = await NpmNode.start('bcash');
    const stranger = coreAdapter({ chain: 'BTC', network: 'regtest', url: node.url, watch: new FactBook() });
    await expect(stranger.begin(null, AbortSignal.timeout(10_000))).rejects.toThrow(
      /points at a node of another chain: it does not know BTC addresses/,
    );
    await stranger.close();
    await node.stop();
  });

  it('bcash takes a block that was mined by hand, with one of two payments', async () => {
    const node = await NpmNode.start('bcash');
    await node.fund();
    const paid = await node.pay([{ address: await node.newAddress(), units: 100_000n }]);
    const left = await node.pay([{ address: await node.newAddress(), units: 200_000n }]);
    const previous = await node.rpc<string>('getbestblockhash');
    const { height, mediantime } = await node.rpc<{ height: number; mediantime: number }>('getblockheader', [previous]);
    const transactions = [await node.rpc<string>('getrawtransaction', [paid])];
    const block = minedBlock({ previous, height: height + 1, timeSeconds: mediantime + 1, transactions });
    expect(await node.rpc('submitblock', [block])).toBeNull();
    expect(await node.rpc('getblockcount')).toBe(height + 1);
    expect(await node.rpc('getrawmempool')).toEqual([left]);
    await node.stop();
  });
});
