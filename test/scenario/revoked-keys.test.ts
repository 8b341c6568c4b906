/** What was revoked after a backup: a restore brings it back, and the operator decides what stays. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { openByVault } from '../../daemon/wallet/backup-key.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';

const RATES = '[networks.regtest.rates]\nLTC = "80"\n';
const ADDRESS = 'rltc1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqngfmdrc';

describe('keys of a backup', () => {
  let folder: string;
  let first: TestDaemon;
  let restored: TestDaemon;
  let operator: Operator;
  const keys: Record<string, { id: number; key: string }> = {};

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-revoked-'));
    first = await startTestDaemon(RATES);
    const shop = await openShop(first, ['invoices']);
    const add = async (name: string, scopes: ('invoices' | 'balance' | 'withdraw' | 'refund')[]) => {
      keys[name] = (await shop.operator.call('key.add', { business: 'Regtest shop', name, scopes })).key;
    };
    await add('leaked', ['invoices', 'balance', 'withdraw']);
    await add('in use', ['balance', 'withdraw']);
    await add('refunds', ['refund']);
    await add('of the till', ['invoices', 'balance']);
    const file = join(folder, 'a.backup');
    await shop.operator.call('backup.make', { file });
    await shop.operator.call('key.revoke', { id: keys.leaked!.id });
    expect((await ask(first, 'leaked', 'balance')).status).toBe(401);
    await first.daemon.stop();
    const into = join(folder, 'restored');
    const opened = await openByVault(join(first.dataDir, 'vault'), PASSPHRASE);
    await restoreBackup(file, opened, into, Date.now(), 60);
    opened.close();
    restored = await startTestDaemon(RATES, into);
    operator = new Operator(restored.dataDir, PASSPHRASE);
  });
  afterAll(async () => {
    await restored?.stop();
    await first?.stop().catch(() => {});
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (service: TestDaemon, name: string, what: 'balance' | 'withdraw') =>
    service.call<{ message?: string }>(
      what === 'balance' ? 'GET' : 'POST',
      `/${what}`,
      what === 'balance' ? undefined : { amount: '1', crypto: 'LTC', address: ADDRESS },
      { 'mb-api-key': keys[name]!.key },
    );

  it('sleep: none withdraws, and the operator sees which', async () => {
    for (const name of ['leaked', 'in use']) {
      expect(await ask(restored, name, 'withdraw')).toMatchObject({
        status: 503,
        body: { message: expect.stringContaining('until the operator has kept it') },
      });
    }
    expect((await ask(restored, 'of the till', 'balance')).status).toBe(200);
    expect((await ask(restored, 'of the till', 'withdraw')).status).toBe(403);
    const { sleeping_keys } = await operator.call('restore.status', {});
    expect(sleeping_keys.map(({ name }) => name)).toEqual(['leaked', 'in use', 'refunds']);
  });

  it('work again where the operator keeps them; the others are revoked', async () => {
    const keep_keys = [keys['in use']!.id];
    await until('it takes over', () => operator.call('restore.confirm', { keep_keys }).catch(() => null));
    expect((await ask(restored, 'leaked', 'withdraw')).status).toBe(401);
    expect((await ask(restored, 'in use', 'balance')).status).toBe(200);
    expect((await ask(restored, 'in use', 'withdraw')).status).not.toBe(503);
    expect((await ask(restored, 'in use', 'withdraw')).status).not.toBe(401);
    expect((await ask(restored, 'of the till', 'balance')).status).toBe(200);
    const { keys: left } = await operator.call('key.list', { business: 'Regtest shop' });
    expect(left.map(({ name }) => name)).toEqual(expect.not.arrayContaining(['leaked', 'refunds']));
    expect((await operator.call('restore.status', {})).sleeping_keys).toEqual([]);
  });
});
