/** Waits until every account of a data directory has its pool of addresses, and says how long that took. */
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';

const WAIT_MS_MAX = 240_000;
const LOOK_MS = 200;

const { file, pool } = JSON.parse(process.argv[2] ?? '{}');
const db = new Database(file, { readonly: true });
const count = db.prepare(
  `SELECT count(*) AS ready FROM target
   WHERE account_id = ? AND invoice_id IS NULL AND branch = 0`,
);
const accounts = db.prepare('SELECT id FROM account').pluck();
const beganAt = performance.now();
while (accounts.all().some((id) => count.get(id).ready < pool)) {
  if (performance.now() - beganAt > WAIT_MS_MAX) throw new Error(`the pools were not full within ${WAIT_MS_MAX} ms`);
  await pause(LOOK_MS);
}
process.stdout.write(`${JSON.stringify({ ms: performance.now() - beganAt })}\n`);
