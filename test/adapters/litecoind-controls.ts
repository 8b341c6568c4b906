/** How the conformance suite moves a litecoind, whoever it is watched through. */
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import type { Credit } from '../../daemon/domain/chain.ts';
import type { Litecoind } from '../nodes/litecoind.ts';
import type { ChainControls } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { privateKeyOf, testAccount } from './keys.ts';

async function spend(node: Litecoind, credit: Credit, index: number): Promise<string> {
  const [txid, vout] = [credit.txid, Number(credit.id.split(':')[1])];
  const key = privateKeyOf(index);
  const amount = Number(credit.amount.units) / 1e8;
  const raw = await node.rpc<string>('createrawtransaction', [
    [{ txid, vout }],
    [{ [await node.newAddress()]: (Number(credit.amount.units) - 50_000) / 1e8 }],
  ]);
  const { scriptPubKey } = await node.rpc<{ scriptPubKey: string }>('validateaddress', [
    (
      await coreAdapter({
        chain: node.kind.chain,
        network: 'regtest',
        url: node.url,
        watch: new FactBook(),
      }).deriveAddress(testAccount, 0, index)
    ).address,
  ]);
  const prevout = { txid, vout, scriptPubKey, amount };
  const { hex } = await node.rpc<{ hex: string }>('signrawtransactionwithkey', [raw, [key], [prevout]]);
  return node.rpc<string>('sendrawtransaction', [hex]);
}

/** The controls of a funded node; `settled` is waited for after every one that moves it. */
export function litecoindControls(
  node: Litecoind,
  connect: ChainControls['connect'],
  settled: () => Promise<void> = async () => {},
): ChainControls {
  let invalidated = '';
  const moving = async <T>(move: Promise<T>): Promise<T> => {
    const result = await move;
    await settled();
    return result;
  };
  return {
    account: testAccount,
    connect,
    mine: (count, rewardTo) => moving(node.mine(count, rewardTo)),
    pay: (outputs) => moving(node.pay(outputs)),
    reorg: (depth, drop) => moving(node.reorg(depth, drop)),
    replace: async (txid) => {
      await moving(node.replace(txid));
    },
    evictAll: () => moving(node.restart(['-persistmempool=0'])),
    spend: (credit, index) => moving(spend(node, credit, index)),
    async lag() {
      invalidated = await node.rpc<string>('getbestblockhash', []);
      await moving(node.rpc('invalidateblock', [invalidated]));
    },
    async catchUp() {
      await moving(node.rpc('reconsiderblock', [invalidated]));
    },
    disconnect: () => node.stop(),
    reconnect: () => node.launch(),
    stop: () => node.remove(),
  };
}
