/**
 * Decides what became of a payment that was signed, and what is to be done for it: one pure function of all facts.
 *
 * A spend is one payment of ours in up to several versions. Each version shares a conflict key with each earlier one, so at
 * most one of them confirms. `decideSpend` is level-triggered: it derives the state from the present facts alone. So sent,
 * seen, confirmed, replaced, reorganised and given up are one path, and repeated facts have no effect.
 */
import { type Message, message } from './messages.ts';
import {
  eventsOf,
  isDecided,
  isOpen,
  isSigned,
  stepWithdrawal,
  type VersionFact,
  type WithdrawalEvent,
  type WithdrawalState,
} from './withdrawal.ts';

/** The purpose of a spend, and the kind of a version, that another machine made and that pays no known withdrawal. */
export const UNKNOWN = 'unknown';

/**
 * `pay`: pays withdrawals. The others pay ourselves. `bump`: a stuck deposit, on with a higher fee. `collect`: the money of a deposit
 * address, to the tank of an account chain. `fund`: gas, from the tank to a deposit address.
 */
export type Purpose = 'pay' | 'bump' | 'collect' | 'fund' | typeof UNKNOWN;

/** `cancel`: pays only ourselves. */
export type VersionKind = 'pay' | 'cancel' | typeof UNKNOWN;

/**
 * A conflict key that a transaction lacks: its coin left the chain, another transaction used it, or the transaction
 * itself used it and failed.
 */
export type Lack = {
  key: string;
  /** The transaction that used it; null: its coin is gone. */
  usedBy: string | null;
};

export type SignedFact = VersionFact & {
  /** The first missing key; null if it can be sent. */
  lack: Lack | null;
  /** Whether the coin of one of its keys left the chain. */
  vanished: boolean;
  /** Whether it is in a block, and had no effect but its fee. */
  failed: boolean;
  /** Whether its bytes are stored. Of one that was made before a restore only the keys may be known. */
  isStored: boolean;
};

/** A version that waits for its signature, with everything that decides whether it is still to be signed. */
export type PlannedFacts = {
  /** The withdrawals that it pays. `isCovered`: whether the deposits that a refund sends back are still there. */
  pays: readonly { state: WithdrawalState; isCovered: boolean }[];
  /** Its conflict keys. `isInBlock`: a block has the transaction that uses it. `isForeign`: no version of its spend is that transaction. */
  keys: readonly { isThere: boolean; isInBlock: boolean; isForeign: boolean }[];
  /** Whether every key that must be used before is used, or has a signed transaction. Else it would wait for ever. */
  isInOrder: boolean;
  /** Whether the deposit that it was to speed up is confirmed. */
  isNeedless: boolean;
  /** Whether a payment was given up after it was planned, so that both could be paid. */
  isBesideAbandoned: boolean;
};

/** Whether an unsigned version must be planned anew, or not at all. */
export function isOutdated({ pays, keys, isInOrder, isNeedless, isBesideAbandoned }: PlannedFacts): boolean {
  // a payment that was signed before may be in a block already
  const isEnded = pays.some(({ state, isCovered }) => !isSigned(state) && (state !== 'approved' || !isCovered));
  const isStale = keys.some(({ isThere, isInBlock, isForeign }) => !isThere || isInBlock || isForeign);
  return isEnded || isStale || !isInOrder || isNeedless || isBesideAbandoned;
}

export type SpendFacts = {
  /** The signed versions, the oldest first. */
  signed: readonly SignedFact[];
  /** Whether one more version waits for its signature. */
  isPlanned: boolean;
  /**
   * Whether this program made it, and it is still to be paid. Nobody here can send or replace what another machine made, and nobody may
   * send what other payments made instead.
   */
  isOurs: boolean;
  /** Whether it was given up unsigned: nobody signed it in the wallet that has its keys. A signed copy may exist all the same. */
  isAbandoned: boolean;
  /**
   * Who alone had the bytes of the newest version that can be sent: a machine that was lost, or the wallet that has the account's keys
   * and sent it; or sent only an earlier one. Null: they are here, or nobody was seen to have any.
   */
  heldBy: keyof typeof GONE | null;
  /** Whether it pays only ourselves, or nobody any more. Then an older version may be sent though the newest has no bytes here. */
  isOwn: boolean;
  /** Whether another version can take its place. Asked only while every signed version lacks a key. */
  isReplaceable: boolean;
  /** Whether the version that the chain shows must stay: nodes replace none, or a later transaction of ours spends from it. */
  isKept: boolean;
  /** From this depth on only a deeper reorganisation changes what a block decided. */
  buried: number;
};

/**
 * `stored`: how the spend is found again. Of an open one each version may be sent; a waiting one waits for its coin; a buried one
 * is decided. `holds`: whether the money of its unpaid withdrawals stays reserved. `sends`: whether a version may be sent.
 */
export const SPEND_STATES = {
  /** No version is signed yet. */
  unsigned: { stored: 'open', holds: true, sends: false },
  /** The chain shows no version, and one can be sent. */
  unseen: { stored: 'open', holds: true, sends: true },
  /** A version is in the mempool. A newer one may take its place. */
  pending: { stored: 'open', holds: true, sends: true },
  /** A version is in a block that is not buried. */
  confirmed: { stored: 'open', holds: true, sends: false },
  /** Each version lacks a key; another version may be made, or its death is not buried yet. */
  missing: { stored: 'open', holds: true, sends: false },
  /** Each version lacks a key, and no other can be made. This may never end. */
  stuck: { stored: 'waiting', holds: false, sends: false },
  /** Nobody signed it elsewhere, as far as is known. Each later payment conflicts with it (`abandoned.ts`). */
  abandoned: { stored: 'waiting', holds: false, sends: false },
  /** A version is buried. */
  settled: { stored: 'buried', holds: true, sends: false },
  /** Each version is impossible for good. */
  lost: { stored: 'buried', holds: true, sends: false },
} as const;
export type SpendState = keyof typeof SPEND_STATES;

type SpendDecision = {
  state: SpendState;
  /** The version that the chain shows, by its place in `signed`; null: none. */
  seen: number | null;
  /** The version to send now; null: none. */
  send: number | null;
  /** Why no version can be sent; null: one can, or none has to be. */
  problem: Message | null;
  /** Whether no version has to be taken by a node any more, so that refusals are over. */
  refusalsEnd: boolean;
  /** The version that is in a block without an effect; null: none. */
  failed: number | null;
};

/** By who alone had the bytes: what the operator can do while no node shows any. */
const GONE = { machine: 'wait.lost', wallet: 'wait.gone', 'wallet-earlier': 'wait.gone_newer' } as const;

/** The codes of the problems that a decision has. */
const PROBLEMS: ReadonlySet<string> = new Set([
  'wait.reverted',
  'wait.coin_lost',
  'wait.coin_stuck',
  'wait.coin_away',
  ...Object.values(GONE),
]);

/** Whether a stored problem follows from the chain's facts, so that they end it, too. */
export const isSpendProblem = (code: string): boolean => PROBLEMS.has(code);

/** The version that the chain shows: the one in the deepest block, or the one in the mempool. */
export function seenOf<V extends VersionFact>(versions: readonly V[]): V | undefined {
  return versions.reduce<V | undefined>(
    (best, one) => (one.depth !== null && one.depth > (best?.depth ?? -1) ? one : best),
    undefined,
  );
}

/** The version that counts now: an older one may pay what it canceled. */
export const newestOf = <V extends SignedFact>(signed: readonly V[]): V | undefined =>
  signed.findLast(({ lack }) => lack === null);

export function decideSpend(facts: SpendFacts): SpendDecision {
  const { signed } = facts;
  const seen = seenOf(signed);
  const state = stateOf(facts, seen);
  const { stored, sends } = SPEND_STATES[state];
  const placeOf = (fact: SignedFact | undefined): number | null => (fact ? signed.indexOf(fact) : null);
  const newest = newestOf(facts.isOwn ? signed.filter(({ isStored }) => isStored) : signed);
  const isDue = sends && newest?.isStored && newest !== seen && !(seen && facts.isKept);
  return {
    state,
    seen: placeOf(seen),
    send: isDue ? placeOf(newest) : null,
    problem: problemOf(facts, state),
    refusalsEnd: stored === 'buried' || state === 'confirmed' || (seen !== undefined && seen === signed.at(-1)),
    failed: placeOf(signed.find(({ failed }) => failed)),
  };
}

function stateOf(
  { signed, isPlanned, isOurs, isAbandoned, isReplaceable, buried }: SpendFacts,
  seen: VersionFact | undefined,
): SpendState {
  const isOver = !isPlanned && signed.length > 0 && signed.every((one) => isDecided(one, buried));
  if (isOver) return seen ? 'settled' : 'lost';
  if (seen) return (seen.depth ?? 0) > 0 ? 'confirmed' : 'pending';
  if (isAbandoned && !isPlanned) return 'abandoned';
  if (!isOurs && !isPlanned) return 'stuck';
  if (signed.length === 0) return 'unsigned';
  if (signed.some(({ lack }) => lack === null)) return 'unseen';
  const isStuck = !isPlanned && !isReplaceable && signed.some(({ vanished }) => vanished);
  return isStuck ? 'stuck' : 'missing';
}

function problemOf({ signed, isPlanned, heldBy, buried }: SpendFacts, state: SpendState): Message | null {
  if (state === 'unseen' && heldBy !== null && !isPlanned) return message(GONE[heldBy]);
  const lack = signed.at(-1)?.lack;
  if ((state !== 'missing' && state !== 'stuck') || !lack || signed.some((one) => one.lack === null)) return null;
  const failed = signed.find((one) => one.failed);
  if (failed) return message('wait.reverted', { tx: `${failed.lack?.usedBy}`, buried, depth: failed.dead });
  const { key, usedBy } = lack;
  const coin = usedBy === null ? message('coin.left', { coin: key }) : message('coin.spent', { coin: key, tx: usedBy });
  const depth = Math.max(...signed.map(({ dead }) => dead));
  if (depth > 0) return message('wait.coin_lost', { coin, buried, depth });
  return message(state === 'stuck' ? 'wait.coin_stuck' : 'wait.coin_away', { coin });
}

/** All that decides whether a payment gets another version. */
export type ReplaceFacts = {
  /** The signed versions, the oldest first. */
  signed: readonly SignedFact[];
  /** Whether another version waits for its signature, and cannot be dropped. */
  isSigning: boolean;
  /** Whether no node has it, and the newest version that can be sent is refused. */
  isRefused: boolean;
  /** Whether the next version can share a conflict key with each one before. */
  hasKeys: boolean;
  /** Whether a later transaction of ours spends from a version, and would fall with it. */
  hasDescendant: boolean;
};

/** Why a payment gets no other version now. */
export type Fixed = 'final' | 'nothing' | 'signing' | 'confirmed' | 'no_coin' | 'descendant';

/**
 * Null: it may get another version. `isReplacing`: whether nodes take another transaction in its place. Where they do not, only what
 * they refuse, or what no node has and nobody here can send, gets one. `facts`: null if nothing of it was signed, or it is over.
 */
export function whyFixed(isReplacing: boolean, facts: ReplaceFacts | null): Fixed | null {
  const signed = facts?.signed ?? [];
  const isUnseen = signed.length > 0 && signed.every(({ depth }) => depth === null);
  const isUnsendable = isUnseen && !newestOf(signed)?.isStored;
  if (!isReplacing && !isUnsendable && !facts?.isRefused) return 'final';
  if (!facts) return 'nothing';
  if (signed.length === 0 || facts.isSigning) return 'signing';
  if (signed.some(({ depth }) => (depth ?? 0) > 0)) return 'confirmed';
  if (!facts.hasKeys) return 'no_coin';
  return facts.hasDescendant ? 'descendant' : null;
}

/** Why a payment ended that nobody signed in the wallet that has its keys. */
const UNSIGNED: ReadonlySet<string | undefined> = new Set(['ended.unsigned', 'ended.unsigned_why']);

/** Whether a payment was given up unsigned: all that it pays ended so. */
export const isAbandoned = (withdrawals: readonly { state: WithdrawalState; reason: Message | null }[]): boolean =>
  withdrawals.length > 0 && withdrawals.every(({ state, reason }) => state === 'failed' && UNSIGNED.has(reason?.code));

export type WithdrawalDecision = {
  /** In the order in which they apply. */
  events: WithdrawalEvent[];
  /** Whether the version that the chain shows pays it. */
  isPaying: boolean;
  /** Why none of its versions can ever confirm; null unless the events say `lose`. */
  loss: 'ended.canceled' | 'ended.reverted' | 'ended.conflict' | null;
  /** Whether its money stays reserved. */
  held: boolean;
  /** Why it waits; null: it does not, or it is decided. */
  problem: Message | null;
  /** Whether an alert about its missing coin is over. */
  isFound: boolean;
};

/**
 * The decision about one withdrawal of a spend. `paying`: the versions that pay it, by their places. Null if it follows
 * from no fact of the chain, because nothing is signed for it.
 */
export function decideWithdrawal(
  { signed, isAbandoned, buried }: SpendFacts,
  { state: spend, seen, problem }: SpendDecision,
  { state, paying }: { state: WithdrawalState; paying: readonly number[] },
): WithdrawalDecision | null {
  if (!isSigned(state) && state !== 'failed') return null;
  // it has ended for a better reason than the facts have
  if (isAbandoned && seen === null) {
    return { events: [], isPaying: false, loss: null, held: false, problem: null, isFound: true };
  }
  const versions = signed.filter((_, place) => paying.includes(place));
  const events = eventsOf(versions, buried);
  const after = events.reduce((now, event) => stepWithdrawal(now, event)?.state ?? now, state);
  const isPaying = seen !== null && paying.includes(seen);
  return {
    events,
    isPaying,
    loss: events.includes('lose') ? lossOf(versions, seen) : null,
    held: isOpen(after) && !isPaying && SPEND_STATES[spend].holds,
    problem: isOpen(after) ? problem : null,
    isFound: seen !== null || !isOpen(after),
  };
}

function lossOf(versions: readonly SignedFact[], seen: number | null): NonNullable<WithdrawalDecision['loss']> {
  if (seen !== null) return 'ended.canceled';
  return versions.some(({ failed }) => failed) ? 'ended.reverted' : 'ended.conflict';
}
