/**
 * What the chain says of the transactions that were signed for a payment: where each of them is, what it lacks, and
 * whether it can still be in a block. Read from their conflict keys, anew each time.
 *
 * Invariant: a transaction counts as impossible only by what a block holds: another user of one of its keys, or of an input
 * of the transaction that made one of them and vanished.
 */
import type { VersionFact } from '../../domain/withdrawal.ts';
import {
  deadTransaction,
  keysOf,
  type SpendRow,
  type VersionRow,
  versionByTxid,
  versionsOf,
} from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { isSoleChange, reservedBy } from './coins.ts';
import { type KeyState, keyState } from './keys.ts';

/** Transactions of ours in a row that are looked through: nodes take 25 unconfirmed ones. */
const ANCESTORS_MAX = 100;

/** A conflict key that is not there for a transaction: its coin left the chain, or another transaction used it. */
export type Lack = {
  key: string;
  /** What used it in place of the transaction; null: what it names is gone. */
  usedBy: string | null;
};

export type Known = VersionFact & {
  version: VersionRow;
  /** Its conflict keys, in the order of their text. */
  keys: string[];
  /** The first key without which it cannot be sent now; null: it lacks none. */
  lack: Lack | null;
  /** Whether what one of its keys names left the chain. */
  vanished: boolean;
  /** What made it impossible; null while nothing in a block did. */
  killer: string | null;
};

/** The signed versions of a spend, oldest first. */
export function versionFacts(reader: Reader, spend: SpendRow, tipHeight: number): Known[] {
  const versions = reader.all(versionsOf, { spend_id: spend.id }).filter(({ txid }) => txid !== null);
  const own = new Set(versions.map(({ txid }) => txid));
  return versions.map((version) => factOf(reader, version, own, tipHeight));
}

function factOf(reader: Reader, version: VersionRow, own: ReadonlySet<string | null>, tipHeight: number): Known {
  const chain = { key: version.chain_key };
  const keys = reader.all(keysOf, { version_id: version.id }).map(({ conflict_key }) => conflict_key);
  const known: Known = { version, keys, depth: null, dead: 0, lack: null, vanished: false, killer: null };
  for (const key of keys) {
    const state = keyState(reader, chain, key);
    const user = state?.isThere ? state.usedBy : null;
    const depth = depthOf(state?.block ?? null, tipHeight);
    if (user !== null && user === version.txid) known.depth = Math.max(known.depth ?? 0, depth);
    else if (user !== null && (depth > 0 || !own.has(user))) known.lack ??= { key, usedBy: user };
    if (state?.isThere) continue;
    known.vanished = true;
    known.lack ??= { key, usedBy: null };
  }
  return { ...known, ...deathOf(reader, version, tipHeight, ANCESTORS_MAX) };
}

const depthOf = (block: KeyState['block'], tipHeight: number): number =>
  block === null ? 0 : Math.max(0, tipHeight - block.height + 1);

type Death = { dead: number; killer: string | null };
const ALIVE: Death = { dead: 0, killer: null };
const surer = (a: Death, b: Death): Death => (b.dead > a.dead ? b : a);

/** How deep the block is that makes one of our transactions impossible. */
function deathOf(reader: Reader, version: VersionRow, tipHeight: number, left: number): Death {
  const { chain_key, txid } = version;
  return reader.all(keysOf, { version_id: version.id }).reduce<Death>((found, { conflict_key: key }) => {
    const state = keyState(reader, { key: chain_key }, key);
    if (!state?.isThere) return surer(found, vanishedOf(reader, key, chain_key, tipHeight, left));
    if (state.usedBy === null || state.usedBy === txid) return found;
    return surer(found, { dead: depthOf(state.block, tipHeight), killer: state.usedBy });
  }, ALIVE);
}

/** The same of a transaction that made a coin which is gone. */
function vanishedOf(reader: Reader, key: string, chain_key: string, tipHeight: number, left: number): Death {
  const txid = txidOf(key);
  const ours = reader.get(versionByTxid, { txid, chain_key });
  if (ours) return left > 0 ? deathOf(reader, ours, tipHeight, left - 1) : ALIVE;
  const row = reader.get(deadTransaction, { txid, chain_key });
  return row ? { dead: Math.max(0, tipHeight - row.block_height + 1), killer: row.conflict_txid } : ALIVE;
}

export const txidOf = (outpoint: string): string => outpoint.slice(0, outpoint.indexOf(':'));

/** Whether another version may use this key: it is there, and nothing but versions of the same spend wants it. */
export function isUsable(reader: Reader, spend: SpendRow, known: readonly Known[], key: string): boolean {
  const chain = { key: spend.chain_key };
  const state = keyState(reader, chain, key);
  if (!state?.isThere || state.block !== null) return false;
  const { usedBy, changeOf } = state;
  if (changeOf !== null && !isSoleChange(reader, chain, changeOf)) return false;
  const isOurs = usedBy === null || known.some(({ version }) => version.txid === usedBy);
  return isOurs && reservedBy(reader, chain, key, spend.id) === null;
}

/**
 * The conflict keys that the next version has to use, so that none of the earlier ones can confirm beside it: what is still
 * usable of the newest one's, with the preferred key while that exists, and of each other one that shares none of these, one
 * more. Null when one of them has no usable key left: nothing can take its place.
 */
export function sharedKeys(reader: Reader, spend: SpendRow, known: readonly Known[]): string[] | null {
  const newest = known.at(-1);
  if (!newest) return null;
  const usable = (key: string): boolean => isUsable(reader, spend, known, key);
  const kept = new Set([...newest.keys, spend.conflict_key].filter(usable));
  for (const { keys } of known) {
    if (keys.some((key) => kept.has(key))) continue;
    const found = keys.find(usable);
    if (found === undefined) return null;
    kept.add(found);
  }
  return [...kept];
}
