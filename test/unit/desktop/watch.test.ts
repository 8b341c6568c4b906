/** What the desktop program says when nobody would notice a foreign address. */
import { expect, it } from 'vitest';
import { Watch } from '../../../main/watch.ts';

const MINUTE = 60_000;
const AT = '2030-01-01T00:00:00.000Z';
const NOW = Date.parse(AT);
const calm = { now: NOW, isConnected: true, hasWallet: true, signs: true, at: AT, heldSince: null };

/** `minutes`: how long, in ticks of ten seconds. Returns what is said at the end of each. */
function watched(watch: Watch, minutes: number, change: Partial<Parameters<Watch['see']>[0]>, from = 0) {
  const said: unknown[] = [];
  for (let ticks = 0; ticks <= minutes * MINUTE; ticks += 10_000) {
    watch.see({ ...calm, ticks: from + ticks, ...change });
    said.push(watch.unwatched);
  }
  return said.at(-1);
}

it('says that no look has succeeded for two hours of connection, and when one does', () => {
  const watch = new Watch();
  expect(watched(watch, 119, {})).toBeNull();
  expect(watched(watch, 2, {}, 119 * MINUTE)).toEqual({ why: 'late', since: AT });
  expect(watched(watch, 1, { at: '2030-01-01T02:00:00.000Z' }, 122 * MINUTE)).toBeNull();
  const never = new Watch();
  expect(watched(never, 121, { at: null })).toEqual({ why: 'late', since: null });
});

it('says nothing while the server is away, this computer slept, or there is no wallet', () => {
  expect(watched(new Watch(), 600, { isConnected: false })).toBeNull();
  expect(watched(new Watch(), 600, { hasWallet: false, signs: false, at: null })).toBeNull();
  const slept = new Watch();
  for (const ticks of [0, 600 * MINUTE]) slept.see({ ...calm, ticks });
  expect(slept.unwatched).toBeNull();
});

it('counts the time of a server that ends each connection soon', () => {
  const watch = new Watch();
  for (let n = 0; n < 480; n++) watch.see({ ...calm, ticks: n * 30_000, isConnected: n % 2 === 0 });
  expect(watch.unwatched).toBeNull();
  for (let n = 480; n < 1_500; n++) watch.see({ ...calm, ticks: n * 30_000, isConnected: n % 2 === 0 });
  expect(watch.unwatched).toEqual({ why: 'late', since: AT });
});

it('says within minutes that the process has ended, and that addresses are kept back', () => {
  const watch = new Watch();
  expect(watched(watch, 4, { signs: false })).toBeNull();
  expect(watched(watch, 2, { signs: false }, 4 * MINUTE)).toEqual({ why: 'ended', since: AT });
  expect(watched(watch, 0, { now: NOW + 29 * MINUTE, heldSince: AT }, 7 * MINUTE)).toBeNull();
  expect(watched(watch, 0, { now: NOW + 30 * MINUTE, heldSince: AT }, 8 * MINUTE)).toEqual({ why: 'held', since: AT });
  expect(watched(watch, 0, {}, 9 * MINUTE)).toBeNull();
});
