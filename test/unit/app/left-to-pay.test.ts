/** What a payer is asked for once a part came. */
import { expect, it } from 'vitest';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import { Bench } from './bench.ts';

it.each([294n, 546n])('is no less than the %s units that wallets can send, and pays the invoice', async (least) => {
  const bench = await Bench.open();
  const { id, slug, targetId, units } = await bench.invoice({ usd: 10n });
  Object.assign(bench.chain.adapter, {
    spending: { sendable: (_: string, asked: bigint) => (asked < least ? least : asked) },
  });
  // 12 cents are missing, more than the tolerance
  const part = () => bench.credit(targetId, units - 200n, 0, { txid: 'part' });
  const left = async () => (await readInvoice(bench.app, null, slug)).payment!.remaining;
  expect(await left()).toBe(units);
  await bench.tell({ blocks: 1, credits: () => [part()] });
  expect([bench.invoiceStatus(id), await left()]).toEqual(['unpaid', least]);
  await bench.tell({ blocks: 1, credits: () => [bench.credit(targetId, least, 0, { txid: 'rest' })] });
  expect([bench.invoiceStatus(id), await left()]).toEqual(['paid', 0n]);
  // the payer sent what was asked for
  expect((await readInvoice(bench.app, null, slug)).payment!.overpaid).toBe(false);
  expect(bench.app.store.all(inboxBelow, { id: Number.MAX_SAFE_INTEGER, limit: 10 })).toEqual([]);
});
