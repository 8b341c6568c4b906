/** The native menu. Reloading and the developer tools are there only when the shell runs from a clone. */
import { Menu, type MenuItemConstructorOptions } from 'electron';

export function nativeMenu(show: (place: string) => void, isPackaged: boolean): MenuItemConstructorOptions[] {
  const go = (label: string, place: string, accelerator?: string): MenuItemConstructorOptions => ({
    label,
    click: () => show(place),
    ...(accelerator === undefined ? {} : { accelerator }),
  });
  return [
    ...(process.platform === 'darwin' ? [{ role: 'appMenu' as const }] : []),
    {
      label: 'Countinghouse',
      submenu: [
        go('Home', 'home', 'CmdOrCtrl+1'),
        go('Counter', 'counter', 'CmdOrCtrl+2'),
        go('Invoices', 'invoices', 'CmdOrCtrl+3'),
        go('Withdrawals', 'withdrawals', 'CmdOrCtrl+4'),
        go('Wallet', 'wallet', 'CmdOrCtrl+5'),
        { type: 'separator' },
        go('Settings', 'settings', 'CmdOrCtrl+,'),
        { type: 'separator' },
        { role: 'quit' },
      ],
    },
    { role: 'editMenu' },
    {
      label: 'View',
      submenu: [
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { role: 'togglefullscreen' },
        ...(isPackaged ? [] : [{ role: 'reload' as const }, { role: 'toggleDevTools' as const }]),
      ],
    },
    { role: 'windowMenu' },
  ];
}

export const setMenu = (show: (place: string) => void, isPackaged: boolean): void =>
  Menu.setApplicationMenu(Menu.buildFromTemplate(nativeMenu(show, isPackaged)));
