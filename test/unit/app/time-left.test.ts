import { expect, it } from 'vitest';
import { TimeLeft } from '../../../daemon/app/recovery/time-left.ts';

it('tells the time left by the rate of the last five minutes', () => {
  const left = new TimeLeft();
  expect(left.after(100, 10_000, 0)).toBeNull();
  // too short to say anything
  expect(left.after(200, 10_000, 999)).toBeNull();
  expect(left.after(1_100, 10_000, 10_000)).toBe(89);
  // a server that slows down: the fast beginning counts no more
  expect(left.after(1_200, 10_000, 310_000)).toBe(26_400);
  expect(left.after(1_300, 10_000, 611_000)).toBe(26_187);
  expect(left.after(10_000, 10_000, 620_000)).toBe(0);
});
