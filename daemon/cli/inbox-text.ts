/** The inbox as text. */
import { FIAT_DECIMALS, formatDecimal, parseDecimal } from '../domain/money.ts';
import { groupsOf, type InboxItem, sumOf, txidOf } from '../operator/inbox-groups.ts';
import { table, when } from './table.ts';

const REFUND: Record<NonNullable<InboxItem['refund']>['state'], string> = {
  requested: 'waits for your approval',
  approved: 'approved, not sent yet',
  signed: 'signed, not sent yet',
  broadcast: 'on the way',
  completed: 'sent back',
  rejected: 'not sent: rejected',
  failed: 'not sent: failed',
};

/** The rows of a list. `isEach`: deposits of one transaction are not put together. */
const rowsOf = (items: readonly InboxItem[], isEach: boolean): InboxItem[][] =>
  isEach ? items.map((item) => [item]) : groupsOf(items);

export function inboxText(items: readonly InboxItem[], isEach: boolean): string {
  return table(
    ['>NO', 'BUSINESS', 'SINCE', '>AMOUNT', '>USD', 'WHY', 'STATE', 'INVOICE', 'ADDRESS', 'TRANSACTION'],
    rowsOf(items, isEach).flatMap((group) => {
      const [item] = group;
      if (!item) return [];
      const isOne = group.length === 1;
      return [
        [
          numbersOf(group),
          item.business,
          when(item.created_at),
          `${sumOf(group)} ${item.crypto}`,
          dollarsOf(group),
          item.reason,
          stateOf(item),
          sharedBy(group, ({ invoice }) => invoice ?? '-'),
          isOne ? item.address : `${group.length} payments in one transaction`,
          isOne ? item.outpoint : txidOf(item),
        ],
      ];
    }),
    'The inbox is empty.',
  );
}

/** The choices of the operator, a line for each row. */
export function inboxAdvice(items: readonly InboxItem[], isEach: boolean): string[] {
  return rowsOf(items, isEach).flatMap((group) => {
    const advice = group[0]?.advice ?? null;
    return advice === null ? [] : [`${numbersOf(group)}: ${advice}`];
  });
}

/** The number of one; the lowest and the highest of several. */
function numbersOf(group: readonly InboxItem[]): string {
  const ids = group.map(({ id }) => id);
  return ids.length === 1 ? `${ids[0]}` : `${Math.min(...ids)}-${Math.max(...ids)}`;
}

function dollarsOf(group: readonly InboxItem[]): string {
  const known = group.map(({ usd_value }) => (usd_value === null ? null : parseDecimal(usd_value, FIAT_DECIMALS)));
  if (known.includes(null)) return '-';
  return formatDecimal(
    known.reduce<bigint>((sum, one) => sum + (one ?? 0n), 0n),
    FIAT_DECIMALS,
  );
}

function sharedBy(group: readonly InboxItem[], of: (item: InboxItem) => string): string {
  const all = new Set(group.map(of));
  return all.size === 1 ? `${[...all][0]}` : `${all.size} different`;
}

function stateOf({ gone, confirmed, state, refund }: InboxItem): string {
  const decision = refund ? `${REFUND[refund.state]}: withdrawal ${refund.id}` : state;
  return gone ? 'gone' : confirmed ? decision : `${decision}, unconfirmed`;
}
