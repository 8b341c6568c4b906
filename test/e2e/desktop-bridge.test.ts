/** The desktop shell with the service of this computer: see desktop-kit.ts. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { appEvents, electron, handlers, menus, shown, trayMenus, windows } from '../unit/desktop/electron.ts';
import { type DesktopPage, openDesktop, SHOWN } from './desktop-kit.ts';
import { shellSpecs } from './shell-specs.ts';

vi.mock('electron', () => electron);

const { CHANNELS, ORIGIN } = await import('../../main/limits.ts');

const PASSPHRASE = 'a passphrase of the desktop';

describe.skipIf(!hasChromium)(chromiumTitle('the desktop shell in Chromium'), () => {
  let service: TestDaemon;
  let home: string;
  let desktop: DesktopPage;
  let page: Page;
  let asked: string[];
  const before = { ...process.env };
  const ask: DesktopPage['ask'] = (...given) => desktop.ask(...given);
  const go: DesktopPage['go'] = (screen) => desktop.go(screen);

  beforeAll(async () => {
    [service, home] = await Promise.all([startTestDaemon(), mkdtemp(join(tmpdir(), 'desktop-'))]);
    // the command line that reaches the keychain is not there: a developer's own keychain is left alone
    Object.assign(process.env, { COUNTINGHOUSE_DATA_DIR: service.dataDir, COUNTINGHOUSE_NODE: join(home, 'nothing') });
    desktop = await openDesktop(home);
    ({ page, asked } = desktop);
  });
  afterAll(async () => {
    await desktop?.close();
    await service?.stop();
    process.env = before;
    await rm(home, { recursive: true, force: true });
  });

  shellSpecs(() => ({ page, service }));

  it('runs once, attaches to the service that is there, and keeps no token where the page is', async () => {
    expect(desktop.once).toEqual([1, 1, 1, 1]);
    expect(trayMenus.at(-1)![0]).toMatchObject({ label: 'Running as a service of this computer' });
    expect([...handlers.keys()]).toEqual([CHANNELS.call]);
    const happen = (event: string, ...values: unknown[]) => appEvents.get(event)!(...(values as never[]));
    // a second start shows this one, where its link leads
    happen('second-instance', {}, ['countinghouse', 'countinghouse:withdrawals/118']);
    expect(windows[0]!.loaded.at(-1)).toBe(`${ORIGIN}/index.html#/withdrawals/118`);
    const preventDefault = vi.fn();
    happen('open-url', { preventDefault }, 'countinghouse:counter');
    happen('open-url', { preventDefault }, 'countinghouse:../../etc/passwd');
    expect(windows[0]!.loaded.at(-1)).toBe(`${ORIGIN}/index.html#/counter`);
    expect(preventDefault).toHaveBeenCalledTimes(2);
    expect(windows.length).toBe(1);
  });

  it('tells the page at once what changed', async () => {
    await go('withdrawals');
    await page.getByRole('heading', { name: 'Withdrawals' }).waitFor();
    const before = asked.filter((name) => name === 'business.list').length;
    await service.call('POST', '/invoice', { amount: 10 });
    await until('the page reads again', async () => asked.filter((name) => name === 'business.list').length > before);
  });

  it('makes a wallet, asks its words back and opens a business, all of it by the main process', async () => {
    await go('first/live');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('New passphrase').fill(PASSPHRASE);
    await page.getByLabel('Once more').fill(PASSPHRASE);
    // it does not answer: the user is told, and goes on
    await page.getByLabel(/^Keep the passphrase in this computer/).check();
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
    await page.getByText('The passphrase is not in the keychain').waitFor();
    const { call } = new Operator(service.dataDir);
    const wallet = await until('the wallet is open', async () => {
      const found = (await call('wallet.status', {})).wallet;
      return found.state === 'unlocked' && found;
    });
    expect(wallet).toMatchObject({ unlock: 'prompt', words_unproved: false });
    const own = ['desktop.createWallet', 'desktop.prove', 'desktop.accounts', 'desktop.remember', 'desktop.unlock'];
    expect(asked).toEqual(expect.arrayContaining(own));
    expect(asked.filter((name) => /sealKey|custody|drillOpen/.test(name))).toEqual([]);
    expect(await ask('desktop.words', { passphrase: PASSPHRASE })).toEqual({ ok: true, result: words });
  });

  it('has one language for the page, the menus, the tray and the notifications', async () => {
    await go('settings');
    await page.getByRole('heading', { name: 'This program' }).waitFor();
    // a clone is not started at login
    expect(await page.getByText('Start when I log in').count()).toBe(0);
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Dieses Programm' }).waitFor();
    await until('the menus are German', async () => JSON.stringify(menus.at(-1)).includes('Rückgängig'));
    expect(trayMenus.at(-1)![0]).toMatchObject({ label: 'Läuft als Dienst dieses Rechners' });
    expect(JSON.parse(await readFile(join(home, 'settings.json'), 'utf8'))).toEqual({ language: 'de' });
    const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 10, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${body.id}`, {});
    await service.call('POST', '/sandbox/pay', { invoice_id: body.id });
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
    await until('it is told', async () => shown.some(({ title }) => title === 'Bezahlt'));
    await page.reload();
    await page.getByRole('heading', { name: 'Dieses Programm' }).waitFor();
    expect(await ask('desktop.setLanguage', { language: 'en' })).toMatchObject({ ok: true });
    await page.reload();
    await page.getByRole('heading', { name: 'This program' }).waitFor();
  });

  it('saves a backup where the user says, and drills only such files', async () => {
    const file = join(home, 'shop.backup');
    electron.dialog.showSaveDialog.mockResolvedValueOnce({ filePath: file });
    await go('wallet');
    await page.getByRole('button', { name: 'Save a backup' }).click();
    await page.getByText(`Backed up: ${file}`).waitFor();
    expect(await readdir(home)).toContain('shop.backup');
    expect(await ask('desktop.drill', { passphrase: PASSPHRASE, file: '/etc/passwd' })).toMatchObject({
      error: { message: 'Choose the file of the backup' },
    });
    expect(await ask('desktop.drill', { passphrase: PASSPHRASE, file })).toMatchObject({ ok: true });
    const { drill } = await new Operator(service.dataDir).call('backup.drillStatus', {});
    expect(drill).toMatchObject({ file });
  });

  it('leaves a page that was taken over nothing but the console, without the passphrase no approval', async () => {
    const own = await page.evaluate(() => {
      const names = ['require', 'process', 'module', 'Buffer', 'electron', 'ipcRenderer'];
      // the stand-in for Electron's own require is there, as a preload script has it
      return names.filter((name) => name !== 'require' && name in globalThis);
    });
    expect(own).toEqual([]);
    const { call } = new Operator(service.dataDir);
    await call('wallet.lock', {});
    const refused: [string, unknown, string][] = [
      ['wallet.sealKey', {}, 'method.unknown'],
      ['wallet.keychain', { on: true }, 'method.unknown'],
      ['backup.make', { file: join(home, 'autostart') }, 'method.unknown'],
      ['backup.drill', { file: '/etc/passwd' }, 'method.unknown'],
      ['console.open', {}, 'method.unknown'],
      ['fs.readFile', { path: join(service.dataDir, 'operator.json') }, 'method.unknown'],
      ['__proto__', {}, 'method.unknown'],
      ['desktop.openPath', { path: '/bin/sh' }, 'method.unknown'],
      ['desktop.words', {}, 'params'],
      ['desktop.saveBackup', { file: join(home, 'autostart') }, 'params'],
      ['desktop.settings', { login: true }, 'params'],
      ['desktop.unlock', { passphrase: 'a guess' }, 'vault.passphrase'],
      ['desktop.words', { passphrase: 'a guess' }, 'vault.passphrase'],
      ['desktop.remember', { passphrase: 'a guess' }, 'unavailable'],
    ];
    for (const [method, input, code] of refused)
      expect([method, (await ask(method, input)).error?.code]).toEqual([method, code]);
    // after three guesses, each further one waits
    const wanted = { approvals: [], change: null, grants: [] };
    const guesses: (string | undefined)[] = [];
    for (let n = 0; n < 2; n++)
      guesses.push((await ask('desktop.authorize', { passphrase: 'another guess', wanted })).error?.code);
    expect(guesses).toEqual(['vault.passphrase', 'unavailable']);
    expect((await call('wallet.status', {})).wallet).toMatchObject({ state: 'locked', unlock: 'prompt' });
    expect(await readdir(home)).not.toContain('autostart');

    const policed = await page.evaluate(`(async () => {
      const tried = (work) => Promise.resolve().then(work).then(() => 'done', ({ name }) => name);
      const image = () => new Promise((resolve, reject) => {
        Object.assign(new Image(), { onload: resolve, onerror: reject, src: 'https://example.com/?words' });
      });
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      const form = Object.assign(document.createElement('form'), { action: 'https://example.com/' });
      document.body.append(script, form);
      form.submit();
      return [
        await tried(() => fetch('https://example.com/')),
        await tried(image),
        await tried(() => new Worker('https://example.com/a.js')),
        'ran' in window,
        location.origin,
      ];
    })()`);
    expect(policed).toEqual(['TypeError', undefined, 'SecurityError', false, SHOWN]);
  });

  it('had no error', () =>
    expect(desktop.errors.filter((text) => !/example\.com|connect-src|Content Security Policy/.test(text))).toEqual(
      [],
    ));
});
