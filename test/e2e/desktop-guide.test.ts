/**
 * The way out of the alarm in the desktop program, on a real litecoind: the server that shows a foreign address is switched off, a new one
 * gets the books by a pass that is made here, takes its place, and is signed for.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import { spacedCode } from '../../daemon/contract/signing-machine.ts';
import { readPass } from '../../daemon/wallet/backup-pass.ts';
import { freePort, hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { hasChromium } from '../support/chromium.ts';
import { buildConsole } from '../support/console.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { electron } from '../unit/desktop/electron.ts';
import { type DesktopPage, openDesktop } from './desktop-kit.ts';

vi.mock('electron', () => electron);

const PASSPHRASE = 'a passphrase at home';
/** Instead of 10,000 addresses, which take a minute to derive. */
const JUMP = 25;
const isHere = hasChromium && hasLitecoind && process.platform !== 'win32';

describe.skipIf(!isHere)(litecoindTitle('the guide out of the alarm'), () => {
  let node: Litecoind;
  let here: TestDaemon;
  /** The server that is taken over, and the new ones. */
  let old: TestDaemon;
  const daemons: TestDaemon[] = [];
  let home: string;
  let desktop: DesktopPage;
  let page: Page;
  let slug: string;
  let theirs: string;
  let pass: string;
  const before = { ...process.env };
  const pictures = process.env.DESKTOP_PICTURES;

  const picture = async (of: string): Promise<void> => {
    if (pictures) await page.screenshot({ path: join(pictures, `${of}.png`) });
  };
  const atHome = async (...argv: string[]) => {
    const passphrase = ['--passphrase-file', join(home, 'passphrase')];
    return cli(here.dataDir, ['--server', 'shop', '--yes', '--json', ...argv, ...passphrase]);
  };
  const configOf = async () => `[console]\nport = ${await freePort()}\n${litecoinConfig(`core_rpc = "${node.url}"`)}`;
  const step = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
  const next = () => page.getByRole('link', { name: 'Next step' }).click();
  const choose = async (file: string): Promise<void> => {
    electron.dialog.showOpenDialog.mockResolvedValueOnce({ filePaths: [file] });
    await page.getByRole('button', { name: 'Choose the backup' }).click();
    await page.getByText(file).waitFor();
  };
  const compare = async (passphrase: string): Promise<void> => {
    await page.getByLabel('Passphrase of the wallet').fill(passphrase);
    await page.getByRole('button', { name: 'Compare it, and make its pass' }).click();
  };

  /** A new server with the books of the backup, which takes the place here. `alter`: what somebody did to them before. */
  const takePlace = async (name: string, alter?: (database: Database.Database) => void) => {
    const restored = join(home, name);
    await restoreBackup(join(home, 'before.backup'), readPass(pass), restored, Date.now(), JUMP);
    if (alter) {
      const database = new Database(join(restored, 'countinghouse.db'));
      alter(database);
      database.close();
    }
    const daemon = await startTestDaemon(await configOf(), restored);
    daemons.push(daemon);
    const call = operatorClient(daemon.dataDir);
    const { server, code } = await call('signer.invite', {});
    await page.getByRole('link', { name: 'Connect the new server' }).click();
    await step('Connect the new server');
    await page.getByLabel('Server', { exact: true }).fill(server);
    await page.getByLabel('Code', { exact: true }).fill(spacedCode(code));
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await step('Sign for it');
    return { daemon, server, call };
  };

  beforeAll(async () => {
    buildConsole();
    node = await Litecoind.start();
    await node.fund();
    home = await mkdtemp(join(tmpdir(), 'desktop-guide-'));
    await writeFile(join(home, 'passphrase'), PASSPHRASE);
    [here, old] = await Promise.all([startTestDaemon(), startTestDaemon(await configOf())]);
    const call = operatorClient(old.dataDir);
    const { server, code } = await call('signer.invite', {});
    await cli(here.dataDir, ['signer', 'join', server, code, '--as', 'shop', '--name', 'Laptop']);
    const added = await atHome('business', 'add', '--name', 'Shop', '--network', 'regtest', '--i-have-the-words');
    const headers = { 'mb-api-key': JSON.parse(added.out).key.key as string };
    const made = await old.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' }, headers);
    slug = made.body.id;
    await until('an address is given out', async () => {
      return (await old.call('POST', `/invoice/rp/${slug}`, {}, headers)).status === 201;
    });
    await call('backup.make', { file: join(home, 'before.backup') });
    await old.daemon.stop();
    theirs = await node.rpc<string>('getnewaddress', []);
    const database = new Database(join(old.dataDir, 'countinghouse.db'));
    database.prepare("UPDATE payment SET address = ? WHERE status = 'pending'").run(theirs);
    database.close();
    await old.resume();
    await operatorClient(old.dataDir)('backup.make', { file: join(home, 'altered.backup') });
    expect((await atHome('signer', 'audit')).code).toBe(4);
    Object.assign(process.env, { COUNTINGHOUSE_DATA_DIR: here.dataDir, COUNTINGHOUSE_NODE: process.execPath });
    desktop = await openDesktop(home);
    ({ page } = desktop);
    page.setDefaultTimeout(60_000);
    process.env = before;
  });
  afterAll(async () => {
    await desktop?.close();
    await here?.stop();
    await old?.stop();
    for (const one of daemons) await one.stop();
    await node?.remove();
    await rm(home, { recursive: true, force: true });
  });

  it('says whether the server still answers, and what to tell whom', async () => {
    await page.getByRole('link', { name: 'See what to do now' }).click();
    await page.getByRole('link', { name: 'Guide me through it' }).click();
    await step('Switch the server off');
    await page.getByText('It still answers').waitFor();
    await picture('guide-off');
    await old.daemon.stop();
    await page.getByText('It does not answer this computer any more').waitFor();
    await next();
    await step('Warn the customers');
    await page.getByText(`Please do not pay invoice ${slug}.`).waitFor();
    await page.getByText(theirs).waitFor();
    expect(await page.getByRole('button', { name: 'Copy the message' }).count()).toBe(1);
    await picture('guide-warn');
  });

  it('makes the pass of a backup that is the operator’s, and none of an altered one', async () => {
    await next();
    await step('Get the books back');
    await choose(join(home, 'altered.backup'));
    await compare('a guess');
    await page.getByText(/does not open this wallet/).waitFor();
    await compare(PASSPHRASE);
    await page.getByText('This backup gets no pass').waitFor();
    await page.getByText(`invoice ${slug} shows ${theirs}`).waitFor();
    await picture('guide-no-pass');
    await choose(join(home, 'before.backup'));
    await compare(PASSPHRASE);
    pass = (await page.locator('.desk-pass').textContent())!;
    await page.getByText('countinghouse restore FILE --pass-file -').waitFor();
    await picture('guide-pass');
  });

  it('signs for no server that is still the old one', async () => {
    await page.getByRole('link', { name: 'Sign for it' }).click();
    await page.getByText('This is still the server that showed the foreign address').waitFor();
    expect(await page.getByLabel('Passphrase of the wallet').count()).toBe(0);
  });

  it('signs for no new server that shows the same foreign address', async () => {
    const { daemon } = await takePlace('altered-too', (database) => {
      database.prepare("UPDATE payment SET address = ? WHERE status = 'pending'").run(theirs);
    });
    await page.getByText('The new server shows a foreign address, too').waitFor();
    expect(await page.getByLabel('Passphrase of the wallet').count()).toBe(0);
    await daemon.daemon.stop();
  });

  it('connects the new server in the place of the old one, at another address, and signs for it', async () => {
    const { daemon: fresh, server, call } = await takePlace('as-on-the-new-server');
    await page.getByText('has found no foreign one among them').waitFor();
    await picture('guide-sign');
    await page.getByLabel('Passphrase of the wallet').fill(PASSPHRASE);
    await page.getByRole('button', { name: 'Sign for this server again' }).click();
    await page.getByText('This computer signs for shop.').waitFor();
    expect(await page.locator('.desk-alarm-head').count()).toBe(0);
    const { servers } = (await desktop.ask('desktop.servers')).result as { servers: object[] };
    expect(servers).toMatchObject([{ name: 'shop', url: server, alarm: null, wallet: 'locked' }]);
    expect(await readdir(join(here.dataDir, 'servers'))).toEqual(['shop']);
    const kept = (await readdir(join(fresh.dataDir, 'vault'))).filter((file) => !file.startsWith('sandbox-'));
    expect(kept).toEqual([expect.stringMatching(/^backup-key-/)]);
    await next();
    await step('Take payments again');
    await page.getByText('countinghouse restore confirm').waitFor();
    await picture('guide-confirm');
    expect((await cli(fresh.dataDir, ['restore', 'confirm', '--yes', '--keep-keys', 'all'])).code).toBe(0);
    await page.getByRole('link', { name: 'Open its console' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect((await call('signer.machines', {})).machines).toMatchObject([{ name: 'Laptop', connected: true }]);
  });

  it('had no error', () => expect(desktop.errors).toEqual([]));
});
