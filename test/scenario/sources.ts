/** The ways in which a service can follow a litecoind, for tests that are to hold for each of them. */
import { ElectrumServer } from '../nodes/electrum-server.ts';
import type { Litecoind } from '../nodes/litecoind.ts';

/** `setting`: the line of the configuration. `away`: the source stops answering, until `back`. */
export type Opened = { setting: string; away(): Promise<void>; back(): Promise<void>; stop(): Promise<void> };
export type Source = { name: string; open(node: Litecoind): Promise<Opened> };

export const SOURCES: Source[] = [
  {
    name: 'over Core RPC',
    open: async (node) => ({
      setting: `core_rpc = "${node.url}"`,
      away: () => node.stop(),
      back: async () => {
        await node.launch();
        await node.fund();
      },
      stop: async () => {},
    }),
  },
  {
    name: 'over Electrum',
    async open(node) {
      const server = await ElectrumServer.start({ node });
      const setting = `electrum = ["${server.url}"]`;
      return { setting, away: () => server.close(), back: () => server.listen(), stop: () => server.stop() };
    },
  },
];
