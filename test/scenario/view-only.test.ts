/**
 * A Monero account whose spend key is in another wallet, monero-wallet-rpc's: payments arrive at that wallet's own addresses, and what
 * it spends is seen once its key images are imported.
 */
import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { assetOf } from '../../daemon/domain/assets.ts';
import { formatUnits } from '../../daemon/domain/money.ts';
import { MS_PER_DAY } from '../../daemon/domain/time.ts';
import { readAddress } from '../../daemon/monero/address.ts';
import { hasWallet } from '../../daemon/wallet/wallet.ts';
import { hasMonerod, type Monerod, monerodTitle, OTHER, type OtherWallet } from '../nodes/monerod.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { startMonerod } from '../support/monerod.ts';
import { cli } from '../unit/cli-kit.ts';

const COIN = 10n ** 12n;
/** Every output is locked for so many blocks. */
const LOCK_BLOCKS = 10;
const SHOP = 'Stall';

describe.skipIf(!hasMonerod)(monerodTitle('a view-only account of Monero'), () => {
  let node: Monerod;
  let wallet: OtherWallet;
  let service: TestDaemon;
  let key: string;

  beforeAll(async () => {
    node = await startMonerod();
    [wallet, service] = await Promise.all([
      node.otherWallet(),
      startTestDaemon(`[networks.regtest.XMR]\nmonerod = ["${node.url}"]\n[networks.regtest.rates]\nXMR = "200"\n`),
    ]);
  });
  afterAll(async () => {
    await service?.stop();
    await wallet?.remove();
    await node?.remove();
  });

  const operator = () => operatorClient(service.dataDir);
  const call = <Body>(method: string, path: string, body?: object) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });

  /** `business add` with the view key, or another secret in its place, in a file. */
  async function add(name: string, address: string, secret: string, ...options: string[]) {
    const file = join(service.dataDir, 'view-key');
    await writeFile(file, `${secret}\n`);
    const account = ['--account', `XMR=${address}`, '--view-key-file', file, '--no-wallet', '--json', '--yes'];
    return cli(service.dataDir, ['business', 'add', '--name', name, '--network', 'regtest', ...account, ...options]);
  }

  const shop = async () => {
    const { businesses } = await operator()('business.list', {});
    return businesses.find(({ name }) => name === SHOP);
  };
  const balance = async () => (await shop())?.balances.find(({ crypto }) => crypto === 'XMR');

  async function address(amount: number): Promise<string> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'XMR' });
    return until('monerod is followed', async () => {
      const asked = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`, {});
      return asked.status === 201 && asked.body.address;
    });
  }

  const alerts = async () => (await operator()('alert.list', {})).alerts.map(({ kind }) => kind);

  it('receives at the addresses of the wallet that has the keys, with a balance as far as known', async () => {
    const added = await add(SHOP, await wallet.address(), await wallet.key('view_key'));
    expect([added.code, added.err]).toEqual([0, expect.stringContaining('1  8')]);
    const result = JSON.parse(added.out) as Result<'business.add'>;
    expect(result.business).toMatchObject({ watch_only: ['XMR'], cryptos: ['XMR'] });
    expect(await hasWallet(join(service.dataDir, 'vault'))).toBe(false);
    ({ key } = result.key);
    for (let made = 0; made < 3; made++) {
      const { address: own } = await wallet.call<{ address: string }>('create_address', { account_index: 0 });
      expect(added.err).toContain(own);
    }
    const [first, second] = [await address(400), await address(200)];
    expect(added.err).toContain(first);
    await node.pay([
      { address: first, units: 2n * COIN },
      { address: second, units: COIN },
    ]);
    await node.mine(LOCK_BLOCKS);
    await until('the payments are confirmed', async () => (await balance())?.amount === '3');
    expect(await balance()).toMatchObject({ amount: '3', unproven: '3', withheld: null, locked: null });
    expect(await wallet.balance()).toBe(3n * COIN);
    const listed = await cli(service.dataDir, ['business', 'list']);
    expect(listed.out).toContain('3 XMR, as far as known: 3 may be spent');
    const asked = { business: SHOP, crypto: 'XMR', address: await node.newAddress(), amount: '0.5' };
    await expect(operator()('withdrawal.add', asked)).rejects.toMatchObject({ code: 'account.watch_only' });
    expect(await alerts()).toEqual([]);
  });

  /** What the other wallet exports, handed in. */
  async function handIn(exported: string | Uint8Array) {
    const file = join(service.dataDir, 'key-images');
    await writeFile(file, exported);
    return cli(service.dataDir, ['business', 'key-images', SHOP, file, '--json']);
  }

  type Export = { signed_key_images: { key_image: string; signature: string }[] };
  const exported = () => wallet.call<Export>('export_key_images', { all: true });

  it('believes no key image that the key of its coin has not signed', async () => {
    await wallet.call('refresh', {});
    const { signed_key_images: signed } = await exported();
    expect(signed).toHaveLength(2);
    const [first, second] = signed as [Export['signed_key_images'][0], Export['signed_key_images'][0]];
    // another's image under one's own signature, and one's own image under another's signature
    const false_ = [
      { key_image: second.key_image, signature: first.signature },
      { key_image: first.key_image, signature: second.signature },
      { key_image: first.key_image, signature: '00'.repeat(64) },
      { key_image: '01'.padEnd(64, '0'), signature: first.signature },
    ];
    const refused = await handIn(JSON.stringify({ signed_key_images: false_ }));
    expect([refused.code, JSON.parse(refused.out)]).toEqual([0, { learned: 0, known: 0, unmatched: 4, unproven: '3' }]);
    const text = await handIn('key images');
    expect([text.code, text.err]).toEqual([1, expect.stringContaining('It is no export of key images')]);
  });

  it('sees what the other wallet spends once its key images are imported', async () => {
    const spent = await wallet.pay(await node.newAddress(), COIN / 2n);
    await node.mine(LOCK_BLOCKS);
    const owned = await wallet.balance();
    expect(owned).toBe(3n * COIN - COIN / 2n - spent.fee);
    // the change came back to the primary address, and what was spent is counted still
    await until('the change is counted', async () => (await balance())?.unproven === (await balance())?.amount);
    await until('the change is there', async () => Number((await balance())?.amount) > 3);

    const done = await handIn(JSON.stringify({ id: '0', jsonrpc: '2.0', result: await exported() }));
    expect([done.code, done.err]).toEqual([0, '']);
    expect(JSON.parse(done.out)).toEqual({ learned: 3, known: 0, unmatched: 0, unproven: '0' });
    const right = formatUnits(owned, assetOf('XMR'));
    await until('the spend was found', async () => (await balance())?.amount === right);
    expect(await balance()).toMatchObject({ amount: right, unproven: '0', withheld: null });

    const day = (offset: number) => new Date(service.now() + offset * MS_PER_DAY).toISOString().slice(0, 10);
    const { rows } = await operator()('export.page', { business: SHOP, from: day(-1), to: day(1) });
    const told = rows.filter(({ tx_id }) => tx_id === spent.txid).map(({ kind, amount }) => [kind, amount]);
    expect(told.sort()).toEqual([
      ['fee', formatUnits(spent.fee, assetOf('XMR'))],
      ['withdrawal', '0.5'],
    ]);
    const { chains } = await operator()('ledger.prove', { chain: 'regtest:XMR' });
    expect(chains).toMatchObject([{ chain: 'regtest:XMR', problems: [] }]);
    expect(await alerts()).toEqual([]);
  });

  /** The encrypted file that monero-wallet-cli exports of the same wallet. */
  async function exportedFile(): Promise<Uint8Array> {
    await wallet.call('store', {});
    const [copy, file] = [join(service.dataDir, 'other-wallet'), join(service.dataDir, 'exported')];
    for (const ending of ['', '.keys']) await copyFile(join(wallet.folder, `${OTHER}${ending}`), `${copy}${ending}`);
    const daemon = ['--daemon-address', `127.0.0.1:${node.port}`, '--trusted-daemon', '--daemon-ssl', 'disabled'];
    const opened = ['--wallet-file', copy, '--password', '', '--log-file', '/dev/null', ...daemon];
    const running = promisify(execFile)('/usr/bin/monero-wallet-cli', [...opened, 'export_key_images', 'all', file]);
    // it asks for the password once more
    running.child.stdin?.end('\n');
    await running;
    return readFile(file);
  }

  it('takes the encrypted file of monero-wallet-cli, for coins of which it knows some', async () => {
    await node.pay([{ address: await address(100), units: COIN }]);
    await node.mine(LOCK_BLOCKS);
    await until('the payment has no key image yet', async () => (await balance())?.unproven === '1');
    await wallet.call('refresh', {});
    const file = await exportedFile();
    expect(Buffer.from(file).subarray(0, 23).toString('latin1')).toBe('Monero key image export');
    const damaged = Buffer.from(file);
    damaged[damaged.length - 64 - 96]! ^= 1;
    const refused = await handIn(damaged);
    expect(JSON.parse(refused.out)).toMatchObject({ learned: 0, unmatched: 1, unproven: '1' });
    const done = await handIn(file);
    expect([done.code, done.err]).toEqual([0, '']);
    expect(JSON.parse(done.out)).toEqual({ learned: 1, known: 3, unmatched: 0, unproven: '0' });
    const spent = await wallet.pay(await node.newAddress(), COIN / 2n);
    await node.mine(LOCK_BLOCKS);
    // its spends are seen as they happen from now on
    const right = formatUnits(await wallet.balance(), assetOf('XMR'));
    await until(`the spend ${spent.txid} was found`, async () => (await balance())?.amount === right);
  });

  it('refuses what is no view key of a primary address that is not in use', async () => {
    const [own, viewKey] = [await wallet.address(), await wallet.key('view_key')];
    const used = await add('Twice', own, viewKey);
    expect([used.code, used.err]).toEqual([1, expect.stringContaining(`is that of ${SHOP} already`)]);
    const spendKey = await wallet.key('spend_key');
    for (const secret of [spendKey, await wallet.key('mnemonic')]) {
      const secretly = await add('Secret', own, secret);
      expect([secretly.code, secretly.err]).toEqual([1, expect.stringContaining('That is secret')]);
      expect(`${secretly.err}${secretly.out}`).not.toContain(secret.slice(0, 16));
    }
    const inLine = await add('Line', `${own}:${viewKey}`, viewKey);
    expect([inLine.code, inLine.err]).toEqual([2, expect.stringContaining('takes the primary address alone')]);
    const { account_no } = await operator()('business.nextAccount', { network: 'regtest' });
    const publicSpendKey = Buffer.from(readAddress(own)!.spend).toString('hex');
    const straight = operator()('business.add', {
      name: 'Straight',
      network: 'regtest',
      account_no,
      accounts: { XMR: { kind: 'monero', privateViewKey: spendKey, publicSpendKey, watch: true } },
      key: { name: 'shop', scopes: ['invoices'] },
    });
    await expect(straight).rejects.toMatchObject({ code: 'account.private' });
    const { businesses } = await operator()('business.list', {});
    expect(businesses.filter(({ network }) => network === 'regtest').map(({ name }) => name)).toEqual([SHOP]);
  });
});
