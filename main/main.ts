/** The desktop shell: shows the console in a window, and looks after the service. */
import { mkdirSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { app, type BrowserWindow, dialog, session, shell } from 'electron';
import { z } from 'zod';
import { defaultDataDir } from '../daemon/config/paths.ts';
import { operatorClient } from '../daemon/contract/client.ts';
import { sealedCustody } from '../daemon/operator/keyholder.ts';
import { localKeyholder } from '../daemon/operator/local-keyholder.ts';
import { followNews, type NewsBatch } from '../daemon/operator/news.ts';
import { serveChannel, type Target, tell } from './channel.ts';
import { backupFiles } from './files.ts';
import { KeychainCommands, keychainOf } from './keychain.ts';
import { LINK_SCHEME } from './limits.ts';
import { askedOpener, linkAmong, placeOfLink } from './links.ts';
import { isHiddenStart, loginStart } from './login.ts';
import { setMenu } from './menu.ts';
import { desktopMethods, filesOfServer, slowedKeyholder } from './methods.ts';
import { alertWords, noticesOf, notify } from './notices.ts';
import { registerScheme, servePages } from './pages.ts';
import { Preferences } from './preferences.ts';
import { fenceContents, fenceSession, pageOf, serverOf } from './security.ts';
import { logFileOf, type Server } from './server.ts';
import { Servers } from './servers.ts';
import { Service } from './service.ts';
import { shellText } from './texts.ts';
import { StateTray } from './tray.ts';
import { changedFiles, Runtimes } from './unpacked.ts';
import { watchUpdates } from './updates.ts';
import { openWindow } from './window.ts';

const VAULT_FOLDER = 'vault';
const CHANGED_SHOWN_MAX = 5;
/** Of this package: see daemon/launcher/release.mjs. */
const Maker = z.object({ key: z.string(), feed: z.string().nullable() });

/** The folder with dist/, resources/ and package.json: the clone, or the archive. */
const root = app.getAppPath();
const dataDir = defaultDataDir(process.env, process.platform);
const call = operatorClient(dataDir);
const folder = process.env.COUNTINGHOUSE_SIGNER_DIR || join(dataDir, VAULT_FOLDER);
const socket = process.env.COUNTINGHOUSE_SIGNER_SOCKET || null;
const localOne = localKeyholder({ dataDir, folder, socket }, call);
// a separate signer counts wrong passphrases itself
const keyholder = socket === null ? slowedKeyholder(localOne, folder) : localOne;

class Shell {
  readonly #logFile = join(app.getPath('logs'), 'service.log');
  readonly #icon = join(root, 'resources', 'icons', 'icon.png');
  readonly #end = new AbortController();
  readonly #preferences: Preferences;
  readonly #text = shellText(() => this.#preferences.language);
  readonly #env = { ...process.env, COUNTINGHOUSE_DATA_DIR: dataDir };
  #tray: StateTray | null = null;
  #window: BrowserWindow | null = null;
  #service: Service | null = null;
  #servers: Servers | null = null;
  #quitting = false;

  /** Once the program is ready, which knows the system's languages only then. */
  constructor() {
    const login = loginStart(process.platform);
    try {
      login?.refresh();
    } catch (error) {
      this.#log(`The entry for the start at login could not be written: ${(error as Error).message}`);
    }
    const file = join(app.getPath('userData'), 'settings.json');
    this.#preferences = new Preferences(file, app.getPreferredSystemLanguages(), login, () => this.#showMenus());
  }

  /** `place`: a screen that a link named. */
  async start(place: string | null): Promise<void> {
    mkdirSync(app.getPath('logs'), { recursive: true });
    if (app.isPackaged && !(await this.#isWhole())) return app.exit(1);
    const open = askedOpener(this.#text);
    app.on('web-contents-created', (_event, contents) => fenceContents(contents, open));
    await fenceSession(session.defaultSession);
    servePages(join(root, 'dist', 'renderer'));
    const commandLine = [runtime(), unpacked(join(root, 'dist', 'daemon', 'cli.js'))] as const;
    const servers = this.#makeServers(commandLine);
    this.#servers = servers;
    serveChannel({ targetOf: this.#targets(commandLine, servers) });
    this.#tray = this.#openTray();
    this.#showMenus();
    this.#service = new Service({
      command: [...commandLine, 'start'],
      env: this.#env,
      logFile: this.#logFile,
      answers: () => call('status', {}),
      changed: (state) => this.#tray?.show(state),
    });
    await this.#service.open();
    this.#open(isHiddenStart(process.platform, process.argv));
    void servers.open().catch((error: unknown) => this.#log(`The servers: ${(error as Error).message}`));
    if (place) this.show(place, null);
    void followNews({
      ask: (input) => call('events.next', input),
      tell: (told) => this.#told(told, null),
      signal: this.#end.signal,
    });
    if (app.isPackaged) await this.#update();
  }

  /** `server`: null: this computer; absent: what the window shows. */
  show(place?: string, server?: string | null): void {
    if (!this.#window || this.#window.isDestroyed()) this.#open(false);
    const window = this.#window!;
    const shown = window.webContents.getURL();
    if (place) void window.loadURL(pageOf(place, server === undefined ? (shown && serverOf(shown)) || null : server));
    if (window.isMinimized()) window.restore();
    window.show();
    window.focus();
  }

  /** True once the service has ended and the program may. */
  quit(): boolean {
    if (this.#quitting) return true;
    this.#quitting = true;
    this.#end.abort();
    void Promise.allSettled([this.#service?.close(), this.#servers?.close()]).finally(() => app.quit());
    return this.#service === null;
  }

  /** In the language and with the settings of now. */
  #showMenus(): void {
    setMenu(this.#text, (to, server) => this.show(to, server), app.isPackaged, this.#servers?.names);
    this.#tray?.show();
  }

  #openTray(): StateTray {
    const actions = {
      show: (to?: string) => this.show(to),
      lock: () => {
        void keyholder.lock().catch(() => {});
        this.#servers?.lock();
      },
      openLog: () => void shell.openPath(this.#logFile),
      quit: () => app.quit(),
    };
    return new StateTray(this.#text, join(root, 'resources', 'icons', 'tray.png'), actions, this.#preferences);
  }

  #log(text: string): void {
    void appendFile(this.#logFile, `${text}\n`).catch(() => {});
  }

  #open(hidden: boolean): void {
    const stateFile = join(app.getPath('userData'), 'window.json');
    const preload = join(root, 'dist', 'main', 'preload.cjs');
    this.#window = openWindow({ preload, stateFile, icon: this.#icon, hidden });
    this.#window.once('closed', () => {
      this.#window = null;
    });
  }

  /** `server`: null: of this computer. */
  #told({ news, events }: NewsBatch, server: string | null): void {
    if (this.#window) tell(this.#window.webContents, news, server);
    if (!this.#window?.isFocused()) void this.#notify(events, server);
  }

  async #notify(events: NewsBatch['events'], server: string | null): Promise<void> {
    const from = server === null ? call : this.#servers?.get(server)?.call;
    if (!from) return;
    const words = await alertWords(from, this.#preferences.language, events);
    const notices = noticesOf(this.#text, events, words);
    const named = notices.map((one) => (server === null ? one : { ...one, title: `${server}: ${one.title}` }));
    notify(named, (place) => this.show(place, server));
  }

  /** The loudest that there is: a notification, and the window itself. */
  #alarmed(server: string): void {
    const [title, body] = [this.#text('foreign', { server }), this.#text('foreignText')];
    const place = `servers/alarm/${encodeURIComponent(server)}`;
    notify([{ title, body, place }], () => this.show(place, null));
    this.show(place, null);
  }

  /** Nobody would notice a foreign address. */
  #unwatched(server: string): void {
    const [title, body] = [this.#text('unwatched', { server }), this.#text('unwatchedText')];
    notify([{ title, body, place: 'servers' }], () => this.show('servers', null));
  }

  #makeServers(command: readonly [string, ...string[]]): Servers {
    return new Servers({
      dataDir,
      release: app.getVersion(),
      command,
      env: this.#env,
      logFileOf: (server) => logFileOf(app.getPath('logs'), server),
      told: (server, batch) => this.#told(batch, server),
      alarmed: (server) => this.#alarmed(server),
      unwatched: (server) => this.#unwatched(server),
      changed: () => this.#showMenus(),
    });
  }

  /** The target of each page, by the server that its address names. */
  #targets(command: readonly [string, ...string[]], servers: Servers): (server: string | null) => Target | null {
    const status = async () => (await call('wallet.status', {})).wallet;
    const files = backupFiles(this.#text);
    const shared = { preferences: this.#preferences, servers };
    const keychain = keychainOf(new KeychainCommands(command, this.#env), status);
    const own = {
      call,
      methods: desktopMethods({ ...shared, call, keyholder, custody: sealedCustody(call), keychain, files }),
    };
    const made = new WeakMap<Server, Target>();
    return (name) => {
      if (name === null) return own;
      const server = servers.get(name);
      if (!server) return null;
      const { call, keyholder, custody, keychain } = server;
      const parts = { ...shared, call, keyholder, custody, keychain, files: filesOfServer(files) };
      const target = made.get(server) ?? { call: server.call, methods: desktopMethods(parts) };
      made.set(server, target);
      return target;
    };
  }

  async #update(): Promise<void> {
    // a package that was made without a place for updates has none
    const text = await readFile(join(root, 'dist', 'release.json'), 'utf8').catch(() => null);
    if (text === null) return;
    const { key, feed } = Maker.parse(JSON.parse(text));
    if (feed === null) return;
    const { default: updater } = await import('electron-updater');
    watchUpdates(this.#text, updater.autoUpdater, key, (line) => this.#log(line));
  }

  /** Whether no file beside the archive was changed; says so if one was. */
  async #isWhole(): Promise<boolean> {
    const runtimes = Runtimes.parse(JSON.parse(await readFile(join(root, 'dist', 'runtime.json'), 'utf8')));
    const { platform, arch, resourcesPath: resources } = process;
    const files = await import('original-fs');
    const changed = await changedFiles({ resources, platform, arch, runtimes, files }).catch(() => ['app.asar']);
    if (changed.length === 0) return true;
    this.#log(`Not started, because these files were changed: ${changed.join(', ')}`);
    const shown = changed.slice(0, CHANGED_SHOWN_MAX).join(', ');
    const rest = changed.length > CHANGED_SHOWN_MAX ? ', …' : '';
    dialog.showErrorBox(this.#text('damaged'), this.#text('damagedFile', { files: shown + rest }));
    return false;
  }
}

/** The Node that runs the service. Electron's own runs nothing but the shell (fuse runAsNode). */
function runtime(): string {
  if (!app.isPackaged) return process.env.COUNTINGHOUSE_NODE || 'node';
  return join(process.resourcesPath, 'runtime', process.platform === 'win32' ? 'node.exe' : 'node');
}

/** Only Electron can read inside its archive; what others read is packed beside it. */
function unpacked(path: string): string {
  return path.replace(/app\.asar(?=[\\/])/, 'app.asar.unpacked');
}

registerScheme();
app.enableSandbox();
// a clone's program is Electron's own, which needs the clone's path
if (app.isPackaged) app.setAsDefaultProtocolClient(LINK_SCHEME);
if (!app.requestSingleInstanceLock()) app.quit();
else {
  let desk: Shell | null = null;
  let early: string | null = linkAmong(process.argv);
  app.on('second-instance', (_event, args) => desk?.show(linkAmong(args) ?? undefined, null));
  app.on('open-url', (event, link) => {
    event.preventDefault();
    const place = placeOfLink(link);
    if (place && desk) desk.show(place, null);
    else early = place ?? early;
  });
  // the shell stays in the tray
  app.on('window-all-closed', () => {});
  app.on('activate', () => desk?.show());
  app.on('before-quit', (event) => {
    if (desk && !desk.quit()) event.preventDefault();
  });
  void app.whenReady().then(() => {
    desk = new Shell();
    return desk.start(early);
  });
}
