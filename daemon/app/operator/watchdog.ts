/**
 * Alerts about things that did not happen: a withdrawal without a decision, a backup or a reconciliation that was not
 * made.
 */
import { lastSlot, parseSchedule } from '../../domain/schedule.ts';
import { withdrawalWaitingSince } from '../../store/queries/monitoring.ts';
import { end, raise } from '../alerts.ts';
import { type App, MS_PER_HOUR } from '../app.ts';
import { jobDoneAt } from '../job-times.ts';
import { CLOCK_MS_MAX } from './doctor.ts';

const MS_PER_MINUTE = 60_000;
/** An operator who requests a withdrawal and approves it within this time gets no alert. */
const WAITING_MS_MAX = 15 * MS_PER_MINUTE;
const UNSIGNED_MS_MAX = 15 * MS_PER_MINUTE;
/** A failed job is tried again meanwhile. */
const LATE_MS_MAX = 6 * MS_PER_HOUR;

/** The nightly reconciliation: every day at 2:40. */
export const PROOF_SCHEDULE = '40 2 * * *';

/** To be called every minute. */
export async function tellWaiting(app: App): Promise<void> {
  for (const { id, name, network } of app.directory.businesses()) {
    if (network === 'sandbox') continue;
    const since = (state: string, ms: number) =>
      app.store.get(withdrawalWaitingSince, { business_id: id, state, before: app.now() - ms });
    const asked = since('requested', WAITING_MS_MAX);
    const text = `${name}: withdrawal ${asked?.id} waits for you. \`countinghouse withdrawal list\` shows it`;
    if (asked) await raise(app, 'withdrawal.waiting', `${id}`, text, network);
    else await end(app, 'withdrawal.waiting', `${id}`);
    const unsigned = since('approved', UNSIGNED_MS_MAX);
    const why = `${name}: withdrawal ${unsigned?.id} is approved and not signed. Is the wallet locked? \`countinghouse wallet status\``;
    if (unsigned) await raise(app, 'withdrawal.unsigned', `${id}`, why, network);
    else await end(app, 'withdrawal.unsigned', `${id}`);
  }
}

/** To be called every minute. A job that never ran counts from its registration. */
export async function tellLate(app: App): Promise<void> {
  const { folder, schedule } = app.config.backup;
  if (folder !== null) await tellLateJob(app, 'backup', schedule, folder, 'The scheduled backup');
  await tellLateJob(app, 'proof', PROOF_SCHEDULE, 'nightly', 'The nightly proof of the books');
}

async function tellLateJob(app: App, job: string, schedule: string, subject: string, what: string): Promise<void> {
  const kind = job === 'proof' ? 'ledger.late' : 'backup.late';
  const parsed = parseSchedule(schedule);
  const slot = parsed && lastSlot(parsed, app.now() - LATE_MS_MAX);
  const done = jobDoneAt(app, job);
  if (slot === null || done === null || slot <= done) return end(app, kind, subject);
  const text = `${what} was not made after ${new Date(done).toISOString()}, and is late since ${new Date(slot).toISOString()}. The log says why`;
  await raise(app, kind, subject, text);
}

/** To be called every minute. The answers of the rate sources contain the time. */
export async function tellClock(app: App): Promise<void> {
  const ahead = app.rates.otherClocks.aheadMs();
  if (ahead === null) return;
  if (Math.abs(ahead) < CLOCK_MS_MAX) return end(app, 'clock.wrong', 'clock');
  const text = `The clock of this machine is ${Math.round(Math.abs(ahead) / MS_PER_MINUTE)} minutes ${ahead > 0 ? 'ahead' : 'behind'}: quotes and due dates go by it. Set it: timedatectl set-ntp true`;
  await raise(app, 'clock.wrong', 'clock', text);
}
