/**
 * Checks whether coins that a reorganisation removed, and that versions of ours spend, can return. Their transaction is
 * impossible once a block has another transaction that spends one of its inputs, or an input of a transaction that it
 * spends from and that vanished as well. A version that names its coin by its place on the chain is impossible once another
 * output has that place, too. The chain's source is asked for that, once per tip.
 *
 * Invariant: a stored result names a block of the followed chain, and is forgotten when that block leaves the chain.
 */
import type { BlockId } from '../../domain/chain.ts';
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
/** The maximum number of checks that are remembered. */
const REMEMBERED_MAX = 1_000;

/** The maximum number of transactions, one spending from the other, that are checked for a vanished one. */
const LINE_MAX = 25;
/** The maximum number of inputs of a transaction whose parents are checked. */
const PARENTS_READ_MAX = 100;

/** By check: the tip at the last time. */
export type LastChecks = Map<string, number>;

/**
 * Checks every vanished transaction that versions of ours depend on, and every version that names a place of one, once per tip.
 * Throws `Unavailable`.
 */
export async function lookForConflicts(app: App, chain: ChainRuntime, asked: LastChecks): Promise<void> {
  if (chain.syncedAt === 0) return;
  const tip = tipHeightOf(app.store, chain);
  for (const { name, txid, find } of checks(app.store, chain)) {
    if (asked.get(name) === tip) continue;
    if (asked.size >= REMEMBERED_MAX) asked.clear();
    asked.set(name, tip);
    const found = await find();
    if (!found) continue;
    const { height, hash } = found.block;
    await app.store.write((tx) => {
      const known = checkpointOf(tx, chain)?.find((block) => block.height === height);
      if (height > tipHeightOf(tx, chain) || (known && known.hash !== hash)) {
        asked.delete(name);
        throw new Unavailable(`The source of ${chain.key} is at another block than the books`, 5);
      }
      const row = { txid, chain_key: chain.key, conflict_txid: found.txid };
      tx.run(insertDeadTransaction, { ...row, block_height: height, block_hash: hash });
      tx.afterCommit(() => app.wake.chain(chain.key));
    });
  }
}

/** Whether a transaction can never confirm: what excludes it, with the block. `name`: of the check. */
type Check = { name: string; txid: string; find: () => Promise<{ txid: string; block: BlockId } | null> };

function checks(reader: Reader, chain: ChainRuntime): Check[] {
  const { spending } = chain;
  const limit = () => chain.limit(CONFLICT_TIMEOUT_MS);
  const missing = vanished(reader, chain);
  const others = [...new Map(missing.map((one) => [txidOf(one.key), one]))].map(([txid, { version, key }]): Check => {
    const plan = readPlan(version.plan);
    const ask = (one: Ancestor) => spending.excludedBy?.({ plan, key, ...one }, limit());
    return { name: txid, txid, find: () => firstOf(lineOf(reader, chain, txid), ask) };
  });
  const ours = missing.flatMap(({ version: { txid, raw }, key }): Check[] => {
    if (txid === null || raw === null || reader.get(deadTransaction, { txid, chain_key: chain.key })) return [];
    const base = bytesOf(reader, chain, txidOf(key));
    const find = async () => {
      const block = await spending.displacedAt?.({ raw, key, base }, limit);
      return block ? { txid, block } : null;
    };
    return [{ name: `${txid} ${key}`, txid, find }];
  });
  return [...(spending.excludedBy ? others : []), ...(spending.displacedAt ? ours : [])];
}

const bytesOf = (reader: Reader, chain: ChainRuntime, txid: string): Uint8Array | null =>
  reader.get(previousTx, { txid, chain_key: chain.key })?.base ?? null;

/** A transaction that left the chain. `base`: its stored bytes; null: none. */
type Ancestor = { txid: string; base: Uint8Array | null };

/**
 * A vanished transaction and those before it that vanished as well: it cannot return if one of them cannot. An earlier one
 * is known if it paid us, too.
 */
function lineOf(reader: Reader, chain: ChainRuntime, txid: string): Ancestor[] {
  const line: Ancestor[] = [{ txid, base: bytesOf(reader, chain, txid) }];
  const known = new Set([txid]);
  for (const { base } of line) {
    if (base === null) continue;
    const inputs = chain.spending.decode(Buffer.from(base).toString('hex')).conflictKeys;
    for (const id of inputs.slice(0, PARENTS_READ_MAX).map(txidOf)) {
      if (line.length >= LINE_MAX || known.has(id)) continue;
      known.add(id);
      const parent = bytesOf(reader, chain, id);
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

/** The keys whose transactions are others' and vanished, with the versions of ours that use them. */
function vanished(reader: Reader, chain: ChainRuntime): Vanished[] {
  const found: Vanished[] = [];
  for (const { signed } of unsettledFacts(reader, chain)) {
    for (const { version, missing } of signed) {
      for (const key of missing) {
        const parent = { txid: txidOf(key), chain_key: chain.key };
        if (reader.get(versionByTxid, parent) || reader.get(deadTransaction, parent)) continue;
        found.push({ version, key });
      }
    }
  }
  return found;
}
