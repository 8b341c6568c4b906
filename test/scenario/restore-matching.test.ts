/**
 * Which withdrawals a restored service finds paid, on every kind of simulated chain. The service forgets what it signed,
 * as a backup made before knows nothing of it, and meets its own transactions on the chain as those of a stranger.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptAt } from '../../daemon/sandbox/addresses.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, type Shown, stranger, withdrawal } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

const BUSINESS = 'Sandbox';
const CRYPTOS = ['BTC', 'BCH', 'ETH'] as const;
const AMOUNT = { BTC: '0.01', BCH: '0.5', ETH: '0.1' };
const ROWS = ['withdrawal', 'spend', 'spend_version', 'spend_key', 'spend_payout'] as const;

type Case = { paid: string; same: string; other: string };
const cases: Partial<Record<(typeof CRYPTOS)[number], Case>> = {};
const paidBy = new Map<string, Shown>();
let everything: string;
/** Asked for after the restore, so that nothing that was paid before can have been for it. */
let later: string;
let service: TestDaemon;
let operator: Operator;

beforeAll(async () => {
  service = await startTestDaemon();
  operator = new Operator(service.dataDir);
  await operator.call('policy.set', { business: BUSINESS, mode: 'manual' });
  for (const crypto of CRYPTOS) {
    await deposit(service, crypto, 4_000);
    const address = stranger(crypto);
    const amount = AMOUNT[crypto];
    const [paid, same] = [await request(crypto, address, amount), await request(crypto, address, amount)];
    cases[crypto] = { paid, same, other: await request(crypto, stranger(crypto, 1), amount) };
  }
  await deposit(service, 'LTC', 500);
  const all = { business: BUSINESS, crypto: 'LTC', address: stranger('LTC'), amount: null };
  everything = `${(await operator.call('withdrawal.add', all)).withdrawal.id}`;
  later = await request('BTC', stranger('BTC', 2), AMOUNT.BTC);
  const backup = await surgery((db) => ROWS.map((name) => db.prepare(`SELECT * FROM ${name}`).all()));
  await pay();
  await surgery((db) => forget(db, backup as Record<string, unknown>[][]));
});
afterAll(() => service?.stop());

async function request(crypto: string, address: string, amount: string): Promise<string> {
  const { status, body } = await service.call<{ id: string }>('POST', '/withdraw', { crypto, address, amount });
  expect(status).toBe(201);
  return body.id;
}

/** Works on the database while the service is stopped. */
async function surgery<T>(work: (db: Database.Database) => T): Promise<T> {
  await service.daemon.stop();
  const db = new Database(join(service.dataDir, 'countinghouse.db'));
  const done = db.transaction(work)(db);
  db.close();
  await service.resume();
  return done;
}

/** One of each pair, and all of the LTC, are paid: in a block, but for those in ETH. */
async function pay(): Promise<void> {
  for (const id of [...CRYPTOS.map((crypto) => cases[crypto]!.paid), everything, later]) {
    await operator.approve(id);
    await until(`withdrawal ${id} is sent`, async () => (await operator.show(id)).state === 'broadcast');
  }
  for (const crypto of ['BTC', 'BCH', 'LTC']) await service.call('POST', '/sandbox/mine', { crypto });
  for (const id of [cases.BTC!.paid, cases.BCH!.paid, everything, later]) {
    const shown = await until(`withdrawal ${id} is completed`, async () => {
      const now = await withdrawal(service, id);
      return now.status === 'completed' && now;
    });
    paidBy.set(id, shown);
  }
  const { versions } = await operator.show(cases.ETH!.paid);
  paidBy.set(cases.ETH!.paid, { ...(await withdrawal(service, cases.ETH!.paid)), tx_id: versions[0]!.tx_id });
}

function forget(db: Database.Database, backup: Record<string, unknown>[][]): void {
  for (const [at, name] of ROWS.entries()) {
    db.prepare(`DELETE FROM ${name}`).run();
    for (const row of backup[at] ?? []) {
      const names = Object.keys(row);
      db.prepare(`INSERT INTO ${name} (${names.join()}) VALUES (${names.map(() => '?').join()})`).run(
        ...Object.values(row),
      );
    }
  }
  const record = { since: 0, backup_made_at: 'then', last_withdrawal: Number(everything), heights: {} };
  db.prepare("INSERT INTO setting (key, value, updated_at) VALUES ('quarantine', ?, 0)").run(JSON.stringify(record));
}

describe('a service that forgot what it signed', () => {
  it.each(CRYPTOS)('finds the older of two alike paid by a transaction of %s, and no other', async (crypto) => {
    const { paid, same, other } = cases[crypto]!;
    const state = crypto === 'ETH' ? 'broadcast' : 'completed';
    const found = await until(`withdrawal ${paid} is found`, async () => {
      const now = await operator.show(paid);
      return now.state === state && now;
    });
    expect(found.versions).toMatchObject([{ kind: 'pay', tx_id: paidBy.get(paid)!.tx_id }]);
    expect(await withdrawal(service, paid)).toMatchObject({
      tx_id: crypto === 'ETH' ? null : paidBy.get(paid)!.tx_id,
      fee: paidBy.get(paid)!.fee,
      amount: AMOUNT[crypto],
    });
    for (const id of [same, other]) {
      expect(await operator.show(id)).toMatchObject({ state: 'requested', versions: [] });
    }
  });

  it('finds what took everything, with what its recipient got', async () => {
    const shown = await until('it is found', async () => {
      const now = await withdrawal(service, everything);
      return now.status === 'completed' && now;
    });
    const { tx_id, amount, fee } = paidBy.get(everything)!;
    expect(shown).toMatchObject({ tx_id, amount, fee });
  });

  it('believes nothing paid that was asked for later, and says so until the operator explains it', async () => {
    const { tx_id } = paidBy.get(later)!;
    const explained = [expect.stringContaining(`${tx_id}: spent `)];
    await until('all others are known', async () => (await problemsOf('sandbox:BTC')).length === explained.length);
    expect(await problemsOf('sandbox:BTC')).toEqual(explained);
    expect(await operator.show(later)).toMatchObject({ state: 'requested', versions: [] });
  });

  it('takes over with nothing left to ask, and pays what was not paid, once', async () => {
    await operator.call('restore.confirm', { keep_keys: 'all' });
    expect(await problemsOf('sandbox:BTC')).toEqual([]);
    await service.call('POST', '/sandbox/mine', { crypto: 'ETH' });
    await until('the unconfirmed one is completed', async () => {
      const now = await withdrawal(service, cases.ETH!.paid);
      return now.status === 'completed' && now.tx_id === paidBy.get(cases.ETH!.paid)!.tx_id;
    });
    for (const crypto of CRYPTOS) {
      const { same } = cases[crypto]!;
      await operator.approve(same);
      await until('it is sent', async () => (await operator.show(same)).state === 'broadcast');
      await service.call('POST', '/sandbox/mine', { crypto });
      await until('it is completed', async () => (await withdrawal(service, same)).status === 'completed');
      expect(paidTo(crypto)).toEqual([2, 0]);
    }
  });
});

async function problemsOf(chain: string): Promise<string[]> {
  const { chains } = await operator.call('ledger.prove', { chain });
  return chains.flatMap(({ problems }) => problems);
}

/** How many outputs of a simulated chain pay each of the two strangers. */
function paidTo(crypto: (typeof CRYPTOS)[number]): number[] {
  const db = new Database(join(service.dataDir, 'countinghouse.db'), { readonly: true });
  const count = db.prepare('SELECT COUNT(*) FROM sandbox_output WHERE chain = ? AND script = ?').pluck();
  const counts = [0, 1].map((index) => count.get(crypto, scriptAt(crypto, stranger(crypto, index))) as number);
  db.close();
  return counts;
}
