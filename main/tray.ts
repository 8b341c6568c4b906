/** The tray: the service's state in words, and the way back to the window. */
import { dialog, Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron';
import type { LoginStart } from './login.ts';
import type { ServiceState } from './service.ts';
import type { ShellText } from './texts.ts';

type TrayActions = {
  show(place?: string): void;
  lock(): void;
  openLog(): void;
  startAtLogin(on: boolean): void;
  quit(): void;
};

/** `login`: null where the shell cannot be started at login. */
function trayMenu(
  text: ShellText,
  state: ServiceState,
  actions: TrayActions,
  login: Pick<LoginStart, 'isOn'> | null,
): MenuItemConstructorOptions[] {
  return [
    { label: text(state.is), enabled: false },
    ...(state.is === 'waiting' ? [{ label: text(state.why, { detail: state.detail }), enabled: false }] : []),
    { type: 'separator' },
    { label: text('open'), click: () => actions.show() },
    { label: text('counter'), click: () => actions.show('counter') },
    { label: text('lock'), click: () => actions.lock() },
    { label: text('log'), click: () => actions.openLog() },
    ...(login
      ? [
          {
            label: text('atLogin'),
            type: 'checkbox' as const,
            checked: login.isOn(),
            click: (item: { checked: boolean }) => actions.startAtLogin(item.checked),
          },
        ]
      : []),
    { type: 'separator' },
    { label: text('quit'), click: () => actions.quit() },
  ];
}

export class StateTray {
  readonly #tray: Tray;
  readonly #text: ShellText;
  readonly #actions: TrayActions;
  readonly #login: LoginStart | null;
  #state: ServiceState = { is: 'stopped' };

  constructor(text: ShellText, icon: string, actions: Omit<TrayActions, 'startAtLogin'>, login: LoginStart | null) {
    this.#text = text;
    this.#tray = new Tray(nativeImage.createFromPath(icon));
    this.#login = login;
    this.#actions = { ...actions, startAtLogin: (on) => this.#startAtLogin(on) };
    this.#tray.on('click', () => actions.show());
  }

  show(state: ServiceState): void {
    this.#state = state;
    this.#tray.setToolTip(`Countinghouse: ${this.#text(state.is)}`);
    this.#tray.setContextMenu(Menu.buildFromTemplate(trayMenu(this.#text, state, this.#actions, this.#login)));
  }

  #startAtLogin(on: boolean): void {
    try {
      this.#login?.switchTo(on);
    } catch (error) {
      dialog.showErrorBox(this.#text('atLoginFailed'), (error as Error).message);
    }
    // the box shows what is set now
    this.show(this.#state);
  }
}
