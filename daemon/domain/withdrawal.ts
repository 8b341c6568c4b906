/**
 * The life of a withdrawal, as a table of what may follow on what, and what the chain's facts mean for it.
 *
 * Every transaction ever signed for a withdrawal shares an input with each earlier one, so that of all versions one at
 * most can be on the chain. What spends their inputs now is therefore the whole truth about a signed withdrawal:
 * `eventsOf` turns it into events, and the same facts twice have no effect.
 */
import type { ChainId } from './assets.ts';

export const WITHDRAWAL_STATES = [
  'requested',
  'approved',
  'signed',
  'broadcast',
  'completed',
  'rejected',
  'failed',
] as const;
export type WithdrawalState = (typeof WITHDRAWAL_STATES)[number];

/**
 * `approve`, `reject`: the operator, or a policy. `return`: the signer does not take the approval, so that the operator is
 * asked again. `expire`: nobody decided, or nothing was signed, in time. `sign`: its signed bytes are stored. `send`: a
 * node has them. `pay`: a block holds a version that pays it. `unpay`: no block does. `lose`: none of the versions
 * that pay it can ever be in one.
 */
export const WITHDRAWAL_EVENTS = [
  ...(['approve', 'reject', 'return', 'expire'] as const),
  ...(['sign', 'send', 'pay', 'unpay', 'lose'] as const),
] as const;
export type WithdrawalEvent = (typeof WITHDRAWAL_EVENTS)[number];

/** `same`: a fact that changes nothing here. `refused`: cannot be asked for, or true, in this state. */
export type Cell = WithdrawalState | 'same' | 'refused';

const no = 'refused';

/**
 * `rejected` was never signed, so nothing can follow. The other two ends have the last word from the chain: a
 * reorganisation takes `completed` back, and a version that was believed dead and is in a block after all has paid.
 */
export const TRANSITIONS: Readonly<Record<WithdrawalState, Readonly<Record<WithdrawalEvent, Cell>>>> = {
  requested: {
    ...{ approve: 'approved', reject: 'rejected', return: 'same', expire: 'rejected' },
    ...{ sign: no, send: no, pay: no, unpay: no, lose: no },
  },
  approved: {
    ...{ approve: no, reject: 'rejected', return: 'requested', expire: 'rejected' },
    ...{ sign: 'signed', send: no, pay: no, unpay: no, lose: no },
  },
  signed: {
    ...{ approve: no, reject: no, return: no, expire: no },
    ...{ sign: 'same', send: 'broadcast', pay: 'completed', unpay: 'same', lose: 'failed' },
  },
  broadcast: {
    ...{ approve: no, reject: no, return: no, expire: no },
    ...{ sign: 'same', send: 'same', pay: 'completed', unpay: 'same', lose: 'failed' },
  },
  completed: {
    ...{ approve: no, reject: no, return: no, expire: no },
    ...{ sign: no, send: 'same', pay: 'same', unpay: 'broadcast', lose: 'failed' },
  },
  rejected: {
    ...{ approve: no, reject: no, return: no, expire: no },
    ...{ sign: no, send: no, pay: no, unpay: no, lose: no },
  },
  failed: {
    ...{ approve: no, reject: no, return: no, expire: no },
    ...{ sign: no, send: 'same', pay: 'completed', unpay: 'same', lose: 'same' },
  },
};

/** What the operator is told of: a payment undone by a reorganisation, or found on the chain after it was given up. */
export type WithdrawalAlert = 'undone' | 'revived' | 'lost';

export type Step = { state: WithdrawalState; alert: WithdrawalAlert | null };

/** The state that follows, or null when the event is refused in this one. */
export function stepWithdrawal(state: WithdrawalState, event: WithdrawalEvent): Step | null {
  const next = TRANSITIONS[state][event];
  if (next === 'refused') return null;
  if (next === 'same') return { state, alert: null };
  return { state: next, alert: alertOf(state, next) };
}

function alertOf(from: WithdrawalState, to: WithdrawalState): WithdrawalAlert | null {
  if (from === 'completed') return to === 'broadcast' ? 'undone' : 'lost';
  return from === 'failed' ? 'revived' : null;
}

/** Whether a withdrawal in this state can still pay its recipient: its amount is spoken for. */
export function isOpen(state: WithdrawalState): boolean {
  return state === 'requested' || state === 'approved' || state === 'signed' || state === 'broadcast';
}

/** Whether signed bytes exist for a withdrawal in this state, or may. */
export function isSigned(state: WithdrawalState): boolean {
  return state === 'signed' || state === 'broadcast' || state === 'completed';
}

/** What the merchant API calls a state. */
export function apiStatus(state: WithdrawalState): 'pending' | 'completed' | 'failed' {
  if (state === 'completed') return 'completed';
  return isOpen(state) ? 'pending' : 'failed';
}

/** From this depth on a transaction counts as final: what conflicts with it is dead, what it left unspent is free. */
export const BURIED_BLOCKS: Readonly<Record<ChainId, number>> = { BTC: 6, LTC: 12, BCH: 12, XMR: 10, ETH: 12, BSC: 15 };

/** What the chain says of one signed transaction. */
export type VersionFact = {
  /** In so many blocks; 0: in the mempool; null: nowhere. */
  depth: number | null;
  /** So many blocks hold what makes it impossible; 0: none does. */
  dead: number;
};

/** Whether what is known of a version can be undone by no reorganisation that is less deep than `buried` blocks. */
export function isDecided({ depth, dead }: VersionFact, buried: number): boolean {
  return (depth ?? 0) >= buried || dead >= buried;
}

/**
 * What the facts about the versions that pay it mean for one signed withdrawal, in the order in which they are applied. A
 * withdrawal that no signed version pays is told nothing.
 */
export function eventsOf(paying: readonly VersionFact[], buried: number): WithdrawalEvent[] {
  if (paying.length === 0) return [];
  if (paying.some(({ depth }) => (depth ?? 0) >= 1)) return ['pay'];
  if (paying.every(({ dead }) => dead >= buried)) return ['lose'];
  return paying.some(({ depth }) => depth === 0) ? ['unpay', 'send'] : ['unpay'];
}
