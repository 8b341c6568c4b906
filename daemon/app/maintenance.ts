/**
 * Removes old rows, a bounded step at a time: transactions kept for coins that are long spent, attempts of webhooks and
 * closed alerts that are older than a year. Rows with a rule of their own (answers kept for an Idempotency-Key, events for
 * shops, rates) are removed every minute.
 */

import { setImmediate as turn } from 'node:timers/promises';
import { MS_PER_DAY } from '../domain/time.ts';
import {
  alertsAfter,
  attemptsAfter,
  buriedSpends,
  coinInUse,
  dropAlert,
  dropAttempt,
  dropPrevious,
} from '../store/queries/maintenance.ts';
import { deletePayingInputs } from '../store/queries/paying.ts';
import { saveSetting, settingOf } from '../store/queries/settings.ts';
import type { Statement } from '../store/statement.ts';
import type { Tx } from '../store/store.ts';
import type { App } from './app.ts';

const ROWS_A_STEP = 100;
/** A step ends early after this time: a transaction may have a hundred rows. */
const STEP_MS_MAX = 5;
/** No reorganisation reaches so deep: a week of Bitcoin's blocks. */
const REORGANISED_BLOCKS_MAX = 1_008;
/** A year, and some weeks for the accounting. */
const KEPT_MS = 400 * MS_PER_DAY;

type Freed = { transactions: number; attempts: number; alerts: number };

/** When the rows were last examined: every night, at another time than the backup and the proof. */
export const MAINTENANCE_SCHEDULE = '20 4 * * *';

/**
 * Removes all rows that are no longer needed, with a turn of the event loop after each step. Ends early when `signal`
 * is aborted.
 */
export async function freeRows(app: App, signal: AbortSignal): Promise<Freed> {
  const freed: Freed = { transactions: 0, attempts: 0, alerts: 0 };
  for (const { key, tipHeight } of app.chains.all()) {
    if (tipHeight === null) continue;
    freed.transactions += await repeat(app, signal, (tx) =>
      freePrevious(app, tx, key, tipHeight - REORGANISED_BLOCKS_MAX),
    );
  }
  freed.attempts = await freeOld(app, signal, attemptsAfter, dropAttempt);
  freed.alerts = await freeOld(app, signal, alertsAfter, dropAlert);
  return freed;
}

/** `more`: whether another step has something to do. */
type Step = { removed: number; more: boolean };

/** Returns how many rows were removed. */
async function repeat(app: App, signal: AbortSignal, step: (tx: Tx) => Step): Promise<number> {
  let removed = 0;
  for (let more = true; more && !signal.aborted; ) {
    const done = await app.store.write(step);
    removed += done.removed;
    more = done.more;
    await turn();
  }
  return removed;
}

type Dated = { id: number; at: number | null };

/**
 * Removes the rows of a table that are older than KEPT_MS, beginning with the lowest id. Ids ascend with time, but for rows
 * without an end, and those that were made while the clock was ahead: these are passed over. Ends where all are newer.
 */
async function freeOld(
  app: App,
  signal: AbortSignal,
  rowsAfter: Statement<{ after: number; limit: number }, Dated>,
  drop: Statement<{ id: number }, never>,
): Promise<number> {
  const now = app.chains.credibleNow(app.now());
  const before = now - KEPT_MS;
  let after = 0;
  return repeat(app, signal, (tx) => {
    const page = tx.all(rowsAfter, { after, limit: ROWS_A_STEP });
    const old = page.filter(({ at }) => at !== null && at < before);
    for (const { id } of old) tx.run(drop, { id });
    const areNewer = page.every(({ at }) => at !== null && at >= before && at <= now);
    tx.afterCommit(() => {
      after = page.at(-1)?.id ?? after;
    });
    return { removed: old.length, more: page.length === ROWS_A_STEP && !areNewer };
  });
}

/**
 * Forgets whole transactions that paid us, and their inputs, once all of their coins are spent and buried. Its position
 * is stored, so that each spend is examined once.
 */
function freePrevious(app: App, tx: Tx, chain_key: string, to: number): Step {
  const setting = `maintenance.spends.${chain_key}`;
  const [height = 0, id = 0] = (tx.get(settingOf, { key: setting })?.value ?? '').split(':').map(Number);
  const page = tx.all(buriedSpends, { chain_key, height, id, to, limit: ROWS_A_STEP });
  const until = performance.now() + STEP_MS_MAX;
  let removed = 0;
  let done = 0;
  while (done < page.length && performance.now() < until) removed += forget(tx, page[done++]!.txid, chain_key, to);
  const last = page[done - 1];
  if (!last) return { removed, more: false };
  const value = `${last.spent_block_height}:${last.id}`;
  tx.run(saveSetting, { key: setting, value, updated_at: app.now() });
  return { removed, more: done < page.length || page.length === ROWS_A_STEP };
}

function forget(tx: Tx, txid: string, chain_key: string, to: number): number {
  if (tx.get(coinInUse, { after: `${txid}:`, to: `${txid};`, chain_key, height: to })) return 0;
  tx.run(deletePayingInputs, { txid, chain_key });
  return tx.run(dropPrevious, { txid, chain_key }).changes;
}
