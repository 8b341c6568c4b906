/** Notifications of invoices after a restore: what the lost machine may have told is not told again, and the rest is told once. */
import { expect, it } from 'vitest';
import { deriveSkipped } from '../../../daemon/app/addresses/skipped.ts';
import { decideInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { nextReceipts } from '../../../daemon/app/notifications/receipts.ts';
import { WebhookTurns } from '../../../daemon/app/notifications/webhooks.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { endQuarantine, quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { invoiceById } from '../../../daemon/store/queries/invoices.ts';
import { saveReceipt } from '../../../daemon/store/queries/receipts.ts';
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

it('one that waits for the first view of its coin keeps none of another coin back', async () => {
  const bench = await Bench.open('BTC', {}, { also: ['LTC'] });
  const other = await bench.beside('LTC');
  const [first, second] = [await bench.invoice(), await other.invoice()];
  await bench.tell({ blocks: 8, credits: () => [bench.credit(first.targetId, first.units, 7)] });
  await other.tell({ blocks: 8, credits: () => [other.credit(second.targetId, second.units, 7, { asset: 'LTC' })] });
  expect([bench.webhook(first.id), other.webhook(second.id)]).toEqual(['waiting', 'waiting']);
  // as after a start while the first coin's source is away
  bench.chain.syncs = 0;
  const { app } = bench;
  const take = () => app.store.write((tx) => new WebhookTurns().take(app, tx, 'shop', 10, () => false));
  expect(await take()).toHaveLength(1);
  expect([bench.webhook(first.id), other.webhook(second.id)]).toEqual(['waiting', 'attempted']);
  expect(await take()).toEqual([]);
  bench.chain.syncs = 1;
  expect(await take()).toHaveLength(1);
});

it('many that wait for the first view of their coin keep none of another coin back', async () => {
  const bench = await Bench.open('BTC', {}, { also: ['LTC'] });
  const other = await bench.beside('LTC');
  const first: Awaited<ReturnType<Bench['invoice']>>[] = [];
  for (let n = 0; n < 120; n++) first.push(await bench.invoice());
  await bench.tell({ blocks: 8, credits: () => first.map(({ targetId, units }) => bench.credit(targetId, units, 7)) });
  const second = await other.invoice();
  await other.tell({ blocks: 8, credits: () => [other.credit(second.targetId, second.units, 7, { asset: 'LTC' })] });
  bench.chain.syncs = 0;
  const { app } = bench;
  const take = () => app.store.write((tx) => new WebhookTurns().take(app, tx, 'shop', 10, () => false));
  expect(await take()).toHaveLength(1);
  expect(other.webhook(second.id)).toBe('attempted');
  expect(await take()).toEqual([]);
  bench.chain.syncs = 1;
  expect(await take()).toHaveLength(1);
  expect(bench.webhook(first[0]!.id)).toBe('attempted');
});

it('one that the operator decides is paid is told', async () => {
  const bench = await Bench.open();
  const { id } = await bench.invoice();
  await restored(bench);
  const { app } = bench;
  await app.store.write((tx) => decideInvoice(app, tx.get(invoiceById, { id })!, 'mark-paid', tx));
  expect(bench.webhook(id)).toBe('waiting');
});

it('one is not told while the view that shows that the data is older is being stored', async () => {
  const bench = await Bench.open();
  const { app, chain } = bench;
  const [told, spent] = [await bench.invoice(), await bench.invoice()];
  await bench.tell({ blocks: 1, credits: () => [bench.credit(spent.targetId, spent.units, 0)] });
  const turns = new WebhookTurns();
  const take = () => app.store.write((tx) => turns.take(app, tx, 'shop', 10, () => false));
  expect(await take()).toHaveLength(1);
  // the disk of before comes back
  Object.assign(chain, { syncs: 0, syncedAt: 0, startedFrom: bench.block() });
  const taken: Promise<unknown[]>[] = [];
  app.wake.on({ webhooks: () => taken.push(take()) });
  await bench.tell({
    blocks: 2,
    credits: () => [bench.credit(told.targetId, told.units, 1)],
    spends: () => [{ outpoint: `tx${spent.targetId}:0`, txid: 'another machine', block: bench.block() }],
    turnMs: 0,
  });
  expect(quarantineOf(app.store)).not.toBe(null);
  expect(bench.invoiceStatus(told.id)).toBe('paid');
  expect((await Promise.all(taken)).flat()).toEqual([]);
  expect(bench.webhook(told.id)).toBe('skipped');
});

it('one that waited when the service ended is told after the first view of its coin, and at once if the operator decides it', async () => {
  const bench = await Bench.open();
  const { app, chain } = bench;
  const [paid, decided] = [await bench.invoice(), await bench.invoice({ webhookUrl: 'https://other.example/paid' })];
  await bench.tell({ blocks: 1, credits: () => [bench.credit(paid.targetId, paid.units, 0)] });
  expect(bench.webhook(paid.id)).toBe('waiting');
  Object.assign(chain, { syncs: 0, syncedAt: 0 });
  await app.store.write((tx) => decideInvoice(app, tx.get(invoiceById, { id: decided.id })!, 'mark-paid', tx));
  const turns = new WebhookTurns();
  const take = () => app.store.write((tx) => turns.take(app, tx, 'shop', 10, () => false));
  expect((await take()).map(({ host }) => host)).toEqual(['other.example']);
  const taken: Promise<{ host: string }[]>[] = [];
  app.wake.on({ webhooks: () => taken.push(take()) });
  await bench.tell();
  expect((await Promise.all(taken)).flat().map(({ host }) => host)).toEqual(['shop.example']);
});

it('a receipt that a payer asks for in a quarantine is sent once it is over', async () => {
  const bench = await Bench.open();
  const { app, at } = bench;
  const { id } = await bench.invoice();
  await restored(bench);
  const asked = { asked: 1, asked_at: at, tries: 0, next_at: at };
  const mail = { invoice_id: id, email: 'a@example.com', subject: 's', body: 'b', ...asked };
  await app.store.write((tx) => tx.run(saveReceipt, mail));
  expect(nextReceipts(app)).toEqual([]);
  await app.store.write((tx) => endQuarantine(app, tx));
  expect(nextReceipts(app)).toMatchObject([{ invoice_id: id }]);
});
