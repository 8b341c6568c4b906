/** What a chain's facts are worth, and what follows from that: confirmations, the inbox, deadlines. */
import { beforeEach, describe, expect, it } from 'vitest';
import { askAbsence, tellUnvouched } from '../../../daemon/app/invoices/ask-absence.ts';
import { refreshQuote } from '../../../daemon/app/invoices/payments.ts';
import { settleInvoice } from '../../../daemon/app/invoices/settle.ts';
import { acceptDeposit, keepDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import type { Credit } from '../../../daemon/domain/chain.ts';
import { FLAG } from '../../../daemon/domain/payment.ts';
import { absenceOf } from '../../../daemon/store/queries/absence.ts';
import { insertTarget } from '../../../daemon/store/queries/credits.ts';
import { inboxOfCredit } from '../../../daemon/store/queries/policies.ts';
import { Bench, HOUR, type Paid } from './bench.ts';

const MINUTE = HOUR / 60;
const DAY = 24 * HOUR;
const COIN = 100_000_000n;

let bench: Bench;
let paid: Paid;

beforeEach(async () => {
  bench = await Bench.open();
  paid = await bench.invoice();
});

/** The deposit that pays the invoice, unconfirmed or so many blocks under the tip. */
const full = (back: number | null = null, over: Parameters<Bench['credit']>[3] = {}) =>
  bench.credit(paid.targetId, paid.units, back, over);
/** The same deposit with so many units less. */
const less =
  (units: bigint) =>
  (credit: Credit): Credit => ({ ...credit, amount: { ...credit.amount, units: credit.amount.units - units } });
const TX = () => `tx${paid.targetId}:0`;
const state = () => {
  const { status, received, confirmed } = bench.payment(paid.id);
  return [bench.invoiceStatus(paid.id), status, BigInt(received), BigInt(confirmed), bench.balance()];
};

describe('what a deposit is worth', () => {
  it('inside its quote, the quote’s rate, whatever the market does', async () => {
    bench.rate('30000');
    await bench.tell({ credits: () => [full()] });
    expect(bench.row(TX()).value).toBe(paid.units * 60_000n);
  });

  it('in a block that is dated before its first quote, that one’s rate', async () => {
    for (const usd of ['57000', '60000']) {
      bench.advance(5 * MINUTE);
      bench.rate(usd);
    }
    await bench.tell();
    paid = await bench.invoice();
    const blockTime = bench.at - 2 * MINUTE;
    await bench.tell({ blocks: 1, medianTime: bench.at, credits: () => [{ ...full(0), blockTime }] });
    expect(bench.row(TX())).toMatchObject({ value: paid.units * 60_000n, first_seen_at: bench.at });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });

  it('after its quote, the rate when it was seen', async () => {
    bench.advance(2 * HOUR);
    bench.rate('30000');
    await bench.tell({ credits: () => [full()] });
    expect(bench.row(TX()).value).toBe(paid.units * 30_000n);
  });

  it('inside an earlier quote, that one’s rate', async () => {
    const seenAt = bench.at + HOUR / 2;
    bench.advance(2 * HOUR);
    bench.rate('30000');
    await bench.tell();
    const business = bench.app.directory.business(bench.businessId);
    await bench.app.store.write((tx) => refreshQuote(bench.app, business, paid.id, tx));
    expect(bench.payment(paid.id).quote_rate).toBe(30_000n * COIN);
    bench.chain.syncedAt = seenAt - 1_000;
    await bench.app.store.write((tx) => tx.run(syncedAt, { at: seenAt - 1_000 }));
    await bench.tell({ blocks: 1, credits: () => [{ ...full(0), blockTime: seenAt }] });
    expect(bench.row(TX()).value).toBe(paid.units * 60_000n);
  });

  it.each([
    [23 * HOUR, 60_000n],
    [25 * HOUR, 30_000n],
  ])('unconfirmed for %d ms: at %d', async (wait, rate) => {
    await bench.tell({ credits: () => [full()] });
    bench.advance(wait);
    bench.rate('30000');
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    expect(bench.row(TX()).value).toBe(paid.units * rate);
    expect(bench.invoiceStatus(paid.id)).toBe(rate === 60_000n ? 'paid' : 'unpaid');
  });

  it('without a rate nothing, until there is one', async () => {
    bench.advance(3 * HOUR);
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    expect(bench.row(TX())).toMatchObject({ value: null, usd_value: null, required: 6 });
    expect(state()).toEqual(['unpaid', 'pending', paid.units, 0n, paid.units]);
    bench.rate('60000');
    await bench.tell();
    expect(bench.row(TX())).toMatchObject({ value: paid.units * 60_000n, required: 1, confirmed: true });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });

  it('no deadline cancels an invoice whose money has no value yet', async () => {
    const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    bench.advance(90 * MINUTE);
    await bench.tell({ credits: () => [bench.credit(due.targetId, due.units)] });
    bench.advance(3 * DAY);
    await bench.tell({ blocks: 6, credits: () => [bench.credit(due.targetId, due.units, 5)] });
    expect(bench.row(`tx${due.targetId}:0`)).toMatchObject({ value: null, confirmed: true });
    expect([bench.invoiceStatus(due.id), bench.payment(due.id).status]).toEqual(['unpaid', 'pending']);
    bench.rate('60000');
    await bench.tell();
    expect(bench.invoiceStatus(due.id)).toBe('paid');
  });
});

const syncedAt = {
  sql: 'UPDATE chain_state SET synced_at = ?',
  bind: ({ at }: { at: number }) => [at],
};

describe('without a tolerance', () => {
  const open = async (chain: 'BTC' | 'ETH', usd: bigint): Promise<void> => {
    bench = await Bench.open(chain, { 'payments.tolerance_percent': '0' });
    paid = await bench.invoice({ usd });
  };
  const judged = () => {
    const { status, flags } = bench.payment(paid.id);
    return [bench.invoiceStatus(paid.id), status, flags & (FLAG.underpaid | FLAG.overpaid)];
  };

  it('the exact amount pays in parts, too, each of which is rounded down', async () => {
    await open('ETH', 60n);
    expect(paid.units).toBe(10n ** 15n);
    const parts = [paid.units / 3n, paid.units - paid.units / 3n];
    await bench.tell({
      blocks: 12,
      credits: () => parts.map((units, at) => bench.credit(paid.targetId, units, 11, { txid: `part${at}` })),
    });
    expect(judged()).toEqual(['paid', 'paid', 0]);
  });

  it('a cent less does not', async () => {
    await open('ETH', 60n);
    await bench.tell({ blocks: 12, credits: () => [full(11, { txid: 'less' })].map(less(paid.units / 6_000n)) });
    expect(judged()).toEqual(['unpaid', 'pending', FLAG.underpaid]);
  });

  it('the exact amount, which was rounded up, is not too much, and a cent more is', async () => {
    await open('BTC', 100n);
    expect(paid.units).toBe(166_667n);
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    expect(judged()).toEqual(['paid', 'paid', 0]);
    await open('BTC', 100n);
    await bench.tell({ blocks: 1, credits: () => [full(0)].map(less(-17n)) });
    expect(judged()).toEqual(['paid', 'paid', FLAG.overpaid]);
  });
});

describe('the confirmations that a transaction needs', () => {
  it.each([
    [100n, 1],
    [999n, 1],
    [1_000n, 3],
    [9_999n, 3],
    [10_000n, 6],
  ])('%d USD: %d', async (amount, needed) => {
    paid = await bench.invoice({ usd: amount });
    // the quote rounds up: one unit less is below the amount
    const units = (amount * COIN) / 60_000n + (amount % 1_000n === 0n ? 1n : 0n);
    await bench.tell({ credits: () => [bench.credit(paid.targetId, units)] });
    expect(bench.row(TX()).required).toBe(needed);
  });

  it('follow all that it pays to us', async () => {
    const second = await bench.invoice({ usd: 600n });
    const first = await bench.invoice({ usd: 600n });
    const both = (back: number) => [
      bench.credit(first.targetId, first.units, back, { txid: 'both', n: 0 }),
      bench.credit(second.targetId, second.units, back, { txid: 'both', n: 1 }),
    ];
    await bench.tell({ blocks: 1, credits: () => both(0) });
    expect([bench.row('both:0').required, bench.row('both:1').required]).toEqual([3, 3]);
    expect(bench.invoiceStatus(first.id)).toBe('unpaid');
    await bench.tell({ blocks: 2 });
    expect([bench.invoiceStatus(first.id), bench.invoiceStatus(second.id)]).toEqual(['paid', 'paid']);
  });

  it.each([
    [600n, 3],
    [450n, 1],
  ])('follow all that it pays to us once there is a rate: two of %d USD need %d', async (usd, needed) => {
    const two = [await bench.invoice({ usd }), await bench.invoice({ usd })];
    const both = (back: number | null) =>
      two.map(({ targetId, units }, n) => bench.credit(targetId, units, back, { txid: 'both', n }));
    bench.advance(HOUR / 2);
    await bench.tell({ credits: () => both(null) });
    expect([bench.row('both:0').required, bench.row('both:1').required]).toEqual([6, 6]);
    bench.rate('60000');
    await bench.tell();
    await bench.tell({ blocks: 1, credits: () => both(0) });
    expect([bench.row('both:0').required, bench.row('both:1').required]).toEqual([needed, needed]);
  });

  it('unknown at first because there was no rate are found once there is one, also inside a quote', async () => {
    bench.advance(HOUR / 2);
    await bench.tell({ credits: () => [full()] });
    expect(bench.row(TX())).toMatchObject({ value: paid.units * 60_000n, usd_value: null, required: 6 });
    bench.rate('60000');
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    expect(bench.row(TX())).toMatchObject({ required: 1, confirmed: true });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });
});

/** Its outputs can be spent ten blocks later. */
describe.each([
  ['zero_conf_usd', '50', 0],
  ['confirmations', '0:1', 1],
] as const)('of Monero with %s = %s', (name, value, required) => {
  const there = (back: number | null) => full(back, { replaceable: false, maturity: 10 });
  const shown = () => [bench.invoiceStatus(paid.id), bench.row(TX()).confirmed, bench.balance()];

  it('a payment counts then, and is in the balance once it can be spent', async () => {
    bench = await Bench.open('XMR', { [`networks.mainnet.XMR.${name}`]: value });
    paid = await bench.invoice({ usd: 20n });
    await bench.tell({ credits: () => [there(null)] });
    expect(shown()).toEqual(required === 0 ? ['paid', true, 0n] : ['unpaid', false, 0n]);
    await bench.tell({ blocks: 1, credits: () => [there(0)] });
    expect(shown()).toEqual(['paid', true, 0n]);
    await bench.tell({ blocks: 8 });
    expect(shown()).toEqual(['paid', true, 0n]);
    await bench.tell({ blocks: 1 });
    expect(shown()).toEqual(['paid', true, paid.units]);
  });

  it('a coinbase counts only once it can be spent', async () => {
    bench = await Bench.open('XMR', { [`networks.mainnet.XMR.${name}`]: value });
    paid = await bench.invoice({ usd: 20n });
    await bench.tell({ blocks: 1, credits: () => [full(0, { replaceable: false, maturity: 60 })] });
    await bench.tell({ blocks: 58 });
    expect(shown()).toEqual(['unpaid', false, 0n]);
    await bench.tell({ blocks: 1 });
    expect(shown()).toEqual(['paid', true, paid.units]);
  });
});

describe('without confirmations', () => {
  beforeEach(async () => {
    bench = await Bench.open('LTC', { 'networks.mainnet.LTC.zero_conf_usd': '50' });
    paid = await bench.invoice({ usd: 20n });
  });

  it.each([
    [20n, false, 'paid'],
    [20n, true, 'unpaid'],
    [20n, undefined, 'unpaid'],
    [50n, false, 'unpaid'],
  ] as const)('%d USD, replaceable %s: %s', async (amount, replaceable, status) => {
    paid = await bench.invoice({ usd: amount });
    await bench.tell({ credits: () => [full(null, replaceable === undefined ? {} : { replaceable })] });
    expect(bench.invoiceStatus(paid.id)).toBe(status);
    expect(bench.balance()).toBe(0n);
  });

  it('many small payments count no sooner than a large one', async () => {
    paid = await bench.invoice({ usd: 1_000n });
    const parts = (back: number | null) =>
      Array.from({ length: 25 }, (_, n) =>
        bench.credit(paid.targetId, paid.units / 25n + 1n, back, { txid: `part${n}`, replaceable: false }),
      );
    await bench.tell({ credits: () => parts(null) });
    expect(bench.invoiceStatus(paid.id)).toBe('unpaid');
    await bench.tell({ blocks: 3, credits: () => parts(2) });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });

  it('what a replacement takes back is not shown as seen any more', async () => {
    const shown = () => [bench.payment(paid.id).received, bench.payment(paid.id).status, bench.invoiceStatus(paid.id)];
    const told = (units: bigint, txid: string) => [bench.credit(paid.targetId, units, null, { txid, inputs: ['i:0'] })];
    await bench.tell({ credits: () => told(paid.units, 'a') });
    expect(shown()).toEqual([paid.units, 'pending', 'unpaid']);
    await bench.tell({ credits: () => told(paid.units / 4n, 'b') });
    expect(shown()).toEqual([paid.units / 4n, 'pending', 'unpaid']);
    await bench.tell();
    expect(shown()).toEqual([0n, 'pending', 'unpaid']);
  });

  it('two outputs with one key never count together, whichever is locked', async () => {
    const half = (txid: string, locked: boolean) =>
      bench.credit(paid.targetId, paid.units / 2n + 1n, null, { txid, locked, replaceable: false });
    await bench.tell({ credits: () => [half('first', false)] });
    await bench.tell({ turnMs: 0, credits: () => [half('second', false), half('first', true)] });
    expect(bench.invoiceStatus(paid.id)).toBe('unpaid');
    expect(bench.inbox()).toEqual([{ reason: 'locked', outpoint: 'first:0' }]);
  });

  it('one whose last replaceable ancestor confirmed pays', async () => {
    await bench.tell({ credits: () => [full(null, { replaceable: true })] });
    expect(bench.row(TX()).required).toBe(3);
    await bench.tell({ credits: () => [full(null, { replaceable: false })] });
    expect(bench.row(TX()).required).toBe(0);
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });

  it('one that turns out to be replaceable waits', async () => {
    await bench.tell({ credits: () => [bench.credit(paid.targetId, paid.units / 2n, null, { replaceable: false })] });
    expect(bench.row(TX())).toMatchObject({ required: 0, confirmed: true });
    await bench.tell({ credits: () => [bench.credit(paid.targetId, paid.units / 2n, null, { replaceable: true })] });
    expect(bench.row(TX())).toMatchObject({ required: 3, confirmed: false });
  });
});

describe('the inbox', () => {
  it('takes an asset that was not asked for', async () => {
    bench = await Bench.open('ETH');
    paid = await bench.invoice({ crypto: 'ETH' });
    await bench.tell({
      blocks: 12,
      credits: () => [bench.credit(paid.targetId, 5_000_000n, 11, { asset: 'USDT_ERC20' })],
    });
    expect(bench.inbox()).toEqual([{ reason: 'unexpected', outpoint: TX() }]);
    expect(state().slice(0, 4)).toEqual(['unpaid', 'pending', 0n, 0n]);
    expect(bench.balance('USDT_ERC20')).toBe(5_000_000n);
  });

  it('takes a locked output, which neither pays nor can be spent', async () => {
    await bench.tell({ blocks: 1, credits: () => [full(0, { locked: true })] });
    expect(bench.inbox()).toEqual([{ reason: 'locked', outpoint: TX() }]);
    expect(state()).toEqual(['unpaid', 'pending', 0n, 0n, 0n]);
  });

  it('takes an output that becomes locked, because another one with its key came first, and lets it go again', async () => {
    const half = paid.units / 2n;
    const twins = (locked: boolean, at: number | null) => [
      bench.credit(paid.targetId, half, 0, { txid: 'first' }),
      bench.credit(paid.targetId, half, at, { txid: 'second', locked }),
    ];
    await bench.tell({ credits: () => [bench.credit(paid.targetId, half, null, { txid: 'second' })] });
    await bench.tell({ blocks: 1, credits: () => twins(true, null) });
    await bench.tell({
      blocks: 1,
      credits: () => [bench.credit(paid.targetId, half, 0, { txid: 'second', locked: true })],
    });
    await bench.tell({ blocks: 20 });
    expect(bench.inbox()).toEqual([{ reason: 'locked', outpoint: 'second:0' }]);
    expect([bench.invoiceStatus(paid.id), bench.payment(paid.id).received, bench.balance()]).toEqual([
      'unpaid',
      half,
      half,
    ]);
    // a reorganisation left the second alone
    const alone = () => [bench.credit(paid.targetId, half, 0, { txid: 'second' })];
    await bench.tell({ orphan: 22, blocks: 23, credits: alone });
    expect([bench.payment(paid.id).received, bench.balance()]).toEqual([half, half]);
    expect(bench.inbox()).toEqual([]);
  });

  it('takes back a payment whose output became locked, and says that it is undone', async () => {
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    await bench.tell({ blocks: 20 });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
    await bench.tell({ orphan: 21, blocks: 22, credits: () => [full(0, { locked: true })] });
    expect(bench.balance()).toBe(0n);
    expect(bench.payment(paid.id).received).toBe(0n);
    expect(bench.inbox()).toEqual([{ reason: 'locked', outpoint: TX() }]);
    expect(bench.alerts()).toContain('invoice.undone');
    // it was a branch of one node alone
    await bench.tell({ orphan: 22, blocks: 23, credits: () => [full(22)] });
    expect(bench.inbox()).toEqual([]);
    expect(bench.balance()).toBe(paid.units);
    expect(bench.payment(paid.id)).toMatchObject({ received: paid.units, flags: 0 });
    expect(bench.alerts()).not.toContain('invoice.undone');
  });

  it('takes what came to an address that nobody was given, and nobody is given it any more', async () => {
    const target = bench.unassigned();
    await bench.tell({
      blocks: 1,
      credits: () => [bench.credit(target, 7n, 0), bench.credit(target, 8n, 0, { n: 1 })],
    });
    expect(bench.inbox().map(({ reason }) => reason)).toEqual(['unassigned', 'unassigned']);
    expect(bench.balance()).toBe(15n);
    expect(bench.unassigned()).not.toBe(target);
    const next = await bench.invoice();
    expect(next.targetId).not.toBe(target);
  });

  it('takes no change of ours', async () => {
    const target = await bench.app.store.write(
      (tx) =>
        tx.run(insertTarget, {
          account_id: bench.accountId,
          chain_key: bench.chain.key,
          branch: 1,
          idx: 0,
          script: Buffer.from('change'),
          address: 'change',
          invoice_id: null,
        }).id,
    );
    await bench.tell({ blocks: 1, credits: () => [bench.credit(target, 7n, 0)] });
    expect(bench.inbox()).toEqual([]);
    expect(bench.balance()).toBe(7n);
  });

  it('takes what comes after the invoice was paid', async () => {
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    await bench.tell({ credits: () => [full(null, { txid: 'more' })] });
    expect(bench.inbox()).toEqual([{ reason: 'extra', outpoint: 'more:0' }]);
    expect(state().slice(2, 4)).toEqual([paid.units, paid.units]);
  });

  it('takes what is too much once a deposit is back beside the one that replaced it', async () => {
    const half = paid.units / 2n;
    const part = (txid: string) => () => [bench.credit(paid.targetId, half, 0, { txid })];
    await bench.tell({ blocks: 1, credits: part('first') });
    await bench.tell({ blocks: 1, credits: part('second') });
    await bench.tell({ orphan: 1, blocks: 1 });
    expect(bench.payment(paid.id).flags).toBe(FLAG.underpaid | FLAG.undone);
    await bench.tell({ blocks: 1, credits: part('third') });
    expect([bench.payment(paid.id).flags, bench.inbox()]).toEqual([0, []]);
    await bench.tell({ blocks: 1, credits: part('second') });
    expect(bench.payment(paid.id).flags).toBe(FLAG.overpaid);
    expect(bench.inbox()).toEqual([{ reason: 'overpaid', outpoint: 'third:0' }]);
    await bench.tell({ orphan: 1, blocks: 1 });
    await bench.tell({ blocks: 1, credits: part('second') });
    expect(bench.inbox()).toHaveLength(1);
  });

  it('takes nothing anew that the operator has counted for a paid invoice', async () => {
    const more = () => full(0, { txid: 'more' });
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    await bench.tell({ blocks: 1, credits: () => [more()] });
    await bench.tell({ orphan: 2, blocks: 2, credits: () => [more()] });
    await bench.tell({ blocks: 1, credits: () => [full(0, { txid: 'again' })] });
    expect([bench.payment(paid.id).flags, bench.inbox()]).toEqual([0, [{ reason: 'extra', outpoint: 'more:0' }]]);
    const item = bench.app.store.get(inboxOfCredit, { credit_id: bench.row('more:0').id })!;
    await bench.app.store.write((tx) => acceptDeposit(bench.app, tx, item.id));
    expect(bench.payment(paid.id).flags).toBe(FLAG.overpaid);
    await bench.tell({ blocks: 1 });
    expect(bench.inbox()).toHaveLength(1);
  });

  it('takes what was too little, and then an invoice says what it has', async () => {
    const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    await bench.tell({ blocks: 1, credits: () => [bench.credit(due.targetId, due.units / 2n, 0)] });
    bench.advance(2 * DAY);
    await bench.tell();
    expect(bench.invoiceStatus(due.id)).toBe('canceled');
    expect(bench.inbox().map(({ reason }) => reason)).toEqual(['short']);
    const once = bench.payment(due.id);
    // told again, nothing changes: neither by itself nor because another fact makes it look
    await bench.tell({ orphan: 1, blocks: 2, credits: () => [bench.credit(due.targetId, due.units / 2n, 0)] });
    expect(bench.payment(due.id)).toMatchObject({ received: once.received, confirmed: once.confirmed });
  });
});

describe('deadlines', () => {
  it.each<[name: string, told: Parameters<Bench['tell']>[0], status: string]>([
    ['a sync that began after it', {}, 'overdue'],
    ['a sync that began before it', { beganAt: 0 }, 'pending'],
    ['an incomplete view', { mempool: 'unknown', blocks: 1 }, 'pending'],
  ])('count after %s', async (_, told, status) => {
    const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    bench.advance(3 * HOUR);
    await bench.tell(told);
    expect(bench.payment(due.id).status).toBe(status);
  });

  it('do not pass money that was seen in time and has not confirmed', async () => {
    const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    const inTime = (back: number | null) => [bench.credit(due.targetId, due.units, back)];
    await bench.tell({ credits: () => inTime(null) });
    bench.advance(20 * HOUR);
    await bench.tell({ credits: () => inTime(null) });
    expect([bench.invoiceStatus(due.id), bench.payment(due.id).status]).toEqual(['unpaid', 'pending']);
    await bench.tell({ blocks: 1, credits: () => inTime(0) });
    expect(bench.invoiceStatus(due.id)).toBe('paid');
  });

  it('are looked at again when the money that held them went', async () => {
    const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    await bench.tell({ credits: () => [bench.credit(due.targetId, due.units)] });
    bench.advance(2 * DAY);
    await bench.tell({ credits: () => [bench.credit(due.targetId, due.units)] });
    expect(bench.invoiceStatus(due.id)).toBe('unpaid');
    await bench.tell();
    expect([bench.invoiceStatus(due.id), bench.payment(due.id).status]).toEqual(['canceled', 'overdue']);
  });

  it.each([
    ['found after them', 0],
    ['found after them by a clock that was ahead before', 40 * DAY],
  ])('do not pass money in a block that waits for a second server’s word, %s', async (_, ahead) => {
    const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    bench.chain.syncedAt += ahead;
    const blockTime = bench.at + HOUR / 2;
    const told = (back: number | null) => [{ ...bench.credit(due.targetId, due.units, back), blockTime }];
    bench.advance(10 * DAY);
    bench.rate('60000');
    await bench.tell({ blocks: 1, credits: () => told(null), medianTime: bench.at });
    expect([bench.invoiceStatus(due.id), bench.payment(due.id).status]).toEqual(['unpaid', 'pending']);
    await bench.tell({ credits: () => told(0), medianTime: bench.at });
    expect([bench.invoiceStatus(due.id), bench.payment(due.id).flags]).toEqual(['paid', 0]);
  });

  describe('do not keep money late that was told without its block and whose block was in time', () => {
    const day = 10 * DAY;
    let due: Paid;
    /** The rest of the money, told only after the deadline; the first part is unconfirmed and keeps the invoice open. */
    const tell = async (back: number | null, { blockTime = bench.at - day, turnMs = 1_000 } = {}) => {
      const dated = back === null ? {} : { blockTime };
      const credits = () => [
        { ...bench.credit(due.targetId, due.units / 2n, back), ...dated },
        { ...bench.credit(due.targetId, due.units, back, { txid: 'rest' }), ...dated },
      ];
      await bench.tell({ ...(back !== null && { blocks: 1 }), credits, medianTime: bench.at, turnMs });
    };
    const late = [{ reason: 'late', outpoint: 'rest:0' }];

    beforeEach(async () => {
      due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
      await bench.tell({ credits: () => [bench.credit(due.targetId, due.units / 2n)] });
      bench.advance(day);
      bench.rate('60000');
      await tell(null);
      expect([bench.invoiceStatus(due.id), bench.inbox()]).toEqual(['unpaid', late]);
    });

    it.each([1_000, 0])('and it leaves the inbox, and pays, with turns of %i ms', async (turnMs) => {
      await tell(0, { turnMs });
      expect(bench.inbox().filter(({ reason }) => reason === 'late')).toEqual([]);
      expect([bench.invoiceStatus(due.id), bench.row('rest:0').claim]).toEqual(['paid', 'invoice']);
    });

    it('but what the operator has decided stays', async () => {
      const { id } = bench.app.store.get(inboxOfCredit, { credit_id: bench.row('rest:0').id })!;
      await bench.app.store.write((tx) => keepDeposit(bench.app, tx, id));
      await tell(0);
      expect(bench.row('rest:0').claim).toBe('late');
      expect(bench.inbox().filter(({ reason }) => reason === 'late')).toEqual(late);
    });

    it('and what a later block dates late stays', async () => {
      await tell(0, { blockTime: bench.at - DAY });
      expect(bench.row('rest:0').claim).toBe('late');
      expect(bench.inbox()).toEqual(expect.arrayContaining(late));
    });
  });

  describe('of a chain with servers of two operators', () => {
    const names = ['ssl://one.example:50002', 'ssl://two.example:50002'];
    const timeline = (id: number) => bench.app.store.get(absenceOf, { invoice_id: id });
    const alerts = () => bench.alerts().filter((kind) => kind === 'chain.unvouched');
    let asked: number[];
    const askedOf = ({ targetId }: Paid) => asked.filter((id) => id === targetId).length;
    let answer: readonly string[] | null;

    beforeEach(() => {
      asked = [];
      answer = null;
      const showNothing = async ({ id }: { id: number }) => {
        asked.push(id);
        return answer;
      };
      Object.assign(bench.chain.adapter, { absence: { showNothing } });
    });

    it('pass once both show nothing, and the invoice keeps their answer', async () => {
      const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
      await bench.tell();
      await askAbsence(bench.app);
      expect(asked).toEqual([]);
      bench.advance(10 * DAY);
      await bench.tell();
      await askAbsence(bench.app);
      expect([bench.invoiceStatus(due.id), bench.payment(due.id).status, askedOf(due)]).toEqual([
        'unpaid',
        'pending',
        1,
      ]);
      answer = names;
      await askAbsence(bench.app);
      expect(askedOf(due)).toBe(1);
      bench.advance(10_000);
      await askAbsence(bench.app);
      expect(bench.invoiceStatus(due.id)).toBe('canceled');
      expect(timeline(due.id)).toMatchObject({ until: bench.at - 10_000, servers: names.join(', '), wanted_at: null });
    });

    it('pass for an overdue payment and again for the end of its grace', async () => {
      const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
      answer = names;
      for (const [afterMs, payment, invoice] of [
        [3 * HOUR, 'overdue', 'unpaid'],
        [10 * DAY, 'overdue', 'canceled'],
      ] as const) {
        bench.advance(afterMs);
        await bench.tell();
        await askAbsence(bench.app);
        expect([bench.payment(due.id).status, bench.invoiceStatus(due.id)]).toEqual([payment, invoice]);
      }
      expect(askedOf(due)).toBe(2);
    });

    it('wait while too few answer, tell the operator after hours, and let the payment in', async () => {
      const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
      bench.advance(10 * DAY);
      await bench.tell();
      for (let hour = 0; hour < 3; hour++) {
        await askAbsence(bench.app);
        await tellUnvouched(bench.app);
        expect(alerts()).toEqual([]);
        bench.advance(HOUR);
        await bench.tell();
      }
      await tellUnvouched(bench.app);
      expect(alerts()).toHaveLength(1);
      expect(bench.invoiceStatus(due.id)).toBe('unpaid');
      bench.rate('60000');
      const blockTime = bench.at - 10 * DAY;
      const credits = () => [{ ...bench.credit(due.targetId, due.units, 5), blockTime }];
      await bench.tell({ blocks: 6, credits, medianTime: bench.at });
      expect(bench.invoiceStatus(due.id)).toBe('paid');
      bench.advance(HOUR);
      await askAbsence(bench.app);
      await tellUnvouched(bench.app);
      expect(alerts()).toEqual([]);
    });

    it('do not wait for what the operator decides', async () => {
      const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
      await bench.app.store.write((tx) => settleInvoice(bench.app, tx, due.id, { decision: 'cancel' }));
      expect([bench.invoiceStatus(due.id), asked]).toEqual(['canceled', []]);
    });
  });

  it('of a wallet’s past: what was paid in time while nothing was running pays', async () => {
    const due = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    const paidAt = bench.at + HOUR / 2;
    bench.chain.syncedAt = 0;
    bench.advance(10 * DAY);
    const late = { blocks: 3, credits: () => [{ ...bench.credit(due.targetId, due.units, 2), blockTime: paidAt }] };
    await bench.tell({ ...late, mempool: 'unknown' });
    expect(bench.invoiceStatus(due.id)).toBe('unpaid');
    bench.rate('60000');
    await bench.tell();
    expect(bench.invoiceStatus(due.id)).toBe('paid');
    expect(bench.payment(due.id).flags).toBe(0);
  });
});
