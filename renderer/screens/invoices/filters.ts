/** Which invoices a list has: state, coin and days. */
import type { Params } from '../../bridge.ts';

export const STATUSES = ['all', 'needs-you', 'unpaid', 'paid', 'expired', 'canceled'] as const;
const GROUPS: readonly Status[] = ['needs-you', 'expired'];
export type Status = (typeof STATUSES)[number];

/** Empty texts: any. Days as `2026-11-22`. */
export type Filter = { status: Status; crypto: string; from: string; to: string };

const DAY = /^\d{4}-\d{2}-\d{2}$/;
export const ANY = '';

export function filterOf(query: URLSearchParams): Filter {
  const day = (name: string): string => (DAY.test(query.get(name) ?? '') ? query.get(name)! : ANY);
  const status = STATUSES.find((one) => one === query.get('status')) ?? 'all';
  return { status, crypto: query.get('coin') ?? ANY, from: day('from'), to: day('to') };
}

/** Whether the list is one of the groups that are not further narrowed. */
export const isGroup = (status: Status): status is 'needs-you' | 'expired' => GROUPS.includes(status);

/** In the form of the operator API. */
export function asked({ status, crypto, from, to }: Filter): Partial<Params<'invoice.list'>> {
  if (isGroup(status)) return { only: status };
  return {
    ...(status === 'all' ? {} : { status }),
    ...(crypto && { crypto }),
    ...(from && { from }),
    ...(to && { to }),
  };
}

export const isNarrow = ({ status, crypto, from, to }: Filter): boolean =>
  status !== 'all' || crypto !== ANY || from !== ANY || to !== ANY;
