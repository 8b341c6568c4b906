/** The conformance suite on every simulated chain. */
import type { WatchList } from '../../daemon/chains/adapter.ts';
import { ASSETS, CHAINS, type ChainId } from '../../daemon/domain/assets.ts';
import type { Credit } from '../../daemon/domain/chain.ts';
import { isUtxo } from '../../daemon/sandbox/addresses.ts';
import { addToMempool, evict } from '../../daemon/sandbox/consensus.ts';
import type { SandboxBlock, SandboxTransaction } from '../../daemon/sandbox/rows.ts';
import { sandboxStore } from '../../daemon/sandbox/rows.ts';
import { createSandbox } from '../../daemon/sandbox/sandbox.ts';
import { Store } from '../../daemon/store/store.ts';
import { type ChainControls, conformance } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { accountOf, signSpend } from './sandbox-kit.ts';

async function controls(chain: ChainId): Promise<ChainControls> {
  const store = await Store.inMemory();
  const rows = sandboxStore(store);
  let watched: WatchList = new FactBook();
  const sandbox = createSandbox({ store: rows, chains: CHAINS, watch: () => watched, now: Date.now, blockSeconds: 0 });
  // The chain's own coin; its row is the first of the chain's.
  const asset = ASSETS.find((row) => row.chain === chain)?.symbol ?? 'BTC';
  let hidden: { block: SandboxBlock; contents: SandboxTransaction[] } | null = null;

  const spend = async (credit: Credit, index: number): Promise<string> => {
    if (isUtxo(chain)) {
      const coin = { id: credit.id, units: credit.amount.units, index };
      const script = Uint8Array.of(0x51, 0x20, ...Buffer.alloc(32, 9));
      const raw = signSpend(chain, { coins: [coin], outputs: [{ script, units: coin.units - 50_000n }] });
      return (await sandbox.broadcast(chain, raw)).txid;
    }
    const txid = `${chain === 'XMR' ? '' : '0x'}${Buffer.from(credit.id).toString('hex').slice(-64)}`;
    await rows.write((tx) =>
      addToMempool(tx, chain, { txid, raw: '{}', inputs: [credit.id], outputs: [] }, Date.now()),
    );
    return txid;
  };

  return {
    account: accountOf(chain),
    connect(watch) {
      watched = watch;
      return sandbox.adapter(chain);
    },
    async mine(count) {
      for (let left = count; left > 0; left -= 100) await sandbox.mine(chain, Math.min(left, 100));
    },
    async pay(outputs) {
      const [first, ...more] = outputs.map((output) => ({ ...output, asset }));
      if (!first) throw new Error('a payment has outputs');
      return (await sandbox.pay(chain, first, ...more)).txid;
    },
    async reorg(depth, drop) {
      await sandbox.reorg(chain, depth, drop);
    },
    async replace(txid) {
      await sandbox.doubleSpend(chain, txid);
    },
    async evictAll() {
      await rows.write((tx) => {
        for (const { id } of tx.transactionsIn(chain, null, 100)) if (tx.transactionById(id)) evict(tx, chain, id);
      });
    },
    spend,
    async lag() {
      await rows.write((tx) => {
        const block = tx.tip(chain);
        if (!block) throw new Error('no tip');
        hidden = { block, contents: tx.transactionsIn(chain, block.height, 100) };
        tx.removeBlock(chain, block.height);
        tx.unconfirmAbove(chain, block.height - 1);
      });
    },
    async catchUp() {
      await rows.write((tx) => {
        if (!hidden) throw new Error('nothing is hidden');
        tx.addBlock(chain, hidden.block);
        const last = hidden.contents.at(-1);
        if (last) tx.confirm(chain, last.id, hidden.block.height);
      });
    },
    disconnect: () => sandbox.outage(chain, true),
    reconnect: () => sandbox.outage(chain, false),
    async stop() {
      await sandbox.close();
      await store.close();
    },
  };
}

for (const chain of CHAINS) conformance({ name: `the sandbox's ${chain}`, start: () => controls(chain) });
