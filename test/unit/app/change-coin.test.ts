/** A payer who chooses another coin: what the payment becomes, and what money for the coin that was left is worth. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { watchList } from '../../../daemon/app/addresses/watch.ts';
import { COIN_CHANGES_PER_INVOICE_MAX, changeCoin } from '../../../daemon/app/invoices/payments.ts';
import { type InvoiceView, readInvoice, view } from '../../../daemon/app/invoices/views.ts';
import { nextClosing } from '../../../daemon/app/operator/closing.ts';
import { refundWanted } from '../../../daemon/app/withdrawals/refund.ts';
import type { AssetId } from '../../../daemon/domain/assets.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { insertSale } from '../../../daemon/store/queries/counter.ts';
import { formerTargets, invoiceById } from '../../../daemon/store/queries/invoices.ts';
import { insertWithdrawal } from '../../../daemon/store/queries/withdrawals.ts';
import { Bench, HOUR, type Paid } from './bench.ts';

const MINUTE = HOUR / 60;
const DAY = 24 * HOUR;
const USD = 100_000_000n;
/** Enough confirmations of either chain, whatever the amount. */
const DEEP = 12;
const RATES = { BTC: '50000', LTC: '100' };

let btc: Bench;
let ltc: Bench;
let paid: Paid;

beforeEach(async () => {
  btc = await Bench.open('BTC', {}, { also: ['LTC'] });
  ltc = await btc.beside('LTC');
  btc.rate(RATES);
  await syncBoth();
  paid = await btc.invoice({ crypto: 'BTC' });
});

const invoiceRow = () => btc.app.store.get(invoiceById, { id: paid.id })!;
const business = () => btc.app.directory.business(btc.businessId);
const payment = () => btc.payment(paid.id);
const read = async (): Promise<NonNullable<InvoiceView['payment']>> =>
  (await readInvoice(btc.app, business(), paid.slug)).payment!;

function change(crypto: AssetId) {
  return withAddress(btc.app, (tx, waited) => changeCoin(btc.app, business(), invoiceRow(), crypto, tx, waited));
}

async function refused(crypto: AssetId): Promise<string> {
  const error = await change(crypto).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Rejected);
  return (error as Rejected).code;
}

async function syncBoth(): Promise<void> {
  await btc.tell();
  await ltc.tell();
}

/** The targets of both coins, once the payer has changed from BTC to LTC. */
async function changed(): Promise<{ btc: number; ltc: number; ltcUnits: bigint }> {
  const { target_id, quote_amount } = await change('LTC');
  return { btc: paid.targetId, ltc: target_id, ltcUnits: quote_amount };
}

const state = () => {
  const { status, asset, received, flags } = payment();
  return [btc.invoiceStatus(paid.id), status, asset, received, flags];
};

describe('changing', () => {
  it('keeps the record, and gives another address, amount and quote', async () => {
    const before = payment();
    const after = await change('LTC');
    expect([after.invoice_id, after.created_at, after.status]).toEqual([
      before.invoice_id,
      before.created_at,
      'pending',
    ]);
    expect([after.asset, after.chain_key, after.quote_amount]).toEqual(['LTC', 'mainnet:LTC', 100_000_000n]);
    expect(after.target_id).not.toBe(before.target_id);
    expect(payment()).toEqual(after);
    expect(btc.app.store.all(formerTargets, { invoice_id: paid.id })).toMatchObject([
      { asset: 'BTC', target_id: before.target_id, address: before.address, left_at: btc.at, open: true },
    ]);
  });

  it('to a coin whose network does not carry so little is refused, as asking for it at first is', async () => {
    Object.assign(ltc.chain.adapter, {
      spending: { sendable: (_: string, units: bigint) => (units < 546n ? 546n : units) },
    });
    btc.rate({ BTC: '50000', LTC: '99000000' });
    await syncBoth();
    const before = payment();
    expect(await refused('LTC')).toBe('payment.too_small');
    expect(payment()).toEqual(before);
    await expect(btc.invoice({ crypto: 'LTC' })).rejects.toThrow('LTC cannot carry so little');
    btc.rate(RATES);
    await syncBoth();
    expect((await change('LTC')).quote_amount).toBe(100_000_000n);
  });

  it('back takes up the former address, at its own quote for as long as that had been given', async () => {
    const before = payment();
    await change('LTC');
    btc.advance(20 * MINUTE);
    // a fresh quote would ask for less
    btc.rate({ BTC: '100000', LTC: '100' });
    await syncBoth();
    const back = await change('BTC');
    expect([back.target_id, back.address, back.quote_rate, back.quote_amount, back.quote_ends_at]).toEqual([
      before.target_id,
      before.address,
      before.quote_rate,
      before.quote_amount,
      before.quote_ends_at,
    ]);
    // and a quote that ended is made anew, as a reload would
    await change('LTC');
    btc.advance(41 * MINUTE);
    btc.rate({ BTC: '100000', LTC: '100' });
    await syncBoth();
    const anew = await change('BTC');
    expect([anew.target_id, anew.quote_amount, anew.quote_ends_at]).toEqual([
      before.target_id,
      100_000n,
      btc.at + HOUR,
    ]);
  });

  it('back and forth never makes the rate of a coin better than staying would', async () => {
    const asked = payment().quote_amount;
    for (const price of ['80000', '120000']) {
      btc.advance(MINUTE);
      btc.rate({ BTC: price, LTC: '100' });
      await syncBoth();
      await change('LTC');
      btc.advance(MINUTE);
      await change('BTC');
      expect(payment().quote_amount).toBe(asked);
    }
  });

  it('ends after a few times, and takes no more addresses than there are coins', async () => {
    let done = 0;
    for (let i = 0; i < 100; i++) {
      const code = await change(i % 2 === 0 ? 'LTC' : 'BTC').then(
        () => null,
        (error: Rejected) => error.code,
      );
      if (code === null) done++;
      else expect(code).toBe('payment.fixed');
    }
    expect([done, payment().changes]).toEqual([COIN_CHANGES_PER_INVOICE_MAX, COIN_CHANGES_PER_INVOICE_MAX]);
    expect(btc.app.store.all(formerTargets, { invoice_id: paid.id })).toHaveLength(1);
    expect(new Set([payment().target_id, paid.targetId]).size).toBe(2);
  });

  it('to the same coin changes nothing', async () => {
    const before = payment();
    await change('BTC');
    expect(payment()).toEqual(before);
  });

  it('is refused once anything was seen, at either address, and possible again when that is gone', async () => {
    const at = await changed();
    await btc.tell({ credits: () => [btc.credit(at.btc, 1n)] });
    expect(await refused('BTC')).toBe('payment.fixed');
    await btc.tell();
    expect((await change('BTC')).target_id).toBe(at.btc);
    await ltc.tell({ credits: () => [ltc.credit(at.ltc, 1n)] });
    expect(await refused('LTC')).toBe('payment.fixed');
  });

  it('is refused for an invoice that is decided, or over', async () => {
    await change('LTC');
    btc.at = payment().deadline_at + 2 * DAY;
    btc.rate(RATES);
    expect(await refused('BTC')).toBe('payment.fixed');
    await syncBoth();
    btc.advance(2 * MINUTE);
    await syncBoth();
    expect(btc.invoiceStatus(paid.id)).toBe('canceled');
    expect(await refused('BTC')).toBe('payment.fixed');
  });

  it('leaves the former address among those that are watched closely, until the invoice is decided', async () => {
    const at = await changed();
    const watched = () => [...watchList(btc.app.store, 'mainnet:BTC').active()].flat().map(({ id }) => id);
    // those given out last are watched anyway
    const often = watched().filter((id) => id === at.btc).length;
    await ltc.tell({ blocks: DEEP, credits: () => [ltc.credit(at.ltc, at.ltcUnits, DEEP - 1)] });
    expect(btc.invoiceStatus(paid.id)).toBe('paid');
    expect(watched().filter((id) => id === at.btc)).toHaveLength(often - 1);
  });
});

describe('money for the coin that was left', () => {
  it('takes the payment back to it, and pays the invoice', async () => {
    const at = await changed();
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units)] });
    expect(state()).toEqual(['unpaid', 'pending', 'BTC', paid.units, 0]);
    const seen = await read();
    expect([seen.remaining, seen.row.address, seen.transactions.length]).toEqual([0n, payment().address, 1]);
    await btc.tell({ blocks: DEEP, credits: () => [btc.credit(at.btc, paid.units, DEEP - 1)] });
    expect(state()).toEqual(['paid', 'paid', 'BTC', paid.units, 0]);
    expect(btc.webhook(paid.id)).toBe('waiting');
  });

  it('counts at the rate of when it was first seen, not at the quote that was left', async () => {
    const at = await changed();
    btc.advance(MINUTE);
    btc.rate({ BTC: '25000', LTC: '100' });
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units)] });
    expect(btc.row(`tx${at.btc}:0`).value).toBe(50n * USD);
    expect(state()).toEqual(['unpaid', 'pending', 'BTC', paid.units, 1]);
  });

  it('that a block says was there before the change counts at its quote', async () => {
    const blockTime = btc.at + MINUTE;
    btc.advance(2 * MINUTE);
    await syncBoth();
    const at = await changed();
    btc.advance(MINUTE);
    btc.rate({ BTC: '25000', LTC: '100' });
    btc.chain.syncedAt = blockTime - MINUTE;
    await btc.tell({ blocks: 1, credits: () => [{ ...btc.credit(at.btc, paid.units, 0), blockTime }] });
    expect(btc.row(`tx${at.btc}:0`).value).toBe(100n * USD);
  });

  it('in the hour after it was taken up again counts at its quote again', async () => {
    const at = await changed();
    btc.advance(MINUTE);
    await change('BTC');
    btc.rate({ BTC: '25000', LTC: '100' });
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units)] });
    expect(btc.row(`tx${at.btc}:0`).value).toBe(100n * USD);
  });

  it.each<[first: 'BTC' | 'LTC', other: string]>([
    ['BTC', '0.5'],
    ['LTC', '0.001'],
  ])('half of each, %s first, pays the invoice together', async (first) => {
    const at = await changed();
    const parts = {
      BTC: (back: number | null) =>
        btc.tell({ blocks: back === null ? 0 : DEEP, credits: () => [btc.credit(at.btc, paid.units / 2n, back)] }),
      LTC: (back: number | null) =>
        ltc.tell({ blocks: back === null ? 0 : DEEP, credits: () => [ltc.credit(at.ltc, at.ltcUnits / 2n, back)] }),
    };
    const [one, two] = first === 'BTC' ? (['BTC', 'LTC'] as const) : (['LTC', 'BTC'] as const);
    await parts[one](null);
    const half = (first === 'BTC' ? paid.units : at.ltcUnits) / 2n;
    expect(state()).toEqual(['unpaid', 'pending', first, half, 1]);
    expect((await read()).remaining).toBe(half);
    await parts[two](null);
    // the other half is in units of the payment's coin what its value buys
    expect(state()).toEqual(['unpaid', 'pending', first, half * 2n, 0]);
    const both = await read();
    expect([both.remaining, both.transactions.map(({ asset, units }) => [asset.symbol, units])]).toEqual([
      0n,
      one === 'BTC'
        ? [
            ['BTC', paid.units / 2n],
            ['LTC', at.ltcUnits / 2n],
          ]
        : [
            ['LTC', at.ltcUnits / 2n],
            ['BTC', paid.units / 2n],
          ],
    ]);
    await parts[one](DEEP - 1);
    expect(btc.invoiceStatus(paid.id)).toBe('unpaid');
    await parts[two](DEEP - 1);
    expect(state()).toEqual(['paid', 'paid', first, half * 2n, 0]);
    // were it a sale of the counter, its deposits would be what it got
    const sale = { invoice_id: paid.id, business_id: btc.businessId, request: 'one', tip: 0n, closing_id: null };
    await btc.app.store.write((tx) => tx.run(insertSale, sale));
    expect(nextClosing(btc.app, business()).report.books).toEqual({ agree: 1, differ: [] });
    expect(btc.inbox()).toEqual([]);
  });

  it('a quote that is made anew after half came in each coin asks for the rest by value', async () => {
    const at = await changed();
    await ltc.tell({ credits: () => [ltc.credit(at.ltc, at.ltcUnits / 4n)] });
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units / 2n)] });
    expect((await read()).remaining).toBe(at.ltcUnits / 4n);
    btc.advance(61 * MINUTE);
    btc.rate({ BTC: '50000', LTC: '200' });
    const both = () =>
      Promise.all([
        btc.tell({ credits: () => [btc.credit(at.btc, paid.units / 2n)] }),
        ltc.tell({ credits: () => [ltc.credit(at.ltc, at.ltcUnits / 4n)] }),
      ]);
    await both();
    // 25 USD are owed, and a coin costs 200
    expect((await read()).remaining).toBe(12_500_000n);
    await both();
    expect((await read()).remaining).toBe(12_500_000n);
  });

  it('as dust moves nothing, and a payment beside it pays', async () => {
    const at = await changed();
    await btc.tell({ credits: () => [btc.credit(at.btc, 10n)] });
    expect(state()).toEqual(['unpaid', 'pending', 'LTC', 5_000n, 1]);
    await ltc.tell({ blocks: DEEP, credits: () => [ltc.credit(at.ltc, at.ltcUnits, DEEP - 1)] });
    expect(state().slice(0, 3)).toEqual(['paid', 'paid', 'LTC']);
    expect(btc.row(`tx${at.btc}:0`).claim).toBe('invoice');
  });

  it('without a rate stops everybody from paying twice, and counts when there is one', async () => {
    const at = await changed();
    btc.advance(20 * MINUTE);
    await ltc.tell();
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units)] });
    expect(btc.row(`tx${at.btc}:0`).value).toBeNull();
    expect([(await read()).remaining, (await read()).unvalued]).toEqual([0n, true]);
    // what has no value yet is not nothing: such an invoice makes no room for others
    expect(state()).toEqual(['unpaid', 'pending', 'LTC', 1n, 1]);
    btc.rate(RATES);
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units)] });
    expect(state()).toEqual(['unpaid', 'pending', 'BTC', paid.units, 0]);
  });

  it('after the invoice was canceled goes to the inbox', async () => {
    const at = await changed();
    btc.at = payment().deadline_at + DAY + HOUR;
    await syncBoth();
    await syncBoth();
    btc.advance(2 * MINUTE);
    await syncBoth();
    expect(btc.invoiceStatus(paid.id)).toBe('canceled');
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units)] });
    expect(btc.inbox()).toEqual([{ reason: 'late', outpoint: `tx${at.btc}:0` }]);
    expect(state().slice(0, 3)).toEqual(['canceled', 'overdue', 'LTC']);
  });

  it('after the other coin paid goes to the inbox', async () => {
    const at = await changed();
    await ltc.tell({ blocks: DEEP, credits: () => [ltc.credit(at.ltc, at.ltcUnits, DEEP - 1)] });
    await btc.tell({ credits: () => [btc.credit(at.btc, paid.units)] });
    expect(btc.inbox()).toEqual([{ reason: 'extra', outpoint: `tx${at.btc}:0` }]);
  });

  it('that a reorganisation takes away undoes the invoice, and the other coin makes it good', async () => {
    const at = await changed();
    await btc.tell({ blocks: DEEP, credits: () => [btc.credit(at.btc, paid.units, DEEP - 1)] });
    expect(btc.invoiceStatus(paid.id)).toBe('paid');
    await btc.tell({ orphan: DEEP, blocks: DEEP + 1 });
    expect(state()).toEqual(['paid', 'paid', 'BTC', 0n, 8]);
    expect(btc.alerts()).toContain('invoice.undone');
    await ltc.tell({ blocks: DEEP, credits: () => [ltc.credit(at.ltc, at.ltcUnits, DEEP - 1)] });
    expect(payment().flags).toBe(0);
  });
});

describe('deadlines', () => {
  /** The clock is past the time of grace, and one chain knows it. */
  const late = async (chain: Bench): Promise<void> => {
    btc.at = Math.max(btc.at, payment().deadline_at + 2 * DAY);
    await chain.tell();
    btc.advance(2 * MINUTE);
    await chain.tell();
  };

  it.each([
    ['the payment’s chain', () => [ltc, btc] as const],
    ['the chain that was left', () => [btc, ltc] as const],
  ])('pass only when %s was caught up, too', async (_, order) => {
    await change('LTC');
    const [first, second] = order();
    await late(first);
    expect(state().slice(0, 2)).toEqual(['unpaid', 'pending']);
    await second.tell();
    btc.advance(2 * MINUTE);
    await ltc.tell();
    expect(state().slice(0, 2)).toEqual(['canceled', 'overdue']);
  });

  it('that wait for another chain hold up no others', async () => {
    for (let i = 0; i < 40; i++) {
      await btc.tell();
      paid = await btc.invoice({ crypto: 'BTC' });
      await change('LTC');
    }
    const plain = await ltc.invoice({ crypto: 'LTC' });
    await late(ltc);
    expect(btc.invoiceStatus(plain.id)).toBe('canceled');
    expect(btc.invoiceStatus(paid.id)).toBe('unpaid');
  });
});

describe('a refund of an invoice that was paid in two coins', () => {
  it('is in the one that was asked for, and no more than came in it', async () => {
    const at = await changed();
    await btc.tell({ blocks: DEEP, credits: () => [btc.credit(at.btc, paid.units / 2n, DEEP - 1)] });
    await ltc.tell({ blocks: DEEP, credits: () => [ltc.credit(at.ltc, at.ltcUnits / 2n, DEEP - 1)] });
    expect(btc.invoiceStatus(paid.id)).toBe('paid');
    for (const { chain } of [btc, ltc]) Object.assign(chain.adapter, { spending: {} });
    const wanted = (crypto: string | null, amount: string | null = null) => {
      const { asset, units } = refundWanted(btc.app, btc.app.store, business(), invoiceRow(), {
        address: '',
        amount,
        crypto,
      });
      return [asset.symbol, units];
    };
    expect(wanted(null)).toEqual(['BTC', paid.units / 2n]);
    expect(wanted('LTC')).toEqual(['LTC', at.ltcUnits / 2n]);
    expect(() => wanted('LTC', '0.6')).toThrow('The amount may not be more than 0.5 LTC');
    expect(() => wanted('BCH')).toThrow('The selected crypto is invalid: use BTC or LTC.');
  });

  it('counts in the payment’s coin as the deposits of its own coin do, rounded down', async () => {
    const at = await changed();
    await btc.tell({ blocks: DEEP, credits: () => [btc.credit(at.btc, paid.units / 2n, DEEP - 1)] });
    await ltc.tell({ blocks: DEEP, credits: () => [ltc.credit(at.ltc, at.ltcUnits / 2n, DEEP - 1)] });
    expect(payment().asset).toBe('BTC');
    const counted = (await read()).received - paid.units / 2n;
    expect(counted).toBeGreaterThan(0n);
    const refund = (asset: AssetId, units: bigint, state: 'broadcast' | 'completed' | 'failed') =>
      btc.app.store.write((tx) => tx.run(insertWithdrawal, { ...refundRow(asset), units, state }));

    await refund('BTC', 7n, 'broadcast');
    expect((await read()).refunded).toBe(0n);
    await refund('BTC', 1_000n, 'completed');
    expect((await read()).refunded).toBe(1_000n);
    // one unit of a litecoin is worth less than one of a bitcoin
    await refund('LTC', 1n, 'completed');
    expect((await read()).refunded).toBe(1_000n);
    await refund('LTC', at.ltcUnits / 2n - 1n, 'completed');
    expect((await read()).refunded).toBe(1_000n + counted);
  });
});

/** A refund of the invoice, as the store has it. */
function refundRow(asset: AssetId) {
  const { chain, accountId, businessId, at } = asset === 'BTC' ? btc : ltc;
  return {
    uuid: randomUUID(),
    business_id: businessId,
    account_id: accountId,
    chain_key: chain.key,
    asset,
    origin: 'refund',
    sweep: false,
    fee_held: 0n,
    fee_asset: asset,
    address: 'somebody',
    lookalike_key: 'som…ody',
    outpoint: null,
    inbox_id: null,
    invoice_id: paid.id,
    held: false,
    reason: null,
    usd_value: null,
    approved_by: 'operator' as const,
    approved_at: at,
    approval: null,
    deadline_at: null,
    spend_id: null,
    cancel: false,
    fee: null,
    txid: null,
    problem: null,
    created_at: at,
    updated_at: at,
  };
}

it('a view of rows that were read already needs no more', async () => {
  await change('LTC');
  expect(view(btc.app, business(), invoiceRow(), payment()).payment).toMatchObject({ received: 0n, transactions: [] });
});
