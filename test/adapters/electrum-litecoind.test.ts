/** The Electrum adapter on a server in front of a real litecoind: the conformance suite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { ElectrumServer } from '../nodes/electrum-server.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { type ChainControls, conformance } from './conformance.ts';
import { litecoindControls } from './litecoind-controls.ts';

async function controls(): Promise<ChainControls> {
  const node = await Litecoind.start();
  await node.fund();
  const server = await ElectrumServer.start({ node });
  const folder = mkdtempSync(join(tmpdir(), 'electrum-'));
  let opened = 0;
  return {
    ...litecoindControls(
      node,
      (list) =>
        new ElectrumAdapter({
          ...{ chain: 'LTC', network: 'regtest', servers: [server.url], list },
          folder: join(folder, String(opened++)),
        }),
      () => server.followed.update(),
    ),
    disconnect: () => server.close(),
    reconnect: () => server.listen(),
    async stop() {
      await server.stop();
      await node.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(!hasLitecoind)(litecoindTitle('through an Electrum server on a real litecoind'), () => {
  conformance({ name: 'Electrum on litecoind', start: controls, rewardMaturity: 100 });
});
