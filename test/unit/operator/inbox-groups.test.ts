/** The inbox where one transaction made many deposits. */
import { describe, expect, it } from 'vitest';
import { inboxAdvice, inboxText } from '../../../daemon/cli/inbox-text.ts';
import { groupsOf, type InboxItem, sumOf } from '../../../daemon/operator/inbox-groups.ts';

const deposit = (id: number, tx: string, changed: Partial<InboxItem> = {}): InboxItem => ({
  id,
  business_id: 1,
  business: 'Shop',
  invoice: 'Abcdefghijkl',
  reason: 'extra',
  advice: null,
  state: 'open',
  refund: null,
  decided_at: null,
  chain: 'mainnet:LTC',
  crypto: 'LTC',
  amount: '0.1',
  usd_value: '8.05',
  address: `ltc1q${id}`,
  outpoint: `${tx.repeat(64)}:${id}`,
  block_height: 7,
  confirmed: true,
  gone: false,
  created_at: '2030-01-01T00:00:00.000Z',
  ...changed,
});
const idsOf = (groups: InboxItem[][]): number[][] => groups.map((group) => group.map(({ id }) => id));
const many = Array.from({ length: 200 }, (_, i) => deposit(300 - i, 'a'));

describe('deposits of one transaction', () => {
  it('are one group at the place of the newest, with their exact sum', () => {
    const groups = groupsOf([deposit(400, 'b'), ...many.slice(0, 100), deposit(201, 'c'), ...many.slice(100)]);
    expect(groups.map(({ length }) => length)).toEqual([1, 200, 1]);
    expect(idsOf(groups)[1]?.slice(0, 2)).toEqual([300, 299]);
    expect(sumOf(groups[1]!)).toBe('20');
  });

  it('stay apart while they are two, and where they differ', () => {
    const two = [deposit(2, 'a'), deposit(1, 'a')];
    expect(idsOf(groupsOf(two))).toEqual([[2], [1]]);
    const refund = { id: 9, state: 'requested' as const, tx_id: null, deadline_at: null };
    const others = [
      deposit(9, 'a', { state: 'refunding', refund }),
      deposit(8, 'a', { state: 'refunding', refund: { ...refund, id: 10 } }),
      deposit(7, 'a', { state: 'kept' }),
      deposit(6, 'a', { crypto: 'USDT_ERC20', chain: 'mainnet:ETH' }),
      deposit(5, 'a', { reason: 'late' }),
      deposit(4, 'a', { gone: true }),
    ];
    expect(idsOf(groupsOf([...others, ...two]))).toEqual([[9], [8], [7], [6], [5], [4], [2], [1]]);
  });

  it('are one line of the command line, which opens with --each', () => {
    const lines = inboxText([deposit(400, 'b'), ...many], false)
      .trim()
      .split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^ +400 +Shop .* 0\.1 LTC +8\.05 +extra +open +Abcdefghijkl +ltc1q400 +b{64}:400$/);
    expect(lines[2]).toMatch(
      /^101-300 +Shop .* 20 LTC +1610 +extra +open +Abcdefghijkl +200 payments in one transaction +a{64}$/,
    );
    expect(inboxText(many, true).trim().split('\n')).toHaveLength(201);
    expect(inboxText([], false)).toBe('The inbox is empty.\n');
  });

  it('have their choices said once', () => {
    const wrong = many.map((one) => ({ ...one, advice: 'Send it back.' }));
    expect(inboxAdvice([...wrong, deposit(1, 'c')], false)).toEqual(['101-300: Send it back.']);
    expect(inboxAdvice(wrong, true)).toHaveLength(200);
  });
});
