/** The tray: the service's state in words, and the way back to the window. */
import { dialog, Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron';
import type { Preferences } from './preferences.ts';
import type { ServiceState } from './service.ts';
import type { ShellText } from './texts.ts';

type TrayActions = {
  show(place?: string): void;
  lock(): void;
  openLog(): void;
  startAtLogin(on: boolean): void;
  quit(): void;
};

/** `startAtLogin`: null where the shell cannot be started so. */
function trayMenu(
  text: ShellText,
  state: ServiceState,
  actions: TrayActions,
  startAtLogin: boolean | null,
): MenuItemConstructorOptions[] {
  return [
    { label: text(state.is), enabled: false },
    ...(state.is === 'waiting' ? [{ label: text(state.why, { detail: state.detail }), enabled: false }] : []),
    { type: 'separator' },
    { label: text('open'), click: () => actions.show() },
    { label: text('counter'), click: () => actions.show('counter') },
    { label: text('lock'), click: () => actions.lock() },
    { label: text('log'), click: () => actions.openLog() },
    ...(startAtLogin === null
      ? []
      : [
          {
            label: text('atLogin'),
            type: 'checkbox' as const,
            checked: startAtLogin,
            click: (item: { checked: boolean }) => actions.startAtLogin(item.checked),
          },
        ]),
    { type: 'separator' },
    { label: text('quit'), click: () => actions.quit() },
  ];
}

export class StateTray {
  readonly #tray: Tray;
  readonly #text: ShellText;
  readonly #actions: TrayActions;
  readonly #preferences: Preferences;
  #state: ServiceState = { is: 'stopped' };

  constructor(text: ShellText, icon: string, actions: Omit<TrayActions, 'startAtLogin'>, preferences: Preferences) {
    this.#text = text;
    this.#tray = new Tray(nativeImage.createFromPath(icon));
    this.#preferences = preferences;
    this.#actions = { ...actions, startAtLogin: (on) => this.#startAtLogin(on) };
    this.#tray.on('click', () => actions.show());
  }

  /** `state`: default: the last one, in the language and with the settings of now. */
  show(state: ServiceState = this.#state): void {
    this.#state = state;
    const menu = trayMenu(this.#text, state, this.#actions, this.#preferences.startAtLogin);
    this.#tray.setToolTip(`Countinghouse: ${this.#text(state.is)}`);
    this.#tray.setContextMenu(Menu.buildFromTemplate(menu));
  }

  #startAtLogin(on: boolean): void {
    try {
      this.#preferences.setStartAtLogin(on);
    } catch (error) {
      dialog.showErrorBox(this.#text('atLoginFailed'), (error as Error).message);
      // the box shows what is set now
      this.show();
    }
  }
}
