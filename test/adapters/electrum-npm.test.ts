/** The Electrum adapter on servers in front of bcoin (BTC) and bcash (BCH): the conformance suite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { ElectrumServer } from '../nodes/electrum-server.ts';
import { hasNpmNodes, NpmNode, npmNodesTitle } from '../nodes/npm-node.ts';
import { type ChainControls, conformance } from './conformance.ts';
import { npmControls } from './npm-controls.ts';

async function controls(kind: 'bcoin' | 'bcash', protocol: { min: string; max: string }): Promise<ChainControls> {
  const node = await NpmNode.start(kind);
  await node.fund();
  const server = await ElectrumServer.start({ node, segwit: node.segwit }, { tls: true, protocol });
  const folder = mkdtempSync(join(tmpdir(), 'electrum-'));
  const chain = kind === 'bcoin' ? 'BTC' : 'BCH';
  let opened = 0;
  return {
    ...npmControls(
      node,
      (list) =>
        new ElectrumAdapter({
          chain,
          network: 'regtest',
          servers: [server.url],
          list,
          folder: join(folder, String(opened++)),
        }),
      () => server.followed.update(),
    ),
    disconnect: () => server.close(),
    reconnect: () => server.listen(),
    async stop() {
      await server.stop();
      await node.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// Between them the oldest protocol and the newest, over TLS with certificates that nobody vouches for.
describe.skipIf(!hasNpmNodes)(npmNodesTitle('through an Electrum server on real nodes from npm'), () => {
  const oldest = { min: '1.4', max: '1.4' };
  const newest = { min: '1.6', max: '1.6' };
  conformance({ name: 'Electrum 1.4 on bcoin', start: () => controls('bcoin', oldest), rewardMaturity: 100 });
  conformance({ name: 'Electrum 1.6 on bcash', start: () => controls('bcash', newest), rewardMaturity: 100 });
});
