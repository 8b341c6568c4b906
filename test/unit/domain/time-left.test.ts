import { expect, it } from 'vitest';
import { TimeLeft } from '../../../daemon/domain/time-left.ts';

it('tells the time left by the rate of the last minute', () => {
  const left = new TimeLeft();
  expect(left.after(100, 10_000, 0)).toBeNull();
  // too short to say anything
  expect(left.after(200, 10_000, 999)).toBeNull();
  expect(left.after(1_100, 10_000, 10_000)).toBe(89);
  // a server that slows down: the fast beginning counts no more
  expect(left.after(1_200, 10_000, 70_000)).toBe(5_280);
  expect(left.after(1_300, 10_000, 131_000)).toBe(5_307);
  expect(left.after(10_000, 10_000, 140_000)).toBe(0);
});
