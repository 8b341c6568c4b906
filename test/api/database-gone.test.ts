/** A database that is gone or empty beside a wallet: the service does not begin anew with the same addresses. */
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { openShop } from '../support/shop.ts';

let service: TestDaemon;
const database = () => join(service.dataDir, 'countinghouse.db');
const remove = () => {
  for (const name of readdirSync(service.dataDir).filter((one) => one.startsWith('countinghouse.db'))) {
    rmSync(join(service.dataDir, name));
  }
};
const empty = () => {
  remove();
  writeFileSync(database(), '');
};

beforeEach(async () => {
  service = await startTestDaemon();
});
afterEach(async () => {
  await service.stop().catch(() => {});
  rmSync(service.dataDir, { recursive: true, force: true });
});

it.each([
  ['gone', remove],
  ['empty', empty],
])('with a wallet, %s: it does not start, says what to do, and changes nothing', async (what, damage) => {
  await openShop(service);
  await service.daemon.stop();
  damage();
  const before = readdirSync(service.dataDir).toSorted();
  await expect(service.resume()).rejects.toMatchObject({
    code: 'store.damaged',
    message: expect.stringMatching(new RegExp(`countinghouse.db in .* is ${what}, .*countinghouse restore FILE`)),
  });
  expect(readdirSync(service.dataDir).toSorted()).toEqual(before);
});

it('in the sandbox alone, it begins anew', async () => {
  await service.daemon.stop();
  remove();
  await service.resume();
  expect(statSync(database()).size).toBeGreaterThan(0);
});
