/**
 * Long work in short turns. Blocks and mempools are worked through on the thread that also answers payers, so a loop
 * over them asks after every few items whether it has held the thread long enough.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a loop may hold the event loop at a stretch. */
export const SLICE_MS = 4;

/** Undefined while the slice lasts; else a promise to wait for, with which a new slice begins. */
export type Pause = () => Promise<void> | undefined;

/** Begins a slice. Call the result every few dozen items, and await what it returns, if anything. */
export function slices(sliceMs: number = SLICE_MS): Pause {
  let began = performance.now();
  const rest = async (): Promise<void> => {
    await nextTurn();
    began = performance.now();
  };
  return () => (performance.now() - began < sliceMs ? undefined : rest());
}
