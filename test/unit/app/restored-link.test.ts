/** Refunds of what an older state of the data has: the service before a restore may have refunded the payer already. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { restoredWarnings } from '../../../daemon/app/withdrawals/warnings.ts';
import { message } from '../../../daemon/domain/messages.ts';
import { inboxOfCredit } from '../../../daemon/store/queries/policies.ts';
import { insertRefundLink, setRefundWithdrawal } from '../../../daemon/store/queries/refund-links.ts';
import { Bench } from './bench.ts';

const HOUR = 3_600_000;
const UNTIED = { state: 'requested', invoice_id: null, inbox_id: null } as const;

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(() => bench.app.store.close());

/** A link that is made now. Returns what is warned of at a withdrawal that its payer asks for an hour later. */
async function asked(slug: string, meanwhile = async (): Promise<unknown> => undefined) {
  const { app, businessId: business_id, at } = bench;
  const open = { state: 'open', address: null, given_at: null, withdrawal_id: null, problem: null } as const;
  const of = { slug, business_id, invoice_id: null, inbox_id: 1, asset: 'BTC', units: null } as const;
  const link = { ...of, ...open, created_at: at, updated_at: at, ends_at: at + 24 * HOUR };
  const { id } = await app.store.write((tx) => tx.run(insertRefundLink, link));
  await meanwhile();
  bench.advance(HOUR);
  const given = { id, withdrawal_id: id, problem: null, updated_at: bench.at };
  await app.store.write((tx) => tx.run(setRefundWithdrawal, given));
  return { id, warnings: restoredWarnings(app.store, { ...UNTIED, id, created_at: bench.at }) };
}

it('of a link: warned of at the approval of what its payer asked for after the restore', async () => {
  expect((await asked('before')).warnings).toEqual([]);
  const restore = () => bench.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, 10));
  const { id, warnings } = await asked('restored', restore);
  expect(warnings).toEqual([{ code: 'may_be_paid', said: message('warning.link_restored', { id }) }]);
  expect((await asked('afterwards')).warnings).toEqual([]);
});

it('of an invoice and of a deposit in the inbox: warned of where these are older than the restore, and the refund is not', async () => {
  const { app } = bench;
  const warned = (tied: { invoice_id?: number; inbox_id?: number }, over = {}) =>
    restoredWarnings(app.store, { ...UNTIED, id: 7, created_at: bench.at, ...tied, ...over });
  /** An invoice that is paid twice over: the second payment is in the inbox. */
  const paid = async () => {
    const { id: invoice_id, targetId, units } = await bench.invoice();
    await bench.tell({ blocks: 8, credits: () => [bench.credit(targetId, 2n * units, 7)] });
    const { id: inbox_id } = app.store.get(inboxOfCredit, { credit_id: bench.row(`tx${targetId}:0`).id })!;
    return [{ invoice_id }, { inbox_id }] as const;
  };
  const before = await paid();
  const older = bench.at;
  expect(before.map((tied) => warned(tied))).toEqual([[], []]);
  bench.advance(HOUR);
  await app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, 10));
  bench.advance(HOUR);
  const told = [{ code: 'may_be_paid', said: message('warning.refund_restored', { id: 7 }) }];
  expect(before.map((tied) => warned(tied))).toEqual([told, told]);
  expect(before.map((tied) => warned(tied, { created_at: older }))).toEqual([[], []]);
  expect(before.map((tied) => warned(tied, { state: 'broadcast' }))).toEqual([[], []]);
});
