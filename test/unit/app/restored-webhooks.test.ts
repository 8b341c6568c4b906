/** Notifications of invoices after a restore: what the lost machine may have told is not told again, and the rest is told once. */
import { expect, it } from 'vitest';
import { deriveSkipped } from '../../../daemon/app/addresses/skipped.ts';
import { decideInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { WebhookTurns } from '../../../daemon/app/notifications/webhooks.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { endQuarantine } from '../../../daemon/app/recovery/quarantine.ts';
import { invoiceById } from '../../../daemon/store/queries/invoices.ts';
import { Bench, HOUR } from './bench.ts';

const JUMP = 20;
const DEEP = 5;

const restored = async (bench: Bench): Promise<void> => {
  await bench.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, JUMP));
  for (const account of bench.app.directory.accounts()) await deriveSkipped(bench.app, account, () => false);
};

/** Has the operator confirm; returns how many notifications are sent then. */
async function confirmed({ app }: Bench): Promise<number> {
  const turns = new WebhookTurns();
  expect(await app.store.write((tx) => turns.take(app, tx, 'shop', 10, () => false))).toEqual([]);
  await app.store.write((tx) => endQuarantine(app, tx));
  return (await app.store.write((tx) => turns.take(app, tx, 'shop', 10, () => false))).length;
}

it('an invoice that was paid before the first view of the restored machine is not told', async () => {
  const bench = await Bench.open();
  const { id, targetId, units } = await bench.invoice();
  await restored(bench);
  await bench.tell({ blocks: 8, credits: () => [bench.credit(targetId, units, 7)] });
  expect(bench.invoiceStatus(id)).toBe('paid');
  expect(bench.webhook(id)).toBe('skipped');
  expect(await confirmed(bench)).toBe(0);
});

it('one that was paid while the machine waited for its operator is told once he confirms', async () => {
  const bench = await Bench.open();
  const [later, under] = [await bench.invoice(), await bench.invoice({ usd: 5_000n })];
  await restored(bench);
  const seen = () => [bench.credit(under.targetId, under.units, 0)];
  await bench.tell({ blocks: 1, credits: seen });
  expect(bench.invoiceStatus(under.id)).toBe('unpaid');
  bench.advance();
  await bench.tell({ blocks: DEEP, credits: () => [bench.credit(later.targetId, later.units, DEEP - 1)] });
  expect([later, under].map(({ id }) => bench.invoiceStatus(id))).toEqual(['paid', 'paid']);
  expect([later, under].map(({ id }) => bench.webhook(id))).toEqual(['waiting', 'waiting']);
  // both go to the same host, one at a time
  expect(await confirmed(bench)).toBe(1);
});

it('one is not told that a view had shown as paid before the coin had a price', async () => {
  const bench = await Bench.open();
  const { id, targetId, units } = await bench.invoice({ usd: 20n });
  bench.advance(HOUR);
  await restored(bench);
  await bench.tell({ blocks: 3, credits: () => [bench.credit(targetId, units, 2)] });
  expect(bench.invoiceStatus(id)).toBe('unpaid');
  bench.rate('60000');
  await bench.tell();
  expect(bench.invoiceStatus(id)).toBe('paid');
  expect(bench.webhook(id)).toBe('skipped');
});

it('one that is paid on a coin whose first view comes after the confirmation is not told', async () => {
  const bench = await Bench.open('BTC', {}, { also: ['LTC'] });
  const other = await bench.beside('LTC');
  const old = await other.invoice({ crypto: 'LTC' });
  await restored(bench);
  await bench.tell();
  await bench.app.store.write((tx) => endQuarantine(bench.app, tx));
  await other.tell({ blocks: 8, credits: () => [other.credit(old.targetId, old.units, 7)] });
  expect(other.invoiceStatus(old.id)).toBe('paid');
  expect(other.webhook(old.id)).toBe('skipped');
  const fresh = await other.invoice({ crypto: 'LTC' });
  await other.tell({ blocks: 8, credits: () => [other.credit(fresh.targetId, fresh.units, 7)] });
  expect(other.webhook(fresh.id)).toBe('waiting');
});

it('one that the operator decides is paid is told', async () => {
  const bench = await Bench.open();
  const { id } = await bench.invoice();
  await restored(bench);
  const { app } = bench;
  await app.store.write((tx) => decideInvoice(app, tx.get(invoiceById, { id })!, 'mark-paid', tx));
  expect(bench.webhook(id)).toBe('waiting');
});
