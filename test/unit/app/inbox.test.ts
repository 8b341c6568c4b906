/** Deposits of the inbox: what becomes of those that the operator counts for their invoice, and of those that vanish. */
import { beforeEach, describe, expect, it } from 'vitest';
import { decideInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { openOverpaid } from '../../../daemon/app/spends/refund-left.ts';
import { acceptDeposit, keepDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import type { Context } from '../../../daemon/http/operator/context.ts';
import { inboxList } from '../../../daemon/http/operator/overview.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import { invoiceById } from '../../../daemon/store/queries/invoices.ts';
import { insertRefundLink } from '../../../daemon/store/queries/refund-links.ts';
import { Bench, HOUR, type Paid } from './bench.ts';

const DEEP = 6;

let bench: Bench;
let paid: Paid;
beforeEach(async () => {
  bench = await Bench.open();
  paid = await bench.invoice({ dueAt: Date.UTC(2026, 0, 1, 23) });
});

const invoice = () => bench.app.store.get(invoiceById, { id: paid.id })!;
const items = () => bench.app.store.all(inboxBelow, { id: Number.MAX_SAFE_INTEGER, limit: 10 });
const accept = (id: number) => bench.app.store.write((tx) => acceptDeposit(bench.app, tx, id));
const comes = (units: bigint, txid: string, back: number | null = DEEP - 1) =>
  bench.tell({
    ...(back !== null && { blocks: DEEP }),
    credits: () => [bench.credit(paid.targetId, units, back, { txid })],
  });

/** The invoice is canceled because nothing came in time. */
async function canceled(): Promise<void> {
  bench.advance(60 * HOUR);
  bench.rate('60000');
  await bench.tell();
  expect(bench.invoiceStatus(paid.id)).toBe('canceled');
}

it('one that is too much for a canceled invoice pays it, and what is too much can be sent back', async () => {
  await canceled();
  await comes(paid.units * 2n, 'late');
  const [item] = items();
  expect(item).toMatchObject({ reason: 'late', state: 'open', part: null });
  await accept(item!.id);
  expect(bench.invoiceStatus(paid.id)).toBe('paid');
  expect(items()).toMatchObject([{ id: item!.id, reason: 'overpaid', state: 'open', part: paid.units }]);
  expect(openOverpaid(bench.app.store, invoice())).toMatchObject({ units: paid.units, isConfirmed: true });
});

it('one that waits for a decision is told, however many crumbs and others came after it', async () => {
  await comes(paid.units, 'full');
  await comes(paid.units, 'again');
  const [waits] = items();
  for (const txid of ['dust 1', 'dust 2', 'dust 3']) await comes(1_000n, txid);
  await comes(paid.units, 'third');
  const [decided] = items();
  await accept(decided!.id);
  const told = (asked: { limit: number; waiting?: string }) =>
    inboxList({ app: bench.app } as Context, asked).items.map(({ id }) => id);
  expect(told({ limit: 4 })).not.toContain(waits!.id);
  expect(told({ limit: 4, waiting: `${bench.businessId}` })).toEqual([waits!.id]);
  expect(() => told({ limit: 4, waiting: 'nobody' })).toThrow(expect.objectContaining({ code: 'business.not_found' }));
});

it('one that suffices pays it, and is decided', async () => {
  await canceled();
  await comes(paid.units, 'late');
  await accept(items()[0]!.id);
  expect(bench.invoiceStatus(paid.id)).toBe('paid');
  expect(items()).toMatchObject([{ reason: 'late', state: 'accepted', part: null }]);
});

it('one that becomes locked afterwards is shown as locked', async () => {
  await canceled();
  await comes(paid.units, 'late', null);
  await accept(items()[0]!.id);
  expect(bench.invoiceStatus(paid.id)).toBe('unpaid');
  await bench.tell({
    blocks: 1,
    credits: () => [bench.credit(paid.targetId, paid.units, 0, { txid: 'late', locked: true })],
  });
  expect(items()).toMatchObject([{ reason: 'locked', state: 'open' }]);
});

it.each<[what: string, decide: (id: number) => Promise<void>]>([
  ['waits for a decision', async () => {}],
  ['was kept', (id) => bench.app.store.write((tx) => keepDeposit(bench.app, tx, id))],
])('one that pays its invoice, and of which too much %s, counts again once it is locked no more', async (_, decide) => {
  await comes(paid.units * 2n, 'twice');
  await decide(items()[0]!.id);
  const before = items();
  expect(before).toMatchObject([{ reason: 'overpaid', part: paid.units }]);
  const twice = (back: number, locked: boolean) => [
    bench.credit(paid.targetId, paid.units * 2n, back, { txid: 'twice', locked }),
  ];
  await bench.tell({ orphan: DEEP, blocks: DEEP + 1, credits: () => twice(DEEP, true) });
  expect([bench.payment(paid.id).received, bench.alerts()]).toEqual([0n, expect.arrayContaining(['invoice.undone'])]);
  await bench.tell({ orphan: DEEP + 1, blocks: DEEP + 2, credits: () => twice(DEEP + 1, false) });
  expect([bench.payment(paid.id).received, bench.row('twice:0').claim]).toEqual([paid.units * 2n, 'invoice']);
  expect(bench.alerts()).not.toContain('invoice.undone');
  expect(items()).toEqual(before);
});

it('one of a refund link keeps its number after it vanished, or the link would pay out the next one', async () => {
  await comes(paid.units, 'full');
  const later = (txid: string) => [bench.credit(paid.targetId, 5_000n, null, { txid })];
  await bench.tell({ credits: () => later('first') });
  const [first] = items();
  const now = { created_at: bench.at, updated_at: bench.at, ends_at: bench.at + 90 * 24 * HOUR };
  const open = {
    state: 'open',
    address: null,
    given_at: null,
    withdrawal_id: null,
    problem: null,
    units: null,
  } as const;
  const of = { business_id: bench.businessId, invoice_id: null, inbox_id: first!.id, asset: 'BTC' } as const;
  await bench.app.store.write((tx) => tx.run(insertRefundLink, { slug: 'abcdefghijkl', ...of, ...open, ...now }));
  await bench.tell();
  bench.advance(25 * HOUR);
  await bench.tell();
  await bench.tell({ credits: () => later('second') });
  expect(items().map(({ id, outpoint }) => [id - first!.id, outpoint])).toEqual([
    [1, 'second:0'],
    [0, 'first:0'],
  ]);
});

describe('too little for an invoice that the operator canceled before its deadline', () => {
  beforeEach(async () => {
    await bench.app.store.write((tx) => decideInvoice(bench.app, invoice(), 'cancel', tx));
    await comes(paid.units / 2n, 'half');
    await accept(items()[0]!.id);
  });

  it('leaves it canceled, and is counted', () => {
    expect([bench.invoiceStatus(paid.id), bench.payment(paid.id).status]).toEqual(['canceled', 'overdue']);
    expect(bench.payment(paid.id).received).toBe(paid.units / 2n);
  });

  it('pays it together with the rest', async () => {
    await comes(paid.units - paid.units / 2n, 'rest');
    await accept(items()[0]!.id);
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
    expect(items().map(({ state }) => state)).toEqual(['accepted', 'accepted']);
  });
});
