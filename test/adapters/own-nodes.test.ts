/** The adapters' conformance on nodes that the environment names, and over Electrum servers before them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { Litecoind } from '../nodes/litecoind.ts';
import { ownNode, ownTitle } from '../nodes/own.ts';
import { OWN_WAYS, OwnElectrumServer, wayIsThere, wayTitle } from '../nodes/own-electrum.ts';
import { conformance } from './conformance.ts';
import { litecoindControls } from './litecoind-controls.ts';

describe.each(OWN_WAYS.filter(({ server }) => server === null))("a node of one's own: $own.name", ({ own }) => {
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

describe.each(OWN_WAYS.flatMap(({ own, server }) => (server ? [{ own, server }] : [])))(
  "a server of one's own: $server.name for $own.name",
  ({ own, server }) => {
    describe.skipIf(!wayIsThere({ own, server }))(wayTitle({ own, server }, 'the light client'), () => {
      conformance({
        name: server.name,
        rewardMaturity: 100,
        neverBehind: server.neverBehind,
        start: async () => {
          const kind = ownNode(own)!;
          const node = await Litecoind.start({ kind: { ...kind, options: [...kind.options, ...server.needs] } });
          await node.fund();
          const served = await OwnElectrumServer.start(server, node);
          const folder = mkdtempSync(join(tmpdir(), 'own-electrum-'));
          let opened = 0;
          const { chain } = own;
          return {
            ...litecoindControls(
              node,
              (list) =>
                new ElectrumAdapter({
                  chain,
                  network: 'regtest',
                  servers: [served.url],
                  list,
                  folder: join(folder, String(opened++)),
                }),
              () => served.caughtUp(),
            ),
            disconnect: () => served.close(),
            reconnect: () => served.listen(),
            async stop() {
              await served.stop();
              await node.remove();
              rmSync(folder, { recursive: true, force: true });
            },
          };
        },
      });
    });
  },
);
