/** Waits until every account of a data directory has its pool of addresses, and says how long that took. */
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';

/** The service derives them beside its requests, at half of a core: on a busy machine that takes long, but goes on. */
const STANDSTILL_MS_MAX = 60_000;
const LOOK_MS = 200;

const { file, pool } = JSON.parse(process.argv[2] ?? '{}');
const db = new Database(file, { readonly: true });
const count = db.prepare(
  `SELECT count(*) AS ready FROM target
   WHERE account_id = ? AND invoice_id IS NULL AND branch = 0`,
);
const accounts = db.prepare('SELECT id FROM account').pluck();
const beganAt = performance.now();
let last = { ready: -1, at: beganAt };
for (;;) {
  const found = accounts.all().map((id) => count.get(id).ready);
  if (found.every((ready) => ready >= pool)) break;
  const ready = found.reduce((sum, one) => sum + one, 0);
  const now = performance.now();
  if (ready !== last.ready) last = { ready, at: now };
  if (now - last.at > STANDSTILL_MS_MAX) throw new Error(`no address was derived for ${STANDSTILL_MS_MAX} ms`);
  await pause(LOOK_MS);
}
process.stdout.write(`${JSON.stringify({ ms: performance.now() - beganAt })}\n`);
