/**
 * Coins that a reorganisation took away, and that versions of ours spend: whether they can ever come back. Their
 * transaction is dead for good once a block has another one that spends one of its inputs; the chain's source is asked for
 * that, once a tip.
 *
 * Invariant: what is written down is a block of the chain that the books follow; it is forgotten when that block leaves it.
 */
import { decodeTransaction } from '../../chains/utxo/spend/transaction.ts';
import { CHECKPOINT_BLOCKS_MAX } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import { previousTx } from '../../store/queries/previous.ts';
import { deadTransaction, insertDeadTransaction, versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/ingest.ts';
import { deadline } from '../deadline.ts';
import { tipHeightOf } from './coins.ts';
import { type Known, txidOf, versionFacts } from './facts.ts';
import { isUtxo, spendingOf } from './fees.ts';
import { unsettledSpends } from './settle.ts';
import { readPlan } from './stored-plan.ts';

const CONFLICT_TIMEOUT_MS = 120_000;
/** Vanished transactions of which it is remembered at which tip they were asked about. */
const REMEMBERED_MAX = 1_000;

/** By transaction: the tip at which it was asked about last. */
export type Asked = Map<string, number>;

/** Asks about every vanished transaction that versions of ours depend on, each once a tip. Throws `Unavailable`. */
export async function lookForConflicts(app: App, chain: ChainRuntime, asked: Asked): Promise<void> {
  if (chain.syncedAt === 0) return;
  const tip = tipHeightOf(app.store, chain);
  for (const [txid, fromHeight] of vanished(app.store, chain, tip)) {
    if (asked.get(txid) === tip) continue;
    if (asked.size >= REMEMBERED_MAX) asked.clear();
    asked.set(txid, tip);
    const inputs = inputsOfVanished(app.store, chain, txid);
    const signal = deadline(CONFLICT_TIMEOUT_MS, chain.key);
    const found = await spendingOf(chain).conflict(txid, inputs, fromHeight, signal);
    if (!found) continue;
    const { height, hash } = found.block;
    await app.store.write((tx) => {
      const known = checkpointOf(tx, chain)?.find((block) => block.height === height);
      if (height > tipHeightOf(tx, chain) || (known && known.hash !== hash)) {
        asked.delete(txid);
        throw new Unavailable(`The source of ${chain.key} is at another block than the books`, 5);
      }
      const row = { txid, chain_key: chain.key, conflict_txid: found.txid };
      tx.run(insertDeadTransaction, { ...row, block_height: height, block_hash: hash });
      tx.afterCommit(() => app.wake.chain(chain.key));
    });
  }
}

/** The transactions of others that vanished and that versions of ours spend from, with a height below their block. */
function vanished(reader: Reader, chain: ChainRuntime, tipHeight: number): Map<string, number> {
  const found = new Map<string, number>();
  for (const spend of unsettledSpends(reader, chain)) {
    for (const known of versionFacts(reader, spend, tipHeight)) {
      for (const outpoint of known.vanished ? known.inputs : []) {
        const coin = reader.get(creditByOutpoint, { outpoint, chain_key: chain.key });
        const key = { txid: txidOf(outpoint), chain_key: chain.key };
        if (coin?.gone === false || reader.get(versionByTxid, key) || reader.get(deadTransaction, key)) continue;
        found.set(key.txid, lowestHeight(known, outpoint));
      }
    }
  }
  return found;
}

/** Below every block that can hold a conflict: the coin's own when it was spent, less the deepest reorganisation. */
function lowestHeight({ version }: Known, outpoint: string): number {
  const plan = readPlan(version.plan);
  const input = plan.inputs.find((one) => one.outpoint === outpoint);
  const tip = plan.kind === 'utxo' ? plan.lockTime : 0;
  return Math.max(0, tip - (input?.confirmations ?? 0) - CHECKPOINT_BLOCKS_MAX);
}

function inputsOfVanished(reader: Reader, chain: ChainRuntime, txid: string): string[] {
  const kept = reader.get(previousTx, { txid, chain_key: chain.key })?.base;
  const { chain: id, network } = chain.adapter;
  if (!kept || !isUtxo(id)) return [];
  return decodeTransaction(Buffer.from(kept).toString('hex'), id, network).inputs.map(({ outpoint }) => outpoint);
}
