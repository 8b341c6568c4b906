/** Answers that are kept no longer go in steps, between which others write. */
import { expect, it } from 'vitest';
import { expireAnswers } from '../../../daemon/app/idempotency.ts';
import { insertIdempotentAnswer } from '../../../daemon/store/queries/effects.ts';
import { Bench } from './bench.ts';

const COUNT = 20_250;

it('expired answers are dropped in writes of bounded size, and no others', async () => {
  const { app } = await Bench.open();
  const kept = { business_id: 1, route: 'POST /invoice', body_hash: new Uint8Array(32), status: 201, created_at: 0 };
  const body = 'x'.repeat(200);
  await app.store.write((tx) => {
    for (let i = 0; i < COUNT; i++) {
      tx.run(insertIdempotentAnswer, { ...kept, key: `old ${i}`, body, expires_at: app.now() - i });
    }
    tx.run(insertIdempotentAnswer, { ...kept, key: 'new', body, expires_at: app.now() + 1 });
    tx.run(insertIdempotentAnswer, { ...kept, key: 'for ever', body, expires_at: null });
  });
  let writes = 0;
  let others = 0;
  app.store.onCommit = () => {
    writes++;
  };
  const expiring = expireAnswers(app).then(() => {
    app.store.onCommit = null;
  });
  const other = async (): Promise<void> => {
    while (app.store.onCommit !== null) {
      await app.store.write(() => others++);
    }
  };
  await Promise.all([expiring, other()]);
  expect(writes).toBeGreaterThanOrEqual(COUNT / 500);
  expect(others).toBeGreaterThan(10);
  const left = app.store.all({ sql: 'SELECT key FROM idempotency ORDER BY key', bind: () => [] }, {});
  expect(left).toEqual([{ key: 'for ever' }, { key: 'new' }]);
});
