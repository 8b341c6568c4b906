/** The Core-RPC adapter on bcoin (BTC) and bcash (BCH): real chains, whose RPC departs from Core's in places. */
import { describe, expect, it } from 'vitest';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
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
});
