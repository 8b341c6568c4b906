/**
 * Time limits for what is asked of a chain's source. A source that is too slow is away like any other, so whoever waits
 * gets `Unavailable`, and never the platform's `TimeoutError`, which reads as a bug of ours and halts what met it.
 */
import { Unavailable } from '../domain/errors.ts';

const MS_PER_SECOND = 1_000;
const RETRY_SECONDS = 30;

/** A signal that aborts after `ms` milliseconds with `Unavailable`. `who`: whose answer is waited for. */
export function deadline(ms: number, who: string): AbortSignal {
  const controller = new AbortController();
  const late = new Unavailable(`${who} gave no answer within ${ms / MS_PER_SECOND} seconds`, RETRY_SECONDS);
  setTimeout(() => controller.abort(late), ms).unref();
  return controller.signal;
}
