/**
 * All that is read of payments to decide about them: the state of their conflict keys, where each signed transaction is, what it lacks,
 * and whether it can still confirm. Derived each time. Only this file knows where each kind of key is stored.
 *
 * Invariant: only a block can make a transaction impossible: with another user of one of its keys, or of an input of
 * the vanished transaction that made one, or with another output where it names a coin that vanished.
 */
import { isWatchOnly } from '../../domain/chain.ts';
import { isNonceKey } from '../../domain/spend.ts';
import {
  isAbandoned,
  newestOf,
  type ReplaceFacts,
  type SignedFact,
  type SpendFacts,
  seenOf,
  UNKNOWN,
} from '../../domain/spend-state.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import { usedKey } from '../../store/queries/used-keys.ts';
import {
  deadTransaction,
  keysOf,
  openSpends,
  type PayoutRow,
  payoutsOf,
  type SpendRow,
  spendsOfKey,
  spendsOfTransaction,
  type VersionRow,
  versionByTxid,
  versionsOf,
  type WithdrawalRow,
  waitingSpends,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';

/** Unconfirmed ancestors of ours that are followed; nodes accept 25. */
const ANCESTORS_MAX = 100;

type KeyState = {
  /** Whether it can be used: its coin is on the chain, or in the mempool. */
  isThere: boolean;
  /** The transaction that used it; null: none did. */
  usedBy: string | null;
  /** The block that holds that transaction; null: none does. */
  block: { height: number; hash: string } | null;
  /** Whether that transaction had no effect but its fee. */
  failed: boolean;
  /** The unconfirmed transaction of ours whose change it is; null: it is no such change. */
  changeOf: string | null;
};

/** Null if the key is unknown. */
export function keyState(reader: Reader, { key: chain_key }: { key: string }, key: string): KeyState | null {
  if (isNonceKey(key)) {
    const use = reader.get(usedKey, { conflict_key: key, chain_key });
    const block = blockOf(use?.block_height ?? null, use?.block_hash ?? null);
    return { isThere: true, usedBy: use?.txid ?? null, block, failed: use?.failed ?? false, changeOf: null };
  }
  const coin = reader.get(creditByOutpoint, { outpoint: key, chain_key });
  if (!coin) return null;
  return {
    isThere: !coin.gone,
    usedBy: coin.spent_txid,
    block: blockOf(coin.spent_block_height, coin.spent_block_hash),
    failed: false,
    changeOf: coin.own_change && coin.block_height === null ? coin.txid : null,
  };
}

const blockOf = (height: number | null, hash: string | null): KeyState['block'] =>
  height === null || hash === null ? null : { height, hash };

/** The spend that has reserved a conflict key, other than `except`; null if it is free. */
export function reservedBy(reader: Reader, chain: { key: string }, key: string, except: number): number | null {
  const spends = reader.all(spendsOfKey, { conflict_key: key, chain_key: chain.key });
  return spends.find(({ id }) => id !== except)?.id ?? null;
}

/**
 * Whether a version of a spend may use a key: it exists, at most unconfirmed `own` transactions use it, and no other spend has
 * reserved it. `spendId`: 0 for a new spend.
 */
export function isUsable(
  reader: Reader,
  chain: { key: string },
  key: string,
  spendId: number,
  own: ReadonlySet<string | null> = NONE,
): boolean {
  const state = keyState(reader, chain, key);
  if (!state?.isThere || state.block !== null) return false;
  const { usedBy, changeOf } = state;
  if (changeOf !== null && !isSoleChange(reader, chain, changeOf)) return false;
  return (usedBy === null || own.has(usedBy)) && reservedBy(reader, chain, key, spendId) === null;
}

const NONE: ReadonlySet<string | null> = new Set();

/** Whether an unburied transaction of ours spends an output to us of another one. */
function hasDescendant(reader: Reader, chain: { key: string }, txid: string): boolean {
  const range = { from: `${txid}:`, to: `${txid};`, chain_key: chain.key };
  return reader.all(spendsOfTransaction, range).length > 0;
}

/**
 * Whether change is as certain as its transaction: no other version can confirm instead. No new version is made,
 * because a transaction with a spent output of ours is not replaced.
 */
export function isSoleChange(reader: Reader, chain: { key: string }, txid: string): boolean {
  const version = reader.get(versionByTxid, { txid, chain_key: chain.key });
  return version !== undefined && reader.all(versionsOf, { spend_id: version.spend_id }).length === 1;
}

/** Whether every key that must be used before a plan's transaction is used, or has a signed transaction. */
export function isInOrder(reader: Reader, chain: { key: string }, keysBefore: readonly string[]): boolean {
  return keysBefore.every((conflict_key) => {
    const key = { conflict_key, chain_key: chain.key };
    return reader.get(usedKey, key) !== undefined || reader.all(spendsOfKey, key).some(({ txid }) => txid !== null);
  });
}

export type SignedVersion = SignedFact & {
  version: VersionRow;
  /** Its payouts. */
  pays: PayoutRow[];
  /** In the order of their text. */
  keys: string[];
  /** Those whose coin is gone. */
  missing: string[];
  /** The transactions that use its keys, itself included. */
  users: string[];
};

/** A spend with everything that decides what becomes of it. */
export type PaymentFacts = {
  spend: SpendRow;
  /** All, the oldest first. */
  versions: VersionRow[];
  /** The signed ones, in the order of the facts. */
  signed: SignedVersion[];
  /** Those that any of its versions pays or paid. */
  withdrawals: WithdrawalRow[];
  facts: SpendFacts;
};

/** The spends of a chain that are not decided yet. */
export function unsettledSpends(reader: Reader, { key }: Pick<ChainRuntime, 'key'>): SpendRow[] {
  return [...reader.all(openSpends, { chain_key: key }), ...reader.all(waitingSpends, { chain_key: key })];
}

/**
 * The facts of every spend that is not decided yet. Those of a spend are read when it is its turn, so they include what was
 * written about the one before it. `tipHeight`: where the stored one is not that of the facts yet.
 */
export function* unsettledFacts(
  reader: Reader,
  chain: ChainRuntime,
  tipHeight: number = tipHeightOf(reader, chain),
): Generator<PaymentFacts> {
  for (const spend of unsettledSpends(reader, chain)) yield paymentFacts(reader, chain, spend, tipHeight);
}

/** `tipHeight`: as of `unsettledFacts`. */
export function paymentFacts(
  reader: Reader,
  chain: ChainRuntime,
  spend: SpendRow,
  tipHeight: number = tipHeightOf(reader, chain),
): PaymentFacts {
  const versions = reader.all(versionsOf, { spend_id: spend.id });
  const withdrawals = reader.all(withdrawalsOfSpend, { spend_id: spend.id });
  const signed = signedOf(reader, versions, withdrawals, tipHeight);
  const seen = seenOf(signed);
  // other payments made all that it was for (`displaced.ts`): what uses its keys from now on excludes it
  const isLeft = spend.purpose === 'pay' && withdrawals.length === 0;
  const facts: SpendFacts = {
    signed,
    isPlanned: versions.length > signed.length,
    isOurs: spend.purpose !== UNKNOWN && (!isLeft || signed.some(({ isStored, lack }) => isStored && lack === null)),
    isAbandoned: isAbandoned(withdrawals),
    heldBy: heldBy(reader, spend, signed),
    isOwn: spend.subject !== null || isLeft,
    isReplaceable: signed.some(({ lack }) => lack === null) || sharedKeys(reader, spend, signed) !== null,
    isKept: seen !== undefined && mustStay(reader, chain, seen),
    buried: BURIED_BLOCKS[chain.adapter.chain],
  };
  return { spend, versions, signed, withdrawals, facts };
}

function heldBy(reader: Reader, { account_id }: SpendRow, versions: readonly SignedVersion[]): SpendFacts['heldBy'] {
  const newest = newestOf(versions);
  const account = newest?.isStored === false ? reader.get(accountById, { id: account_id }) : undefined;
  if (!newest || !account) return null;
  if (!isWatchOnly(account.key)) return 'machine';
  if (newest.version.sent_at !== null) return 'wallet';
  // what was only handed out may be signed nowhere
  return versions.some(({ version, lack }) => lack === null && version.sent_at !== null) ? 'wallet-earlier' : null;
}

/** Whether nothing may take the place of a version in the mempool. */
function mustStay(reader: Reader, chain: ChainRuntime, { version }: SignedVersion): boolean {
  return chain.adapter.spending?.replacement === 'none' || hasDescendant(reader, chain, `${version.txid}`);
}

/** Whether no node has a version of a spend, and the newest one that can be sent is refused. */
export function isRefused(chain: ChainRuntime, known: readonly SignedVersion[]): boolean {
  const newest = newestOf(known);
  const isSeen = known.some(({ depth }) => depth !== null);
  return newest?.isStored === true && !isSeen && chain.isCurrent && chain.isRefusalKnown(newest.version.id);
}

/** `keys`: the conflict keys that the next version has to use; null: there are none. */
export type Replaceable = { spend: SpendRow; known: SignedVersion[]; keys: string[] | null; facts: ReplaceFacts };

/** `isOutside`: another wallet signs it, so that a plan that nobody downloaded can be dropped. */
export function replaceFacts(reader: Reader, chain: ChainRuntime, spend: SpendRow, isOutside: boolean): Replaceable {
  const { signed, facts } = paymentFacts(reader, chain, spend);
  const keys = sharedKeys(reader, spend, signed);
  return {
    spend,
    known: signed,
    keys,
    facts: {
      signed,
      isSigning: facts.isPlanned && !isOutside,
      hasKeys: keys !== null,
      hasDescendant: signed.some(
        ({ version, lack }) => lack === null && hasDescendant(reader, chain, `${version.txid}`),
      ),
      isRefused: isRefused(chain, signed),
    },
  };
}

/** The signed versions of a spend, the oldest first. */
export function versionFacts(reader: Reader, chain: ChainRuntime, spend_id: number): SignedVersion[] {
  const withdrawals = reader.all(withdrawalsOfSpend, { spend_id });
  return signedOf(reader, reader.all(versionsOf, { spend_id }), withdrawals, tipHeightOf(reader, chain));
}

/** `withdrawals`: of the spend. */
function signedOf(
  reader: Reader,
  versions: readonly VersionRow[],
  withdrawals: readonly WithdrawalRow[],
  tipHeight: number,
): SignedVersion[] {
  const signed = versions.filter(({ txid }) => txid !== null);
  const own = new Set(signed.map(({ txid }) => txid));
  const here = new Set(withdrawals.map(({ id }) => id));
  return signed.map((version) => factOf(reader, version, { own, here, tipHeight }));
}

/** `own`: the transactions of the spend. `here`: the withdrawals that it still pays. */
type OfSpend = { own: ReadonlySet<string | null>; here: ReadonlySet<number>; tipHeight: number };

type UsedKey = { key: string; state: KeyState | null };

/** The conflict keys of a version, each with its state. */
const keyStates = (reader: Reader, { id, chain_key }: VersionRow): UsedKey[] =>
  reader
    .all(keysOf, { version_id: id })
    .map(({ conflict_key: key }) => ({ key, state: keyState(reader, { key: chain_key }, key) }));

function factOf(reader: Reader, version: VersionRow, { own, here, tipHeight }: OfSpend): SignedVersion {
  const keys = keyStates(reader, version);
  const pays = reader.all(payoutsOf, { version_id: version.id });
  const known: SignedVersion = {
    version,
    pays,
    keys: keys.map(({ key }) => key),
    missing: keys.flatMap(({ key, state }) => (state?.isThere ? [] : [key])),
    users: [],
    depth: null,
    dead: deathOf(reader, version, keys, tipHeight, ANCESTORS_MAX),
    lack: null,
    vanished: false,
    failed: false,
    // where another payment of a withdrawal took its place (`displaced.ts`), it must not be sent again
    isStored: version.raw !== null && pays.every(({ withdrawal_id }) => here.has(withdrawal_id)),
  };
  for (const { key, state } of keys) {
    const user = state?.isThere ? state.usedBy : null;
    const depth = depthOf(state?.block ?? null, tipHeight);
    if (user !== null) known.users.push(user);
    if (user !== null && user === version.txid && !state?.failed) known.depth = Math.max(known.depth ?? 0, depth);
    else if (user !== null && (depth > 0 || !own.has(user))) known.lack ??= { key, usedBy: user };
    if (!state?.isThere) known.lack ??= { key, usedBy: null };
  }
  known.vanished = known.missing.length > 0;
  known.failed = known.lack !== null && known.lack.usedBy === version.txid;
  return known;
}

const depthOf = (block: { height: number } | null, tipHeight: number): number =>
  block === null ? 0 : Math.max(0, tipHeight - block.height + 1);

/** The confirmations of the block that makes a transaction of ours impossible; 0: none does. */
function deathOf(
  reader: Reader,
  { chain_key, txid }: VersionRow,
  keys: readonly UsedKey[],
  tipHeight: number,
  left: number,
): number {
  const displaced = deadOf(reader, `${txid}`, chain_key, tipHeight);
  return keys.reduce((dead, { key, state }) => {
    if (!state?.isThere) return Math.max(dead, vanishedOf(reader, key, chain_key, tipHeight, left));
    if (state.usedBy === null || (state.usedBy === txid && !state.failed)) return dead;
    return Math.max(dead, depthOf(state.block, tipHeight));
  }, displaced);
}

/** The same for a vanished transaction that made a coin. */
function vanishedOf(reader: Reader, key: string, chain_key: string, tipHeight: number, left: number): number {
  const txid = txidOf(key);
  const ours = reader.get(versionByTxid, { txid, chain_key });
  if (!ours) return deadOf(reader, txid, chain_key, tipHeight);
  return left > 0 ? deathOf(reader, ours, keyStates(reader, ours), tipHeight, left - 1) : 0;
}

/** The same for a transaction that a block excludes for another reason than a used key. */
function deadOf(reader: Reader, txid: string, chain_key: string, tipHeight: number): number {
  const row = reader.get(deadTransaction, { txid, chain_key });
  return depthOf(row ? { height: row.block_height } : null, tipHeight);
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
