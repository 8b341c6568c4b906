/**
 * Time limits for requests to a chain's source. A source that is too slow counts as away: callers get `Unavailable`,
 * not the platform's `TimeoutError`, which would count as a bug and halt the chain.
 */

import { Unavailable } from '../domain/errors.ts';
import { MS_PER_SECOND } from '../domain/time.ts';

const RETRY_SECONDS = 30;

const lateness = (ms: number, who: string): Unavailable =>
  new Unavailable(`${who} gave no answer within ${ms / MS_PER_SECOND} seconds`, RETRY_SECONDS);

/** A signal that aborts with `Unavailable` after `ms` milliseconds. `who`: the other side, for the message. */
export function deadline(ms: number, who: string): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(lateness(ms, who)), ms).unref();
  return controller.signal;
}

/**
 * Calls `work` with a signal that aborts as `parent` does, or with `Unavailable` after `ms` milliseconds. Keeps neither
 * timer nor signal after its end: jobs that run for years would collect them.
 */
export async function within<T>(
  ms: number,
  who: string,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(parent.reason);
  const timer = setTimeout(() => controller.abort(lateness(ms, who)), ms).unref();
  parent.addEventListener('abort', abort);
  if (parent.aborted) abort();
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    parent.removeEventListener('abort', abort);
  }
}
