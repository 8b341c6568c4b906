/** A stand-in for Electron that keeps what the shell gives it. Electron's own program is not on every machine. */
import { vi } from 'vitest';

type Handler = (event: unknown, ...input: unknown[]) => unknown;
type Listener = (...args: never[]) => unknown;

export const handlers = new Map<string, Handler>();
export const served = new Map<string, (request: { url: string; method: string }) => Promise<Response>>();
export const windows: { options: Record<string, unknown>; on: Map<string, Listener>; loaded: string[] }[] = [];
/** What the program listens to. */
export const appEvents = new Map<string, Listener>();
/** The news of pages, which an end-to-end test passes on. */
export const sent: { pass(channel: string, news: unknown): void } = { pass: () => {} };
export const shown: { title: string; body: string; click(): void }[] = [];

export const menus: unknown[] = [];
export const trayMenus: { label?: string; checked?: boolean; click?(item: { checked: boolean }): void }[][] = [];

class BrowserWindow {
  readonly #on = new Map<string, Listener>();
  readonly #loaded: string[] = [];
  webContents = {
    isDestroyed: () => false,
    getURL: () => this.#loaded.at(-1) ?? '',
    send: (channel: string, news: unknown) => sent.pass(channel, news),
  };
  constructor(options: Record<string, unknown>) {
    windows.push({ options, on: this.#on, loaded: this.#loaded });
  }
  on = (name: string, listener: Listener) => this.#on.set(name, listener);
  once = this.on;
  maximize = vi.fn();
  show = vi.fn();
  focus = vi.fn();
  restore = vi.fn();
  loadURL = async (address: string) => {
    this.#loaded.push(address);
  };
  isDestroyed = () => false;
  isMinimized = () => true;
  isFocused = () => false;
  getNormalBounds = () => ({ x: 10, y: 20, width: 900, height: 700 });
  isMaximized = () => false;
}

class Notification {
  static isSupported = () => true;
  readonly #shown: (typeof shown)[number];
  constructor({ title, body }: { title: string; body: string }) {
    this.#shown = { title, body, click: () => {} };
  }
  on(_name: string, listener: () => void): void {
    this.#shown.click = listener;
  }
  show(): void {
    shown.push(this.#shown);
  }
}

export const electron = {
  BrowserWindow,
  Notification,
  Menu: { buildFromTemplate: (template: unknown) => template, setApplicationMenu: (menu: unknown) => menus.push(menu) },
  Tray: class {
    on = vi.fn();
    setToolTip = vi.fn();
    setContextMenu = (menu: unknown) => trayMenus.push(menu as (typeof trayMenus)[number]);
  },
  app: {
    isPackaged: false,
    on: (name: string, listener: Listener) => appEvents.set(name, listener),
    enableSandbox: vi.fn(),
    getAppPath: vi.fn(() => ''),
    getVersion: () => 'test',
    getPath: vi.fn((_name: string) => ''),
    getPreferredSystemLanguages: vi.fn(() => ['en-GB']),
    requestSingleInstanceLock: vi.fn(() => true),
    setAsDefaultProtocolClient: vi.fn(),
    whenReady: async () => {},
    quit: vi.fn(),
    getLoginItemSettings: vi.fn(() => ({ openAtLogin: true, wasOpenedAtLogin: true })),
    setLoginItemSettings: vi.fn(),
  },
  dialog: {
    showMessageBox: vi.fn((_question: unknown): Promise<{ response: number }> => Promise.resolve({ response: 0 })),
    showErrorBox: vi.fn(),
    showSaveDialog: vi.fn(async (_question: unknown) => ({ filePath: '' })),
    showOpenDialog: vi.fn(async (_question: unknown) => ({ filePaths: [] as string[] })),
  },
  ipcMain: { handle: (channel: string, handler: Handler) => handlers.set(channel, handler) },
  session: {
    defaultSession: {
      setPermissionRequestHandler: vi.fn(),
      setPermissionCheckHandler: vi.fn(),
      setDevicePermissionHandler: vi.fn(),
      on: vi.fn(),
      setProxy: vi.fn(async () => {}),
      webRequest: { onBeforeRequest: vi.fn() },
    },
  },
  shell: { openExternal: vi.fn(async (_address: string) => {}), openPath: vi.fn(async () => '') },
  nativeImage: { createFromPath: (path: string) => path },
  protocol: {
    registerSchemesAsPrivileged: vi.fn(),
    handle: (scheme: string, serve: (request: { url: string; method: string }) => Promise<Response>) =>
      served.set(scheme, serve),
  },
  screen: { getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }] },
};
