/** Deposits that count only in a final block: confirmed by finality, by depth where none is told, and not undone by another source. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { needsAgreement } from '../../../daemon/app/chains/agreement.ts';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { FINALIZED } from '../../../daemon/domain/assets.ts';
import { Bench, HOUR, type Paid } from './bench.ts';

let bench: Bench;
let large: Paid;
beforeEach(async () => {
  bench = await Bench.open('ETH');
  bench.rate('1');
  large = await bench.invoice({ usd: 10_000n, crypto: 'USDT_ERC20' });
});
afterEach(() => bench.app.store.close());

const seen = (finalized: number | null) =>
  bench.tell({
    blocks: 1,
    finalized,
    credits: () => [bench.credit(large.targetId, large.units, 0, { txid: 't', asset: 'USDT_ERC20' })],
  });
const shown = async () => {
  const { payment } = await readInvoice(bench.app, null, large.slug);
  return [payment?.confirmations, payment?.required];
};

describe('a payment of 10,000 USD on Ethereum', () => {
  it('counts once its block is final, and not before, however deep it is', async () => {
    await seen(bench.tip.height - 60);
    const { height } = bench.tip;
    expect(bench.row('t:0').required).toBe(FINALIZED);
    expect(await shown()).toEqual([1, 96]);
    await bench.tell({ blocks: 119, finalized: height - 1 });
    expect(bench.invoiceStatus(large.id)).toBe('unpaid');
    expect(await shown()).toEqual([120, 121]);
    await bench.tell({ blocks: 1, finalized: height });
    expect(bench.invoiceStatus(large.id)).toBe('paid');
    expect(await shown()).toEqual([121, 121]);
  });

  it('counts at a usual depth where the source tells no finality', async () => {
    await seen(null);
    await bench.tell({ blocks: 94, finalized: null });
    expect(bench.invoiceStatus(large.id)).toBe('unpaid');
    await bench.tell({ blocks: 1, finalized: null });
    expect(bench.invoiceStatus(large.id)).toBe('paid');
  });

  it('stays paid when another source takes over that tells no finality', async () => {
    await seen(null);
    await bench.tell({ blocks: 65, finalized: bench.tip.height });
    expect(bench.invoiceStatus(large.id)).toBe('paid');
    const credits = () => [bench.credit(large.targetId, large.units, 66, { txid: 't', asset: 'USDT_ERC20' })];
    await bench.tell({ blocks: 1, finalized: null, credits });
    expect(bench.row('t:0').confirmed).toBe(true);
    expect(bench.payment(large.id).status).toBe('paid');
  });

  it('waits for days while no block becomes final, with an alert, and counts by itself once one does', async () => {
    await seen(bench.tip.height - 60);
    const { height } = bench.tip;
    const stalled = () => bench.alerts().filter((kind) => kind === 'chain.finality');
    await bench.tell({ blocks: 100, finalized: height - 60 });
    expect(stalled()).toEqual([]);
    for (let day = 0; day < 40; day++) {
      bench.advance(24 * HOUR);
      bench.rate('1');
      await bench.tell({ blocks: 50, finalized: height - 1 });
    }
    expect(stalled()).toEqual(['chain.finality']);
    expect([bench.invoiceStatus(large.id), bench.payment(large.id).status]).toEqual(['unpaid', 'pending']);
    const units = bench.balance('USDT_ERC20');
    // smaller payments, and money that is there already, do not wait
    const small = await bench.invoice({ usd: 100n, crypto: 'USDT_ERC20' });
    const paying = () => [bench.credit(small.targetId, small.units, 11, { txid: 's', asset: 'USDT_ERC20' })];
    await bench.tell({ blocks: 12, finalized: height - 1, credits: paying });
    expect([bench.invoiceStatus(small.id), units]).toEqual(['paid', large.units]);
    await bench.tell({ blocks: 1, finalized: bench.tip.height - 70 });
    expect([bench.invoiceStatus(large.id), stalled()]).toEqual(['paid', []]);
  });

  it('below that amount needs twelve confirmations', async () => {
    const small = await bench.invoice({ usd: 9_998n, crypto: 'USDT_ERC20' });
    const credits = () => [bench.credit(small.targetId, small.units, 0, { txid: 's', asset: 'USDT_ERC20' })];
    await bench.tell({ blocks: 1, credits });
    await bench.tell({ blocks: 11 });
    expect(bench.invoiceStatus(small.id)).toBe('paid');
  });
});

describe('two operators', () => {
  const mustAgree = (targetId: number, units: bigint) =>
    needsAgreement(bench.app, 'regtest', 'ETH', [{ targetId, units, asset: 'USDT_ERC20' }]);

  it('must agree about each part of a large invoice, but not about the smallest of a flood', async () => {
    const small = await bench.invoice({ usd: 999n, crypto: 'USDT_ERC20' });
    expect([large.units, large.units / 10_000n].map((units) => mustAgree(large.targetId, units))).toEqual([true, true]);
    expect(mustAgree(large.targetId, large.units / 10_000n - 1n)).toBe(false);
    expect([small.units, 1_000n * 10n ** 6n].map((units) => mustAgree(small.targetId, units))).toEqual([false, true]);
  });
});
