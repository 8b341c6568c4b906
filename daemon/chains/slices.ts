/** Divides long work into short turns of the event loop, because the same thread answers payers. */
import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 4;

/** Undefined while the turn lasts; then a promise to await, after which a new turn starts. */
export type Pause = () => Promise<void> | undefined;

/** Work of any length. At each `null` the caller may let the event loop run other work. */
export type Steps<T> = Generator<null, T, undefined>;

/** Takes all steps in one turn. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Takes the steps in as many turns as they need. */
export async function inTurns<T>(steps: Steps<T>, pause: Pause): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const wait = pause();
    if (wait) await wait;
  }
}

/** Starts a turn. Call the result every few dozen items, and await what it returns, if anything. */
export function slices(sliceMs: number = SLICE_MS): Pause {
  let began = performance.now();
  const rest = async (): Promise<void> => {
    await nextTurn();
    began = performance.now();
  };
  return () => (performance.now() - began < sliceMs ? undefined : rest());
}
