/**
 * Whether the clock of this machine is behind what has passed already: after a start in 1970, say, as machines without a
 * battery have it. Deadlines that such a clock makes are over as soon as it is set right, so nothing new begins under it.
 *
 * A clock that was ahead once leaves later times in the books. Therefore the books alone do not count against three rate
 * sources, or the newest blocks of a chain, that agree with the clock, nor against the operator who has seen the alert.
 */

import { z } from 'zod';
import { BLOCK_TIME_AHEAD_MAX_MS } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { type Message, message } from '../../domain/messages.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { newestInvoice } from '../../store/queries/invoices.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';

/** The setting of the stamp (`instance.ts`). */
export const STAMP_SETTING = 'instance';
const SEEN_SETTING = 'clock.seen';
/** This program did not exist before. */
const PROGRAM_MADE_AT = Date.UTC(2025, 0, 1);
const TOLD_MS_MIN = MS_PER_HOUR;
/** Half of the default grace of a deadline: nothing that began under a clock that is less behind ends too early. */
const WAIT_MS_MIN = 12 * MS_PER_HOUR;
/** Blocks of a chain that works are no further from the right time. */
const BLOCKS_MS_MAX = 12 * MS_PER_HOUR;
const RETRY_SECONDS = 60;

/** `ms`: how far the clock is behind at least. */
type Behind = { ms: number; text: Message };

const Stamp = z.object({ at: z.number() });

/** How far the clock is behind, and by which witness, from an hour on; null: nobody speaks against it. */
export function clockBehind(app: App, reader: Reader = app.store): Behind | null {
  const now = app.now();
  if (now < PROGRAM_MADE_AT) return { ms: PROGRAM_MADE_AT - now, text: message('clock.behind_program') };
  const tips = blockTimes(app);
  const blocks = tips.length === 0 ? 0 : Math.min(...tips);
  const known = (at: number) => ({ known: new Date(at).toISOString() });
  if (blocks - now > TOLD_MS_MIN) return { ms: blocks - now, text: message('clock.behind_blocks', known(blocks)) };
  const ahead = app.rates.otherClocks.aheadMs();
  const isRight = ahead !== null && Math.abs(ahead) < TOLD_MS_MIN;
  if (isRight || tips.some((at) => Math.abs(now - at) < BLOCKS_MS_MAX)) return null;
  const stored = newestStored(reader);
  if (stored - now <= TOLD_MS_MIN || stored <= seenUntil(reader)) return null;
  return { ms: stored - now, text: message('clock.behind_books', known(stored)) };
}

/** Throws `Unavailable` while the clock is certainly wrong. `what`: the request, as in "New payments wait …". */
export function refuseWrongClock(app: App, reader: Reader, what: string): void {
  const { otherClocks } = app.rates;
  const behind = Math.max(clockBehind(app, reader)?.ms ?? 0, -(otherClocks.aheadMs() ?? 0));
  if (behind <= WAIT_MS_MIN) return;
  throw new Unavailable(`${what} wait until the clock of this service is set: it is far behind`, RETRY_SECONDS);
}

/** The operator has seen that the clock is behind the books, and leaves it: what is stored so far no longer counts against it. */
export function leaveClock(tx: Tx, now: number): void {
  tx.run(saveSetting, { key: SEEN_SETTING, value: `${newestStored(tx)}`, updated_at: now });
}

/** The median times of the newest blocks, where blocks have a time, milliseconds since 1970. */
const blockTimes = (app: App): number[] =>
  app.chains
    .all()
    .flatMap(({ dormant, latestNow }) => (dormant || latestNow === null ? [] : [latestNow - BLOCK_TIME_AHEAD_MAX_MS]));

/** The latest time in the books, by the stamp of every minute and the newest invoice; 0: nothing is stored. */
function newestStored(reader: Reader): number {
  const stamp = reader.get(settingOf, { key: STAMP_SETTING });
  const at = stamp === undefined ? 0 : Stamp.parse(JSON.parse(stamp.value)).at;
  return Math.max(at, reader.get(newestInvoice, {})?.created_at ?? 0);
}

const seenUntil = (reader: Reader): number => Number(reader.get(settingOf, { key: SEEN_SETTING })?.value ?? 0);
