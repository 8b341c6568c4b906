/**
 * What was approved before a backup and paid after it, when the new machine's node has not heard of that transaction: the
 * restored service pays nothing that its operator does not approve again, and finds the old payment when it appears.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBackup } from '../../daemon/app/backup/make.ts';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { MAY_BE_PAID } from '../../daemon/app/recovery/begin-quarantine.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { createLog } from '../../daemon/log.ts';
import { type Daemon, startDaemon } from '../../daemon/main.ts';
import { openByVault } from '../../daemon/wallet/backup-key.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';

const COIN = 100_000_000n;
/** Instead of 10,000, which take a minute to derive. */
const JUMP = 25;
const CAUGHT_UP_MS = 60_000;
const SHOP = 'Regtest shop';

type Payment = { id: string; address: string };

describe.skipIf(!hasLitecoind)(litecoindTitle('withdrawals approved before a backup, on litecoind'), () => {
  let node: Litecoind;
  let first: TestDaemon;
  let before: Operator;
  let key: string;
  let folder: string;
  let dataDir: string;
  let restored: Daemon;
  let operator: Operator;
  let byOperator: Payment;
  let byPolicy: Payment;
  let waiting: Payment;
  /** The operator's approval of the first, as somebody kept it. */
  let kept: string;
  /** The transactions that paid the first two after the backup: their ids, and their bytes. */
  const paid: { txid: string; raw: string }[] = [];

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-backups-'));
    first = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
    ({ key, operator: before } = await openShop(first, ['invoices', 'balance', 'withdraw'], SHOP));
    await before.unlock();
    await before.allow({ business: SHOP, per_withdrawal_usd: '100', per_day_usd: '1000' });
    await before.call('wallet.lock', {});
    await deposit(6);
    waiting = await request('1.5');
    byOperator = await request('1.3');
    await before.approve(byOperator.id);
    byPolicy = await request('1.2');
    for (const { id } of [byOperator, byPolicy]) {
      await until('it waits for the wallet', async () => (await before.show(id)).problem === 'the wallet is locked');
    }
    await backUpWithPlan();
    await paidAfterBackup();
    await first.daemon.stop();
    await restoreBesideAnEmptyMempool();
  });
  afterAll(async () => {
    await restored?.stop();
    await first?.stop().catch(() => {});
    await node?.remove();
    for (const made of [dataDir, folder]) if (made) await rm(made, { recursive: true, force: true });
  });

  const call = async <Body>(method: string, path: string, body?: unknown, url = first.url) => {
    const response = await fetch(`${url}/api/v1/merchant${path}`, {
      method,
      headers: { 'mb-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Body };
  };

  async function deposit(count: number): Promise<void> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    const address = await until('litecoind is followed', async () => {
      const asked = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`);
      return asked.status === 201 && asked.body.address;
    });
    await node.pay(Array.from({ length: count }, () => ({ address, units: 2n * COIN })));
    await node.mine(12);
    await until('the deposits are spendable', async () => {
      return (await call<{ LTC: number }>('GET', '/balance')).body.LTC === 2 * count;
    });
  }

  async function request(amount: string, url?: string): Promise<Payment> {
    const address = await node.newAddress();
    const { body } = await call<{ id: string }>('POST', '/withdraw', { amount, crypto: 'LTC', address }, url);
    return { id: body.id, address };
  }

  /** A backup of the moment between planning and signing. */
  async function backUpWithPlan(): Promise<void> {
    await first.daemon.stop();
    const db = new Database(join(first.dataDir, 'countinghouse.db'), { readonly: true });
    kept = String(db.prepare('SELECT approval FROM withdrawal WHERE id = ?').pluck().get(byOperator.id));
    db.close();
    surgery(`
      INSERT INTO spend (id, account_id, chain_key, asset, purpose, conflict_key, state, created_at)
        VALUES (1, 1, 'regtest:LTC', 'LTC', 'pay', 'a key', 'open', 0);
      INSERT INTO spend_version (id, spend_id, chain_key, kind, plan, fee, size, created_at)
        VALUES (1, 1, 'regtest:LTC', 'pay', '{}', '1', 1, 0);
      INSERT INTO spend_key (conflict_key, chain_key, version_id) VALUES ('a key', 'regtest:LTC', 1);
      INSERT INTO spend_payout (version_id, withdrawal_id, units) VALUES (1, ${byOperator.id}, '1');
      UPDATE withdrawal SET spend_id = 1 WHERE id = ${byOperator.id}`);
    await makeBackup({ dataDir: first.dataDir, file: join(folder, 'now.backup'), release: 'test', now: first.now() });
    surgery(`
      DELETE FROM spend; DELETE FROM spend_version; DELETE FROM spend_key; DELETE FROM spend_payout;
      UPDATE withdrawal SET spend_id = NULL`);
    await first.resume();
  }

  function surgery(statements: string): void {
    const db = new Database(join(first.dataDir, 'countinghouse.db'));
    db.exec(statements);
    db.close();
  }

  async function paidAfterBackup(): Promise<void> {
    await before.unlock();
    for (const { id } of [byOperator, byPolicy]) {
      const txid = await until('it is sent', async () => {
        const sent = (await before.show(id)).versions[0]?.tx_id;
        return sent && (await mempool()).includes(sent) && sent;
      });
      paid.push({ txid, raw: await node.rpc<string>('getrawtransaction', [txid]) });
    }
  }

  const mempool = (): Promise<string[]> => node.rpc<string[]>('getrawmempool', []);

  async function restoreBesideAnEmptyMempool(): Promise<void> {
    await node.stop();
    await rm(join(node.folder, 'regtest', 'mempool.dat'), { force: true });
    await node.launch(['-persistmempool=0']);
    expect(await mempool()).toEqual([]);
    dataDir = await mkdtemp(join(tmpdir(), 'countinghouse-restored-'));
    const opened = await openByVault(join(first.dataDir, 'vault'), PASSPHRASE);
    await restoreBackup(join(folder, 'now.backup'), opened, dataDir, first.now(), JUMP);
    opened.close();
    const log = createLog({ level: 'silent', format: 'json' });
    restored = await startDaemon({ dataDir, now: first.now, jump: JUMP, log });
    operator = new Operator(dataDir, PASSPHRASE);
  }

  it('all wait for the operator again, with the reason', async () => {
    expect((await operator.call('restore.status', {})).policies).toEqual([SHOP]);
    for (const { id } of [waiting, byOperator, byPolicy]) {
      expect(await operator.show(id)).toMatchObject({
        state: 'requested',
        approved_by: null,
        deadline_at: null,
        problem: textOf(MAY_BE_PAID),
        versions: [],
      });
    }
    const db = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
    expect(db.prepare('SELECT COUNT(*) FROM withdrawal WHERE approval IS NOT NULL').pluck().get()).toBe(0);
    for (const table of ['spend', 'spend_version', 'spend_key', 'spend_payout']) {
      expect([table, db.prepare(`SELECT COUNT(*) FROM ${table}`).pluck().get()]).toEqual([table, 0]);
    }
    db.close();
  });

  it('are not signed after the quarantine, by approval or policy, until somebody approves them anew', async () => {
    await until(
      'the service takes over',
      () =>
        operator.call('restore.confirm', { keep_keys: 'all' }).then(
          () => true,
          () => false,
        ),
      CAUGHT_UP_MS,
    );
    await operator.unlock();
    expect((await operator.call('policy.show', { business: SHOP })).policy).toMatchObject({ mode: 'manual' });
    const asked = await request('0.5', restored.url);
    expect(await operator.show(asked.id)).toMatchObject({ state: 'requested', approved_by: null });
    const db = new Database(join(dataDir, 'countinghouse.db'));
    expect(JSON.parse(kept)).toMatchObject({ mac: expect.stringMatching(/^[0-9a-f]{64}$/) });
    db.prepare("UPDATE withdrawal SET state = 'approved', approved_by = 'operator', approval = ? WHERE id = ?").run(
      kept,
      byOperator.id,
    );
    db.close();
    // what nobody doubts is signed and sent in the same pass that would sign the others
    const preview = await operator.approve(waiting.id);
    expect(preview.warnings).toContainEqual(
      expect.objectContaining({
        code: 'may_be_paid',
        text: { code: 'warning.may_be_paid', values: expect.anything() },
      }),
    );
    await until('the one that was approved anew is sent', async () => (await mempool()).length === 1);
    expect(await operator.show(byPolicy.id)).toMatchObject({
      state: 'requested',
      problem: textOf(MAY_BE_PAID),
      versions: [],
    });
    // an approval of before the restore is worth nothing to the wallet either, whoever puts it back
    const refused = await until('the wallet refuses the approval that was kept', async () => {
      const now = await operator.show(byOperator.id);
      return now.state === 'requested' && now;
    });
    expect(refused).toMatchObject({ problem: expect.stringContaining('before the wallet was restored'), versions: [] });
  });

  it('are found paid when the old transactions appear at last, and their recipients got it once', async () => {
    // the coins of the one that was approved anew may be among theirs: then its block decides
    await node.mine(1);
    const sent: string[] = [];
    for (const { raw, txid } of paid) {
      const taken = await node.rpc('sendrawtransaction', [raw]).then(
        () => true,
        () => false,
      );
      if (taken) sent.push(txid);
    }
    expect(sent.length).toBeGreaterThan(0);
    await node.mine(1);
    for (const [at, payment] of [byOperator, byPolicy].entries()) {
      const { txid } = paid[at]!;
      if (!sent.includes(txid)) continue;
      const found = await until('it is found paid', async () => {
        const now = await operator.show(payment.id);
        return now.state === 'completed' && now;
      });
      expect(found.tx_id).toBe(txid);
      expect(await node.rpc('getreceivedbyaddress', [payment.address, 1])).toBe(Number(found.amount));
    }
  });
});
