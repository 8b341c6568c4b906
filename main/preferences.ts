/** The settings of this program: its language, for menus, tray, notifications and console alike, and its start at login. */
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { Rejected, Unavailable } from '../daemon/domain/errors.ts';
import type { DesktopSettings } from '../daemon/operator/desktop.ts';
import { isLanguage, type Language } from '../renderer/languages.ts';
import type { LoginStart } from './login.ts';
import { languageOf } from './texts.ts';

const RETRY_SECONDS = 60;
const Stored = z.object({ language: z.string() });

export class Preferences {
  readonly #file: string;
  readonly #login: LoginStart | null;
  readonly #changed: () => void;
  #language: Language;

  /** `tags`: the languages of the system's user, the most wanted first. `login`: null where it cannot be started so. */
  constructor(file: string, tags: readonly string[], login: LoginStart | null, changed: () => void) {
    this.#file = file;
    this.#login = login;
    this.#changed = changed;
    this.#language = languageOf([...stored(file), ...tags]);
  }

  get language(): Language {
    return this.#language;
  }

  /** Null where the program cannot be started at login. */
  get startAtLogin(): boolean | null {
    return this.#login?.isOn() ?? null;
  }

  all(): DesktopSettings {
    return { language: this.#language, startAtLogin: this.startAtLogin };
  }

  /** Throws `Rejected` for a language that the program does not speak, `Unavailable` if it cannot be stored. */
  setLanguage(language: string): DesktopSettings {
    if (!isLanguage(language)) throw new Rejected('params', 'There is no such language', 'language');
    written(() => writeFileSync(this.#file, JSON.stringify({ language }), { mode: 0o600 }));
    this.#language = language;
    this.#changed();
    return this.all();
  }

  /** Answers with what is set now. Throws `Unavailable`. */
  setStartAtLogin(on: boolean): DesktopSettings {
    const login = this.#login;
    if (login === null) throw new Rejected('params', 'This program cannot be started at login', 'on');
    written(() => login.switchTo(on));
    this.#changed();
    return this.all();
  }
}

function stored(file: string): string[] {
  try {
    return [Stored.parse(JSON.parse(readFileSync(file, 'utf8'))).language];
  } catch {
    return [];
  }
}

function written(write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new Unavailable(`This cannot be stored: ${(error as Error).message}`, RETRY_SECONDS);
  }
}
