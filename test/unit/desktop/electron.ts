/** A stand-in for Electron that keeps what the shell gives it. Electron's own program is not on every machine. */
import { vi } from 'vitest';

type Handler = (event: unknown, ...input: unknown[]) => unknown;
type Listener = (...args: never[]) => unknown;

export const handlers = new Map<string, Handler>();
export const served = new Map<string, (request: { url: string; method: string }) => Promise<Response>>();
export const windows: { options: Record<string, unknown>; on: Map<string, Listener> }[] = [];
export const shown: { title: string; body: string; click(): void }[] = [];

export const trayMenus: { label?: string; checked?: boolean; click?(item: { checked: boolean }): void }[][] = [];

class BrowserWindow {
  readonly #on = new Map<string, Listener>();
  constructor(options: Record<string, unknown>) {
    windows.push({ options, on: this.#on });
  }
  on = (name: string, listener: Listener) => this.#on.set(name, listener);
  once = this.on;
  maximize = vi.fn();
  show = vi.fn();
  loadURL = vi.fn(async () => {});
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
  Menu: { buildFromTemplate: (template: unknown) => template, setApplicationMenu: vi.fn() },
  Tray: class {
    on = vi.fn();
    setToolTip = vi.fn();
    setContextMenu = (menu: unknown) => trayMenus.push(menu as (typeof trayMenus)[number]);
  },
  app: {
    isPackaged: false,
    getLoginItemSettings: vi.fn(() => ({ openAtLogin: true, wasOpenedAtLogin: true })),
    setLoginItemSettings: vi.fn(),
  },
  dialog: { showMessageBox: vi.fn(), showErrorBox: vi.fn() },
  ipcMain: { handle: (channel: string, handler: Handler) => handlers.set(channel, handler) },
  nativeImage: { createFromPath: (path: string) => path },
  protocol: {
    registerSchemesAsPrivileged: vi.fn(),
    handle: (scheme: string, serve: (request: { url: string; method: string }) => Promise<Response>) =>
      served.set(scheme, serve),
  },
  screen: { getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }] },
};
