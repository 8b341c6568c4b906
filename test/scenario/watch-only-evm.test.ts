/**
 * An account of Ethereum whose keys are in another wallet, on anvil: its invoices are paid in the coin and in a token, nothing is paid out
 * here, and what the other wallet moves leaves the books with its fees, also while the service is not running.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { type Hex, numberToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { MS_PER_DAY } from '../../daemon/domain/time.ts';
import { openByVault } from '../../daemon/wallet/backup-key.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { freshAddress } from '../support/evm-shop.ts';
import { invoicesOf, PASSPHRASE } from '../support/shop.ts';
import { cheapWallet } from '../support/wallet.ts';
import { cli } from '../unit/cli-kit.ts';

const ETHER = 10n ** 18n;
const DOLLAR = 10n ** 6n;
const GWEI = 10n ** 9n;
/** Deeper than any ordinary reorganisation. */
const DEEP = 14;
/** More blocks than a checkpoint has. */
const AWAY = 200;
const CHAIN = 'regtest:ETH';
/** Instead of 10,000, which take a minute to derive. */
const JUMP = 25;

type Invoice = { id: string; status: string; payment: { address: string } };
type Sent = { index: number; to: string; value?: bigint; data?: Hex };

/** The wallet that has the keys. */
const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(77)).derive("m/44'/60'/0'");
const signerAt = (index: number) =>
  privateKeyToAccount(`0x${hex.encode(account.deriveChild(0).deriveChild(index).privateKey!)}`);

describe.skipIf(!hasAnvil)(anvilTitle('an account of Ethereum of another wallet'), () => {
  let scene: EvmScene;
  let service: TestDaemon;
  let key: string;
  const nonces = new Map<number, number>();

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    service = await startTestDaemon(scene.settings('USDT_ERC20', 'ETH'));
  });
  afterAll(async () => {
    await service?.stop();
    await scene?.stop();
  });

  const operator = () => operatorClient(service.dataDir);
  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const { get, when } = invoicesOf<Invoice>(call);
  const balances = async () => (await call<{ ETH: number; USDT_ERC20: number }>('POST', '/balance')).body;
  const add = (name: string, ...keys: string[]) => {
    const accounts = keys.flatMap((one) => ['--account', one]);
    const fixed = ['business', 'add', '--name', name, '--network', 'regtest', '--no-wallet', '--json', '--yes'];
    return cli(service.dataDir, [...fixed, ...accounts]);
  };

  async function requested(amount: number, crypto: string): Promise<Invoice> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'ALL' });
    await until('the chain is followed', async () => {
      const { status } = await call('POST', `/invoice/rp/${body.id}`, { crypto });
      return status === 201;
    });
    return get(body.id);
  }

  /** The other wallet sends in a block of its own. Returns the id and the fee in wei. */
  async function sends({ index, to, value = 0n, data }: Sent): Promise<{ txid: string; fee: bigint }> {
    const nonce = nonces.get(index) ?? 0;
    nonces.set(index, nonce + 1);
    const raw = await signerAt(index).signTransaction({
      type: 'eip1559',
      chainId: scene.anvil.chainId,
      nonce,
      gas: data ? 100_000n : 21_000n,
      maxFeePerGas: 3n * GWEI,
      maxPriorityFeePerGas: GWEI,
      to: to as Hex,
      value,
      ...(data && { data }),
    });
    const txid = await scene.anvil.rpc<string>('eth_sendRawTransaction', [raw]);
    await scene.anvil.mine();
    const receipt = await scene.anvil.rpc<{ gasUsed: Hex; effectiveGasPrice: Hex; status: Hex }>(
      'eth_getTransactionReceipt',
      [txid],
    );
    expect(receipt.status).toBe(numberToHex(1));
    return { txid, fee: BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice) };
  }

  const held = async (...indices: number[]): Promise<bigint> => {
    const asked = indices.map((index) =>
      scene.anvil.rpc<Hex>('eth_getBalance', [signerAt(index).address, 'latest']).then(BigInt),
    );
    return (await Promise.all(asked)).reduce((sum, one) => sum + one, 0n);
  };

  /** The books of the coin and the token are what the chain has, by the proof. */
  async function isProved(wei: bigint, dollars: string): Promise<void> {
    await scene.anvil.mine(DEEP);
    const find = async () => {
      const [found] = (await operator()('ledger.prove', { chain: CHAIN })).chains;
      return found?.problems.length === 0 && found;
    };
    const proof = await until('the books are what the chain has', find);
    const by = (crypto: string) => proof.lines.find((line) => line.crypto === crypto);
    const [whole, rest = ''] = (by('ETH')?.held ?? '').split('.');
    expect(BigInt(`${whole}${rest.padEnd(18, '0')}`)).toBe(wei);
    expect(by('USDT_ERC20')?.held).toBe(dollars);
    expect(proof.corrections).toEqual([]);
  }

  it('shows the first addresses, and takes what is paid to them', async () => {
    const added = await add('Shop', `ETH=${account.publicExtendedKey}`);
    expect(added.code, added.err).toBe(0);
    for (const index of [0, 1, 2]) expect(added.err).toContain(`${index}  ${signerAt(index).address}`);
    expect(added.err).toContain('Money of ETH is moved by the wallet that has the keys');
    const made = JSON.parse(added.out) as Result<'business.add'>;
    expect(made.business).toMatchObject({ watch_only: ['ETH'], cryptos: ['ETH', 'USDT_ERC20'] });
    key = made.key.key;
    const coin = await requested(4_000, 'ETH');
    const token = await requested(100, 'USDT_ERC20');
    expect([coin, token].map(({ payment }) => payment.address)).toEqual([0, 1].map((i) => signerAt(i).address));
    await scene.payCoins([{ address: coin.payment.address, units: 2n * ETHER }]);
    await scene.payTokens([{ address: token.payment.address, units: 100n * DOLLAR }]);
    await scene.anvil.mine(DEEP);
    for (const { id } of [coin, token]) await when(id, 'it is paid', ({ status }) => status === 'paid');
    expect(await balances()).toMatchObject({ ETH: 2, USDT_ERC20: 100 });
  });

  it('pays, refunds, collects and sends on nothing here, and says who does', async () => {
    const to = freshAddress();
    const refused = { code: 'account.watch_only', message: expect.stringContaining('send it from there') };
    const call_ = operator();
    await expect(
      call_('withdrawal.add', { business: 'Shop', crypto: 'ETH', address: to, amount: '1' }),
    ).rejects.toMatchObject(refused);
    await expect(
      call_('withdrawal.add', { business: 'Shop', crypto: 'USDT_ERC20', address: to, amount: '1' }),
    ).rejects.toMatchObject(refused);
    await expect(
      call_('gas.forecast', { business: 'Shop', chain: 'ETH', min_usd: '1', share_percent: 100 }),
    ).rejects.toMatchObject(refused);
    expect((await call_('gas.status', { business: 'Shop' })).desks).toEqual([]);
  });

  it('books what the other wallet moves, with its fees', async () => {
    const out = freshAddress();
    const first = await sends({ index: 0, to: out, value: ETHER / 2n });
    await until('half a coin left the books', async () => (await balances()).ETH < 1.6);
    // gas for the token's address: within the account
    const gas = await sends({ index: 0, to: signerAt(1).address, value: ETHER / 100n });
    const data = callOf('TetherLike', 'transfer', [out, 60n * DOLLAR]);
    const token = await sends({ index: 1, to: scene.token, data });
    await until('the tokens left the books', async () => (await balances()).USDT_ERC20 === 40);
    const left = await held(0, 1);
    expect(left).toBe((3n * ETHER) / 2n - first.fee - gas.fee - token.fee);
    await isProved(left, '40');
    const day = (offset: number) => new Date(service.now() + offset * MS_PER_DAY).toISOString().slice(0, 10);
    const { rows } = await operator()('export.page', { business: 'Shop', from: day(-1), to: day(1) });
    const told = rows
      .filter(({ kind }) => kind === 'withdrawal')
      .map(({ crypto, amount, tx_id }) => [crypto, Math.abs(Number(amount)), tx_id]);
    expect(told.sort()).toEqual([
      ['ETH', 0.5, first.txid],
      ['USDT_ERC20', 60, token.txid],
    ]);
  });

  it('finds what was moved while the service was stopped, also before more money came', async () => {
    await service.daemon.stop();
    await sends({ index: 0, to: freshAddress(), value: ETHER / 4n });
    await scene.anvil.mine(AWAY);
    await sends({ index: 0, to: freshAddress(), value: ETHER / 8n });
    await scene.payCoins([{ address: signerAt(0).address, units: ETHER }]);
    await scene.anvil.mine(DEEP);
    await service.resume();
    await isProved(await held(0, 1), '40');
    // a quarantine would raise `data.older`
    expect((await operator()('alert.list', {})).alerts.map(({ kind }) => kind)).toEqual([]);
  });

  it('comes back from a backup, and calls nothing unknown that the other wallet moved since', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'countinghouse-lost-'));
    const vault = join(service.dataDir, 'vault');
    await cheapWallet(vault, { passphrase: PASSPHRASE });
    const file = join(folder, 'now.backup');
    await operator()('backup.make', { file });
    await sends({ index: 0, to: freshAddress(), value: ETHER / 16n });
    const data = callOf('TetherLike', 'transfer', [freshAddress(), 10n * DOLLAR]);
    await sends({ index: 1, to: scene.token, data });
    await service.daemon.stop();
    const dataDir = join(folder, 'restored');
    const opened = await openByVault(vault, PASSPHRASE);
    await restoreBackup(file, opened, dataDir, Date.now(), JUMP);
    opened.close();
    const lost = service;
    service = await startTestDaemon(scene.settings('USDT_ERC20', 'ETH'), dataDir);
    await lost.stop();
    await rm(folder, { recursive: true, force: true });
    await scene.anvil.mine(DEEP);
    await until('it is ready', async () => (await operator()('restore.status', {})).ready);
    const kinds = (await operator()('alert.list', {})).alerts.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'restore.unknown_spend')).toEqual([]);
    await until('it takes over', () => operator()('restore.confirm', { keep_keys: 'all' }).catch(() => null));
    await isProved(await held(0, 1), '30');
    // an address of the account that the lost service did not give out
    const { payment } = await requested(4_000, 'ETH');
    const given = Array.from({ length: 2 * JUMP + 50 }, (_, index) => signerAt(index).address as string);
    expect(given.indexOf(payment.address)).toBeGreaterThanOrEqual(JUMP);
  });

  it('refuses a key that is in use on either chain, and a secret', async () => {
    for (const chain of ['ETH', 'BNB']) {
      const used = await add('Twice', `${chain}=${account.publicExtendedKey}`);
      expect([used.code, used.err]).toEqual([1, expect.stringContaining('is that of Shop already')]);
    }
    const secret = account.privateExtendedKey;
    const secretly = await add('Secret', `ETH=${secret}`);
    expect([secretly.code, secretly.err]).toEqual([1, expect.stringContaining('That is secret')]);
    expect(`${secretly.err}${secretly.out}`).not.toContain(secret.slice(10, 60));
  });

  it('begins behind the addresses that the other wallet uses already', async () => {
    const other = HDKey.fromMasterSeed(new Uint8Array(32).fill(78)).derive("m/44'/60'/0'");
    const at = (index: number) =>
      privateKeyToAccount(`0x${hex.encode(other.deriveChild(0).deriveChild(index).privateKey!)}`).address;
    await scene.payCoins([{ address: at(2), units: 5n * ETHER }]);
    await scene.anvil.mine(DEEP);
    const added = await add('Old wallet', `ETH=${other.publicExtendedKey}`);
    expect(added.code, added.err).toBe(0);
    key = (JSON.parse(added.out) as Result<'business.add'>).key.key;
    const { payment } = await requested(4_000, 'ETH');
    expect(payment.address).toBe(at(3));
    expect((await balances()).ETH).toBe(0);
  });
});
