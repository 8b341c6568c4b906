/** Waiting that can be ended, and work on many things at once. */
import type { Writable } from 'node:stream';

/** Waits `ms` milliseconds. Throws the signal's reason as soon as it aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** The result of `work`. Throws the signal's reason as soon as it aborts; `work` itself is not stopped. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Writes a text, and waits until there is room for the next one or the stream is over: whoever does not read gets no further answer. */
export async function say(stream: Writable, text: string): Promise<void> {
  if (stream.write(text) || stream.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.once('drain', resolve).once('close', resolve);
  await promise;
  stream.off('drain', resolve).off('close', resolve);
}

/** So many take a few statements each between two requests. */
const LOOKED_AT_IN_A_TURN = 20;

/** All of them, a few in each turn of the event loop. */
export async function* inTurns<T>(all: readonly T[]): AsyncGenerator<T> {
  for (const [n, one] of all.entries()) {
    if (n > 0 && n % LOOKED_AT_IN_A_TURN === 0) await new Promise(setImmediate);
    yield one;
  }
}

/** The pause between two passes of a loop. `wake` ends it, or the next one if called during a pass. */
export class WakeablePause {
  #woken = false;
  #end: (() => void) | null = null;

  wake(): void {
    this.#woken = true;
    this.#end?.();
  }

  /** Forgets earlier calls of `wake`. To be called when a pass begins. */
  begin(): void {
    this.#woken = false;
  }

  /** Waits at most `ms` milliseconds; null: until `wake`. */
  wait(ms: number | null): Promise<void> {
    if (this.#woken) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        if (timer) clearTimeout(timer);
        this.#end = null;
        resolve();
      };
      const timer = ms === null ? null : setTimeout(end, ms);
      this.#end = end;
    });
  }
}

/**
 * Calls `work` for each item in order, at most `width` at a time. After a failure no further item is begun, and the
 * failure is thrown once the calls under way have ended.
 */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  let failure: unknown;
  const lane = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (error) {
        if (!failed) failure = error;
        failed = true;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  if (failed) throw failure;
}

/**
 * Calls `work` every `everyMs` milliseconds, but not before the earlier call has ended. `onError` gets what a call
 * throws. Returns a function that ends it. The timer alone does not keep the process alive.
 */
export function repeatedly(everyMs: number, work: () => Promise<void>, onError: (error: unknown) => void): () => void {
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    work()
      .catch(onError)
      .finally(() => {
        running = false;
      });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
