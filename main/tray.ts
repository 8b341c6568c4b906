/** The tray: the service's state in words, and the way back to the window. */
import { dialog, Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron';
import type { LoginStart } from './login.ts';
import type { ServiceState } from './service.ts';

const STATE_WORDS: Record<ServiceState['is'], string> = {
  attached: 'Running as a service of this computer',
  starting: 'Starting',
  running: 'Running',
  silent: 'Alive, and does not answer',
  waiting: 'Ended: it is started again',
  stopped: 'Stopped',
};

type TrayActions = {
  show(place?: string): void;
  lock(): void;
  openLog(): void;
  startAtLogin(on: boolean): void;
  quit(): void;
};

/** `login`: null where the shell cannot be started at login. */
function trayMenu(
  state: ServiceState,
  actions: TrayActions,
  login: Pick<LoginStart, 'isOn'> | null,
): MenuItemConstructorOptions[] {
  return [
    { label: STATE_WORDS[state.is], enabled: false },
    ...(state.is === 'waiting' ? [{ label: state.why, enabled: false }] : []),
    { type: 'separator' },
    { label: 'Open Countinghouse', click: () => actions.show() },
    { label: 'Counter', click: () => actions.show('counter') },
    { label: 'Lock the wallet', click: () => actions.lock() },
    { label: "Show the service's log", click: () => actions.openLog() },
    ...(login
      ? [
          {
            label: 'Start at login',
            type: 'checkbox' as const,
            checked: login.isOn(),
            click: (item: { checked: boolean }) => actions.startAtLogin(item.checked),
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

  readonly #login: LoginStart | null;
  #state: ServiceState = { is: 'stopped' };

  constructor(icon: string, actions: Omit<TrayActions, 'startAtLogin'>, login: LoginStart | null) {
    this.#tray = new Tray(nativeImage.createFromPath(icon));
    this.#login = login;
    this.#actions = { ...actions, startAtLogin: (on) => this.#startAtLogin(on) };
    this.#tray.on('click', () => actions.show());
  }

  show(state: ServiceState): void {
    this.#state = state;
    this.#tray.setToolTip(`Countinghouse: ${STATE_WORDS[state.is]}`);
    this.#tray.setContextMenu(Menu.buildFromTemplate(trayMenu(state, this.#actions, this.#login)));
  }

  #startAtLogin(on: boolean): void {
    try {
      this.#login?.switchTo(on);
    } catch (error) {
      dialog.showErrorBox('Start at login could not be changed', (error as Error).message);
    }
    // the box shows what is set now
    this.show(this.#state);
  }
}
