/**
 * From a wallet on a server to one at home, on a real litecoind: two services with a data directory each, and a computer at home.
 * Each command that `signer move` names is run as it stands, until nothing is left.
 */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { signAtHome } from '../../daemon/home/signing.ts';
import { freePort, hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { buildConsole } from '../support/console.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { commandOf, type Moving, ran, stepOf, walletFiles } from './moving-kit.ts';

const COIN = 100_000_000n;
const MATURE = 12;

describe.skipIf(!hasLitecoind || process.platform === 'win32')(litecoindTitle('a move to a signer at home'), () => {
  let node: Litecoind;
  let old: TestDaemon;
  let fresh: TestDaemon;
  let home: string;
  let oldKey: string;
  let paidAddress: string;
  let destination: string;
  const running: Awaited<ReturnType<typeof signAtHome>>[] = [];

  const passphrase = () => ['--passphrase-file', join(home, 'passphrase')];
  const onOld = (...argv: string[]) => ran(old.dataDir, ...argv);
  const atHome = (...argv: string[]) => ran(home, '--server', 'shop', ...argv);
  const connect = async (server: string): Promise<void> => {
    const signing = await signAtHome({
      folder: join(home, 'servers', server),
      release: 'test',
      autoLockMinutes: 0,
      log: () => {},
      told: () => {},
      audit: { env: {}, told: () => {} },
      source: () => ({ kind: 'file', path: join(home, 'passphrase') }),
    });
    running.push(signing);
  };
  const oldMove = async (): Promise<Moving> => JSON.parse(await onOld('--json', 'signer', 'move'));
  const homeMove = async (): Promise<Moving> => JSON.parse(await atHome('--json', 'signer', 'move'));
  const payOld = async (ltc: bigint): Promise<void> => {
    await node.pay([{ address: paidAddress, units: ltc * COIN }]);
    await node.mine(MATURE);
  };
  /** Runs the sweep that the old server's step names, and its approval. */
  const sweepOld = async (): Promise<void> => {
    const money = stepOf(await oldMove(), 'money');
    expect(money.commands.map(({ command }) => command)).toEqual([
      'countinghouse withdrawal sweep 2 LTC ADDRESS',
      'countinghouse withdrawal approve NUMBER',
    ]);
    const asked = commandOf(money).map((word) => (word === 'ADDRESS' ? destination : word));
    const { withdrawal } = JSON.parse(await onOld('--json', ...asked));
    const under = stepOf(await oldMove(), 'withdrawals');
    expect([under.done, commandOf(under)]).toEqual([false, ['withdrawal', 'approve', `${withdrawal.id}`]]);
    await onOld(...commandOf(under), '--to', destination, '--amount', withdrawal.amount, ...passphrase());
    const call = operatorClient(old.dataDir);
    await until('it is sent', async () => {
      return (await call('withdrawal.show', { id: `${withdrawal.id}` })).withdrawal.state === 'broadcast';
    });
    await node.mine(MATURE);
    await until('it is completed', async () => stepOf(await oldMove(), 'withdrawals').done);
  };
  /** Waits until so many deposits have come to the new business, with their confirmations, and the inbox has their surplus. */
  const arrived = (deposits: number): Promise<unknown> =>
    until('it has arrived', async () => {
      const call = operatorClient(fresh.dataDir);
      const { items } = await call('inbox.list', {});
      const slug = items[0]?.invoice;
      if (items.length !== deposits || !slug) return false;
      return (await call('invoice.show', { invoice: slug })).invoice.credits.every(({ confirmed }) => confirmed);
    });
  const vaultFiles = (): Promise<string[]> => walletFiles(old.dataDir);

  beforeAll(async () => {
    buildConsole();
    home = await mkdtemp(join(tmpdir(), 'countinghouse-home-'));
    await writeFile(join(home, 'passphrase'), 'correct horse battery staple');
    node = await Litecoind.start();
    await node.fund();
    const config = litecoinConfig(`core_rpc = "${node.url}"`);
    old = await startTestDaemon(config);
    fresh = await startTestDaemon(`[console]\nport = ${await freePort()}\n${config}`);
    const add = ['business', 'add', '--name', 'Shop', '--network', 'regtest', '--i-have-the-words', ...passphrase()];
    oldKey = JSON.parse(await onOld('--json', ...add)).key.key;
    await onOld('wallet', 'unlock', ...passphrase());
  });
  afterAll(async () => {
    for (const one of running) await one.close();
    await old?.stop();
    await fresh?.stop();
    await node?.remove();
    await rm(home, { recursive: true, force: true });
  });

  it('says on the old server what is to be done there, and names no command that takes the wallet away', async () => {
    const invite = await cli(old.dataDir, ['signer', 'invite', '--no-wait']);
    expect([invite.code, invite.err]).toEqual([1, expect.stringContaining('keys.md tells how to move')]);
    const moving = await oldMove();
    expect([moving.side, moving.next]).toEqual(['server', 'shop']);
    expect(moving.steps.map(({ step, done }) => [step, done])).toEqual([
      ['home', null],
      ['shop', false],
      ['invoices', true],
      ['decisions', true],
      ['plans', true],
      ['withdrawals', true],
      ['money', true],
      ['vault', false],
      ['late', null],
    ]);
    expect(stepOf(moving, 'vault').commands).toEqual([]);
    expect(await onOld('signer', 'move')).toContain(
      '[ ] 2. Your shop uses the new service, and nothing new is taken here: Shop still takes payments.\n       here:  countinghouse business change 2 --disable LTC\n',
    );
  });

  it('makes the words at home, and shows an address there that this computer derived itself', async () => {
    const { server, code } = await operatorClient(fresh.dataDir)('signer.invite', {});
    await ran(home, 'signer', 'join', server, code, '--as', 'shop', '--name', 'Laptop');
    expect((await homeMove()).next).toBe('words');
    await atHome('business', 'add', '--name', 'New', '--network', 'regtest', '--i-have-the-words', ...passphrase());
    expect((await homeMove()).next).toBe('connected');
    await connect('shop');
    await until('it is connected', async () => {
      return (await operatorClient(fresh.dataDir)('signer.machines', {})).machines[0]?.connected;
    });
    const moving = await homeMove();
    expect(moving.next).toBe('address 2 LTC');
    const made = JSON.parse(await atHome('--json', ...commandOf(stepOf(moving, 'address 2 LTC'))));
    destination = made.invoice.payment.address;
    const cancel = commandOf(stepOf(await homeMove(), 'address 2 LTC'));
    expect(cancel).toEqual(['invoice', 'cancel', made.invoice.slug]);
    await atHome(...cancel);
    const shown = await homeMove();
    expect([shown.next, stepOf(shown, 'address 2 LTC').text]).toEqual([
      null,
      `New takes old LTC at ${destination}, an address of your keys: 0 came, 0 of it is confirmed.`,
    ]);
  });

  it('names what is open on the old server, and then its money', async () => {
    const merchant = <Body>(path: string, body?: unknown) =>
      old.call<Body>('POST', path, body, { 'mb-api-key': oldKey });
    const paid = await merchant<{ id: string }>('/invoice', { amount: 800, crypto: 'LTC' });
    paidAddress = await until('an address is given out', async () => {
      const { status, body } = await merchant<{ address: string }>(`/invoice/rp/${paid.body.id}`);
      return status === 201 && body.address;
    });
    const unpaid = await merchant<{ id: string }>('/invoice', { amount: 50, crypto: 'LTC' });
    await payOld(10n);
    await onOld(...commandOf(stepOf(await oldMove(), 'shop')));
    const moving = await until('the payment is confirmed', async () => {
      const now = await oldMove();
      return stepOf(now, 'money').text.includes('10 LTC') && now;
    });
    // what is taken no longer is money all the same
    expect([stepOf(moving, 'shop').done, moving.next]).toEqual([true, 'invoices']);
    const invoices = stepOf(moving, 'invoices');
    expect(commandOf(invoices)).toEqual(['invoice', 'cancel', unpaid.body.id]);
    await onOld(...commandOf(invoices));
    expect((await oldMove()).next).toBe('money');
  });

  it('brings the money of the old words to the address of the new ones', async () => {
    await sweepOld();
    await arrived(1);
    const received = stepOf(await homeMove(), 'address 2 LTC');
    expect(received.done).toBe(false);
    expect(received.text).toMatch(
      /: 9\.99\d+ came, 9\.99\d+ of it is confirmed\. What is in the inbox of it is yours: keep it\.$/,
    );
    await atHome(...commandOf(received));
    expect((await homeMove()).next).toBeNull();
    const [business] = (await operatorClient(fresh.dataDir)('business.list', {})).businesses.filter(
      ({ name }) => name === 'New',
    );
    const taken = await operatorClient(fresh.dataDir)('takings.list', { business: '2', by: 'day', periods: 2 });
    expect(taken.periods.map(({ payments }) => payments)).toEqual(taken.periods.map(() => 0));
    expect(business!.balances).toMatchObject([{ crypto: 'LTC', amount: expect.stringMatching(/^9\.99\d+$/) }]);
  });

  it('takes the empty wallet off the old server, which goes on watching', async () => {
    const moving = await oldMove();
    expect([moving.next, stepOf(moving, 'money').done]).toEqual(['vault', true]);
    const [backup, away] = stepOf(moving, 'vault').commands.map(({ command }) => command);
    expect([backup, away]).toEqual([
      'countinghouse backup old-wallet.backup',
      `mkdir -m 700 old-wallet && mv ${old.dataDir}/vault/wallet.json ${old.dataDir}/vault/signer-journal.* old-wallet/`,
    ]);
    await onOld('backup', join(home, 'old-wallet.backup'));
    await old.daemon.stop();
    await mkdir(join(home, 'old-wallet'));
    for (const name of await vaultFiles())
      await rename(join(old.dataDir, 'vault', name), join(home, 'old-wallet', name));
    await old.resume();
    const after = await oldMove();
    expect([after.next, stepOf(after, 'vault').done, await vaultFiles()]).toEqual([null, true, []]);
    expect(stepOf(after, 'late').text).toContain('Payers still have old addresses: 1 were given out.');
  });

  it('says that a late payment came to an address of the old words, and moves it once they are back', async () => {
    await payOld(1n);
    const late = await until('it is seen', async () => {
      const now = await oldMove();
      return stepOf(now, 'money').done === false && now;
    });
    expect([late.next, stepOf(late, 'money').text]).toEqual([
      'decisions',
      expect.stringContaining('Shop: 1 LTC. It came to an address of the old words after they were taken away'),
    ]);
    const { items } = JSON.parse(await onOld('--json', ...commandOf(stepOf(late, 'decisions'))));
    expect(items).toMatchObject([{ amount: '1', address: paidAddress, reason: 'extra', state: 'open' }]);
    await onOld(...commandOf(stepOf(late, 'decisions'), 1));
    await old.daemon.stop();
    const kept = join(home, 'old-wallet');
    for (const name of await readdir(kept)) await rename(join(kept, name), join(old.dataDir, 'vault', name));
    await old.resume();
    await onOld('wallet', 'unlock', ...passphrase());
    await sweepOld();
    await arrived(2);
    expect(stepOf(await homeMove(), 'address 2 LTC').text).toMatch(/: 10\.99\d+ came, 10\.99\d+ of it is confirmed\./);
  });

  it('moves the same words: the wallet with its record goes home, and signs there for the old server', async () => {
    await old.daemon.stop();
    const folder = join(home, 'servers', 'old', 'vault');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of await vaultFiles()) await rename(join(old.dataDir, 'vault', name), join(folder, name));
    await old.resume();
    const call = operatorClient(old.dataDir);
    const { server, code } = await call('signer.invite', {});
    await ran(home, 'signer', 'join', server, code, '--as', 'old', '--name', 'Laptop');
    const audit = ['--json', '--server', 'old', 'signer', 'audit', ...passphrase()];
    expect(JSON.parse(await ran(home, ...audit))).toMatchObject({ given: 1, found: [] });
    await connect('old');
    await payOld(2n);
    await until('it can be spent', async () => {
      const [, shop] = (await call('business.list', {})).businesses;
      return shop!.balances.some(({ crypto, amount }) => crypto === 'LTC' && amount === '2');
    });
    expect(await cli(old.dataDir, ['signer', 'move'])).toMatchObject({
      code: 1,
      err: 'error: Laptop at home signs for this server. Run there: countinghouse --server NAME signer move\n',
    });
    const { withdrawal } = JSON.parse(
      await ran(home, '--json', '--server', 'old', 'withdrawal', 'sweep', '2', 'LTC', destination),
    );
    const approve = ['withdrawal', 'approve', `${withdrawal.id}`, '--to', destination, '--amount', withdrawal.amount];
    await ran(home, '--server', 'old', ...approve, ...passphrase());
    await until('it is sent', async () => {
      return (await call('withdrawal.show', { id: `${withdrawal.id}` })).withdrawal.state === 'broadcast';
    });
    await writeFile(join(home, 'newer'), 'another horse battery staple');
    const change = ['wallet', 'passphrase', ...passphrase(), '--new-passphrase-file', join(home, 'newer')];
    await ran(home, '--server', 'old', ...change);
  });

  it('shows no address at home that is not of the keys there', async () => {
    await running.shift()?.close();
    const file = join(home, 'servers', 'shop', 'accounts.json');
    const text = await readFile(file, 'utf8');
    const [, code] = /"chainCode": "([0-9a-f]{64})"/.exec(text)!;
    await writeFile(
      file,
      text.replaceAll(
        code!,
        code!.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
      ),
    );
    const { code: exit, out, err } = await cli(home, ['--server', 'shop', 'signer', 'move']);
    expect([exit, out]).toEqual([4, '']);
    expect(err).toContain(`the server shows ${destination} for New, which is not of the keys on this computer`);
  });
});
