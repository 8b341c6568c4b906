/**
 * Money in Monero on a real monerod, with the payer's own wallet as a second opinion: what is locked, what a policy releases, fees,
 * batches, refunds, proofs; and a restore, from a backup and from the words alone.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { createLog } from '../../daemon/log.ts';
import { startDaemon } from '../../daemon/main.ts';
import { addressAt } from '../../daemon/monero/address.ts';
import { scalarBytes } from '../../daemon/monero/curve.ts';
import { moneroSecretOf } from '../../daemon/wallet/accounts.ts';
import { openByWords } from '../../daemon/wallet/backup-key.ts';
import { createWords, seedOf } from '../../daemon/wallet/mnemonic.ts';
import { importMoneroWords } from '../../daemon/wallet/monero-words.ts';
import { moneroWordsOf } from '../../daemon/wallet/signer/xmr/library.ts';
import { deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { hasMonerod, type Monerod, monerodTitle } from '../nodes/monerod.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { startMonerod } from '../support/monerod.ts';
import { Operator } from '../support/operator.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cheapWallet } from '../support/wallet.ts';

const COIN = 10n ** 12n;
const UNLOCK_BLOCKS = 10;
/** Instead of 10,000, which take a while to derive. */
const JUMP = 30;
const GAP = 20;
const DAY_MS = 86_400_000;
const BUSINESS = 'Regtest shop';

type Transfers = { transfers: { amount: number; txid: string }[] };

describe.skipIf(!hasMonerod)(monerodTitle('money in Monero'), () => {
  let node: Monerod;
  let service: TestDaemon;
  let operator: Operator;
  let words: string;
  let folder: string;
  let key: string;
  let config: string;

  beforeAll(async () => {
    [node, folder, words] = await Promise.all([startMonerod(), mkdtemp(join(tmpdir(), 'xmr-')), createWords(12)]);
    config = `[networks.regtest.XMR]\nmonerod = ["${node.url}"]\nzero_conf_usd = 15\n[networks.regtest.rates]\nXMR = "200"\n`;
    service = await startTestDaemon(config);
    operator = new Operator(service.dataDir, PASSPHRASE);
    const vault = join(service.dataDir, 'vault');
    await cheapWallet(vault, { words, passphrase: PASSPHRASE });
    const added = await operator.call('business.add', {
      name: BUSINESS,
      network: 'regtest',
      account_no: 0,
      accounts: await deriveAccounts(vault, PASSPHRASE, 'regtest', 0, ['XMR']),
      key: { name: 'shop', scopes: ['invoices', 'balance', 'withdraw'] },
    });
    key = added.key.key;
  });
  afterAll(async () => {
    await service?.stop();
    await node?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const call = async <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });

  /** An invoice with an address. */
  async function asked(amount: number): Promise<{ id: string; address: string }> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'XMR' });
    return until('monerod is followed', async () => {
      const { status, body: payment } = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`);
      return status === 201 && { id: body.id, address: payment.address };
    });
  }

  const balanceOf = async (client: Operator) => {
    const { businesses } = await client.call('business.list', {});
    return businesses.find(({ name }) => name === BUSINESS)?.balances.find(({ crypto }) => crypto === 'XMR');
  };
  const balance = () => balanceOf(operator);

  /** Mines, and waits until the service has read it. */
  async function mine(count: number, client = operator): Promise<void> {
    await node.mine(count);
    await synced(client);
  }
  async function synced(client: Operator): Promise<void> {
    const { height } = await node.rpc<{ height: number }>('get_info', {});
    await until('every block is read', async () => {
      const [proved] = (await client.call('ledger.prove', { chain: 'regtest:XMR' })).chains;
      return proved?.height === height - 1;
    });
  }

  /** A new address of the payer's wallet. */
  const theirs = async (): Promise<string> =>
    (await node.wallet<{ address: string }>('create_address', { account_index: 0 })).address;

  async function withdraw(amount: string, address: string): Promise<string> {
    const { status, body } = await call<{ id: string }>('POST', '/withdraw', { amount, crypto: 'XMR', address });
    expect([status, body]).toMatchObject([201, {}]);
    return body.id;
  }

  /** The id of its transaction as soon as the node has it. */
  const inPool = (id: string, client = operator): Promise<string> =>
    until(`withdrawal ${id} is in the pool`, async () => {
      const { versions } = await client.show(id);
      const txid = versions.find(({ sent_at }) => sent_at !== null)?.tx_id;
      return txid && (await node.pool()).includes(txid) && txid;
    });

  /** What the payer's wallet got by a transaction, piconero. */
  async function got(txid: string): Promise<number[]> {
    await node.wallet('refresh', {});
    const { transfers } = await node.wallet<Transfers>('get_transfer_by_txid', { txid });
    return transfers.map(({ amount }) => amount).toSorted((a, b) => a - b);
  }

  it('shows what is locked, and in how many blocks it can be spent', async () => {
    const [first, second] = [await asked(100), await asked(200)];
    const TEN_YEARS_OF_BLOCKS = 10 * 365 * 720;
    await node.pay([{ address: first.address, units: COIN }], { unlock_time: TEN_YEARS_OF_BLOCKS });
    await node.pay([
      ...Array.from({ length: 7 }, () => ({ address: first.address, units: COIN / 2n })),
      ...Array.from({ length: 7 }, () => ({ address: second.address, units: COIN })),
    ]);
    await mine(4);
    expect(await balance()).toEqual({
      crypto: 'XMR',
      amount: '0',
      withheld: null,
      unproven: null,
      locked: { amount: '10.5', first_blocks: 6, last_blocks: 6 },
    });
    await mine(UNLOCK_BLOCKS - 4);
    expect(await balance()).toMatchObject({ amount: '10.5', locked: null });
  });

  it('releases by a policy what was granted, and leaves the rest to the operator', async () => {
    await operator.unlock();
    await operator.allow({ business: BUSINESS, per_withdrawal_usd: '50', per_day_usd: '70' });
    const address = await theirs();
    const small = await withdraw('0.1', address);
    const large = await withdraw('0.3', address);
    expect(await operator.show(large)).toMatchObject({ state: 'requested' });
    const txid = await inPool(small);
    expect(await operator.show(small)).toMatchObject({ state: 'broadcast', approved_by: 'policy' });
    await mine(1);
    expect(await got(txid)).toEqual([1e11]);
    expect(await balance()).toMatchObject({ locked: { first_blocks: 9 } });
    await operator.allow({ business: BUSINESS, mode: 'manual' });
    await operator.call('withdrawal.reject', { id: large });
  });

  it('pays several at once at the fee of a chosen speed, and proves to each recipient what it got', async () => {
    await mine(UNLOCK_BLOCKS);
    const addresses = [await theirs(), await theirs()];
    const ids = [await withdraw('0.2', addresses[0]!), await withdraw('0.25', addresses[1]!)];
    const fees = [];
    for (const speed of ['slow', 'normal', 'fast'] as const) {
      const { fee, speeds } = await operator.propose({ kind: 'pay', id: ids[0]!, speed });
      expect(speeds.map((one) => [one.speed, one.minutes])).toEqual([
        ['slow', 48],
        ['normal', 12],
        ['fast', 4],
      ]);
      expect(speeds.find((one) => one.speed === speed)?.fee).toBe(fee);
      fees.push(Number(fee));
    }
    expect(fees).toEqual(fees.toSorted((a, b) => a - b));
    expect(new Set(fees).size).toBe(3);

    await operator.carryOut({ kind: 'batch', ids });
    const txid = await inPool(ids[0]!);
    expect(await inPool(ids[1]!)).toBe(txid);
    await mine(1);
    expect(await got(txid)).toEqual([2e11, 2.5e11]);
    for (const [at, address] of addresses.entries()) {
      const { versions, tx_id } = await operator.show(ids[at]!);
      expect(tx_id).toBe(txid);
      const tx_key = versions[0]!.proof ?? '';
      type Checked = { received: number; confirmations: number };
      const checked = await node.wallet<Checked>('check_tx_key', { txid, tx_key, address });
      expect(checked).toMatchObject({ received: at === 0 ? 2e11 : 2.5e11 });
    }
  });

  it('refunds an invoice with the deposit that paid it', async () => {
    const { id, address } = await asked(50);
    await node.pay([{ address, units: COIN / 4n }]);
    await mine(UNLOCK_BLOCKS);
    await until(
      'it is paid',
      async () => (await call<{ status: string }>('GET', `/invoice/${id}`)).body.status === 'paid',
    );
    const { status, body } = await call<{ id: string }>('POST', `/invoice/${id}/refund`, { address: await theirs() });
    expect(status).toBe(201);
    await operator.approve(body.id);
    const txid = await inPool(body.id);
    await mine(1);
    expect(await got(txid)).toEqual([2.5e11]);
    expect(await call('GET', `/withdrawal/${body.id}`)).toMatchObject({
      body: { status: 'completed', amount: '0.25' },
    });
    await mine(UNLOCK_BLOCKS);
  });

  /** A service on a folder that was restored, with its operator. */
  async function restored<T>(dataDir: string, work: (client: Operator, url: string) => Promise<T>): Promise<T> {
    const log = createLog({ level: 'silent', format: 'json' });
    const daemon = await startDaemon({ dataDir, now: service.now, jump: JUMP, log });
    try {
      return await work(new Operator(dataDir, PASSPHRASE), daemon.url);
    } finally {
      await daemon.stop();
    }
  }

  let opinions = 0;
  /** What monero-wallet-rpc says that the shop's keys can spend now, in XMR. */
  async function secondOpinion(): Promise<number> {
    const { XMR: account } = await deriveAccounts(join(service.dataDir, 'vault'), PASSPHRASE, 'regtest', 0, ['XMR']);
    expect(account.kind).toBe('monero');
    const secret = moneroSecretOf(await seedOf(words, ''), 'regtest', 0);
    const [spendkey, viewkey] = [secret.spend, secret.view].map((key) => Buffer.from(scalarBytes(key)).toString('hex'));
    const { address } = addressAt(account, 1, 0, 'regtest');
    const keys = { address, spendkey: spendkey!, viewkey: viewkey! };
    await node.wallet('generate_from_keys', {
      filename: `shop ${opinions++}`,
      password: '',
      restore_height: 0,
      ...keys,
    });
    await node.wallet('refresh', {});
    const { unlocked_balance } = await node.wallet<{ unlocked_balance: number }>('get_balance', { all_accounts: true });
    await node.wallet('open_wallet', { filename: 'payer', password: '' });
    return unlocked_balance / 1e12;
  }

  it('counts unconfirmed below the limit that is set, and is in the balance ten blocks later', async () => {
    const { id, address } = await asked(10);
    const before = await balance();
    const txid = await node.pay([{ address, units: COIN / 20n }]);
    await until(
      'it is paid',
      async () => (await call<{ status: string }>('GET', `/invoice/${id}`)).body.status === 'paid',
    );
    expect([await node.pool(), (await balance())?.amount]).toEqual([[txid], before?.amount]);
    await mine(9);
    expect((await balance())?.amount).toBe(before?.amount);
    await mine(1);
    expect(Number((await balance())?.amount)).toBeCloseTo(Number(before?.amount) + 0.05, 11);
  });

  it('is restored from a backup: what came and left since is found, and nothing is paid twice', async () => {
    const { address } = await asked(20);
    const [payee, one, other] = [await theirs(), await theirs(), await theirs()];
    // known to the backup, and paid after it: one alone; one of two alike; two together. And one that is not paid
    const alone = await withdraw('0.11', payee);
    const alike = [await withdraw('0.12', one), await withdraw('0.12', other)];
    const together = [await withdraw('0.131', one), await withdraw('0.147', other)];
    const unpaid = await withdraw('0.15', payee);
    const file = join(folder, 'shop.backup');
    await operator.call('backup.make', { file });

    await operator.approve(alone);
    await inPool(alone);
    await mine(UNLOCK_BLOCKS);
    await operator.approve(alike[1]!);
    await inPool(alike[1]!);
    await mine(UNLOCK_BLOCKS);
    await operator.carryOut({ kind: 'batch', ids: together });
    await inPool(together[0]!);
    // came after the backup, and part of it is spent again
    await node.pay([1n, 2n, 3n].map((n) => ({ address, units: n * COIN })));
    await mine(UNLOCK_BLOCKS);
    const later = await withdraw('5', await theirs());
    await operator.approve(later);
    await inPool(later);
    await mine(UNLOCK_BLOCKS);
    const right = await secondOpinion();
    for (const id of [alike[0]!, unpaid]) await operator.call('withdrawal.reject', { id });
    expect(Number((await balance())?.amount)).toBeCloseTo(right, 11);
    await service.daemon.stop();

    const dataDir = join(folder, 'restored');
    const opened = await openByWords(words);
    await restoreBackup(file, opened, dataDir, service.now(), JUMP);
    opened.close();
    await restored(dataDir, async (client, url) => {
      const read = async (): Promise<Record<string, number>> =>
        (await (await fetch(`${url}/api/v1/merchant/balance`, { headers: { 'mb-api-key': key } })).json()) as never;
      await synced(client);
      expect(await balanceOf(client)).toMatchObject({
        amount: '0',
        withheld: expect.stringContaining('unlock the wallet'),
      });
      expect(await read()).not.toHaveProperty('XMR');
      await expect(client.call('restore.confirm', { keep_keys: 'all' })).rejects.toMatchObject({
        code: 'restore.not_ready',
      });
      await client.unlock();
      await until('it can take over', async () => {
        try {
          await client.call('restore.confirm', { keep_keys: 'all' });
          return true;
        } catch (error) {
          if ((error as { code?: string }).code !== 'restore.not_ready') throw error;
          return false;
        }
      });
      for (const id of [alone, ...together]) expect(await client.show(id)).toMatchObject({ state: 'completed' });
      for (const id of [...alike, unpaid]) expect(await client.show(id)).toMatchObject({ state: 'requested' });
      const { alerts } = await client.call('alert.list', {});
      const texts = alerts.map(({ message }) => textOf(message));
      expect(texts).toContainEqual(
        expect.stringContaining(`withdrawals ${alike.join(', ')}, and the chain does not show`),
      );
      expect(texts).toContainEqual(expect.stringContaining(`the amount of withdrawal ${alone},`));
      // those that wait are reserved
      for (const id of [...alike, unpaid]) await client.call('withdrawal.reject', { id });
      expect(Number((await balanceOf(client))?.amount)).toBeCloseTo(right, 11);
      expect((await read()).XMR).toBeCloseTo(right, 11);
      const locked = (await client.call('inbox.list', {})).items.find(({ reason }) => reason === 'locked');
      expect(locked).toMatchObject({ amount: '1' });
    });
  });

  /** Another business, whose Monero account has the key of 25 words, finds what came since a restore height, and pays. */
  async function paysFromImported(fresh: TestDaemon, client: Operator): Promise<void> {
    const vault = join(fresh.dataDir, 'vault');
    const foreign = await moneroWordsOf(`${'11'.repeat(31)}01`);
    await importMoneroWords(vault, PASSPHRASE, { network: 'regtest', accountNo: 1, words: foreign });
    const { XMR } = await deriveAccounts(vault, PASSPHRASE, 'regtest', 1, ['XMR']);
    const name = 'Imported';
    const accounts = { XMR };
    const shop = { name: 'shop', scopes: ['invoices' as const] };
    const { height } = await node.rpc<{ height: number }>('get_info', {});
    const own = addressAt(XMR, 0, 0, 'regtest');
    await node.pay([{ address: own.address, units: COIN }]);
    await mine(UNLOCK_BLOCKS, client);
    const wanted = { name, network: 'regtest' as const, account_no: 1, accounts, gap: GAP, key: shop };
    const later = client.call('business.add', { ...wanted, restore_height: 1_000_000 });
    await expect(later).rejects.toMatchObject({
      code: 'business.restore_height',
      message: 'Monero has no block 1000000 yet: a restore height cannot lie in the future',
    });
    await client.call('business.add', { ...wanted, restore_height: height });
    await client.call('wallet.lock', {});
    await client.unlock();
    await until('its past is known', async () => {
      const { businesses } = await client.call('business.list', {});
      const [found] = businesses.find((one) => one.name === name)?.balances ?? [];
      return found?.withheld === null && found.amount === '1';
    });
    const address = await theirs();
    const { withdrawal } = await client.call('withdrawal.add', {
      business: name,
      crypto: 'XMR',
      address,
      amount: '0.5',
    });
    await client.approve(withdrawal.id);
    const txid = await inPool(`${withdrawal.id}`, client);
    await mine(1, client);
    expect(await got(txid)).toEqual([5e11]);
  }

  it('is restored from the words alone, and pays out everything that monero-wallet-rpc says is there', async () => {
    const fresh = await startTestDaemon(config);
    try {
      const client = new Operator(fresh.dataDir, PASSPHRASE);
      await cheapWallet(join(fresh.dataDir, 'vault'), { words, passphrase: PASSPHRASE });
      const opened = await openByWords(words);
      const account = (no: number) => opened.account('XMR', 'regtest', no);
      const birthday = new Date(Date.now() - DAY_MS).toISOString();
      const accounts = { XMR: [account(0), account(1)] };
      await client.call('wallet.discover', { network: 'regtest', birthday, gap: GAP, restores: 0, accounts });
      const found = await until('the words are scanned', async () => {
        const state = await client.call('wallet.discovery', {});
        return !state.running && state;
      });
      expect(found).toMatchObject({ error: null, used: [{ chain: 'XMR', account_no: 0, change: 0 }] });
      const { receiving, change } = found.used[0]!;
      await client.call('business.add', {
        name: BUSINESS,
        network: 'regtest',
        account_no: 0,
        accounts: { XMR: account(0) },
        birthday,
        gap: GAP,
        used: { XMR: { receiving, change } },
        key: { name: 'shop', scopes: ['balance'] },
      });
      opened.close();
      const withheld = async (text: string) => (await balanceOf(client))?.withheld?.includes(text);
      await until('its past was read', () => withheld('unlock the wallet'));
      const address = await theirs();
      const everything = { business: BUSINESS, crypto: 'XMR', address, amount: null };
      await expect(client.call('withdrawal.add', everything)).rejects.toMatchObject({ code: 'spend.unknown' });
      await client.unlock();
      await until('its spends were found', async () => (await balanceOf(client))?.withheld === null);
      const right = await secondOpinion();
      expect(Number((await balanceOf(client))?.amount)).toBeCloseTo(right, 11);

      const { withdrawal } = await client.call('withdrawal.add', everything);
      const { fee } = await client.approve(withdrawal.id);
      const txid = await inPool(`${withdrawal.id}`, client);
      await mine(1, client);
      const [paid = 0, ...others] = await got(txid);
      expect(others).toEqual([]);
      // a coin that is worth less than its share of the fee stays: a transaction of one input pays a tenth of this one
      const left = (Math.round((right - Number(fee)) * 1e12) - paid) / 1e12;
      expect(left).toBeGreaterThanOrEqual(0);
      expect(left).toBeLessThan(Number(fee) / 10);
      const after = await balanceOf(client);
      expect(after?.locked).toBeNull();
      expect(Number(after?.amount)).toBeCloseTo(left, 11);
      await paysFromImported(fresh, client);
    } finally {
      await fresh.stop();
    }
  });
});
