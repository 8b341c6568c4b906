/**
 * What a service paid after its backup was made is not paid again by the one that is restored from it: each withdrawal is
 * found in the transaction that paid it, on a real litecoind, whose wallet is the recipient and counts what it got. The
 * service that paid spoke to the node, the one that takes its place to a server in front of it.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { createLog } from '../../daemon/log.ts';
import { type Daemon, startDaemon } from '../../daemon/main.ts';
import { openByVault } from '../../daemon/wallet/backup-key.ts';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import type { Shown } from '../support/money.ts';
import { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';

const COIN = 100_000_000n;
/** Instead of 10,000, which take a minute to derive. */
const JUMP = 25;
const DEPOSITS = 12;
const BURIED = 12;

type Payment = { id: string; address: string; amount: string };

describe.skipIf(!hasLitecoind)(litecoindTitle('withdrawals around a backup, on litecoind'), () => {
  let node: Litecoind;
  let first: TestDaemon;
  let followed: FollowedChain;
  let server: ElectrumServer;
  let before: Operator;
  let key: string;
  let folder: string;
  let dataDir: string;
  let restored: Daemon;
  let operator: Operator;

  /** By what had become of each when the backup was made, and what became of it after. */
  const made: Record<string, Payment> = {};
  /** The transaction that paid each, of the first service. */
  const paidBy: Record<string, string> = {};

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-backups-'));
    first = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
    ({ key, operator: before } = await openShop(first, ['invoices', 'balance', 'withdraw']));
    await before.unlock();
    await deposit();
    await workBeforeBackup();
    await before.call('backup.make', { file: join(folder, 'now.backup') });
    await workAfterBackup();
    await first.daemon.stop();
    await restore();
  });
  afterAll(async () => {
    await restored?.stop();
    await first?.stop().catch(() => {});
    await server?.stop();
    await followed?.stop();
    await node?.remove();
    for (const made of [dataDir, folder]) if (made) await rm(made, { recursive: true, force: true });
  });

  const call = async <Body>(url: string, method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/api/v1/merchant${path}`, {
      method,
      headers: { 'mb-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const balance = async (url: string): Promise<number> =>
    (await call<{ LTC: number }>(url, 'GET', '/balance')).body.LTC;
  const shown = async ({ id }: Payment): Promise<Shown> =>
    (await call<Shown>(restored.url, 'GET', `/withdrawal/${id}`)).body;

  /** Coins enough that no withdrawal spends the change of another. */
  async function deposit(): Promise<void> {
    const { body } = await call<{ id: string }>(first.url, 'POST', '/invoice', { amount: 80, crypto: 'LTC' });
    const address = await until('litecoind is followed', async () => {
      const asked = await call<{ address: string }>(first.url, 'POST', `/invoice/rp/${body.id}`);
      return asked.status === 201 && asked.body.address;
    });
    await node.pay(Array.from({ length: DEPOSITS }, () => ({ address, units: 2n * COIN })));
    await node.mine(12);
    await until('the deposits are spendable', async () => (await balance(first.url)) === 2 * DEPOSITS);
  }

  async function request(name: string, amount: string): Promise<Payment> {
    const address = await node.newAddress();
    const { body } = await call<{ id: string }>(first.url, 'POST', '/withdraw', { amount, crypto: 'LTC', address });
    const payment = { id: body.id, address, amount };
    made[name] = payment;
    return payment;
  }

  /** The newest transaction of a withdrawal of the first service, once the node has it. */
  const sent = (name: string, versions = 1): Promise<string> =>
    until(`version ${versions} of "${name}" is sent`, async () => {
      const txid = (await before.show(made[name]!.id)).versions[versions - 1]?.tx_id;
      return txid && (await node.rpc<string[]>('getrawmempool', [])).includes(txid) && txid;
    });

  async function workBeforeBackup(): Promise<void> {
    for (const name of ['sent', 'sped up', 'canceled']) {
      await before.approve((await request(name, '1.1')).id);
      await sent(name);
    }
    await request('requested', '1.2');
    await request('requested and never paid', '1.2');
    await request('requested and paid last', '1.25');
    await request('in a batch', '0.3');
    await request('in the same batch', '0.4');
    await before.call('wallet.lock', {});
    await before.approve((await request('approved', '1.3')).id);
    await until('it waits for the wallet', async () => (await before.show(made.approved!.id)).problem !== null);
  }

  async function workAfterBackup(): Promise<void> {
    await before.unlock();
    paidBy.approved = await sent('approved');
    paidBy.sent = await sent('sent');
    await before.approve(made.requested!.id);
    paidBy.requested = await sent('requested');
    const ids = [made['in a batch']!.id, made['in the same batch']!.id];
    await before.carryOut({ kind: 'batch', ids });
    paidBy['in a batch'] = await sent('in a batch');
    paidBy['in the same batch'] = paidBy['in a batch'];
    await before.replace(made['sped up']!.id, 'speed-up', '60');
    paidBy['sped up'] = await sent('sped up', 2);
    await before.replace(made.canceled!.id, 'cancel');
    await sent('canceled', 2);
    await before.approve((await request('made later', '1.4')).id);
    paidBy['made later'] = await sent('made later');
    // deep enough that a stranger's transaction would have ended a payment for good
    await node.mine(BURIED + 1);
    // these are in no block yet when the restored service looks
    await before.approve(made['requested and paid last']!.id);
    paidBy['requested and paid last'] = await sent('requested and paid last');
    await before.approve((await request('made last', '0.9')).id);
    paidBy['made last'] = await sent('made last');
  }

  async function restore(): Promise<void> {
    dataDir = await mkdtemp(join(tmpdir(), 'countinghouse-restored-'));
    const opened = await openByVault(join(first.dataDir, 'vault'), PASSPHRASE);
    await restoreBackup(join(folder, 'now.backup'), opened, dataDir, first.now(), JUMP);
    opened.close();
    // the new machine has no node: it asks a server address by address, and must ask for the skipped ones too
    followed = await FollowedChain.start(node);
    server = await ElectrumServer.start(followed);
    const config = join(dataDir, 'countinghouse.toml');
    const settings = (await readFile(config, 'utf8')).replace(/core_rpc = .*/, `electrum = ["${server.url}"]`);
    await writeFile(config, settings);
    const log = createLog({ level: 'silent', format: 'json' });
    restored = await startDaemon({ dataDir, now: first.now, jump: JUMP, log });
    operator = new Operator(dataDir, PASSPHRASE);
  }

  const PAID = ['sent', 'sped up', 'requested', 'approved', 'in a batch', 'in the same batch'];

  it('finds them while it is quarantined, by the transaction that paid each', async () => {
    for (const name of PAID) {
      const now = await until(`"${name}" is completed`, async () => {
        const shownNow = await shown(made[name]!);
        return shownNow.status === 'completed' && shownNow;
      });
      expect([name, now.tx_id]).toEqual([name, paidBy[name]]);
    }
    // a miner's fee is what its inputs left: the node knows it of the one that was sped up
    const { versions } = await operator.show(made['sped up']!.id);
    expect(versions).toHaveLength(2);
    expect(versions[1]).toMatchObject({ tx_id: paidBy['sped up'], kind: 'pay' });
  });

  it('takes a cancellation for one, and leaves alone what was not paid', async () => {
    const canceled = await operator.show(made.canceled!.id);
    expect(canceled).toMatchObject({ state: 'failed', reason: 'canceled', tx_id: null });
    expect(canceled.versions.map(({ kind }) => kind)).toEqual(['pay', 'cancel']);
    expect(await operator.show(made['requested and never paid']!.id)).toMatchObject({
      state: 'requested',
      versions: [],
    });
  });

  it('tells of what the backup knows nothing of, and of nothing else', async () => {
    const { alerts } = await until('both were looked at', async () => {
      const found = await operator.call('alert.list', {});
      return found.alerts.filter(({ kind }) => kind === 'restore.unknown_spend').length === 2 && found;
    });
    const others = alerts.filter(({ kind }) => kind !== 'inbox.deposit');
    expect(others.map(({ kind, subject }) => `${kind} ${subject}`).sort()).toEqual(
      [paidBy['made later'], paidBy['made last']].map((txid) => `restore.unknown_spend regtest:LTC ${txid}`).sort(),
    );
    expect((await call(restored.url, 'GET', `/withdrawal/${made['made later']!.id}`)).status).toBe(404);
  });

  it('does not let go of a withdrawal while it is not known whether it was paid', async () => {
    const id = made['requested and never paid']!.id;
    await expect(operator.call('withdrawal.reject', { id })).rejects.toMatchObject({
      message: /operator has confirmed/,
    });
  });

  it('takes over: nobody is paid twice, and the books are right to the unit', async () => {
    const last = made['requested and paid last']!;
    const { state, versions } = await operator.show(last.id);
    expect([state, versions[0]?.tx_id]).toEqual(['broadcast', paidBy['requested and paid last']]);
    await until('the skipped addresses are watched', async () => (await operator.call('restore.status', {})).ready);
    await operator.call('restore.confirm', { keep_keys: 'all' });
    await operator.unlock();
    await node.mine(1);
    await until('the last one is completed', async () => (await shown(last)).status === 'completed');
    expect((await shown(last)).tx_id).toBe(paidBy['requested and paid last']);
    // whatever were to be sent again would be there by now
    expect(await node.rpc('getrawmempool', [])).toEqual([]);
    for (const name of PAID) {
      expect([name, await operator.show(made[name]!.id)]).toMatchObject([name, { state: 'completed' }]);
    }

    const unpaid = made['requested and never paid']!;
    await operator.approve(unpaid.id);
    await until('it is sent', async () => (await node.rpc<string[]>('getrawmempool', [])).length === 1);
    await node.mine(1);
    await until('it is completed', async () => (await shown(unpaid)).status === 'completed');
    paidBy['requested and never paid'] = (await shown(unpaid)).tx_id!;

    for (const [name, { address, amount }] of Object.entries(made)) {
      const got = await node.rpc<number>('getreceivedbyaddress', [address, 1]);
      expect([name, got]).toEqual([name, name === 'canceled' ? 0 : Number(amount)]);
      const txids = await payersOf(address);
      expect([name, txids]).toEqual([name, name === 'canceled' ? [] : [paidBy[name]]]);
    }
    await until(
      'the balance is what the node holds for us',
      async () => (await balance(restored.url)) === (await ours()),
    );
    const { chains } = await operator.call('ledger.prove', {});
    const proof = chains.find(({ chain }) => chain === 'regtest:LTC');
    expect(proof).toMatchObject({ compared: true, problems: [] });
  });

  /** The transactions of blocks that pay an address, as the node's own wallet saw them. */
  async function payersOf(address: string): Promise<string[]> {
    type Received = { address: string; txids: string[] };
    const all = await node.rpc<Received[]>('listreceivedbyaddress', [1, false, false, address]);
    return all.flatMap(({ txids }) => txids);
  }

  /** What the node's coins hold at the addresses of the restored service, in whole LTC. */
  async function ours(): Promise<number> {
    const db = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
    const rows = db.prepare("SELECT script FROM target WHERE chain_key = 'regtest:LTC'").pluck().all() as Buffer[];
    db.close();
    const wanted = rows.map((script) => ({ desc: `raw(${script.toString('hex')})` }));
    const { total_amount } = await node.rpc<{ total_amount: number }>('scantxoutset', ['start', wanted]);
    return total_amount;
  }
});
