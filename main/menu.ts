/** The native menu. Reloading and the developer tools are there only when the shell runs from a clone. */
import { Menu, type MenuItemConstructorOptions } from 'electron';
import type { ShellText } from './texts.ts';

type Place = 'home' | 'counter' | 'invoices' | 'withdrawals' | 'wallet' | 'settings';
type Role = NonNullable<MenuItemConstructorOptions['role']>;

/** `server`: null: of this computer; absent: of whatever the window shows. */
type Show = (place: string, server?: string | null) => void;

/** Electron's own labels of roles are English on every system. `servers`: the names of those that this computer signs for. */
export function nativeMenu(
  text: ShellText,
  show: Show,
  isPackaged: boolean,
  servers: readonly string[] = [],
): MenuItemConstructorOptions[] {
  const go = (place: Place, accelerator?: string): MenuItemConstructorOptions => ({
    label: text(place),
    click: () => show(place),
    ...(accelerator === undefined ? {} : { accelerator }),
  });
  const act = (role: Role, key: Parameters<ShellText>[0]): MenuItemConstructorOptions => ({ role, label: text(key) });
  return [
    ...(process.platform === 'darwin' ? [{ role: 'appMenu' as const }] : []),
    {
      label: 'Countinghouse',
      submenu: [
        go('home', 'CmdOrCtrl+1'),
        go('counter', 'CmdOrCtrl+2'),
        go('invoices', 'CmdOrCtrl+3'),
        go('withdrawals', 'CmdOrCtrl+4'),
        go('wallet', 'CmdOrCtrl+5'),
        { type: 'separator' },
        go('settings', 'CmdOrCtrl+,'),
        { type: 'separator' },
        act('quit', 'quit'),
      ],
    },
    {
      label: text('servers'),
      submenu: [
        { label: text('thisComputer'), click: () => show('home', null) },
        ...servers.map((server) => ({ label: server, click: () => show('home', server) })),
        { type: 'separator' },
        { label: text('connect'), click: () => show('servers/connect', null) },
      ],
    },
    {
      role: 'editMenu',
      label: text('edit'),
      submenu: [
        act('undo', 'undo'),
        act('redo', 'redo'),
        { type: 'separator' },
        act('cut', 'cut'),
        act('copy', 'copy'),
        act('paste', 'paste'),
        act('selectAll', 'selectAll'),
      ],
    },
    {
      label: text('view'),
      submenu: [
        act('resetZoom', 'actualSize'),
        act('zoomIn', 'zoomIn'),
        act('zoomOut', 'zoomOut'),
        act('togglefullscreen', 'fullScreen'),
        ...(isPackaged ? [] : [{ role: 'reload' as const }, { role: 'toggleDevTools' as const }]),
      ],
    },
    { role: 'windowMenu', label: text('window'), submenu: [act('minimize', 'minimize'), act('close', 'close')] },
  ];
}

export const setMenu = (...given: Parameters<typeof nativeMenu>): void =>
  Menu.setApplicationMenu(Menu.buildFromTemplate(nativeMenu(...given)));
