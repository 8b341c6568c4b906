/**
 * The desktop shell as the operator of a server on a real litecoind: it is paired by a code, its console is shown, its words are made
 * here, a withdrawal is approved and signed here, and a foreign address stops that.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Call } from '../../daemon/contract/operator.ts';
import { spacedCode } from '../../daemon/contract/signing-machine.ts';
import { limitsHeldIn } from '../../daemon/wallet/signer/register.ts';
import { freePort, hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { hasChromium } from '../support/chromium.ts';
import { buildConsole } from '../support/console.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { electron, menus, shown, windows } from '../unit/desktop/electron.ts';
import { endPlan } from './console-kit.ts';
import { type DesktopPage, openDesktop } from './desktop-kit.ts';

vi.mock('electron', () => electron);

const COIN = 100_000_000n;
const PASSPHRASE = 'a passphrase at home';

const isHere = hasChromium && hasLitecoind && process.platform !== 'win32';

describe.skipIf(!isHere)(litecoindTitle('the desktop shell and a server'), () => {
  let node: Litecoind;
  /** The service of this computer, and the one on the server. */
  let here: TestDaemon;
  let there: TestDaemon;
  let call: Call;
  let home: string;
  let desktop: DesktopPage;
  let page: Page;
  let name: string;
  let key: string;
  const before = { ...process.env };
  const pictures = process.env.DESKTOP_PICTURES;

  const show = async (id: string) => (await call('withdrawal.show', { id })).withdrawal;
  const merchant = <Body>(method: string, path: string, body?: unknown) =>
    there.call<Body>(method, path, body, { 'mb-api-key': key });
  const picture = async (of: string): Promise<void> => {
    if (pictures) await page.screenshot({ path: join(pictures, `${of}.png`) });
  };
  const openServer = (screen: string) => page.goto(`https://console.test/index.html?server=${name}#/${screen}`);
  const connect = async (address: string, code: string): Promise<void> => {
    await page.getByLabel('Server', { exact: true }).fill(address);
    await page.getByLabel('Code', { exact: true }).fill(code);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
  };

  beforeAll(async () => {
    buildConsole();
    node = await Litecoind.start();
    await node.fund();
    home = await mkdtemp(join(tmpdir(), 'desktop-'));
    const port = await freePort();
    const config = `[console]\nport = ${port}\n${litecoinConfig(`core_rpc = "${node.url}"`)}`;
    [here, there] = await Promise.all([startTestDaemon(), startTestDaemon(config)]);
    call = operatorClient(there.dataDir);
    name = `127.0.0.1-${port}`;
    Object.assign(process.env, { COUNTINGHOUSE_DATA_DIR: here.dataDir, COUNTINGHOUSE_NODE: process.execPath });
    desktop = await openDesktop(home);
    ({ page } = desktop);
    page.setDefaultTimeout(60_000);
    // the services are started again without it
    process.env = before;
  });
  afterAll(async () => {
    await desktop?.close();
    await here?.stop();
    await there?.stop();
    await node?.remove();
    await rm(home, { recursive: true, force: true });
  });

  it('says of each code what is wrong with it, and keeps nothing of the server', async () => {
    const { server, code } = await call('signer.invite', {});
    const foreign = await call('signer.invite', {}).then(async ({ code: newer }) => {
      const other = await operatorClient(here.dataDir)('signer.invite', {});
      return { newer, other: other.code };
    });
    await page.getByRole('link', { name: 'Connect to a server' }).click();
    await page.getByRole('heading', { name: 'Connect to a server' }).waitFor();
    await page.getByText('The server’s address is missing').waitFor();
    await page.getByLabel('Server', { exact: true }).fill(server);
    await page.getByLabel('Code', { exact: true }).fill(spacedCode(code).slice(0, 19));
    await page.getByText('2 groups are missing').waitFor();
    expect(await page.getByRole('button', { name: 'Connect', exact: true }).isDisabled()).toBe(true);
    await picture('connect');
    const wrong = `${foreign.newer.slice(0, -1)}${foreign.newer.endsWith('0') ? '1' : '0'}`;
    for (const [typed, said] of [
      [wrong, 'a character of its 24 is wrong or missing'],
      [foreign.other, 'This code was made by another server'],
      [code, 'by a newer one'],
    ] as const) {
      await connect(server, typed);
      await page.getByText(said).waitFor();
    }
    await connect('http://pay.shop.example', foreign.newer);
    await page.getByText('Only a tunnel on this computer or an onion service').waitFor();
    await connect('abc.onion', foreign.newer);
    await page.getByText('http://abc.onion is an onion service').waitFor();
    await page.getByLabel('Proxy, if one is needed').fill('127.0.0.1:1');
    await connect('abc.onion', foreign.newer);
    await page.getByText('nothing listens at the proxy socks5h://127.0.0.1:1').waitFor();
    await page.getByLabel('Proxy, if one is needed').fill('');
    expect((await desktop.ask('desktop.servers')).result).toMatchObject({ servers: [] });
    expect(await readdir(here.dataDir)).not.toContain('servers');
    await connect(server, foreign.newer);
    await page.getByRole('heading', { name: 'This computer will sign for it' }).waitFor();
    await picture('connected');
    expect(JSON.stringify(menus.at(-1))).toContain(name);
    await page.reload();
    await connect(server, foreign.newer);
    await page.getByText('This code was used at').waitFor();
  });

  it('shows the console of the server by its own page, and this computer’s beside it', async () => {
    await page.getByRole('link', { name: new RegExp(name) }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(new URL(page.url()).search).toBe(`?server=${name}`);
    const status = (await desktop.ask('wallet.status')).result;
    expect(status).toMatchObject({ wallet: { state: 'none', separate: false } });
    // what a browser of the server would have
    expect((await desktop.ask('wallet.sealKey')).error?.code).toBe('method.unknown');
    const own = async (path: string) => {
      await page.goto(`https://console.test/index.html${path}#/home`);
      await page.getByRole('heading', { name: 'Home' }).waitFor();
      const { businesses } = (await desktop.ask('business.list')).result as { businesses: { uuid: string }[] };
      return businesses.map(({ uuid }) => uuid);
    };
    const [local, remote] = [await own(''), await own(`?server=${name}`)];
    expect(remote).toEqual((await call('business.list', {})).businesses.map(({ uuid }) => uuid));
    expect(local).not.toEqual(remote);
    await page.goto('https://console.test/index.html?server=another#/home');
    await page.getByRole('heading', { name: 'This computer does not know this server' }).waitFor();
    expect((await desktop.ask('status')).error?.code).toBe('signer.not_found');
  });

  it('makes the words here, and gives the server public keys alone', async () => {
    await openServer('first/live');
    await page.getByLabel('New passphrase').fill(PASSPHRASE);
    await page.getByLabel('Once more').fill(PASSPHRASE);
    // a developer's own keychain is left alone
    expect(await page.getByLabel(/^Keep the passphrase in this computer/).isChecked()).toBe(false);
    await page.getByRole('button', { name: 'Make the wallet' }).click();
    await page.getByRole('heading', { name: 'Write these 24 words on paper' }).waitFor();
    const words = await page.locator('.words strong').allTextContents();
    await page.getByRole('button', { name: 'I have written them down' }).click();
    for (const label of await page.locator('.field label').allTextContents())
      await page.getByLabel(label, { exact: true }).fill(words[Number(/\d+/.exec(label)?.[0]) - 1] ?? '');
    await page.keyboard.press('Enter');
    await page.getByLabel('Name').fill('Corner Coffee');
    await page.getByLabel('Money', { exact: true }).selectOption('regtest');
    await page.getByRole('button', { name: 'Add the business' }).click();
    const wallet = await until('the wallet here signs for the server, and is open', async () => {
      const found = (await call('wallet.status', {})).wallet;
      return found.state === 'unlocked' && found;
    });
    const kept = (await readdir(join(there.dataDir, 'vault'))).filter((file) => !file.startsWith('sandbox-'));
    expect(kept).toEqual([`backup-key-${wallet.fingerprint}.json`]);
    expect((await desktop.ask('desktop.words', { passphrase: PASSPHRASE })).result).toEqual(words);
    expect((await desktop.ask('desktop.words', { passphrase: 'a guess' })).error?.code).toBe('vault.passphrase');
    const { businesses } = await call('business.list', {});
    const business = businesses.find(({ network }) => network === 'regtest');
    expect(business?.name).toBe('Corner Coffee');
    const made = await call('key.add', {
      business: `${business!.id}`,
      name: 'shop',
      scopes: ['invoices', 'withdraw', 'balance'],
    });
    key = made.key.key;
  });

  it('approves and signs a withdrawal here', async () => {
    const { body } = await merchant<{ id: string }>('POST', '/invoice', { amount: 800, crypto: 'LTC' });
    const address = await until('an address is given out', async () => {
      const paid = await merchant<{ address: string }>('POST', `/invoice/rp/${body.id}`);
      return paid.status === 201 && paid.body.address;
    });
    await node.pay([{ address, units: 10n * COIN }]);
    await node.mine(12);
    await until('it can be spent', async () => (await merchant<{ LTC: number }>('GET', '/balance')).body.LTC === 10);
    const to = await node.rpc<string>('getnewaddress', []);
    const asked = await merchant<{ id: string }>('POST', '/withdraw', { amount: '1.5', crypto: 'LTC', address: to });
    const { id } = asked.body;
    await until('this computer is told of it', async () =>
      shown.some(({ title }) => title === `${name}: A withdrawal waits for you`),
    );
    shown.findLast(({ title }) => title.startsWith(name))!.click();
    expect(windows[0]!.loaded.at(-1)).toContain(`?server=${name}#/withdrawals/`);
    await openServer(`withdrawals/${id}/approve`);
    await page.getByLabel(/I compared all \d+ groups/).check();
    await page.getByLabel('Passphrase').fill(PASSPHRASE);
    await picture('approve');
    await page.getByRole('button', { name: /^Approve and send/ }).click();
    await until('it is sent', async () => (await show(id)).state === 'broadcast');
    await node.mine(1);
    await until('it is completed', async () => (await show(id)).state === 'completed');
    expect(await node.rpc<number>('getreceivedbyaddress', [to, 1])).toBe(1.5);
  });

  it('grants a forwarding plan here, which this computer signs for without a person, and ends it here', async () => {
    const cold = await node.rpc<string>('getnewaddress', []);
    await call('addressBook.add', { business: 'Corner Coffee', chain: 'LTC', address: cold, label: 'Cold safe' });
    const granted = async () => (await limitsHeldIn(join(here.dataDir, 'servers', name, 'vault'), Date.now())).forwards;
    await openServer('withdrawals/forwarding/new');
    await page.getByLabel('Coin', { exact: true }).selectOption('LTC');
    await page.getByLabel('Address', { exact: true }).selectOption(cold);
    await page.getByText('When reached', { exact: false }).first().click();
    await page.getByLabel('Always keep here, in LTC').fill('2');
    await page.getByText('I compared the destination').click();
    const passphrase = page.getByRole('textbox', { name: 'Wallet passphrase' });
    await passphrase.fill('a guess');
    await page.keyboard.press('Enter');
    await page.getByText('This passphrase does not open the wallet. Nothing was approved.').waitFor();
    expect(await granted()).toEqual([]);
    await passphrase.fill(PASSPHRASE);
    await picture('forwarding');
    await page.keyboard.press('Enter');
    await until('it is sent', async () => (await node.rpc<string[]>('getrawmempool', [])).length > 0);
    expect((await granted()).map(({ grant }) => grant)).toMatchObject([
      { asset: 'LTC', network: 'regtest', address: cold },
    ]);
    const [sent] = (await call('withdrawal.list', { limit: 1 })).withdrawals;
    expect(sent).toMatchObject({ address: cold, business: 'Corner Coffee', approved_by: 'forward' });
    await node.mine(1);
    await until('it is completed', async () => (await show(`${sent!.id}`)).state === 'completed');
    expect(await node.rpc<number>('getreceivedbyaddress', [cold, 1])).toBe(Number(sent!.amount));
    // what the plan keeps, and as much of the highest fee as was not used
    const { LTC: left } = (await merchant<{ LTC: number }>('GET', '/balance')).body;
    expect([left >= 2, left < 2.0001]).toEqual([true, true]);

    await endPlan(page, PASSPHRASE);
    expect(await granted()).toEqual([]);
  });

  it('proves a backup of the server with the words that are here', async () => {
    const file = join(home, 'server.backup');
    await call('backup.make', { file });
    await openServer('wallet/backup');
    electron.dialog.showOpenDialog.mockResolvedValueOnce({ filePaths: [file] });
    await page.getByRole('button', { name: 'Choose a backup' }).click();
    await page.getByText(file).waitFor();
    const begin = async (passphrase: string): Promise<void> => {
      await page.getByLabel('Wallet passphrase, to open the backup').fill(passphrase);
      await page.keyboard.press('Enter');
    };
    await begin('a guess');
    await page.getByText('This passphrase does not open the wallet.').waitFor();
    await begin(PASSPHRASE);
    await page.getByText('This backup brings everything back').waitFor();
    await picture('drill');
    const { drill } = (await desktop.ask('backup.drillStatus')).result as { drill: { file: string; report: object } };
    expect(drill).toMatchObject({ file, running: false, error: null, report: { problems: [] } });
    // the server was not asked, and has nothing to open it with
    expect((await call('backup.drillStatus', {})).drill).toBeNull();
  });

  it('is away without red, and goes on when the server is back', async () => {
    await there.daemon.stop();
    await openServer('home');
    await page.reload();
    await page.getByText('away since').first().waitFor();
    await page.getByText('Nothing is lost').waitFor();
    expect(await page.locator('.bad').count()).toBe(0);
    await picture('away');
    await there.resume();
    call = operatorClient(there.dataDir);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.getByText('connected since').first().waitFor();
    await picture('home');
  });

  it('says a foreign address loudest, signs nothing, and goes on when the operator has looked', async () => {
    const { body } = await merchant<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    await until('an address is given out', async () => {
      return (await merchant('POST', `/invoice/rp/${body.id}`)).status === 201;
    });
    const theirs = await node.rpc<string>('getnewaddress', []);
    await there.daemon.stop();
    const database = new Database(join(there.dataDir, 'countinghouse.db'));
    database.prepare("UPDATE payment SET address = ? WHERE status = 'pending'").run(theirs);
    database.close();
    await there.resume();
    call = operatorClient(there.dataDir);
    // the look of a terminal finds the same as the next one of the process that signs
    const { cli } = await import('../unit/cli-kit.ts');
    expect((await cli(here.dataDir, ['--server', name, 'signer', 'audit'])).code).toBe(4);
    await until('it is said', async () => shown.some(({ title }) => title.includes('an address that is not yours')));
    await page.goto('https://console.test/index.html#/home');
    await page.getByRole('link', { name: 'See what to do now' }).click();
    await page.getByRole('heading', { name: `${name} shows an address that is not yours` }).waitFor();
    const cells = (await page.locator('.cell-text:not(.other)').allTextContents()).join('');
    expect(cells).toContain(theirs.slice(5));
    await picture('alarm');
    await saysWhatItMeans(body.id);
    const wanted = { approvals: [], change: null, grants: [] };
    await openServer('home');
    const refused = await desktop.ask('desktop.authorize', { passphrase: PASSPHRASE, wanted });
    expect(refused.error?.code).toBe('signer.foreign_address');
    await page.getByRole('link', { name: 'See what to do now' }).click();
    await page.getByRole('button', { name: 'Sign for this server again' }).click();
    await page.getByLabel('Passphrase of the wallet').fill('a guess');
    await page.getByRole('button', { name: 'Sign for this server again' }).click();
    await page.getByText(/does not open this wallet/).waitFor();
    await page.getByLabel('Passphrase of the wallet').fill(PASSPHRASE);
    await page.getByRole('button', { name: 'Sign for this server again' }).click();
    await page.getByText(`No foreign address stands for ${name}`).waitFor();
  });

  /** The section about the money: what the server says is told as that, and is still there when it is switched off. */
  async function saysWhatItMeans(invoice: string): Promise<void> {
    const rows = async (title: string) => {
      const section = page.locator('section', { has: page.getByRole('heading', { name: title, exact: true }) });
      await section.locator('dd').last().scrollIntoViewIfNeeded();
      return section.locator('dd').allTextContents();
    };
    const said = /says the server, \d\d:\d\d$/;
    const own = 'by this computer’s own record';
    const expected = (more: RegExp) => [
      expect.stringMatching(new RegExp(`^${invoice}(?: \\(says the server\\))? unpaid in all: \\d+, ${more.source}`)),
      expect.stringMatching(/^\$80\.00of 1 invoice, says the server/),
      'not knownThis computer follows no chain. A block explorer shows what came to the address.',
      expect.stringMatching(/^nothingof 1 invoice, says the server/),
      expect.stringMatching(/^2(\.\d+)? LTC \(regtest\)says the server/),
      `nothing${own}`,
      // the withdrawal that was approved, and the one that the forwarding plan sent
      `2 transactions1 of them without a new approval of yours, ${own}`,
    ];
    const title = 'The consequences for the money';
    expect(await rows(title)).toEqual(expected(said));
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture('alarm-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await there.daemon.stop();
    await page.reload();
    expect(await rows(title)).toEqual(expected(said));
    await desktop.ask('desktop.setLanguage', { language: 'de' });
    await page.reload();
    expect((await rows('Was es für das Geld bedeutet'))[3]).toMatch(
      /^nichtsvon 1 Rechnung, sagt der Server, \d\d:\d\d$/,
    );
    await picture('alarm-german');
    await desktop.ask('desktop.setLanguage', { language: 'en' });
    await page.reload();
    await there.resume();
    call = operatorClient(there.dataDir);
  }

  it('forgets a server, and keeps its words', async () => {
    await page.goto('https://console.test/index.html#/servers');
    await picture('servers');
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('is removed here').waitFor();
    expect((await desktop.ask('desktop.servers')).result).toMatchObject({ servers: [] });
    const kept = await readdir(join(here.dataDir, 'servers', name));
    expect(kept).toContain('vault');
    expect(kept).not.toContain('server.json');
  });

  it('had no error', () => expect(desktop.errors).toEqual([]));
});
