/** The adapter's conformance on nodes that the environment names. */
import { describe } from 'vitest';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { Litecoind } from '../nodes/litecoind.ts';
import { OWN_NODES, ownNode, ownTitle } from '../nodes/own.ts';
import { conformance } from './conformance.ts';
import { litecoindControls } from './litecoind-controls.ts';

describe.each(OWN_NODES)("a node of one's own: $name", (own) => {
  const kind = ownNode(own);
  describe.skipIf(!kind)(ownTitle(own, 'the adapter'), () => {
    conformance({
      name: own.name,
      rewardMaturity: 100,
      start: async () => {
        const node = await Litecoind.start({ kind: kind! });
        await node.fund();
        const { chain } = own;
        return litecoindControls(node, (watch) =>
          coreAdapter({ chain, network: 'regtest', url: node.url, watch, pollMs: 100 }),
        );
      },
    });
  });
});
