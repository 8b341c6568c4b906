/** Approval policies for withdrawals, and warnings about addresses. Everything here is pure. */

import { type Message, message } from './messages.ts';
import { MS_PER_DAY } from './time.ts';

export const POLICY_MODES = ['manual', 'automatic'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** Amounts are 1e-8 US dollars; null: no limit. */
export type Policy = {
  mode: PolicyMode;
  perWithdrawalUsd: bigint | null;
  perDayUsd: bigint | null;
  addressBookOnly: boolean;
};

export const MANUAL: Policy = { mode: 'manual', perWithdrawalUsd: null, perDayUsd: null, addressBookOnly: false };
/** The default on the sandbox, whose coins are worthless. */
export const WITHOUT_ASKING: Policy = { ...MANUAL, mode: 'automatic' };

export const POLICY_WINDOW_MS = MS_PER_DAY;

/**
 * `usd`: the value of this withdrawal; null while no rate is known. `usedUsd`: the value approved by the policy in the
 * last 24 hours. `isDoubtful`: its address begins and ends like another one that is known, and the operator does not know it.
 */
export type PolicyCase = { usd: bigint | null; usedUsd: bigint; inAddressBook: boolean; isDoubtful: boolean };

/** Why a withdrawal needs the operator's approval, in words; null if the policy approves it. */
export function whyAsk(policy: Policy, { usd, usedUsd, inAddressBook, isDoubtful }: PolicyCase): Message | null {
  if (policy.mode === 'manual') return message('ask.by_hand');
  if (policy.addressBookOnly && !inAddressBook) return message('ask.address');
  if (isDoubtful) return message('ask.lookalike');
  const { perWithdrawalUsd, perDayUsd } = policy;
  if (perWithdrawalUsd === null && perDayUsd === null) return null;
  if (usd === null) return message('ask.no_rate');
  if (perWithdrawalUsd !== null && usd > perWithdrawalUsd) return message('ask.each');
  if (perDayUsd !== null && usedUsd + usd > perDayUsd) return message('ask.day');
  return null;
}

const PREFIX = /^(?:(?:bc|tb|bcrt|ltc|tltc|rltc)1[qp]|(?:bitcoincash|bchtest|bchreg):[qp]|0x|[48][0-9AB]|[13LMmn2Q])/;
const COMPARED_START = 3;
const COMPARED_END = 3;

/**
 * The characters of an address that people compare: the first and the last ones after the prefix that all addresses of
 * its kind share. An address with the same ones as another was probably made to be confused with it ("address
 * poisoning").
 */
export function lookalikeKeyOf(address: string): string {
  const rest = address.replace(PREFIX, '');
  return `${rest.slice(0, COMPARED_START)}…${rest.slice(-COMPARED_END)}`.toLowerCase();
}

/** Whether two such keys share one end alone, as one in 32,000 addresses in base 32 does by chance. */
export function sharesOneEnd(key: string, other: string): boolean {
  const [start, end] = key.split('…');
  const [otherStart, otherEnd] = other.split('…');
  return (start === otherStart) !== (end === otherEnd);
}

/** An address in pieces for comparing all of it: its prefix (CashAddr's, or 0x), then groups of four. Joined, it is the address. */
export function inGroups(address: string): string[] {
  const prefix = /^(?:[a-z]+:|0x)/.exec(address)?.[0] ?? '';
  const groups = address.slice(prefix.length).match(/.{1,4}/gsu) ?? [];
  return prefix ? [prefix, ...groups] : groups;
}

const FEE_WARNING_PERCENT = 5n;

/** Whether a fee is so high that a warning is shown. */
export function isFeeHigh(fee: bigint, amount: bigint): boolean {
  return fee * 100n > amount * FEE_WARNING_PERCENT;
}
