/** A refund link that an older state of the data has: the service before a restore may have refunded its payer already. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { linkWarnings } from '../../../daemon/app/withdrawals/warnings.ts';
import { message } from '../../../daemon/domain/messages.ts';
import { insertRefundLink, setRefundWithdrawal } from '../../../daemon/store/queries/refund-links.ts';
import { Bench } from './bench.ts';

const HOUR = 3_600_000;

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
  return { id, warnings: linkWarnings(app.store, { id, state: 'requested', created_at: bench.at }) };
}

it('is warned of at the approval of what its payer asked for after the restore', async () => {
  expect((await asked('before')).warnings).toEqual([]);
  const restore = () => bench.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, 10));
  const { id, warnings } = await asked('restored', restore);
  expect(warnings).toEqual([{ code: 'may_be_paid', said: message('warning.link_restored', { id }) }]);
  expect((await asked('afterwards')).warnings).toEqual([]);
});
