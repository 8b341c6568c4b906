/** How the conformance suite moves a bcoin or a bcash, whoever it is watched through. */
import type { NpmNode } from '../nodes/npm-node.ts';
import type { ChainControls } from './conformance.ts';
import { privateKeyOf, testAccount } from './keys.ts';

/** The controls of a funded node; `settled` is waited for after every one that moves it. */
export function npmControls(
  node: NpmNode,
  connect: ChainControls['connect'],
  settled: () => Promise<void> = async () => {},
): ChainControls {
  const moving = async <T>(move: Promise<T>): Promise<T> => {
    const result = await move;
    await settled();
    return result;
  };
  return {
    account: testAccount,
    connect,
    mine: async (count, rewardTo) => moving(node.mine(count, rewardTo ?? (await node.newAddress()))),
    pay: (outputs) => moving(node.pay(outputs)),
    reorg: (depth, drop) => moving(node.reorg(depth, drop)),
    replace: async (txid) => {
      await moving(node.replace(txid));
    },
    evictAll: () => moving(node.evictAll()),
    spend: ({ txid, id }, index) => moving(node.spend(privateKeyOf(index), txid, Number(id.split(':')[1]))),
    lag: () => moving(node.lag()),
    catchUp: () => moving(node.catchUp()),
    disconnect: () => node.disconnect(),
    reconnect: () => node.reconnect(),
    stop: () => node.stop(),
  };
}
