/**
 * Deposits of one transaction as one row of a list: with a single transaction anybody can pay hundreds of addresses, or
 * one address hundreds of times.
 */
import type { Result } from '../contract/operator.ts';
import { type AssetId, assetOf } from '../domain/assets.ts';
import { formatUnits, parseDecimal } from '../domain/money.ts';

export type InboxItem = Result<'inbox.list'>['items'][number];

/** Fewer are shown one by one. */
const TOGETHER_MIN = 3;

/** The transaction of a deposit. */
export const txidOf = ({ outpoint }: Pick<InboxItem, 'outpoint'>): string => outpoint.slice(0, outpoint.indexOf(':'));

/** Where all are alike, a row can say for the group what it says for one. A refund is of one deposit, which stays alone. */
const keyOf = (item: InboxItem): string =>
  [
    item.refund ? item.id : txidOf(item),
    item.chain,
    item.business_id,
    item.crypto,
    item.reason,
    item.state,
    item.confirmed,
    item.gone,
  ].join(' ');

/** The deposits in their order, those of a group at the place of its first one. */
export function groupsOf<T extends InboxItem>(items: readonly T[]): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return items.flatMap((item): T[][] => {
    const group = groups.get(keyOf(item)) ?? [];
    if (group.length < TOGETHER_MIN) return [[item]];
    return group[0] === item ? [group] : [];
  });
}

/** The sum of the amounts of a group, exact. */
export function sumOf(group: readonly InboxItem[]): string {
  const asset = assetOf(group[0]?.crypto as AssetId);
  return formatUnits(
    group.reduce((sum, { amount }) => sum + (parseDecimal(amount, asset.decimals) ?? 0n), 0n),
    asset,
  );
}
