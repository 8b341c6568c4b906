/** The words of the e-mail about a closed day. */
import { expect, it } from 'vitest';
import type { Business } from '../../../daemon/app/shops/directory.ts';
import { closingMail } from '../../../daemon/http/operator/closing-mail.ts';

it('has the whole sums of a currency that is usually written without decimals', () => {
  const none = { items: [], coins: [], taxes: [], fees: [], tips: '0', difference: '0', kept_tips: '0' };
  const sums = { sales: { count: 1, sum: '12.4' }, refunds: { count: 0, sum: '0', unvalued: 0 }, taken: '12.4' };
  const closing = {
    number: 1,
    from: null,
    to: '2026-01-01T12:00:00.000000Z',
    parts: [{ currency: 'HUF', ...none, ...sums }],
    books: { agree: 1, differ: [] },
    waiting: [],
    mail: null,
  };
  const { subject, body } = closingMail({ name: 'Shop', timeZone: 'UTC' } as Business, closing, 'en');
  expect(subject).toBe('Shop, closing 1: HUF\u00a012.40');
  expect(body).toContain('Tips: HUF\u00a00\n');
});
