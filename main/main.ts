/** The desktop shell: shows the console in a window, and looks after the service. */

import { mkdirSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { app, type BrowserWindow, session, shell } from 'electron';
import { defaultDataDir } from '../daemon/config/paths.ts';
import { operatorClient } from '../daemon/contract/client.ts';
import { localKeyholder } from '../daemon/operator/local-keyholder.ts';
import { serveChannel, tell } from './channel.ts';
import { LINK_SCHEME, ORIGIN } from './limits.ts';
import { linkAmong, placeOfLink } from './links.ts';
import { isHiddenStart, loginStart } from './login.ts';
import { setMenu } from './menu.ts';
import { followNews, type Told } from './news.ts';
import { noticesOf, notify } from './notices.ts';
import { registerScheme, servePages } from './pages.ts';
import { fenceContents, fenceSession } from './security.ts';
import { Service } from './service.ts';
import { type ShellText, shellText } from './texts.ts';
import { StateTray } from './tray.ts';
import { watchUpdates } from './updates.ts';
import { openWindow } from './window.ts';

const VAULT_FOLDER = 'vault';

/** Beside this bundle: dist/main/. `root`: the folder with dist/, resources/ and package.json. */
const here = import.meta.dirname;
const root = join(here, '..', '..');
const dataDir = defaultDataDir(process.env, process.platform);
const call = operatorClient(dataDir);
const keyholder = localKeyholder(
  {
    dataDir,
    folder: process.env.COUNTINGHOUSE_SIGNER_DIR || join(dataDir, VAULT_FOLDER),
    socket: process.env.COUNTINGHOUSE_SIGNER_SOCKET || null,
  },
  call,
);

class Shell {
  readonly #logFile = join(app.getPath('logs'), 'service.log');
  readonly #icon = join(root, 'resources', 'icons', 'icon.png');
  #text: ShellText = shellText([]);
  readonly #end = new AbortController();
  #window: BrowserWindow | null = null;
  #service: Service | null = null;
  #quitting = false;

  /** `place`: a screen that a link named. */
  async start(place: string | null): Promise<void> {
    mkdirSync(app.getPath('logs'), { recursive: true });
    // known once the program is ready
    this.#text = shellText(app.getPreferredSystemLanguages());
    fenceSession(session.defaultSession);
    servePages(join(root, 'dist', 'renderer'));
    serveChannel({ call, keyholder });
    setMenu(this.#text, (to) => this.show(to), app.isPackaged);
    const tray = this.#tray();
    this.#service = new Service({
      command: [runtime(), unpacked(join(root, 'dist', 'daemon', 'cli.js')), 'start'],
      env: { ...process.env, COUNTINGHOUSE_DATA_DIR: dataDir },
      logFile: this.#logFile,
      answers: () => call('status', {}),
      changed: (state) => tray.show(state),
    });
    await this.#service.open();
    this.#open(isHiddenStart(process.platform, process.argv));
    if (place) this.show(place);
    void followNews(call, (told) => this.#told(told), this.#end.signal);
    if (app.isPackaged) await this.#update();
  }

  show(place?: string): void {
    if (!this.#window || this.#window.isDestroyed()) this.#open(false);
    const window = this.#window!;
    if (place) void window.loadURL(`${ORIGIN}/index.html#/${place}`);
    if (window.isMinimized()) window.restore();
    window.show();
    window.focus();
  }

  /** True once the service has ended and the program may. */
  quit(): boolean {
    if (this.#quitting) return true;
    this.#quitting = true;
    this.#end.abort();
    void this.#service?.close().finally(() => app.quit());
    return this.#service === null;
  }

  #tray(): StateTray {
    const login = loginStart(process.platform);
    try {
      login?.refresh();
    } catch (error) {
      this.#log(`The entry for the start at login could not be written: ${(error as Error).message}`);
    }
    const actions = {
      show: (to?: string) => this.show(to),
      lock: () => void keyholder.lock().catch(() => {}),
      openLog: () => void shell.openPath(this.#logFile),
      quit: () => app.quit(),
    };
    return new StateTray(this.#text, join(root, 'resources', 'icons', 'tray.png'), actions, login);
  }

  #log(text: string): void {
    void appendFile(this.#logFile, `${text}\n`).catch(() => {});
  }

  #open(hidden: boolean): void {
    const stateFile = join(app.getPath('userData'), 'window.json');
    this.#window = openWindow({ preload: join(here, 'preload.cjs'), stateFile, icon: this.#icon, hidden });
    this.#window.once('closed', () => {
      this.#window = null;
    });
  }

  #told({ news, events }: Told): void {
    if (this.#window) tell(this.#window.webContents, news);
    if (!this.#window?.isFocused()) notify(noticesOf(this.#text, events), (place) => this.show(place));
  }

  async #update(): Promise<void> {
    const { default: updater } = await import('electron-updater');
    watchUpdates(this.#text, updater.autoUpdater, (text) => this.#log(text));
  }
}

/** The Node that runs the service. Electron's own runs nothing but the shell (fuse runAsNode). */
function runtime(): string {
  const own = join(process.resourcesPath, 'runtime', process.platform === 'win32' ? 'node.exe' : 'node');
  return app.isPackaged ? own : process.env.COUNTINGHOUSE_NODE || 'node';
}

/** Only Electron can read inside its archive; what others read is packed beside it. */
function unpacked(path: string): string {
  return path.replace(/app\.asar(?=[\\/])/, 'app.asar.unpacked');
}

registerScheme();
app.enableSandbox();
app.on('web-contents-created', (_event, contents) => fenceContents(contents, shell));
app.setAsDefaultProtocolClient(LINK_SCHEME);
if (!app.requestSingleInstanceLock()) app.quit();
else {
  const desk = new Shell();
  let early: string | null = linkAmong(process.argv);
  app.on('second-instance', (_event, args) => desk.show(linkAmong(args) ?? undefined));
  app.on('open-url', (event, link) => {
    event.preventDefault();
    const place = placeOfLink(link);
    if (place && app.isReady()) desk.show(place);
    else early = place;
  });
  // the shell stays in the tray
  app.on('window-all-closed', () => {});
  app.on('activate', () => desk.show());
  app.on('before-quit', (event) => {
    if (!desk.quit()) event.preventDefault();
  });
  void app.whenReady().then(() => desk.start(early));
}
