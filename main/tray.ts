/** The tray: the service's state in words, and the way back to the window. */
import { app, Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron';
import type { ServiceState } from './service.ts';

const STATE_WORDS: Record<ServiceState['is'], string> = {
  attached: 'Running as a service of this computer',
  starting: 'Starting',
  running: 'Running',
  silent: 'Alive, and does not answer',
  waiting: 'Ended: it is started again',
  stopped: 'Stopped',
};

type TrayActions = { show(place?: string): void; lock(): void; openLog(): void; quit(): void };

/** Whether the shell starts with the system. Linux has no such setting in Electron: there the desktop's own is used. */
const startsAtLogin = (): boolean => app.getLoginItemSettings().openAtLogin;
const canStartAtLogin = (platform: NodeJS.Platform): boolean => platform === 'darwin' || platform === 'win32';

export function trayMenu(
  state: ServiceState,
  actions: TrayActions,
  platform: NodeJS.Platform,
): MenuItemConstructorOptions[] {
  return [
    { label: STATE_WORDS[state.is], enabled: false },
    ...(state.is === 'waiting' ? [{ label: state.why, enabled: false }] : []),
    { type: 'separator' },
    { label: 'Open Countinghouse', click: () => actions.show() },
    { label: 'Counter', click: () => actions.show('counter') },
    { label: 'Lock the wallet', click: () => actions.lock() },
    { label: "Show the service's log", click: () => actions.openLog() },
    ...(canStartAtLogin(platform)
      ? [
          {
            label: 'Start at login',
            type: 'checkbox' as const,
            checked: startsAtLogin(),
            click: (item: { checked: boolean }) =>
              app.setLoginItemSettings({ openAtLogin: item.checked, args: ['--hidden'] }),
          },
        ]
      : []),
    { type: 'separator' },
    { label: 'Quit', click: () => actions.quit() },
  ];
}

export class StateTray {
  readonly #tray: Tray;
  readonly #actions: TrayActions;

  constructor(icon: string, actions: TrayActions) {
    this.#tray = new Tray(nativeImage.createFromPath(icon));
    this.#actions = actions;
    this.#tray.on('click', () => actions.show());
  }

  show(state: ServiceState): void {
    this.#tray.setToolTip(`Countinghouse: ${STATE_WORDS[state.is]}`);
    this.#tray.setContextMenu(Menu.buildFromTemplate(trayMenu(state, this.#actions, process.platform)));
  }
}
