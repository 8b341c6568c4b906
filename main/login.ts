/**
 * Whether the shell starts when the user logs in. macOS and Windows keep that setting themselves; on Linux it is an entry in
 * the user's autostart folder (Desktop Application Autostart Specification and Desktop Entry Specification, freedesktop.org).
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, sep } from 'node:path';
import { app } from 'electron';

/** The argument of a start with the system: only the tray is shown. */
const HIDDEN = '--hidden';

/** Each throws an error of the file system. */
export type LoginStart = {
  isOn(): boolean;
  switchTo(on: boolean): void;
  /** Writes the program's present path where the start is on: an update can give an AppImage another name. */
  refresh(): void;
};

type Env = Readonly<Record<string, string | undefined>>;

/**
 * One argument of an entry's Exec key. Quoting puts a backslash before four characters; the value as a string then has each
 * backslash doubled; a percent sign alone begins a field code.
 */
export function execArgument(text: string): string {
  const quoted = `"${text.replace(/["`$\\]/g, '\\$&')}"`;
  return quoted
    .replaceAll('\\', '\\\\')
    .replaceAll('%', '%%')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
}

/**
 * The file to start. A running AppImage is mounted at a path that changes; its own file is in APPIMAGE. Another AppImage's
 * variables are inherited by the programs that it starts: these have their executable outside its APPDIR.
 */
export function programPath({ APPIMAGE, APPDIR }: Env, executable: string): string {
  return APPIMAGE && APPDIR && executable.startsWith(`${APPDIR.replace(/\/+$/, '')}${sep}`) ? APPIMAGE : executable;
}

/** The user's autostart folder. The XDG Base Directory Specification has a relative path ignored. */
export function autostartFolder({ XDG_CONFIG_HOME }: Env, home: string): string {
  const config = XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(home, '.config');
  return join(config, 'autostart');
}

const entryFor = (program: string): string =>
  [
    '[Desktop Entry]',
    'Type=Application',
    'Version=1.5',
    'Name=Countinghouse',
    `Exec=${execArgument(program)} ${HIDDEN}`,
    'Terminal=false',
    'StartupNotify=false',
    '',
  ].join('\n');

/** A desktop's settings keep an entry that they switched off, with one of these lines. */
const SWITCHED_OFF = /^(?:Hidden\s*=\s*true|X-GNOME-Autostart-enabled\s*=\s*false)\s*$/m;

/** `folder`: of the user's entries. `program`: an absolute path. */
export function autostartEntry(folder: string, program: string): LoginStart {
  const file = join(folder, 'countinghouse.desktop');
  const read = (): string | null => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return null;
    }
  };
  const isOn = (): boolean => {
    const entry = read();
    return entry !== null && !SWITCHED_OFF.test(entry);
  };
  const write = (): void => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, entryFor(program));
    renameSync(`${file}.new`, file);
  };
  return {
    isOn,
    switchTo: (on) => (on ? write() : rmSync(file, { force: true })),
    refresh: () => {
      if (isOn() && read() !== entryFor(program)) write();
    },
  };
}

/** Windows finds a setting only by the same arguments. macOS passes none, and says whether it started the program. */
const ofSystem: LoginStart = {
  isOn: () => app.getLoginItemSettings({ args: [HIDDEN] }).openAtLogin,
  switchTo: (on) => app.setLoginItemSettings({ openAtLogin: on, args: [HIDDEN] }),
  refresh: () => {},
};

/** Null in a clone, where the executable is Electron's own and needs the clone's path and Node. */
export function loginStart(platform: NodeJS.Platform): LoginStart | null {
  if (!app.isPackaged) return null;
  if (platform === 'darwin' || platform === 'win32') return ofSystem;
  return autostartEntry(autostartFolder(process.env, homedir()), programPath(process.env, process.execPath));
}

/** Whether this start came with the system, so that no window is shown. */
export const isHiddenStart = (platform: NodeJS.Platform, args: readonly string[]): boolean =>
  args.includes(HIDDEN) || (platform === 'darwin' && app.getLoginItemSettings().wasOpenedAtLogin);
