/** What is tried again later, after a clock that was ahead was set right: it waits no longer than it would have. */
import { expect, it } from 'vitest';
import { takeClosingMail } from '../../../daemon/app/notifications/closing-mail.ts';
import { nextReceipts } from '../../../daemon/app/notifications/receipts.ts';
import { addEndpoint, dueFor, recordDelivery } from '../../../daemon/app/notifications/shop-events.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../../daemon/domain/time.ts';
import { saveClosingMail } from '../../../daemon/store/queries/closing-mail.ts';
import { insertClosing } from '../../../daemon/store/queries/counter.ts';
import { saveReceipt } from '../../../daemon/store/queries/receipts.ts';
import { Bench } from './bench.ts';

const AHEAD_MS = 40 * MS_PER_DAY;

it('an event for a shop is due, and one that waits for its next try is not', async () => {
  const bench = await Bench.open('LTC');
  const { app } = bench;
  const endpoint = await app.store.write((tx) => addEndpoint(app, tx, bench.businessId, 'https://shop.example/', []));
  await bench.invoice();
  const right = bench.at;
  const [created] = dueFor(app, endpoint, 8);
  bench.at = right + AHEAD_MS;
  await app.store.write((tx) => recordDelivery(app, tx, created!.id, { status: 500, error: null, jitter: 1 }));
  expect(dueFor(app, endpoint, 8)).toEqual([]);
  bench.at = right;
  const due = dueFor(app, endpoint, 8);
  expect(due.map(({ id, attempts }) => [id, attempts])).toEqual([[created!.id, 1]]);
  // the longest pause
  for (let tries = 2; tries <= 9; tries++) {
    await app.store.write((tx) => recordDelivery(app, tx, created!.id, { status: 500, error: null, jitter: 1 }));
  }
  bench.at = right + 22 * MS_PER_HOUR;
  expect(dueFor(app, endpoint, 8)).toEqual([]);
  bench.at = right + 23 * MS_PER_HOUR;
  expect(dueFor(app, endpoint, 8)).toHaveLength(1);
});

it('so are a receipt and the e-mail about a closing', async () => {
  const bench = await Bench.open('LTC');
  const { app } = bench;
  const text = { subject: 's', body: 'b' };
  for (let n = 0; n < 2; n++) await bench.invoice();
  await app.store.write((tx) => {
    for (const [id, next_at] of [bench.at + AHEAD_MS, bench.at + MS_PER_HOUR].entries()) {
      tx.run(insertClosing, { business_id: bench.businessId, number: id + 1, report: {}, closed_at: bench.at });
      const times = { asked_at: bench.at, tries: 1, next_at };
      tx.run(saveReceipt, { invoice_id: id + 1, email: 'a@example.com', ...text, asked: 1, ...times });
      const mail = { closing_id: id + 1, recipients: ['a@example.com'], ...text, file: 'f', state: 'waiting' as const };
      tx.run(saveClosingMail, { ...mail, problem: null, changed_at: bench.at, ...times });
    }
  });
  expect(nextReceipts(app).map(({ invoice_id }) => invoice_id)).toEqual([1]);
  expect(await app.store.write((tx) => takeClosingMail(app, tx, true)?.closing_id)).toBe(1);
});
