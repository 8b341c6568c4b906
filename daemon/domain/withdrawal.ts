/**
 * The state machine of a withdrawal, and the events that follow from the chain's facts.
 *
 * Every transaction signed for a withdrawal shares an input with each earlier one, so that at most one of them can
 * confirm. The spenders of these inputs therefore determine the state of a signed withdrawal: `eventsOf` turns them
 * into events, and repeated facts have no effect.
 */
import type { ChainId } from './assets.ts';
import { MS_PER_DAY } from './time.ts';

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

/** How long a request waits for a decision, and an approval for the signer, in milliseconds. */
export const APPROVAL_HOLDS_MS = 7 * MS_PER_DAY;

/** How soon a withdrawal should be confirmed. `normal`: what those get that nobody chose for. */
export const SPEEDS = ['slow', 'normal', 'fast'] as const;
export type Speed = (typeof SPEEDS)[number];

/** Within how many blocks. */
export const TARGET_BLOCKS: Readonly<Record<Speed, number>> = { slow: 24, normal: 6, fast: 2 };

/** The time between two blocks, by the rules of each chain whose fees are bids for a place in them. */
export const BID_BLOCK_SECONDS: Readonly<Partial<Record<ChainId, number>>> = { BTC: 600, LTC: 150, BCH: 600, XMR: 120 };

/**
 * `approve`, `reject`: by the operator or a policy. `return`: the signer refuses the approval, so the operator is asked
 * again. `expire`: no decision or no signature came in time. `sign`: the signed bytes are stored. `send`: a node has
 * accepted them. `abandon`: another wallet has the keys, and nobody signed it there. `pay`: a block contains a version that pays it. `unpay`: no block does any more. `lose`: none of the
 * versions that pay it can ever confirm.
 */
export const WITHDRAWAL_EVENTS = [
  'approve',
  'reject',
  'return',
  'expire',
  'sign',
  'send',
  'abandon',
  'pay',
  'unpay',
  'lose',
] as const;
export type WithdrawalEvent = (typeof WITHDRAWAL_EVENTS)[number];

/** `same`: the event has no effect in this state. */
type Cell = WithdrawalState | 'same';

/**
 * The events that each state allows; any other is refused. A rejected withdrawal was never signed, so no event follows.
 * The other two final states can still change by facts of the chain: a reorganisation undoes `completed`, and one that
 * is deeper than `buried` undoes `failed`.
 */
const TRANSITIONS: Readonly<Record<WithdrawalState, Readonly<Partial<Record<WithdrawalEvent, Cell>>>>> = {
  requested: { approve: 'approved', reject: 'rejected', return: 'same', expire: 'rejected' },
  approved: { reject: 'rejected', return: 'requested', expire: 'rejected', sign: 'signed' },
  signed: { sign: 'same', send: 'broadcast', abandon: 'failed', pay: 'completed', unpay: 'same', lose: 'failed' },
  broadcast: { sign: 'same', send: 'same', pay: 'completed', unpay: 'same', lose: 'failed' },
  completed: { send: 'same', pay: 'same', unpay: 'broadcast', lose: 'failed' },
  rejected: {},
  failed: { send: 'same', pay: 'completed', unpay: 'broadcast', lose: 'same' },
};

/** Alerts for the operator: a payment or a failure undone by a reorganisation, or one confirmed after it was given up. */
type WithdrawalAlert = 'undone' | 'reopened' | 'revived' | 'lost';

type Step = { state: WithdrawalState; alert: WithdrawalAlert | null };

/** The next state, or null if the event is refused. */
export function stepWithdrawal(state: WithdrawalState, event: WithdrawalEvent): Step | null {
  const next = TRANSITIONS[state][event];
  if (next === undefined) return null;
  if (next === 'same') return { state, alert: null };
  return { state: next, alert: alertOf(state, next) };
}

function alertOf(from: WithdrawalState, to: WithdrawalState): WithdrawalAlert | null {
  if (from === 'completed') return to === 'broadcast' ? 'undone' : 'lost';
  if (from !== 'failed') return null;
  return to === 'broadcast' ? 'reopened' : 'revived';
}

/** Whether a withdrawal in this state can still pay its recipient, so that its amount is reserved. */
export function isOpen(state: WithdrawalState): boolean {
  return state === 'requested' || state === 'approved' || state === 'signed' || state === 'broadcast';
}

/** Whether signed bytes exist for a withdrawal in this state, or may exist. */
export function isSigned(state: WithdrawalState): boolean {
  return state === 'signed' || state === 'broadcast' || state === 'completed';
}

export function apiStatus(state: WithdrawalState): 'pending' | 'completed' | 'failed' {
  if (state === 'completed') return 'completed';
  return isOpen(state) ? 'pending' : 'failed';
}

/** At this depth a transaction counts as final: conflicting ones are dead, and coins that it did not spend are free. */
export const BURIED_BLOCKS: Readonly<Record<ChainId, number>> = { BTC: 6, LTC: 12, BCH: 12, XMR: 10, ETH: 12, BSC: 15 };

/** The state of one signed transaction on the chain. */
export type VersionFact = {
  /** Confirmations; 0: in the mempool; null: neither. */
  depth: number | null;
  /** Confirmations of a conflicting transaction; 0: there is none. */
  dead: number;
};

/** Whether only a reorganisation deeper than `buried` blocks could change the state of a version. */
export function isDecided({ depth, dead }: VersionFact, buried: number): boolean {
  return (depth ?? 0) >= buried || dead >= buried;
}

/** The events that follow from the versions that pay a withdrawal, in their order. None if no signed one does. */
export function eventsOf(paying: readonly VersionFact[], buried: number): WithdrawalEvent[] {
  if (paying.length === 0) return [];
  if (paying.some(({ depth }) => (depth ?? 0) >= 1)) return ['pay'];
  if (paying.every(({ dead }) => dead >= buried)) return ['lose'];
  return paying.some(({ depth }) => depth === 0) ? ['unpay', 'send'] : ['unpay'];
}
