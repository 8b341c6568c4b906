/**
 * The state of the transactions signed for a payment: where each is, what it lacks, and whether it can still confirm.
 * Derived from their conflict keys each time.
 *
 * Invariant: only a block can make a transaction impossible: with another user of one of its keys, or of an input of
 * the vanished transaction that made one, or with another output where it names a coin that vanished.
 */
import { isWatchOnly } from '../../domain/chain.ts';
import { type SignedFact, type SpendFacts, seenOf, UNKNOWN } from '../../domain/spend-state.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { accountById } from '../../store/queries/businesses.ts';
import {
  deadTransaction,
  keysOf,
  openSpends,
  type SpendRow,
  type VersionRow,
  versionByTxid,
  versionsOf,
  waitingSpends,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { hasDescendant, isUsable, type KeyState, keyState } from './keys.ts';

/** Unconfirmed ancestors of ours that are followed; nodes accept 25. */
const ANCESTORS_MAX = 100;

export type SignedVersion = SignedFact & {
  version: VersionRow;
  /** In the order of their text. */
  keys: string[];
  /** Those whose coin is gone. */
  missing: string[];
  /** The transactions that use its keys, itself included. */
  users: string[];
  /** The confirmed transaction that made it impossible, or null. */
  killer: string | null;
};

/** The spends of a chain that are not decided yet. */
export function unsettledSpends(reader: Reader, { key }: ChainRuntime): SpendRow[] {
  return [...reader.all(openSpends, { chain_key: key }), ...reader.all(waitingSpends, { chain_key: key })];
}

/** A spend with everything that decides what becomes of it. `versions`: the signed ones, in the order of the facts. */
export type Unsettled = { spend: SpendRow; versions: SignedVersion[]; facts: SpendFacts };

/**
 * The facts of every spend that is not decided yet. Those of a spend are read when it is its turn, so they include what was
 * written about the one before it. `tipHeight`: where the stored one is not that of the facts yet.
 */
export function* unsettledFacts(
  reader: Reader,
  chain: ChainRuntime,
  tipHeight: number = tipHeightOf(reader, chain),
): Generator<Unsettled> {
  for (const spend of unsettledSpends(reader, chain)) yield spendFacts(reader, chain, spend, tipHeight);
}

function spendFacts(reader: Reader, chain: ChainRuntime, spend: SpendRow, tipHeight: number): Unsettled {
  const versions = versionFacts(reader, chain, spend, tipHeight);
  const seen = seenOf(versions);
  const lacks = versions.every(({ lack }) => lack !== null);
  const facts: SpendFacts = {
    signed: versions,
    isPlanned: reader.all(versionsOf, { spend_id: spend.id }).length > versions.length,
    isOurs: spend.purpose !== UNKNOWN,
    isAbandoned: isAbandoned(reader, spend),
    isLost: isLost(reader, spend, versions),
    isReplaceable: !lacks || sharedKeys(reader, spend, versions) !== null,
    isKept: seen !== undefined && mustStay(reader, chain, seen),
    buried: BURIED_BLOCKS[chain.adapter.chain],
  };
  return { spend, versions, facts };
}

function isLost(reader: Reader, { account_id }: SpendRow, versions: readonly SignedVersion[]): boolean {
  if (versions.length === 0 || versions.some(({ isStored }) => isStored)) return false;
  const account = reader.get(accountById, { id: account_id });
  // the bytes of another wallet's account are that wallet's
  return account !== undefined && !isWatchOnly(account.key);
}

/** Why a payment ended that nobody signed in the wallet that has its keys. */
const UNSIGNED: ReadonlySet<string | undefined> = new Set(['ended.unsigned', 'ended.unsigned_why']);

/** Whether a payment was given up unsigned: all that it pays ended so. */
export function isAbandoned(reader: Reader, { id, purpose }: Pick<SpendRow, 'id' | 'purpose'>): boolean {
  const rows = purpose === 'pay' ? reader.all(withdrawalsOfSpend, { spend_id: id }) : [];
  return rows.length > 0 && rows.every(({ state, reason }) => state === 'failed' && UNSIGNED.has(reason?.code));
}

/** Whether nothing may take the place of a version in the mempool. */
function mustStay(reader: Reader, chain: ChainRuntime, { version }: SignedVersion): boolean {
  return chain.adapter.spending?.replacement === 'none' || hasDescendant(reader, chain, `${version.txid}`);
}

/** The signed versions of a spend, the oldest first. `tipHeight`: as of `unsettledFacts`. */
export function versionFacts(
  reader: Reader,
  chain: ChainRuntime,
  spend: SpendRow,
  tipHeight: number = tipHeightOf(reader, chain),
): SignedVersion[] {
  const versions = reader.all(versionsOf, { spend_id: spend.id }).filter(({ txid }) => txid !== null);
  const own = new Set(versions.map(({ txid }) => txid));
  return versions.map((version) => factOf(reader, version, own, tipHeight));
}

function factOf(
  reader: Reader,
  version: VersionRow,
  own: ReadonlySet<string | null>,
  tipHeight: number,
): SignedVersion {
  const chain = { key: version.chain_key };
  const keys = reader.all(keysOf, { version_id: version.id }).map(({ conflict_key }) => conflict_key);
  const known: SignedVersion = {
    version,
    keys,
    missing: [],
    users: [],
    depth: null,
    dead: 0,
    lack: null,
    vanished: false,
    failed: false,
    isStored: version.raw !== null,
    killer: null,
  };
  for (const key of keys) {
    const state = keyState(reader, chain, key);
    const user = state?.isThere ? state.usedBy : null;
    const depth = depthOf(state?.block ?? null, tipHeight);
    if (user !== null) known.users.push(user);
    if (user !== null && user === version.txid && !state?.failed) known.depth = Math.max(known.depth ?? 0, depth);
    else if (user !== null && (depth > 0 || !own.has(user))) known.lack ??= { key, usedBy: user };
    if (state?.isThere) continue;
    known.vanished = true;
    known.missing.push(key);
    known.lack ??= { key, usedBy: null };
  }
  const failed = known.lack !== null && known.lack.usedBy === version.txid;
  return { ...known, failed, ...deathOf(reader, version, tipHeight, ANCESTORS_MAX) };
}

const depthOf = (block: KeyState['block'], tipHeight: number): number =>
  block === null ? 0 : Math.max(0, tipHeight - block.height + 1);

type Death = { dead: number; killer: string | null };
const ALIVE: Death = { dead: 0, killer: null };
const surer = (a: Death, b: Death): Death => (b.dead > a.dead ? b : a);

/** The confirmations of the block that makes a transaction of ours impossible. */
function deathOf(reader: Reader, version: VersionRow, tipHeight: number, left: number): Death {
  const { chain_key, txid } = version;
  const displaced = deadOf(reader, `${txid}`, chain_key, tipHeight);
  return reader.all(keysOf, { version_id: version.id }).reduce<Death>((found, { conflict_key: key }) => {
    const state = keyState(reader, { key: chain_key }, key);
    if (!state?.isThere) return surer(found, vanishedOf(reader, key, chain_key, tipHeight, left));
    if (state.usedBy === null || (state.usedBy === txid && !state.failed)) return found;
    return surer(found, { dead: depthOf(state.block, tipHeight), killer: state.usedBy });
  }, displaced);
}

/** The same for a vanished transaction that made a coin. */
function vanishedOf(reader: Reader, key: string, chain_key: string, tipHeight: number, left: number): Death {
  const txid = txidOf(key);
  const ours = reader.get(versionByTxid, { txid, chain_key });
  if (ours) return left > 0 ? deathOf(reader, ours, tipHeight, left - 1) : ALIVE;
  return deadOf(reader, txid, chain_key, tipHeight);
}

/** The same for a transaction that a block excludes for another reason than a used key. */
function deadOf(reader: Reader, txid: string, chain_key: string, tipHeight: number): Death {
  const row = reader.get(deadTransaction, { txid, chain_key });
  return row ? { dead: Math.max(0, tipHeight - row.block_height + 1), killer: row.conflict_txid } : ALIVE;
}

export const txidOf = (outpoint: string): string => outpoint.slice(0, outpoint.indexOf(':'));

/**
 * The conflict keys that the next version must use, so that no earlier one can confirm beside it: the usable ones of
 * the newest version, the preferred key first, and one more of each version that shares none of these. Null if a
 * version has no usable key left, so that nothing can replace it.
 */
export function sharedKeys(reader: Reader, spend: SpendRow, known: readonly SignedVersion[]): string[] | null {
  const newest = known.at(-1);
  if (!newest) return null;
  const own = new Set(known.map(({ version }) => version.txid));
  const usable = (key: string): boolean => isUsable(reader, { key: spend.chain_key }, key, spend.id, own);
  const kept = new Set([...newest.keys, spend.conflict_key].filter(usable));
  for (const { keys } of known) {
    if (keys.some((key) => kept.has(key))) continue;
    const found = keys.find(usable);
    if (found === undefined) return null;
    kept.add(found);
  }
  return [...kept];
}
