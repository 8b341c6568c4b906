/** Alerts about what did not happen: a decision about a withdrawal, a backup, a reconciliation. */

import { isDeepStrictEqual } from 'node:util';
import { type Message, message, type Value } from '../../domain/messages.ts';
import { isSpendProblem } from '../../domain/spend-state.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE } from '../../domain/time.ts';
import { inTurns } from '../../kit/async.ts';
import { lastSlot, parseSchedule } from '../../kit/schedule.ts';
import { withdrawalsWaitingSince } from '../../store/queries/monitoring.ts';
import { openSpends, versionsOf, withdrawalsOfSpend } from '../../store/queries/withdrawals.ts';
import { end, openMessage, raise, raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import { jobDoneAt } from '../job-times.ts';
import { clockBehind } from '../recovery/clock.ts';
import { withdrawalOf } from '../spends/rows.ts';
import { CLOCK_MS_MAX } from './doctor.ts';

/** An operator who requests a withdrawal and approves it within this time gets no alert. */
const WAITING_MS_MAX = 15 * MS_PER_MINUTE;
const UNSIGNED_MS_MAX = 15 * MS_PER_MINUTE;
/** The states in which a withdrawal may stay so long without an alert. */
const OVERDUE = [
  { kind: 'withdrawal.waiting', state: 'requested', ms: WAITING_MS_MAX },
  { kind: 'withdrawal.unsigned', state: 'approved', ms: UNSIGNED_MS_MAX },
] as const;
/** A withdrawal that was sent may be in no block so long. A slow one takes four hours. */
const UNCONFIRMED_MS_MAX = MS_PER_DAY;
/** A failed job is tried again meanwhile. */
const LATE_MS_MAX = 6 * MS_PER_HOUR;

/** The nightly reconciliation: every day at 2:40. */
export const PROOF_SCHEDULE = '40 2 * * *';

/** To be called every minute. */
export async function tellWaiting(app: App): Promise<void> {
  for await (const { id, name, network } of inTurns(app.directory.businesses())) {
    if (network === 'sandbox') continue;
    for (const { kind, state, ms } of OVERDUE) {
      const found = app.store.get(withdrawalsWaitingSince, { business_id: id, state, before: app.now() - ms });
      const { oldest = null, newest = null, endsAt = null } = found ?? {};
      const isPatient = oldest !== null && kind === 'withdrawal.unsigned' && (await mayBeAway(app, oldest, endsAt));
      if (oldest === null || newest === null || isPatient) await end(app, kind, `${id}`);
      else
        await raise(app, network, kind, `${id}`, overdue(kind, name, { oldest, newest, why: whyWaits(app, oldest) }));
    }
  }
}

/** To be called every minute. The alerts end with the withdrawals. */
export async function tellUnconfirmed(app: App): Promise<void> {
  for (const { key, adapter, isCurrent } of app.chains.all()) {
    if (adapter.network === 'sandbox' || !isCurrent) continue;
    const late = app.store
      .all(openSpends, { chain_key: key })
      .flatMap(({ id }) => app.store.all(withdrawalsOfSpend, { spend_id: id }))
      .filter(({ state, problem, updated_at }) => {
        const isTold = problem !== null && isSpendProblem(problem.code);
        return state === 'broadcast' && !isTold && updated_at <= app.now() - UNCONFIRMED_MS_MAX;
      });
    for (const { id, business_id } of late) {
      const { name: business } = app.directory.business(business_id);
      const isFinal = adapter.spending?.replacement === 'none';
      const text = isFinal
        ? message('withdrawal.unconfirmed_final', { business, id, chain: adapter.chain })
        : message('withdrawal.unconfirmed', { business, id });
      if (isDeepStrictEqual(openMessage(app, 'withdrawal.unconfirmed', `${id}`), text)) continue;
      await app.store.write((tx) => {
        // it may have been completed while others were told of
        if (withdrawalOf(tx, id).state !== 'broadcast') return;
        raiseIn(app, tx, adapter.network, 'withdrawal.unconfirmed', `${id}`, text);
      });
    }
  }
}

/**
 * Whether the signing machine at home is away for no longer than the merchant wants to hear of, and no withdrawal that waits ends
 * within that time. `oldest`: of them. `endsAt`: when the first of them ends; null: none does.
 */
async function mayBeAway(app: App, oldest: number, endsAt: number | null): Promise<boolean> {
  const { away } = await app.signer.status();
  if (!away) return false;
  const patienceMs = app.config.wallet.awayAlertHours * MS_PER_HOUR;
  const { created_at } = withdrawalOf(app.store, oldest);
  const isSoonOver = endsAt !== null && endsAt <= app.now() + patienceMs;
  return !isSoonOver && app.now() - (away.seenAt ?? created_at) < patienceMs;
}

/** Why the transaction of an approved withdrawal is not made yet; null: nobody said, or the wallet is locked. */
function whyWaits({ store }: App, id: number): Value | null {
  const row = withdrawalOf(store, id);
  const versions = row.spend_id === null ? [] : store.all(versionsOf, { spend_id: row.spend_id });
  const unsigned = versions.find(({ txid, problem }) => txid === null && problem !== null);
  const { problem } = unsigned ?? row;
  return problem?.code === 'wait.locked' ? null : problem;
}

/** `oldest`, `newest`: ids. `why`: of the oldest one. */
type Waiting = { oldest: number; newest: number; why: Value | null };

function overdue(
  kind: (typeof OVERDUE)[number]['kind'],
  business: string,
  { oldest: id, newest, why }: Waiting,
): Message {
  const isMore = id !== newest;
  if (kind === 'withdrawal.unsigned' && why !== null) {
    if (isMore) return message('withdrawal.unsigned_more_why', { business, id, newest, reason: why });
    return message('withdrawal.unsigned_why', { business, id, reason: why });
  }
  return isMore ? message(`${kind}_more`, { business, id, newest }) : message(kind, { business, id });
}

/** To be called every minute. A job that never ran counts from its registration. */
export async function tellLate(app: App): Promise<void> {
  const { folder, schedule } = app.config.backup;
  if (folder !== null) await tellLateJob(app, 'backup', schedule, folder, 'backup.late');
  await tellLateJob(app, 'proof', PROOF_SCHEDULE, 'nightly', 'ledger.late');
}

async function tellLateJob(
  app: App,
  job: string,
  schedule: string,
  subject: string,
  kind: 'backup.late' | 'ledger.late',
): Promise<void> {
  const parsed = parseSchedule(schedule);
  const slot = parsed && lastSlot(parsed, app.now() - LATE_MS_MAX);
  const done = jobDoneAt(app, job);
  if (slot === null || done === null || slot <= done) return end(app, kind, subject);
  const times = { done: new Date(done).toISOString(), due: new Date(slot).toISOString() };
  await raise(app, null, kind, subject, message(kind, times));
}

/** To be called every minute: rate sources tell the time; without them, books and blocks tell what has passed. */
export async function tellClock(app: App): Promise<void> {
  const ahead = app.rates.otherClocks.aheadMs();
  if (ahead !== null && Math.abs(ahead) >= CLOCK_MS_MAX) {
    const minutes = Math.round(Math.abs(ahead) / MS_PER_MINUTE);
    return raise(app, null, 'clock.wrong', 'clock', message(ahead > 0 ? 'clock.ahead' : 'clock.behind', { minutes }));
  }
  const behind = clockBehind(app);
  if (behind !== null) return raise(app, null, 'clock.wrong', 'clock', behind.text);
  const code = openMessage(app, 'clock.wrong', 'clock')?.code;
  // what the rate sources said stays until they say another thing
  const isTheirs = code === 'clock.ahead' || code === 'clock.behind';
  if (ahead !== null || !isTheirs) await end(app, 'clock.wrong', 'clock');
}
