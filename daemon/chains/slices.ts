/**
 * Long work in short turns. Blocks and mempools are worked through on the thread that also answers payers, so a loop
 * over them asks after every few items whether it has held the thread long enough.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a loop may hold the event loop at a stretch. */
export const SLICE_MS = 4;

/** Undefined while the slice lasts; else a promise to wait for, with which a new slice begins. */
export type Pause = () => Promise<void> | undefined;

/** Work of any length: at each `null` whoever takes the steps may let others have their turn. */
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

/** Begins a slice. Call the result every few dozen items, and await what it returns, if anything. */
export function slices(sliceMs: number = SLICE_MS): Pause {
  let began = performance.now();
  const rest = async (): Promise<void> => {
    await nextTurn();
    began = performance.now();
  };
  return () => (performance.now() - began < sliceMs ? undefined : rest());
}
