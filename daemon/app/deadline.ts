/**
 * Time limits for requests to a chain's source. A source that is too slow counts as away: callers get `Unavailable`,
 * not the platform's `TimeoutError`, which would count as a bug and halt the chain.
 */
import { Unavailable } from '../domain/errors.ts';

const MS_PER_SECOND = 1_000;
const RETRY_SECONDS = 30;

/** A signal that aborts with `Unavailable` after `ms` milliseconds. `who`: the other side, for the message. */
export function deadline(ms: number, who: string): AbortSignal {
  const controller = new AbortController();
  const late = new Unavailable(`${who} gave no answer within ${ms / MS_PER_SECOND} seconds`, RETRY_SECONDS);
  setTimeout(() => controller.abort(late), ms).unref();
  return controller.signal;
}
