/** The default data directory, and the name of the configuration file in it. */
import { posix, win32 } from 'node:path';

export const CONFIG_FILE = 'countinghouse.toml';

/** Written by `countinghouse service install`. Commands of root read it to find the service. */
export const SERVICE_ENVIRONMENT = '/etc/countinghouse/environment';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A user's data directory: XDG's on Linux and other Unix systems, the system's own place on macOS and Windows.
 * COUNTINGHOUSE_DATA_DIR overrides it. Throws if the user has no home directory.
 */
export function defaultDataDir(env: Environment, platform: NodeJS.Platform): string {
  if (env.COUNTINGHOUSE_DATA_DIR) return env.COUNTINGHOUSE_DATA_DIR;
  const { join, isAbsolute } = platform === 'win32' ? win32 : posix;
  const home = (platform === 'win32' ? env.USERPROFILE : env.HOME) || '';
  const need = (base: string | undefined, ...rest: string[]): string => {
    if (base && isAbsolute(base)) return join(base, ...rest);
    throw new Error('no home directory is known: give the data directory with COUNTINGHOUSE_DATA_DIR');
  };
  if (platform === 'win32') return need(env.LOCALAPPDATA || (home && join(home, 'AppData', 'Local')), 'Countinghouse');
  if (platform === 'darwin') return need(home, 'Library', 'Application Support', 'Countinghouse');
  // XDG Base Directory Specification: relative values are invalid and ignored.
  const xdg = env.XDG_DATA_HOME;
  if (xdg && isAbsolute(xdg)) return join(xdg, 'countinghouse');
  return need(home, '.local', 'share', 'countinghouse');
}
