/** The disk of the database: the alerts before it is full and while it takes no writes. */

import { type Message, message } from '../domain/messages.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../domain/time.ts';
import { saveSetting, settingOf } from '../store/queries/settings.ts';
import { end, raise, raiseAs, storeWaitingAlerts } from './alerts.ts';
import type { App } from './app.ts';

/** Reserved room on the disk, so that an operator can still act when it is full. */
export const RESERVE_BYTES = 8 * 1_048_576;
/** Below it an alert is raised. */
export const FREE_BYTES_LOW = 256 * 1_048_576;
const FREE_BYTES_ENOUGH = 2 * FREE_BYTES_LOW;
/** Four times the size at which the log is folded. */
const LOG_BYTES_HIGH = 256 * 1_048_576;
/** A replicator lets the log begin anew every few minutes. */
const LOG_STUCK_MS_MAX = MS_PER_HOUR;
const BYTES_PER_MB = 1_000_000;
const SUBJECT = 'data directory';

const WHAT_TO_DO = {
  full: message('advice.disk_full'),
  locked: message('advice.disk_locked'),
  failing: message('advice.disk_fails'),
} as const;
const TROUBLES = Object.keys(WHAT_TO_DO) as (keyof typeof WHAT_TO_DO)[];

export const megabytesOf = (bytes: number): number => Math.floor(bytes / BYTES_PER_MB);

/** Raises an alert when writes fail. The alert may use the remaining room of a full disk. */
export function watchStorage(app: App): void {
  app.store.onTrouble = (trouble) => {
    if (trouble === null) {
      app.log.info('the database takes writes again');
      void endTroubles(app);
      return;
    }
    const { kind, message: reason } = trouble;
    const text = message('storage.trouble', { reason, advice: WHAT_TO_DO[kind] });
    app.store.urgently(() => void raise(app, null, `storage.${kind}`, SUBJECT, text));
  };
}

const endTroubles = (app: App): Promise<unknown> =>
  Promise.all(TROUBLES.map((kind) => end(app, `storage.${kind}`, SUBJECT)));

type Size = { at: number; bytes: number };

const SIZES_SETTING = 'storage.sizes';
const SIZES_MAX = 30;
/** Over a shorter span a busy day looks like a trend. */
const GROWTH_DAYS_MIN = 7;

const sizes = (app: App): Size[] =>
  JSON.parse(app.store.get(settingOf, { key: SIZES_SETTING })?.value ?? '[]') as Size[];

/** Notes how large the database is, once a day. To be called every minute. */
export async function noteSize(app: App): Promise<void> {
  const known = sizes(app);
  const at = app.now();
  const last = known.at(-1)?.at ?? 0;
  if (Math.abs(at - last) < MS_PER_DAY) return;
  const before = known.filter((one) => one.at < at).slice(1 - SIZES_MAX);
  const value = JSON.stringify([...before, { at, bytes: app.store.size() }]);
  await app.store.write((tx) => tx.run(saveSetting, { key: SIZES_SETTING, value, updated_at: at }));
}

/** In how many days the disk is full at the growth of the last weeks; null while it does not grow, or too little is known. */
export function daysUntilFull(app: App): number | null {
  const [first] = sizes(app);
  const { freeBytes } = app.store.health();
  if (!first || freeBytes === null) return null;
  const days = (app.now() - first.at) / MS_PER_DAY;
  const grown = app.store.size() - first.bytes;
  return days < GROWTH_DAYS_MIN || grown <= 0 ? null : Math.floor(freeBytes / (grown / days));
}

/** Looks after the disk, and warns before it is full. */
export async function tendStorage(app: App): Promise<void> {
  app.store.tend();
  await storeWaitingAlerts(app);
  const { freeBytes, trouble } = app.store.health();
  // also what a run raised that ended before there was room again
  if (trouble === null) await endTroubles(app);
  if (freeBytes !== null && freeBytes < FREE_BYTES_LOW) {
    await raiseAs(app, null, 'storage.low', SUBJECT, { megabytes: megabytesOf(freeBytes) });
  } else if (freeBytes !== null && freeBytes >= FREE_BYTES_ENOUGH) await end(app, 'storage.low', SUBJECT);
  const stuck = stuckLog(app);
  if (stuck === null) await end(app, 'storage.log', SUBJECT);
  else await raise(app, null, 'storage.log', SUBJECT, message('storage.log', stuck));
}

/** The trouble with the write-ahead log, and the remedy; null if there is none. */
export function stuckLog({ store }: Pick<App, 'store'>): { state: Message; advice: Message } | null {
  const { logBytes, logStuck } = store.health();
  const isOld = logStuck !== null && logStuck.ms > LOG_STUCK_MS_MAX;
  if (logBytes <= LOG_BYTES_HIGH && !isOld) return null;
  const megabytes = megabytesOf(logBytes);
  const grown = isOld
    ? message('log.grown_stuck', { megabytes, hours: Math.floor(logStuck.ms / MS_PER_HOUR) })
    : message('log.grown', { megabytes });
  return logStuck?.error
    ? { state: message('log.unfolded', { grown, reason: logStuck.error }), advice: WHAT_TO_DO.failing }
    : { state: message('log.read', { grown }), advice: WHAT_TO_DO.locked };
}
