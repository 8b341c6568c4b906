/** Exported files have what they say, or there is none. */
import { expect, it } from 'vitest';
import { booksText, invoicesText, ROWS_MAX } from '../../../renderer/screens/invoices/files.ts';

type Work = Parameters<typeof booksText>[0];

const PAGE = 500;
const work = (call: unknown, filter: Partial<Work['filter']>): Work => ({
  call: call as Work['call'],
  business: { id: 1, time_zone: 'Europe/Berlin' } as Work['business'],
  filter: { status: 'all', crypto: '', from: '', to: '', ...filter },
  signal: new AbortController().signal,
  told: () => {},
});
const REST = { status: 'unpaid', amount: '1', currency: 'EUR', payment: null, order_id: null, description: null };
const invoice = (slug: string, created_at: string) => ({
  ...REST,
  slug,
  created_at,
  origin: 'merchant',
  due_at: created_at,
});

it('of a group of invoices has the chosen days alone, in the time zone of the business', async () => {
  const invoices = [
    invoice('december', '2026-11-30T23:30:00.000Z'),
    invoice('last', '2026-11-30T22:30:00.000Z'),
    invoice('first', '2026-10-31T23:30:00.000Z'),
    invoice('october', '2026-10-31T22:30:00.000Z'),
  ];
  const asked = work(async () => ({ invoices, next: null }), {
    status: 'needs-you',
    from: '2026-11-01',
    to: '2026-11-30',
  });
  const text = await invoicesText(asked);
  expect(text?.split('\r\n').map((line) => line.split(',')[0])).toEqual(['invoice', 'last', 'first', '']);
});

it('of more rows than fit is none, not a part of them', async () => {
  let read = 0;
  const page = async () => {
    read += PAGE;
    return { rows: new Array(PAGE).fill({}), next: { at: read, part: 'receipts', after: 0 } };
  };
  expect(await booksText(work(page, {}))).toBeNull();
  expect(read).toBe(ROWS_MAX + PAGE);
});
