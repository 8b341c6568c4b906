/**
 * Checks whether coins that a reorganisation removed, and that versions of ours spend, can return. Their transaction is
 * impossible once a block has another transaction that spends one of its inputs, or an input of a transaction that it
 * spends from and that vanished as well. The chain's source is asked for that, once per tip.
 *
 * Invariant: a stored result names a block of the followed chain, and is forgotten when that block leaves the chain.
 */
import { Unavailable } from '../../domain/errors.ts';
import { creditsOfTransaction } from '../../store/queries/credits.ts';
import { previousTx } from '../../store/queries/previous.ts';
import {
  deadTransaction,
  insertDeadTransaction,
  type VersionRow,
  versionByTxid,
} from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf, tipHeightOf } from '../chains/checkpoint.ts';
import { txidOf, unsettledFacts } from './facts.ts';
import { readPlan } from './stored-plan.ts';

const CONFLICT_TIMEOUT_MS = 120_000;
/** The maximum number of vanished transactions whose last check is remembered. */
const REMEMBERED_MAX = 1_000;

/** The maximum number of transactions, one spending from the other, that are checked for a vanished one. */
const LINE_MAX = 25;
/** The maximum number of inputs of a transaction whose parents are checked. */
const PARENTS_READ_MAX = 100;

/** By transaction: the tip of its last check. */
export type LastChecks = Map<string, number>;

/** Checks every vanished transaction that versions of ours depend on, once per tip. Throws `Unavailable`. */
export async function lookForConflicts(app: App, chain: ChainRuntime, asked: LastChecks): Promise<void> {
  if (chain.syncedAt === 0) return;
  const tip = tipHeightOf(app.store, chain);
  const spending = chain.spending;
  if (!spending.excludedBy) return;
  for (const [txid, { version, key }] of vanished(app.store, chain)) {
    if (asked.get(txid) === tip) continue;
    if (asked.size >= REMEMBERED_MAX) asked.clear();
    asked.set(txid, tip);
    const plan = readPlan(version.plan);
    const found = await firstOf(lineOf(app.store, chain, txid), (one) =>
      spending.excludedBy?.({ plan, key, ...one }, chain.limit(CONFLICT_TIMEOUT_MS)),
    );
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

/** A transaction that left the chain. `base`: its stored bytes; null: none. */
type Ancestor = { txid: string; base: Uint8Array | null };

/**
 * A vanished transaction and those before it that vanished as well: it cannot return if one of them cannot. An earlier one
 * is known if it paid us, too.
 */
function lineOf(reader: Reader, chain: ChainRuntime, txid: string): Ancestor[] {
  const bytesOf = (id: string) => reader.get(previousTx, { txid: id, chain_key: chain.key })?.base ?? null;
  const line: Ancestor[] = [{ txid, base: bytesOf(txid) }];
  const known = new Set([txid]);
  for (const { base } of line) {
    if (base === null) continue;
    const inputs = chain.spending.decode(Buffer.from(base).toString('hex')).conflictKeys;
    for (const id of inputs.slice(0, PARENTS_READ_MAX).map(txidOf)) {
      if (line.length >= LINE_MAX || known.has(id)) continue;
      known.add(id);
      const parent = bytesOf(id);
      const coins = reader.all(creditsOfTransaction, { from: `${id}:`, to: `${id};`, chain_key: chain.key });
      if (parent && coins.length > 0 && coins.every(({ gone }) => gone)) line.push({ txid: id, base: parent });
    }
  }
  return line;
}

async function firstOf<T, R>(items: readonly T[], ask: (item: T) => Promise<R | null> | undefined): Promise<R | null> {
  for (const item of items) {
    const found = await ask(item);
    if (found) return found;
  }
  return null;
}

type Vanished = { version: VersionRow; key: string };

/** The vanished transactions of others, with the versions of ours that spend from them. */
function vanished(reader: Reader, chain: ChainRuntime): Map<string, Vanished> {
  const found = new Map<string, Vanished>();
  for (const { versions } of unsettledFacts(reader, chain)) {
    for (const { version, missing } of versions) {
      for (const key of missing) {
        const parent = { txid: txidOf(key), chain_key: chain.key };
        if (reader.get(versionByTxid, parent) || reader.get(deadTransaction, parent)) continue;
        found.set(parent.txid, { version, key });
      }
    }
  }
  return found;
}
