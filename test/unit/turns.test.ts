/** The measure of how long work holds the event loop counts the work alone. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { cpuMs, turnsOf } from '../bench/turns.ts';

const OBJECTS = 300_000;
const SUMS = 40_000_000;

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Holds the loop without making garbage. Returns for how long, in CPU milliseconds. */
function hold(): number {
  const from = cpuMs();
  let sum = 0;
  for (let n = 0; n < SUMS; n++) sum = (sum + n) | 0;
  return sum === 1 ? 0 : cpuMs() - from;
}

it('a turn is as long as its work, and a collection of garbage is none', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const kept = Array.from({ length: OBJECTS }, (_, n) => ({ n }));
  let held = 0;
  const { longest, longestWithGarbage } = await turnsOf(
    (async () => {
      await turn();
      collect();
      await turn();
      held = hold();
      await turn();
      for (let n = 0; n < 5; n++) collect();
    })(),
  );
  expect(held).toBeGreaterThan(1);
  expect(longest).toBeGreaterThanOrEqual(held);
  // that of the five collections
  expect(longestWithGarbage).toBeGreaterThan(longest);
  expect(kept).toHaveLength(OBJECTS);
});
