/** What an invoice got beyond its price, where something small came behind it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { openOverpaid } from '../../../daemon/app/spends/refund-left.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import { invoiceById } from '../../../daemon/store/queries/invoices.ts';
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

describe('an overpayment', () => {
  /** Twice the price within its quote, and then something small at another price. */
  async function overpays(crumb: bigint, usd: string): Promise<void> {
    await bench.tell({ credits: () => [bench.credit(paid.targetId, paid.units * 2n, null, { txid: 'twice' })] });
    bench.advance(2 * HOUR);
    bench.rate(usd);
    const both = (back: number | null) => [
      bench.credit(paid.targetId, paid.units * 2n, back, { txid: 'twice' }),
      bench.credit(paid.targetId, crumb, back, { txid: 'crumb' }),
    ];
    await bench.tell({ credits: () => both(null) });
    await bench.tell({ blocks: DEEP, credits: () => both(DEEP - 1) });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  }

  it.each(['30000', '120000'])('is the same where a coin costs %s USD then', async (usd) => {
    await overpays(1_000n, usd);
    expect(items()).toMatchObject([{ outpoint: 'twice:0', part: paid.units + 1_000n }]);
    expect(openOverpaid(bench.app.store, invoice())).toMatchObject({ units: paid.units + 1_000n, isConfirmed: true });
  });

  it('is there also where the crumb is worth nothing', async () => {
    bench = await Bench.open('ETH');
    paid = await bench.invoice({ dueAt: Date.UTC(2026, 0, 1, 23) });
    const both = () => [
      bench.credit(paid.targetId, paid.units * 2n, 14, { txid: 'twice' }),
      bench.credit(paid.targetId, 1n, 14, { txid: 'crumb' }),
    ];
    await bench.tell({ blocks: 15, credits: both });
    expect(bench.row('crumb:0').value).toBe(0n);
    // a turn may end between the two: the crumb then comes after the payment
    const [over, ...others] = items().filter(({ reason }) => reason === 'overpaid');
    expect([over?.outpoint, others]).toEqual(['twice:0', []]);
    expect([paid.units, paid.units + 1n]).toContain(over?.part);
  });
});
