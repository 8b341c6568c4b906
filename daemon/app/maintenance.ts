/**
 * Removes old rows, a bounded step at a time: transactions kept for coins that are long spent, attempts of webhooks and
 * closed alerts that are older than a year. Rows with a rule of their own (answers kept for an Idempotency-Key, events for
 * shops, rates) are removed every minute.
 */
import { setImmediate as turn } from 'node:timers/promises';
import {
  buriedSpends,
  coinInUse,
  dropAlert,
  dropAttempt,
  dropPrevious,
  oldAlerts,
  oldAttempts,
} from '../store/queries/maintenance.ts';
import { deletePayingInputs } from '../store/queries/paying.ts';
import { saveSetting, settingOf } from '../store/queries/settings.ts';
import type { Tx } from '../store/store.ts';
import type { App } from './app.ts';

const ROWS_A_STEP = 100;
/** No reorganisation reaches so deep: a week of Bitcoin's blocks. */
const BURIED_BLOCKS = 1_008;
/** A year, and some weeks for the accounting. */
const KEPT_MS = 400 * 86_400_000;

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
    await repeat(app, signal, (tx) => freePrevious(app, tx, key, tipHeight - BURIED_BLOCKS, freed));
  }
  const before = app.now() - KEPT_MS;
  await repeat(app, signal, (tx) => {
    const old = tx.all(oldAttempts, { before, limit: ROWS_A_STEP });
    for (const { id } of old) tx.run(dropAttempt, { id });
    freed.attempts += old.length;
    return old.length === ROWS_A_STEP;
  });
  await repeat(app, signal, (tx) => {
    const old = tx.all(oldAlerts, { after: 0, before, limit: ROWS_A_STEP });
    for (const { id } of old) tx.run(dropAlert, { id });
    freed.alerts += old.length;
    return old.length === ROWS_A_STEP;
  });
  return freed;
}

/** `step` returns whether there is more of it. */
async function repeat(app: App, signal: AbortSignal, step: (tx: Tx) => boolean): Promise<void> {
  let more = true;
  while (more && !signal.aborted) {
    more = await app.store.write(step);
    await turn();
  }
}

/**
 * Forgets whole transactions that paid us, and their inputs, once all of their coins are spent and buried. Its position
 * is stored, so that each spend is examined once.
 */
function freePrevious(app: App, tx: Tx, chain_key: string, to: number, freed: Freed): boolean {
  const setting = `maintenance.spends.${chain_key}`;
  const [height = 0, id = 0] = (tx.get(settingOf, { key: setting })?.value ?? '').split(':').map(Number);
  const page = tx.all(buriedSpends, { chain_key, height, id, to, limit: ROWS_A_STEP });
  const last = page.at(-1);
  if (!last) return false;
  for (const txid of new Set(page.map((coin) => coin.txid))) {
    if (tx.get(coinInUse, { after: `${txid}:`, to: `${txid};`, chain_key, height: to })) continue;
    freed.transactions += tx.run(dropPrevious, { txid, chain_key }).changes;
    tx.run(deletePayingInputs, { txid, chain_key });
  }
  const value = `${last.spent_block_height}:${last.id}`;
  tx.run(saveSetting, { key: setting, value, updated_at: app.now() });
  return page.length === ROWS_A_STEP;
}
