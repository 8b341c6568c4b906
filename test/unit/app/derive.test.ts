/** Where a range of addresses is derived, and that nothing is stored of a thread that has others. */
import { expect, it } from 'vitest';
import { derive, ready } from '../../../daemon/app/addresses/pool.ts';
import type { App } from '../../../daemon/app/app.ts';
import { examine } from '../../../daemon/app/operator/doctor.ts';
import { AddressThread } from '../../../daemon/chains/address-thread.ts';
import type { AddressRange } from '../../../daemon/chains/derive-thread.ts';
import { toIso } from '../../../daemon/domain/calendar.ts';
import type { DerivedAddress } from '../../../daemon/domain/chain.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { Bench, HOUR } from './bench.ts';

/** An application whose thread answers so, and how many addresses it was asked for. */
async function withThread(
  answer: (range: AddressRange, own: (index: number) => Promise<DerivedAddress>) => Promise<DerivedAddress[]>,
) {
  const bench = await Bench.open('BTC');
  const [account] = bench.app.directory.accounts();
  const { adapter } = bench.chain;
  const asked: number[] = [];
  const addressThread = new AddressThread();
  addressThread.derive = (range) => {
    asked.push(range.count);
    return answer(range, (index) => adapter.deriveAddress(account!.key, 0, index));
  };
  const warned: unknown[] = [];
  const log = Object.assign(Object.create(bench.app.log), {
    warn: ({ reason }: { reason: unknown }) => warned.push(reason),
  });
  const app: App = { ...bench.app, addressThread, log };
  const at = (ms: number): void => {
    bench.at = ms;
  };
  return { app, account: account!, asked, warned, at };
}

const all = async ({ from, count }: AddressRange, own: (index: number) => Promise<DerivedAddress>) =>
  Promise.all(Array.from({ length: count }, (_, i) => own(from + i)));

it('takes the addresses of the thread, and derives a few itself', async () => {
  const { app, account, asked } = await withThread(all);
  const before = ready(app, account);
  expect(await derive(app, account, 39)).toBe(39);
  expect(asked).toEqual([]);
  expect(await derive(app, account, 150)).toBe(150);
  expect(asked).toEqual([100, 50]);
  expect(ready(app, account)).toBe(before + 189);
});

it('says once a day that the thread fails, to doctor too, until it works again', async () => {
  let fails = true;
  const { app, account, warned, at } = await withThread((range, own) =>
    fails ? Promise.reject(new Unavailable('no memory is left', 1)) : all(range, own),
  );
  const finding = async () =>
    (await examine(app, '/nonexistent')).filter(({ text }) => text.code === 'doctor.address_thread');
  expect(await finding()).toEqual([]);
  const since = app.now();
  for (const hours of [0, 1, 22]) {
    at(since + hours * HOUR);
    await derive(app, account, 40);
  }
  expect(warned).toEqual(['no memory is left']);
  at(since + 24 * HOUR);
  await derive(app, account, 40);
  expect(warned).toEqual(['no memory is left', 'no memory is left']);
  expect(await finding()).toMatchObject([
    {
      subject: 'wallet',
      level: 'warning',
      text: { values: { at: toIso(since), reason: 'no memory is left' } },
      advice: { code: 'advice.restart_service' },
    },
  ]);
  fails = false;
  await derive(app, account, 40);
  expect(await finding()).toEqual([]);
});

it('says nothing of a thread that the service stopped', async () => {
  const { app, account, warned } = await withThread(() => Promise.reject(new Unavailable('the thread ended', 1)));
  await app.addressThread!.stop();
  await derive(app, account, 40);
  expect([warned, app.addressThread!.trouble]).toEqual([[], null]);
});

it('derives them itself when the thread has ended', async () => {
  const { app, account } = await withThread(() => Promise.reject(new Unavailable('the thread ended', 1)));
  const before = ready(app, account);
  expect(await derive(app, account, 40)).toBe(40);
  expect(ready(app, account)).toBe(before + 40);
});

it.each<[string, (range: AddressRange, own: (index: number) => Promise<DerivedAddress>) => Promise<DerivedAddress[]>]>([
  ['those of the next index', async (range, own) => all({ ...range, from: range.from + 1 }, own)],
  ['too few', async (range, own) => all({ ...range, count: range.count - 1 }, own)],
  ['none', async () => []],
])('stores nothing of a thread that gives %s', async (_, answer) => {
  const { app, account } = await withThread(answer);
  const before = ready(app, account);
  await expect(derive(app, account, 40)).rejects.toThrow('the thread derives what is derived here');
  expect(ready(app, account)).toBe(before);
});
