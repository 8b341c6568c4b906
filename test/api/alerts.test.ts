/** What the operator is alarmed by, and in which order. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { messageOf, textOf } from '../../daemon/domain/messages.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

let service: TestDaemon;
let call: ReturnType<typeof strictCaller>;
beforeAll(async () => {
  service = await startTestDaemon();
  call = strictCaller(service.dataDir);
});
afterAll(() => service.stop());

const LOW = { code: 'storage.low', values: { megabytes: 7 } };

/** Alerts as the service itself would have stored them. */
function store(networks: readonly (string | null)[]): void {
  const db = new Database(join(service.dataDir, 'countinghouse.db'));
  const insert = db.prepare(
    `INSERT INTO alert (kind, subject, message, created_at, network) VALUES ('test', ?, ?, 0, ?)`,
  );
  for (const [n, network] of networks.entries())
    insert.run(`${n}`, JSON.stringify(network === null ? LOW : messageOf(`message ${n}`)), network);
  db.close();
}

it('what happens in the sandbox raises none', async () => {
  const { id } = (await service.call<{ id: string }>('POST', '/invoice', { amount: 20, crypto: 'BCH' })).body;
  await service.call('POST', `/invoice/rp/${id}`, {});
  await service.call('POST', '/sandbox/pay', { invoice_id: id });
  await service.call('POST', '/sandbox/mine', { crypto: 'BCH', blocks: 1 });
  const invoice = async () => (await call('invoice.show', { invoice: id })).invoice;
  await until('it is paid', async () => (await invoice()).status === 'paid');
  await service.call('POST', '/sandbox/reorg', { crypto: 'BCH', depth: 1, drop: true });
  await until('it is undone', async () => (await invoice()).payment?.undone);
  expect((await call('alert.list', {})).alerts).toEqual([]);
  expect((await call('status', {})).open_alerts).toBe(0);
});

it('live ones come first, page by page, each with its network', async () => {
  store(['regtest', 'mainnet', null, 'testnet', 'mainnet']);
  const seen: (string | null)[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof call<'alert.list'>>> = await call('alert.list', {
      limit: 2,
      ...(after ? { after } : {}),
    });
    seen.push(...page.alerts.map(({ subject, network }) => `${subject} ${network}`));
    after = page.next;
  }
  expect(seen).toEqual(['4 mainnet', '2 null', '1 mainnet', '3 testnet', '0 regtest']);
  const { alerts } = await call('alert.list', {});
  expect(alerts[1]!.message).toEqual(LOW);
  expect(alerts.map(({ message }) => textOf(message))).toEqual([
    'message 4',
    expect.stringContaining('has 7 MB left'),
    'message 1',
    'message 3',
    'message 0',
  ]);
  const [first] = alerts;
  expect(await call('alert.seen', { ids: [first!.id, first!.id, 99_999] })).toEqual({ closed: 1 });
  expect(await call('alert.seen', { ids: [first!.id] })).toEqual({ closed: 0 });
  expect((await call('status', {})).open_alerts).toBe(4);
});
