/** The Electrum adapter on a server in front of a real litecoind: the conformance suite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { ElectrumServer } from '../nodes/electrum-server.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { type ChainControls, conformance } from './conformance.ts';
import { beginning, FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';
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
          chain: 'LTC',
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
      await node.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(!hasLitecoind)(litecoindTitle('through an Electrum server on a real litecoind'), () => {
  conformance({ name: 'Electrum on litecoind', start: controls, rewardMaturity: 100 });

  it('reports a peg-out with its maturity, from a block with an extension block', async () => {
    const node = await Litecoind.start({ mweb: true });
    await node.mine(431);
    await node.launchBroadcasting();
    const server = await ElectrumServer.start({ node });
    const folder = mkdtempSync(join(tmpdir(), 'electrum-'));
    const book = new FactBook();
    const adapter = new ElectrumAdapter({
      chain: 'LTC',
      network: 'regtest',
      servers: [server.url],
      list: book,
      folder,
    });
    try {
      const target = await adapter.deriveAddress(testAccount, 0, 0);
      const id = book.watch(target);
      book.checkpoint = await beginning(adapter);
      await node.rpc('sendtoaddress', [await node.rpc<string>('getnewaddress', ['', 'mweb']), 5]);
      await node.mine(3);
      await node.lockTransparentCoins();
      await node.rpc('sendtoaddress', [target.address, 0.5]);
      await node.mine(1);
      await server.followed.update();
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({ amount: { units: 50_000_000n }, maturity: 6, block: book.tip });
    } finally {
      await adapter.close();
      await server.stop();
      await node.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
