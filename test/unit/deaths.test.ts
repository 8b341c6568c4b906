/** The points at which scenarios kill a daemon: a run in which nobody died shows nothing. */
import { expect, it } from 'vitest';
import { nameOf, type Outcome, tryDeaths } from '../scenario/deaths.ts';
import type { Death } from '../scenario/victim.ts';
import { EVERYTHING } from '../support/sample.ts';

/** A life that reaches only some points. */
async function tried(calm: Pick<Outcome, 'commits' | 'calls'>, oneOf: number, isReached: (death: Death) => boolean) {
  const points: Death[] = [];
  const outcome = await tryDeaths({ ...calm, deaths: 0, faults: [] }, oneOf, 2, async (death) => {
    points.push(death);
    return { ...calm, deaths: isReached(death) ? 1 : 0, faults: [] };
  });
  return { ...outcome, points: points.map(nameOf) };
}

it('are at least one in a life of fewer points than a sample has one of', async () => {
  const { wrong, points, told } = await tried({ commits: 3, calls: 2 }, 48, () => true);
  expect(wrong).toEqual([]);
  const count = EVERYTHING ? 10 : 1;
  expect(points).toHaveLength(count);
  expect(told).toBe(`3 commits and 2 calls: 10 points, killed at ${count}, ${count} deaths`);
});

it('go on with the next ones until one was reached, each once', async () => {
  const isFirst = ({ moment, commit }: Death) => moment === 'committed' && commit === 1;
  const { wrong, points } = await tried({ commits: 3, calls: 2 }, 48, isFirst);
  expect(wrong).toEqual([]);
  expect(points).toContain('committed 1');
  expect(new Set(points).size).toBe(points.length);
});

it('are a fault when none was reached, and when there are none', async () => {
  const none = await tried({ commits: 2, calls: 1 }, 48, () => false);
  expect(none.wrong).toEqual(['nobody died: 2 commits and 1 calls']);
  expect(none.points).toHaveLength(6);
  expect((await tried({ commits: 0, calls: 0 }, 48, () => true)).wrong).toEqual(['nobody died: 0 commits and 0 calls']);
});

it('are not tried further after a fault', async () => {
  const calls: string[] = [];
  const { wrong } = await tryDeaths({ commits: 4, calls: 4, deaths: 0, faults: [] }, 16, 1, async (death) => {
    calls.push(nameOf(death));
    throw new Error('a payment is missing');
  });
  expect(calls).toHaveLength(EVERYTHING ? 16 : 1);
  expect(wrong).toEqual([...calls.map((one) => `${one}: a payment is missing`), 'nobody died: 4 commits and 4 calls']);
});
