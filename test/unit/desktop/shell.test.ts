/** The desktop shell without Electron's program: what it lets a page do, where it lets it go, and what it asks a user. */
import { execFile } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Call } from '../../../daemon/contract/operator.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import type { Keyholder } from '../../../daemon/operator/keyholder.ts';
import type { LoginStart } from '../../../main/login.ts';
import type { ServiceState } from '../../../main/service.ts';
import { until } from '../../support/daemon.ts';
import { electron, handlers, served, shown, trayMenus, windows } from './electron.ts';

vi.mock('electron', async () => (await import('./electron.ts')).electron);

const { serveChannel } = await import('../../../main/channel.ts');
const { CHANNELS, LOG_BYTES_MAX, ORIGIN, SCHEME } = await import('../../../main/limits.ts');
const { askedOpener, linkAmong, placeOfLink } = await import('../../../main/links.ts');
const { autostartEntry, autostartFolder, execArgument, isHiddenStart, loginStart, programPath } = await import(
  '../../../main/login.ts'
);
const { nativeMenu } = await import('../../../main/menu.ts');
const { desktopMethods, slowedKeyholder } = await import('../../../main/methods.ts');
const { followNews } = await import('../../../daemon/operator/news.ts');
const { alertWords, noticesOf, notify } = await import('../../../main/notices.ts');
const { servePages } = await import('../../../main/pages.ts');
const { fenceContents, fenceSession, isOwnPage, webAddress, webPreferences } = await import(
  '../../../main/security.ts'
);
const { Service } = await import('../../../main/service.ts');
const { Preferences } = await import('../../../main/preferences.ts');
const { languageOf, shellText } = await import('../../../main/texts.ts');
const { signatureOf } = await import('../../../main/signature.ts');
const { StateTray } = await import('../../../main/tray.ts');
const { watchUpdates } = await import('../../../main/updates.ts');
const { openWindow } = await import('../../../main/window.ts');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shell-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const english = shellText(() => 'en');
const actions = { show: () => {}, lock: () => {}, openLog: () => {}, quit: () => {} };
const preferencesOf = (login: LoginStart | null, changed = () => {}) =>
  new Preferences(join(folder, 'none.json'), ['en'], login, changed);
const asTold = (_: string, message: string): string => message;
const frame = { url: `${ORIGIN}/index.html#/home` };
const own = { senderFrame: frame, sender: { mainFrame: frame } };

describe('the channel', () => {
  const called: unknown[] = [];
  const wallet = { state: 'unlocked', unlock: 'prompt' };
  const wrong = () => new Rejected('vault.passphrase', 'The passphrase does not open this wallet');
  const authorize = vi.fn(async (passphrase: string) => {
    if (passphrase === 'wrong') throw wrong();
    return { approvals: ['mac'], grants: [] };
  });
  const keyholder = { authorize, unlock: async () => wallet, lock: async () => wallet };
  const drill = vi.fn(async () => {});
  const backupPass = vi.fn(async () => ({ pass: 'CH-BACKUP-1-' }));
  const files = { forSaving: async () => '/home/ann/a.backup', forDrill: async () => null };
  const ask = (method: unknown, input: unknown = {}) => handlers.get(CHANNELS.call)!(own, method, input);

  beforeAll(() => {
    const call = (async (method: string, params: unknown) => {
      if (method === 'doctor') throw new Error('the daemon did not answer');
      called.push([method, params]);
      return { withdrawals: [], next: null };
    }) as unknown as Call;
    const preferences = new Preferences(join(folder, 'channel.json'), [], null, () => {});
    const parts = { call, keyholder, custody: { drill }, keychain: {}, files, preferences, servers: { backupPass } };
    const methods = desktopMethods(parts as never);
    const there = (async (method: string) => ({ answered: method })) as unknown as Call;
    const targets = new Map<string | null, { call: Call; methods: typeof methods }>([
      [null, { call, methods }],
      ['pay.shop.example', { call: there, methods }],
    ]);
    serveChannel({ targetOf: (server) => targets.get(server) ?? null });
  });
  beforeEach(() => {
    called.length = 0;
  });

  it('passes declared methods on, with inputs as the contract has them', async () => {
    expect(await ask('withdrawal.list', { limit: 10 })).toMatchObject({ ok: true });
    expect(called).toEqual([['withdrawal.list', { limit: 10 }]]);
    expect(await ask('doctor')).toEqual({ ok: false, status: 0 });
    expect(handlers.size).toBe(1);
  });

  it('asks the server that a page is about, and none for another', async () => {
    const from = (query: string) => {
      const senderFrame = { url: `${ORIGIN}/index.html${query}#/home` };
      return { senderFrame, sender: { mainFrame: senderFrame } };
    };
    const askFrom = (query: string, method: string) => handlers.get(CHANNELS.call)!(from(query), method, {});
    expect(await askFrom('?server=pay.shop.example', 'status')).toEqual({ ok: true, result: { answered: 'status' } });
    expect(called).toEqual([]);
    for (const method of ['status', 'desktop.lock'])
      expect(await askFrom('?server=..', method)).toMatchObject({ status: 404, error: { code: 'signer.not_found' } });
    // the program itself is there on every page
    expect(await askFrom('?server=gone.example', 'desktop.settings')).toMatchObject({ ok: true });
  });

  it.each<[string, unknown, unknown]>([
    ['an undeclared method', 'process.exit', {}],
    ['a server without a code', 'desktop.join', { address: 'pay.shop.example', name: 'Laptop' }],
    ['a nameless computer', 'desktop.join', { address: 'pay.shop.example', code: 'X', name: ' ' }],
    ["a name of every object's", 'constructor', {}],
    ["a name of every object's", '__proto__', {}],
    ['an undeclared method of this program', 'desktop.openPath', {}],
    ['no name', { toString: () => 'status' }, {}],
    ['a list of names', ['status'], {}],
    ['a sign-in link for others', 'console.open', {}],
    ['a box that this process did not seal', 'wallet.unlock', { sealed: { key: '', nonce: '', box: '' } }],
    ['the keychain without the passphrase', 'wallet.keychain', { on: true }],
    ['a file that the user did not choose', 'backup.make', { file: '/home/ann/.bashrc' }],
    ['a file that the user did not choose', 'backup.drill', { file: '/etc/passwd' }],
    ['a file that the user did not choose', 'desktop.drill', { passphrase: 'right', file: '/etc/passwd' }],
    ['a place for the file', 'desktop.saveBackup', { file: '/home/ann/.bashrc' }],
    ['a language that is none', 'desktop.setLanguage', { language: '../../en' }],
    ['a start at login where there is none', 'desktop.setStartAtLogin', { on: true }],
    ['another type', 'desktop.setStartAtLogin', { on: 'true' }],
    ['an unknown field', 'withdrawal.list', { limit: 10, token: true }],
    ['another type', 'withdrawal.list', { limit: '10' }],
    ['a list for a record', 'withdrawal.show', ['1']],
    ['a proposal of another kind', 'withdrawal.propose', { kind: 'everything' }],
  ])('refuses %s', async (_, method, input) => {
    expect(await ask(method, input)).toMatchObject({ ok: false });
    expect(called).toEqual([]);
    expect(drill).not.toHaveBeenCalled();
  });

  it.each<[string, unknown]>([
    ['no frame', { senderFrame: null, sender: { mainFrame: frame } }],
    ['a frame inside the page', { senderFrame: { ...frame }, sender: { mainFrame: frame } }],
    [
      'another origin',
      (({ url }) => ({ senderFrame: url, sender: { mainFrame: url } }))({ url: { url: 'https://evil.example/' } }),
    ],
    [
      'an origin that begins like ours',
      ((other) => ({ senderFrame: other, sender: { mainFrame: other } }))({ url: `${ORIGIN}.evil.example/` }),
    ],
  ])('answers nobody else: %s', async (_, event) => {
    for (const method of ['status', 'desktop.settings', 'desktop.lock']) {
      expect(await handlers.get(CHANNELS.call)!(event, method, {})).toMatchObject({ ok: false, status: 403 });
    }
    expect(called).toEqual([]);
  });

  it('makes MACs for what is well formed, and names a wrong passphrase', async () => {
    const intent = {
      uuid: 'u',
      network: 'regtest',
      accountNo: 0,
      chain: 'LTC',
      asset: 'LTC',
      address: 'a',
      units: '1',
      feeMax: '1',
    };
    const wanted = { approvals: [{ purpose: 'pay', intent, until: 1 }], change: null, grants: [] };
    const approve = (passphrase: string, what: unknown) => ask('desktop.authorize', { passphrase, wanted: what });
    expect(await approve('right', wanted)).toEqual({ ok: true, result: { approvals: ['mac'], grants: [] } });
    expect(await approve('wrong', wanted)).toMatchObject({ ok: false, error: { code: 'vault.passphrase' } });
    authorize.mockClear();
    const open = { ...wanted, approvals: [{ purpose: 'pay', intent: { ...intent, units: 'all' }, until: 1 }] };
    expect(await approve('right', open)).toMatchObject({ ok: false, status: 422 });
    expect(await approve('', wanted)).toMatchObject({ ok: false, status: 422 });
    expect(authorize).not.toHaveBeenCalled();
    expect(await ask('desktop.lock')).toEqual({ ok: true, result: wallet });
  });

  it('saves and drills where the user said', async () => {
    expect(await ask('desktop.saveBackup')).toMatchObject({ ok: true });
    expect(called).toEqual([['backup.make', { file: '/home/ann/a.backup' }]]);
    expect(await ask('desktop.drill', { passphrase: 'right', file: '/home/ann/a.backup' })).toMatchObject({ ok: true });
    expect(drill.mock.calls).toEqual([['right', '/home/ann/a.backup']]);
    drill.mockClear();
    const asked = { server: 'pay.shop.example', passphrase: 'right', file: '/home/ann/a.backup' };
    expect(await ask('desktop.backupPass', { ...asked, file: '/home/ann/another' })).toMatchObject({
      error: { code: 'backup.folder' },
    });
    expect(backupPass).not.toHaveBeenCalled();
    expect(await ask('desktop.backupPass', asked)).toMatchObject({ ok: true, result: { pass: 'CH-BACKUP-1-' } });
    expect(backupPass.mock.calls).toEqual([[asked]]);
  });

  it('slows down a page that guesses passphrases', async () => {
    const vault = await mkdtemp(join(folder, 'vault-'));
    const slow = slowedKeyholder(keyholder as unknown as Keyholder, vault);
    const guess = (passphrase: string) =>
      slow.authorize(passphrase, {} as never).catch((error: Error) => error.message);
    const answers: unknown[] = [];
    for (let n = 0; n < 5; n++) answers.push(await guess('wrong'));
    expect(answers.slice(0, 3)).toEqual(Array(3).fill(wrong().message));
    expect(answers.slice(3)).toEqual(Array(2).fill('Too many wrong passphrases: try again in 1 s'));
    expect(await guess('right')).toBe('Too many wrong passphrases: try again in 1 s');
  });
});

describe('a page', () => {
  it('has no Node, is isolated and sandboxed', () => {
    openWindow({ preload: '/preload.cjs', stateFile: join(folder, 'none.json'), icon: '/icon.png', hidden: false });
    expect(windows.at(-1)!.options.webPreferences).toEqual(webPreferences('/preload.cjs'));
    expect(webPreferences('/preload.cjs')).toEqual({
      preload: '/preload.cjs',
      contextIsolation: true,
      sandbox: true,
      webSecurity: true,
      disableDialogs: true,
      nodeIntegration: false,
      nodeIntegrationInSubFrames: false,
      nodeIntegrationInWorker: false,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      webviewTag: false,
      navigateOnDragDrop: false,
      spellcheck: false,
    });
  });

  it('goes nowhere, opens nothing, and may do nothing', async () => {
    const on = new Map<string, (event: { url: string; preventDefault(): void }) => void>();
    let opened: ((details: { url: string }) => { action: string }) | undefined;
    const open = vi.fn();
    const contents = {
      on: (name: string, listener: never) => on.set(name, listener),
      setWindowOpenHandler: (handler: never) => {
        opened = handler;
      },
      setWebRTCIPHandlingPolicy: vi.fn(),
    };
    fenceContents(contents as never, open);
    expect(contents.setWebRTCIPHandlingPolicy).toHaveBeenCalledExactlyOnceWith('disable_non_proxied_udp');
    for (const [url, goes] of [
      [`${ORIGIN}/index.html#/wallet`, true],
      ['https://example.com/', false],
      ['file:///etc/passwd', false],
      ['javascript:alert(1)', false],
      [`blob:${ORIGIN}/1`, false],
      ['data:text/html,a', false],
    ] as const) {
      for (const name of ['will-navigate', 'will-frame-navigate', 'will-redirect']) {
        const preventDefault = vi.fn();
        on.get(name)!({ url, preventDefault });
        expect(preventDefault.mock.calls.length, `${name} ${url}`).toBe(goes ? 0 : 1);
      }
    }
    const attached = vi.fn();
    on.get('will-attach-webview')!({ url: '', preventDefault: attached });
    expect(attached).toHaveBeenCalledOnce();
    for (const url of ['http://example.com', 'file:///etc/passwd', 'https://example.com']) {
      expect(opened!({ url })).toEqual({ action: 'deny' });
    }
    expect(open.mock.calls).toEqual([['https://example.com/']]);

    const asked = vi.fn();
    let check: ((contents: null, permission: string, origin: string, details: object) => boolean) | undefined;
    let download: ((event: { preventDefault(): void }, item: { getURL(): string }) => void) | undefined;
    let cancel: ((details: { url: string }, answer: (decision: { cancel: boolean }) => void) => void) | undefined;
    const setProxy = vi.fn(async () => {});
    await fenceSession({
      setProxy,
      setPermissionRequestHandler: (
        handler: (contents: unknown, permission: string, decide: unknown, details: object) => void,
      ) => {
        for (const permission of ['geolocation', 'notifications', 'openExternal', 'clipboard-read']) {
          handler({ getURL: () => `${ORIGIN}/index.html` }, permission, asked, {});
        }
        const media = (page: string, mediaTypes: string[]): void =>
          handler({ getURL: () => page }, 'media', asked, { mediaTypes });
        for (const types of [[], ['audio'], ['video', 'audio']]) media(`${ORIGIN}/index.html`, types);
        media('https://example.com', ['video']);
        media(`${ORIGIN}/index.html`, ['video']);
      },
      setPermissionCheckHandler: (handler: never) => {
        check = handler;
      },
      setDevicePermissionHandler: (handler: () => boolean) => expect(handler()).toBe(false),
      on: (_: string, listener: never) => {
        download = listener;
      },
      webRequest: {
        onBeforeRequest: (handler: never) => {
          cancel = handler;
        },
      },
    } as never);
    expect(setProxy).toHaveBeenCalledExactlyOnceWith({
      mode: 'fixed_servers',
      proxyRules: 'http://127.0.0.1:1',
      proxyBypassRules: '<-loopback>',
    });
    // the camera of its own pages is the only one that is granted
    expect(asked.mock.calls.flat()).toEqual([...Array<boolean>(8).fill(false), true]);
    expect(check!(null, 'clipboard-sanitized-write', ORIGIN, {})).toBe(true);
    expect(check!(null, 'clipboard-sanitized-write', 'https://example.com', {})).toBe(false);
    expect(check!(null, 'media', ORIGIN, { mediaType: 'video' })).toBe(true);
    expect(check!(null, 'media', 'https://example.com', { mediaType: 'video' })).toBe(false);
    expect(check!(null, 'media', ORIGIN, { mediaType: 'audio' })).toBe(false);
    const answers: boolean[] = [];
    const foreign = [
      'https://example.com/a.js',
      'http://127.0.0.1:1/',
      'file:///etc/passwd',
      'blob:https://a.example/1',
    ];
    for (const url of [`${ORIGIN}/assets/a.js`, `blob:${ORIGIN}/1`, ...foreign]) {
      cancel!({ url }, ({ cancel: isCancelled }) => answers.push(isCancelled));
    }
    expect(answers).toEqual([false, false, true, true, true, true]);
    const stopped = (address: string): boolean => {
      const event = { preventDefault: vi.fn() };
      download!(event, { getURL: () => address });
      return event.preventDefault.mock.calls.length > 0;
    };
    // an export of the page's, for which the system asks for a place; and nothing else
    expect([`blob:${ORIGIN}/1`, `${ORIGIN}/a.js`, 'https://example.com/a', 'data:text/html,a'].map(stopped)).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it.each([
    ['https://github.com/x', 'https://github.com/x'],
    ['http://github.com', null],
    ['https://user:pass@github.com', null],
    ['https://127.0.0.1/', null],
    ['https://localhost/', null],
    ['https://github.com:8443/', null],
    ['https://[::1]/', null],
    ['ms-settings:privacy', null],
    [`https://github.com/${'a'.repeat(3_000)}`, null],
  ])('opens %s in the browser as %s', (address, wanted) => {
    expect(webAddress(address)).toBe(wanted);
  });

  it.each([`${ORIGIN}@evil.example/`, `${SCHEME}://user@console/`, `${SCHEME}:console`, 'console', ''])(
    'is none of ours at %s',
    (address) => expect(isOwnPage(address)).toBe(false),
  );

  it('is read from its folder alone, with a policy without inline code', async () => {
    await writeFile(join(folder, 'index.html'), '<p>page</p>');
    await writeFile(join(folder, '.secret.html'), 'secret');
    await writeFile(join(folder, 'key.json'), 'secret');
    servePages(folder);
    const serve = served.get(SCHEME)!;
    const page = await serve({ url: `${ORIGIN}/index.html`, method: 'GET' });
    expect(await page.text()).toBe('<p>page</p>');
    expect(page.headers.get('content-security-policy')).not.toMatch(/unsafe|\*|https?:/);
    // an address has no folder above its first
    expect(await (await serve({ url: `${ORIGIN}/%2e%2e/index.html`, method: 'GET' })).text()).toBe('<p>page</p>');
    for (const path of ['/.secret.html', '/key.json', '//etc/passwd', '/none.js', '/a%2f..%2fkey.json', '/']) {
      expect((await serve({ url: `${ORIGIN}${path}`, method: 'GET' })).status, path).toBe(404);
    }
    expect((await serve({ url: `${ORIGIN}/index.html`, method: 'POST' })).status).toBe(404);
  });
});

describe('the window', () => {
  it('comes back to where it was, on a screen that is there', async () => {
    const stateFile = join(folder, 'window.json');
    const options = { preload: '', stateFile, icon: '', hidden: true };
    openWindow(options);
    windows.at(-1)!.on.get('close')!();
    await until('its place is stored', () => readFile(stateFile, 'utf8').catch(() => null));
    openWindow(options);
    expect(windows.at(-1)!.options).toMatchObject({ x: 10, y: 20, width: 900, height: 700 });
    await writeFile(stateFile, JSON.stringify({ x: 5_000, y: 0, width: 900, height: 700, maximized: false }));
    openWindow(options);
    expect(windows.at(-1)!.options).not.toHaveProperty('x');
  });

  it('reloads and opens developer tools only in a clone', () => {
    expect(JSON.stringify(nativeMenu(english, () => {}, true))).not.toMatch(/reload|toggleDevTools/);
    expect(JSON.stringify(nativeMenu(english, () => {}, false))).toMatch(/toggleDevTools/);
  });
});

describe('links, notices and updates', () => {
  it.each([
    ['countinghouse:withdrawals/118', 'withdrawals/118'],
    ['countinghouse://invoices/Qm4xT8vLw2Ka', 'invoices/Qm4xT8vLw2Ka'],
    ['countinghouse:withdrawals/118/approve', 'withdrawals/118/approve'],
    ['countinghouse:withdrawals/118?yes', null],
    ['countinghouse:../../etc', null],
    ['countinghouse:javascript/alert(1)', null],
    ['https://example.com', null],
  ])('%s leads to %s', (link, place) => expect(placeOfLink(link)).toBe(place));

  it('leads out of the program when the user agrees, one question at a time', async () => {
    const { showMessageBox } = electron.dialog;
    const { openExternal } = electron.shell;
    let answer = (_: { response: number }) => {};
    showMessageBox.mockImplementation(() => new Promise((resolve) => (answer = resolve)));
    const open = askedOpener(english);
    for (let n = 0; n < 100; n++) open(`https://evil.example/?words=${n}`);
    expect(showMessageBox).toHaveBeenCalledOnce();
    expect(showMessageBox.mock.calls[0]).toMatchObject([{ detail: 'https://evil.example/?words=0', defaultId: 0 }]);
    answer({ response: 0 });
    await until('it asks about the next one', async () => {
      open('https://example.com/');
      return showMessageBox.mock.calls.length === 2;
    });
    expect(openExternal).not.toHaveBeenCalled();
    answer({ response: 1 });
    await until('it opens', async () => openExternal.mock.calls.length === 1);
    expect(openExternal.mock.calls).toEqual([['https://example.com/']]);
  });

  it('finds a link among arguments', () => {
    expect(linkAmong(['/usr/bin/electron', '--hidden', 'countinghouse:counter'])).toBe('counter');
  });

  it('tells of what a person must know, and leads there', () => {
    const event = { at: '2030-01-01T00:00:00Z' };
    const places: string[] = [];
    const notices = noticesOf(
      english,
      [
        { ...event, kind: 'invoice', subject: 'Qm4x', what: 'paid, paid' },
        { ...event, kind: 'invoice', subject: 'Qm4y', what: 'seen 1 of 2 LTC, unpaid' },
        { ...event, kind: 'alert', subject: '3', what: 'disk\u202e full' },
      ],
      asTold,
    );
    notify(notices, (place) => places.push(place));
    expect(shown.map(({ title, body }) => `${title}: ${body}`)).toEqual([
      'Paid: Invoice Qm4x',
      'Countinghouse needs you: disk  full',
    ]);
    shown[0]!.click();
    expect(places).toEqual(['invoices/Qm4x']);
    const many = Array.from({ length: 1_000 }, (_, at) => ({
      ...event,
      kind: 'invoice' as const,
      subject: `${at}`,
      what: 'paid, paid',
    }));
    expect(noticesOf(english, many, asTold)).toHaveLength(1);
  });

  it('tells what a server says as plain text, whatever markup the desktop knows', () => {
    const said = '<a href="https://thief.example">See</a> <img src="x">';
    const of = (kind: 'invoice' | 'alert' | 'withdrawal', subject: string, what: string) =>
      noticesOf(english, [{ at: '2030-01-01T00:00:00Z', kind, subject, what }], asTold)[0];
    for (const notice of [
      of('invoice', said, 'paid, paid'),
      of('withdrawal', said, 'requested'),
      of('alert', '3', said),
    ])
      expect(notice?.body).toMatch(/‹a href="https:\/\/thief.example"›See‹\/a› ‹img src="x"›$/);
    expect(of('withdrawal', 'x/y?z', 'requested')?.place).toBe('withdrawals/x%2Fy%3Fz/approve');
    expect(of('invoice', 'a'.repeat(1_000_000), 'paid, paid')?.body.length).toBeLessThan(300);
  });

  it('asks ten times a second at most, however many things happen, and once where no reader may wait', async () => {
    const event = { kind: 'invoice', subject: '1', what: 'changed', at: '2030-01-01T00:00:00Z' };
    /** The milliseconds between the second and the third question. */
    const gap = async (events: unknown[]): Promise<number> => {
      const asked: number[] = [];
      const ask = async () => ({ events, cursor: `${asked.push(performance.now())}`, missed: false });
      const over = new AbortController();
      const done = followNews({ ask: ask as never, tell: () => {}, signal: over.signal });
      await until('it asked again', async () => asked.length >= 3);
      // a window is open for weeks: no pause leaves something behind
      expect(getEventListeners(over.signal, 'abort').length).toBeLessThanOrEqual(1);
      over.abort();
      await done;
      return asked[2]! - asked[1]!;
    };
    const [many, none] = await Promise.all([gap([event]), gap([])]);
    expect(many).toBeGreaterThan(90);
    expect(none).toBeGreaterThan(900);
  });

  it('fetches and installs nothing without being told to', async () => {
    const on = new Map<string, (info: { version: string }) => void>();
    const updater = {
      autoDownload: true,
      autoInstallOnAppQuit: true,
      allowDowngrade: true,
      checkForUpdates: vi.fn(async () => null),
      downloadUpdate: vi.fn(async () => []),
      quitAndInstall: vi.fn(),
      on: (name: string, listener: never) => on.set(name, listener),
    };
    let answer: boolean | Promise<boolean> = false;
    const asks = vi.fn(async () => answer);
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const pem = (key: KeyObject, type: 'spki' | 'pkcs8') => key.export({ type, format: 'pem' }) as string;
    const logged: string[] = [];
    const log = (line: string) => logged.push(line);
    clearInterval(watchUpdates(english, updater as never, pem(publicKey, 'spki'), log, asks));
    expect(updater).toMatchObject({ autoDownload: false, autoInstallOnAppQuit: false, allowDowngrade: false });
    const release = { version: '2.0.0', files: [{ url: 'a.AppImage', sha512: 'abc' }] };
    const signature = signatureOf(release, pem(privateKey, 'pkcs8'));
    const signed = { ...release, signature };
    const foreign = signatureOf(release, pem(generateKeyPairSync('ed25519').privateKey, 'pkcs8'));
    for (const forged of [
      release,
      { ...signed, version: '3.0.0' },
      { ...signed, files: [{ url: 'a.AppImage', sha512: 'abd' }] },
      { ...signed, files: [...release.files, { url: 'b.AppImage', sha512: 'abd' }] },
      { ...signed, files: [] },
      { ...release, signature: foreign },
      { ...release, signature: '' },
      // what a web installer would fetch beside it
      { ...signed, packages: { x64: { path: 'b.7z', sha512: 'abd' } } },
    ])
      on.get('update-available')!(forged);
    expect(asks).not.toHaveBeenCalled();
    expect(logged.length).toBe(8);
    on.get('update-available')!(signed);
    await until('the user was asked', async () => asks.mock.calls.length === 1);
    expect(updater.downloadUpdate).not.toHaveBeenCalled();
    // the updater fetches what was offered last, not what the question named
    const { promise, resolve } = Promise.withResolvers<boolean>();
    answer = promise;
    on.get('update-available')!(signed);
    on.get('update-available')!({ ...release, version: '3.0.0' });
    resolve(true);
    const { calls } = updater.downloadUpdate.mock;
    await until('the answer was heard', async () => logged.length === 10 || calls.length > 0);
    expect(updater.downloadUpdate).not.toHaveBeenCalled();
    expect(logged.at(-1)).toContain('2.0.0 was not fetched');
    answer = true;
    on.get('update-available')!(signed);
    await until('it is fetched', async () => updater.downloadUpdate.mock.calls.length === 1);
    expect(updater.quitAndInstall).not.toHaveBeenCalled();
    on.get('update-downloaded')!({ version: '2.0.0' });
    await until('it is installed', async () => updater.quitAndInstall.mock.calls.length === 1);
  });

  it('shows the state of the service in the tray', () => {
    new StateTray(english, '', actions, preferencesOf(null)).show({ is: 'silent' });
    expect(trayMenus.at(-1)![0]).toMatchObject({ label: 'Alive, and does not answer' });
  });
});

describe('the language', () => {
  const labelsOf = (menu: unknown): string[] =>
    [...JSON.stringify(menu).matchAll(/"label":"([^"]*)"/g)].map(([, label]) => label!);

  it.each([
    [['de-AT'], 'Kasse'],
    [['fr', 'de_DE'], 'Kasse'],
    [['DE'], 'Kasse'],
    [['fr', 'constructor', ''], 'Counter'],
    [[], 'Counter'],
  ])("of a system with %j has '%s'", (tags, wanted) =>
    expect(shellText(() => languageOf(tags))('counter')).toBe(wanted),
  );

  it('is chosen once, for the next start too', () => {
    const file = join(folder, 'settings.json');
    let changes = 0;
    const preferences = new Preferences(file, ['fr', 'de-AT'], null, () => changes++);
    const text = shellText(() => preferences.language);
    expect(text('counter')).toBe('Kasse');
    expect(preferences.setLanguage('en')).toEqual({ language: 'en', startAtLogin: null });
    expect([text('counter'), changes]).toEqual(['Counter', 1]);
    expect(new Preferences(file, ['de'], null, () => {}).language).toBe('en');
    expect(() => preferences.setLanguage('fr')).toThrow('There is no such language');
    expect(() => preferences.setLanguage('constructor')).toThrow('There is no such language');
    const nowhere = new Preferences(join(file, 'settings.json'), ['de'], null, () => {});
    expect(() => nowhere.setLanguage('en')).toThrow('This cannot be stored');
    expect(nowhere.language).toBe('de');
  });

  it('is that of every menu, notification, question and state', async () => {
    const german = shellText(() => 'de');
    const login = { isOn: () => false, switchTo: () => {}, refresh: () => {} };
    const labels = (text: typeof german): string[] => {
      new StateTray(text, '', actions, preferencesOf(login)).show({
        is: 'waiting',
        retryAt: 0,
        why: 'ended',
        detail: 'SIGKILL',
      });
      return [...labelsOf(trayMenus.at(-1)), ...labelsOf(nativeMenu(text, () => {}, true))];
    };
    const shared = ['Countinghouse', 'Wallet'];
    const theirs = labels(english);
    const both = labels(german).filter((label) => theirs.includes(label) && !shared.includes(label));
    expect(both).toEqual([]);
    expect(labels(german)).toContain('Der Dienst hat sich beendet (SIGKILL)');
    const event = { at: '2030-01-01T00:00:00Z', kind: 'invoice' as const, what: 'paid, paid' };
    const events = Array.from({ length: 1_200 }, (_, at) => ({ ...event, subject: `${at}` }));
    expect(noticesOf(german, events.slice(0, 1), asTold)).toMatchObject([{ title: 'Bezahlt', body: 'Rechnung 0' }]);
    const alerts = [
      { ...event, kind: 'alert' as const, subject: '3', what: 'Nothing can be stored' },
      { ...event, kind: 'alert' as const, subject: '4', what: 'Something new' },
    ];
    const list = [
      { id: 3, kind: 'storage.full' },
      { id: 4, kind: 'of.a.later.release' },
    ];
    const call = vi.fn(async () => ({ alerts: list }));
    const bodies = async (language: 'en' | 'de') =>
      noticesOf(german, alerts, await alertWords(call as never, language, alerts)).map(({ body }) => body);
    expect(await bodies('en')).toEqual(['Nothing can be stored', 'Something new']);
    expect(call).not.toHaveBeenCalled();
    expect(await bodies('de')).toEqual(['Der Datenträger ist voll: Nichts kann gespeichert werden', 'Something new']);
    call.mockRejectedValueOnce(new Error('no answer'));
    expect(await bodies('de')).toEqual(['Nothing can be stored', 'Something new']);
    expect(noticesOf(german, events, asTold)).toMatchObject([{ body: '1.200 Ereignisse' }]);
  });
});

describe('the start at login', () => {
  const box = () => trayMenus.at(-1)!.find(({ label }) => label === 'Start at login')!;

  it('is an entry of the desktop on Linux, switched in the tray', async () => {
    const autostart = join(folder, 'config', 'autostart');
    const file = join(autostart, 'countinghouse.desktop');
    const program = '/home/Ann & Bob/Apps/50% "new"/$x`\\Countinghouse.AppImage';
    const preferences = preferencesOf(autostartEntry(autostart, program), () => tray.show());
    const tray: InstanceType<typeof StateTray> = new StateTray(english, '', actions, preferences);
    tray.show({ is: 'running' });
    expect(box().checked).toBe(false);
    box().click!({ checked: true });
    expect((await readFile(file, 'utf8')).split('\n')).toEqual([
      '[Desktop Entry]',
      'Type=Application',
      'Version=1.5',
      'Name=Countinghouse',
      String.raw`Exec="/home/Ann & Bob/Apps/50%% \\"new\\"/\\$x\\${'`'}\\\\Countinghouse.AppImage" --hidden`,
      'Terminal=false',
      'StartupNotify=false',
      '',
    ]);
    expect(await readdir(autostart)).toEqual(['countinghouse.desktop']);
    expect(box().checked).toBe(true);
    box().click!({ checked: false });
    expect(await readdir(autostart)).toEqual([]);
    expect(box().checked).toBe(false);
    // by the console's settings: the tray shows it too
    expect(preferences.setStartAtLogin(true)).toMatchObject({ startAtLogin: true });
    expect(box().checked).toBe(true);
    await rm(file);
    expect(preferences.all()).toMatchObject({ startAtLogin: false });
    // removed already
    box().click!({ checked: false });
    expect(electron.dialog.showErrorBox).not.toHaveBeenCalled();
  });

  it('is read by a desktop as it was written', async () => {
    // the values of strings have their escapes undone first, then the quoting (Desktop Entry Specification)
    const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\' };
    const read = (value: string): string =>
      value
        .replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? '')
        .slice(1, -1)
        .replace(/\\(["`$\\])/g, '$1')
        .replaceAll('%%', '%');
    for (const path of ['/usr/bin/countinghouse', '/a b/%f', '/\\n', '/\n\r\t', '/\\\\"$HOME`id`', "/it's;&|"]) {
      expect(execArgument(path)).not.toMatch(/[\n\r]|(?<!%)%(?:%%)*(?!%)/);
      expect(read(execArgument(path))).toBe(path);
    }
  });

  it('follows an AppImage to its new name, and leaves an entry that the desktop switched off', async () => {
    const autostart = join(folder, 'autostart');
    const file = join(autostart, 'countinghouse.desktop');
    autostartEntry(autostart, '/opt/old.AppImage').refresh();
    expect(autostartEntry(autostart, '/opt/new.AppImage').isOn()).toBe(false);
    autostartEntry(autostart, '/opt/old.AppImage').switchTo(true);
    autostartEntry(autostart, '/opt/new.AppImage').refresh();
    expect(await readFile(file, 'utf8')).toContain('\nExec="/opt/new.AppImage" --hidden\n');
    for (const off of ['Hidden=true', 'X-GNOME-Autostart-enabled=false']) {
      await writeFile(file, `[Desktop Entry]\nExec="/opt/old.AppImage"\n${off}\n`);
      const entry = autostartEntry(autostart, '/opt/new.AppImage');
      expect(entry.isOn()).toBe(false);
      entry.refresh();
      expect(await readFile(file, 'utf8')).toContain('/opt/old.AppImage');
      entry.switchTo(true);
      expect(entry.isOn()).toBe(true);
    }
  });

  it('says when the entry cannot be written, and shows what is set', async () => {
    const notFolder = join(folder, 'file');
    await writeFile(notFolder, '');
    const preferences = preferencesOf(autostartEntry(join(notFolder, 'autostart'), '/x'));
    expect(() => preferences.setStartAtLogin(true)).toThrow('This cannot be stored');
    new StateTray(english, '', actions, preferences).show({ is: 'running' });
    box().click!({ checked: true });
    expect(electron.dialog.showErrorBox).toHaveBeenCalledOnce();
    expect(box().checked).toBe(false);
  });

  it.each([
    [{}, '/opt/Countinghouse/countinghouse', '/opt/Countinghouse/countinghouse'],
    [{ APPIMAGE: '/home/a/C.AppImage', APPDIR: '/tmp/.mount_C' }, '/tmp/.mount_C/countinghouse', '/home/a/C.AppImage'],
    // inherited from a terminal that is an AppImage itself
    [{ APPIMAGE: '/home/a/Other.AppImage', APPDIR: '/tmp/.mount_O' }, '/opt/C/countinghouse', '/opt/C/countinghouse'],
  ])('of %j and %s starts %s', (env, executable, wanted) => {
    expect(programPath(env, executable)).toBe(wanted);
  });

  it.each([
    [{}, '/home/a/.config/autostart'],
    [{ XDG_CONFIG_HOME: '/srv/a' }, '/srv/a/autostart'],
    [{ XDG_CONFIG_HOME: 'relative' }, '/home/a/.config/autostart'],
  ])('has its entry for %j in %s', (env, wanted) => expect(autostartFolder(env, '/home/a')).toBe(wanted));

  it('is a setting of macOS and Windows, and none in a clone', () => {
    expect(loginStart('win32')).toBeNull();
    electron.app.isPackaged = true;
    const login = loginStart('win32')!;
    expect(login.isOn()).toBe(true);
    login.switchTo(false);
    electron.app.isPackaged = false;
    expect(electron.app.getLoginItemSettings).toHaveBeenLastCalledWith({ args: ['--hidden'] });
    expect(electron.app.setLoginItemSettings.mock.calls).toEqual([[{ openAtLogin: false, args: ['--hidden'] }]]);
    expect(isHiddenStart('linux', ['countinghouse'])).toBe(false);
    expect(isHiddenStart('linux', ['countinghouse', '--hidden'])).toBe(true);
    expect(isHiddenStart('darwin', ['countinghouse'])).toBe(true);
  });
});

describe('the service', () => {
  const states: string[] = [];
  const options = (script: string, answers: () => Promise<unknown>) => ({
    command: [process.execPath, '-e', script] as [string, ...string[]],
    env: {},
    logFile: join(folder, 'service.log'),
    answers,
    changed: ({ is }: { is: string }) => states.push(is),
  });
  beforeEach(() => {
    states.length = 0;
  });

  it('is attached to where one runs, and left alone', async () => {
    const service = new Service(options('process.exit(9)', async () => ({})));
    await service.open();
    await service.close();
    expect(states).toEqual(['attached', 'stopped']);
  });

  it('is started, told alive from answering, with its log kept', async () => {
    let answers = false;
    const script = 'console.log("hello"); process.once("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000)';
    await writeFile(join(folder, 'service.log'), 'a'.repeat(LOG_BYTES_MAX + 1));
    const service = new Service({
      ...options(script, async () => {
        if (!answers) throw new Error('no answer');
      }),
      lookMs: 5,
    });
    await service.open();
    expect(service.state.is).toBe('starting');
    answers = true;
    await until('it answers', async () => service.state.is === 'running');
    await until('it wrote', async () => (await readFile(join(folder, 'service.log'), 'utf8')).includes('hello'));
    answers = false;
    await until('it is silent', async () => service.state.is === 'silent');
    await service.close();
    expect(states).toEqual(['starting', 'running', 'silent', 'stopped']);
    // a large log makes room for the next one
    expect((await stat(join(folder, 'service.log.1'))).size).toBe(LOG_BYTES_MAX + 1);
    expect((await stat(join(folder, 'service.log'))).size).toBeLessThan(1_000);
  });

  it('is started again after its end, each time later, up to a minute, and soon once it ran long', async () => {
    let clock = 0;
    const waits: number[] = [];
    const changed = (state: ServiceState): void => {
      if (state.is !== 'waiting') return;
      waits.push(state.retryAt - clock);
      clock = state.retryAt;
    };
    const noAnswer = () => Promise.reject(new Error('no answer'));
    const common = { ...options('process.exit(3)', noAnswer), changed, now: () => clock, lookMs: 1 };
    const failing = new Service({ ...common, command: [join(folder, 'nothing')] });
    await failing.open();
    await until('it was started often', async () => waits.length >= 9);
    await failing.close();
    expect(waits.slice(0, 9)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(failing.state.is).toBe('stopped');
    waits.length = 0;
    const livesLong = (state: ServiceState): void => {
      if (state.is === 'starting') clock += 5 * 60_000;
      changed(state);
    };
    const ended = new Service({ ...common, changed: livesLong });
    await ended.open();
    await until('it ended twice', async () => waits.length >= 2);
    await ended.close();
    expect(waits.slice(0, 2)).toEqual([1_000, 1_000]);
  });
});

const ROOT = join(import.meta.dirname, '..', '..', '..');

if (!existsSync(join(ROOT, 'node_modules', 'electron', 'path.txt'))) {
  it('says without Electron’s program, and without a way to fetch it, what to do', async () => {
    const nowhere = { ELECTRON_MIRROR: 'http://127.0.0.1:9/', electron_config_cache: join(folder, 'cache') };
    const { promise, resolve } = Promise.withResolvers<[code: unknown, told: string]>();
    const args = [join(ROOT, 'main', 'desktop.mjs')];
    execFile(process.execPath, args, { env: { ...process.env, ...nowhere } }, (error, _, told) =>
      resolve([error?.code, told]),
    );
    const [code, told] = await promise;
    expect(code).toBe(1);
    expect(told.split('\n').map((line) => line.split(/[:(]/)[0])).toEqual([
      'Fetching Electron, about 110 MB, from github.com …',
      'Electron could not be fetched ',
      'Try again where github.com is reached, or name another source',
      'The console works in a browser without it',
      '',
    ]);
  });
}
