/**
 * `countinghouse service`: installs the program as a service of systemd, shows its state, and removes it. Data is deleted only
 * on request.
 *
 * Invariant: everything is checked before anything is written, and another program's file is kept under another name.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { SERVICE_ENVIRONMENT } from '../../config/paths.ts';
import { entryFile, PACKAGE_FOLDER } from '../../kit/program.ts';
import { VAULT_FILE } from '../../wallet/signer/files.ts';
import { EXIT, Failure, FaultShown, usage } from '../io.ts';
import { confirm } from '../prompt.ts';
import type { Session } from '../session.ts';
import { pairs } from '../table.ts';
import { run, untilServing } from './system.ts';
import { checkPassphraseFile, checkProgram } from './trusted.ts';
import {
  CACHES,
  DAEMON_UNIT,
  DATA_DIR,
  HOME_UNIT,
  MARK,
  type Program,
  type ServiceOptions,
  SIGNER_DIR,
  SIGNER_UNIT,
  SIGNER_USER,
  SYSUSERS,
  serviceFiles,
  USER,
} from './units.ts';

/** An absent option: as the installed units have it. `passphraseFile: false`: the passphrase is asked for. */
export type InstallOptions = {
  separateSigner?: boolean;
  signerOnly?: boolean;
  passphraseFile?: string | false;
  root?: string;
};
export type UninstallOptions = { deleteData?: boolean; root?: string };

const UNITS_UMASK = 0o022;
/** If systemd does not state its version: the oldest one that the settings support. */
const SYSTEMD_DEFAULT = 250;
const UNITS = ['countinghouse.service', 'countinghouse-signer.service'];
const AT_HOME = 'countinghouse-home.service';

/** The running program: its Node, its entry, its version. */
async function runningProgram(): Promise<Program> {
  const { version } = await import('../version.ts');
  return { node: realpathSync(process.execPath), script: realpathSync(entryFile('cli')), version: version() };
}

function systemdRelease(): number {
  const [, release] = /^systemd (\d+)/.exec(run('systemctl', ['--version'], true)) ?? [];
  return release === undefined ? SYSTEMD_DEFAULT : Number(release);
}

const isOurs = (path: string): boolean => readFileSync(path, 'utf8').startsWith(MARK);

/** Writes a file. A foreign file of that name is renamed to NAME.before and reported. */
function place(session: Session, path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  if (existsSync(path) && !isOurs(path)) {
    renameSync(path, `${path}.before`);
    session.note(`${path} was not made by this command: it is ${path}.before now`);
  }
  writeFileSync(path, text, { mode: 0o644 });
}

/** How the service was installed, by this program's units here: an upgrade without options keeps it. */
function installedWith(root: string): Pick<ServiceOptions, 'separateSigner' | 'passphraseFile' | 'signerOnly'> {
  const [daemon, signer, home = ''] = [DAEMON_UNIT, SIGNER_UNIT, HOME_UNIT].map((path) => {
    const file = join(root, path);
    return existsSync(file) && isOurs(file) ? readFileSync(file, 'utf8') : '';
  });
  const passphraseFile = /^LoadCredential=[^:]+:(.+)$/m.exec(`${daemon}\n${signer}\n${home}`)?.[1] ?? null;
  const signerOnly = /^ExecStart=.* --server "([^"]*)"/m.exec(home)?.[1] ?? null;
  return { separateSigner: signer !== '', passphraseFile, signerOnly };
}

/** Throws `Failure` if the wallet is where the service would not find it: its money would seem to be lost. */
function checkWalletPlace(separateSigner: boolean, root: string): void {
  const [place, kind] = separateSigner ? [join(DATA_DIR, 'vault'), 'a separate'] : [SIGNER_DIR, 'no separate'];
  if (!existsSync(join(root, place, VAULT_FILE))) return;
  throw new Failure(
    `the wallet lies in ${place}, where a service with ${kind} signer does not look: ` +
      'resources/docs/run-a-server.md says how to move it',
  );
}

const needRoot = (root: string): void => {
  if (root === '' && process.getuid?.() !== 0)
    throw new Failure('this needs root: run it with sudo', EXIT.failed, 'not_root');
};

/** `service install` with systemd. With `root`, files are written below that folder and nothing is run. */
export async function installSystemd(session: Session, options: InstallOptions): Promise<void> {
  const { root = '' } = options;
  needRoot(root);
  const before = installedWith(root);
  const signerOnly =
    options.signerOnly || before.signerOnly !== null ? await serverToSignFor(session, before, root) : null;
  if (signerOnly !== null && options.separateSigner) throw usage('--signer-only has no service beside the signer');
  const separateSigner = options.separateSigner ?? before.separateSigner;
  const passphraseFile = (options.passphraseFile ?? before.passphraseFile) || null;
  if (signerOnly === null) checkWalletPlace(separateSigner, root);
  const program = await runningProgram();
  if (root === '') {
    if (!existsSync('/run/systemd/system')) {
      throw new Failure('systemd does not run here: give --root FOLDER to have the files written below a folder');
    }
    checkProgram(program, realpathSync(PACKAGE_FOLDER));
    if (passphraseFile !== null) checkPassphraseFile(passphraseFile);
  }
  // units and folders that the service's user may read, whatever the shell has
  process.umask(UNITS_UMASK);
  const service: ServiceOptions = { program, separateSigner, passphraseFile, signerOnly, systemd: systemdRelease() };
  const files = serviceFiles(service);
  for (const [path, text] of files) place(session, join(root, path), text);
  const written = [...files.keys()].map((path) => join(root, path));
  if (signerOnly !== null) {
    const isJoined = root === '' && beginAtHome(signerOnly);
    session.print(
      { files: written, started: isJoined },
      () => `${written.join('\n')}\n${homeText(signerOnly, isJoined)}`,
    );
    return;
  }
  if (root === '') {
    begin(separateSigner);
    await untilServing(session, UNITS[0]!);
  }
  session.print({ files: written, started: root === '' }, () => {
    const next = root === '' ? 'Countinghouse runs, and starts with the machine.\n' : 'Nothing was started.\n';
    return `${written.join('\n')}\n${next}`;
  });
}

/** The server of a machine that signs only: of the option, else as it is installed. Throws `Failure`. */
async function serverToSignFor({ server }: Session, before: Pick<ServiceOptions, 'signerOnly'>, root: string) {
  const daemon = join(root, DAEMON_UNIT);
  if (existsSync(daemon) && isOurs(daemon)) {
    throw new Failure('this machine runs the service itself, which has no place beside its signing machine');
  }
  const name = server ?? before.signerOnly;
  if (name === null) throw usage('name the server: countinghouse --server NAME service install --signer-only');
  const { serverFolder } = await import('../../home/place.ts');
  serverFolder(DATA_DIR, name);
  return name;
}

/** The user and the folder, then the unit, which is started if the server was joined. Returns whether it was. */
function beginAtHome(server: string): boolean {
  run('systemd-sysusers', [SYSUSERS]);
  run('install', ['-d', '-m', '0700', '-o', USER, '-g', USER, DATA_DIR]);
  run('systemctl', ['daemon-reload']);
  run('systemctl', ['enable', AT_HOME]);
  if (!existsSync(join(DATA_DIR, 'servers', server))) return false;
  run('systemctl', ['restart', AT_HOME]);
  return true;
}

const homeText = (server: string, isStarted: boolean): string =>
  isStarted
    ? `This machine signs for ${server}, and starts with the machine.\n`
    : `Nothing was started. Next, as root:\n\n  countinghouse signer join ADDRESS --as ${server}\n  countinghouse --server ${server} business add --name "My shop" --network mainnet\n  systemctl start ${AT_HOME}\n`;

/** The users, then the units: restarted if they already run with the files of an older release. */
function begin(separateSigner: boolean): void {
  run('systemd-sysusers', [SYSUSERS]);
  run('systemctl', ['daemon-reload']);
  if (!separateSigner && existsSync(SIGNER_UNIT) && isOurs(SIGNER_UNIT)) {
    run('systemctl', ['disable', '--now', UNITS[1]!], true);
    rmSync(SIGNER_UNIT);
    run('systemctl', ['daemon-reload']);
  }
  const units = separateSigner ? [UNITS[1]!, UNITS[0]!] : [UNITS[0]!];
  run('systemctl', ['enable', ...units]);
  run('systemctl', ['restart', ...units]);
}

/** Ends the units among files that exist: of a list with one that does not, systemd 255 ends none. Throws `Failure`. */
export function endUnits(files: readonly string[]): void {
  const units = files.map((file) => basename(file)).filter((name) => name.endsWith('.service'));
  if (units.length > 0) run('systemctl', ['disable', '--now', ...units]);
}

/**
 * Deletes a folder; where a link stands in its place, what is in the folder that it leads to, which may be a disk of its own. A link below
 * another root leads out of it to files of this system, which stay.
 */
function deleteFolder(place: string, root: string): void {
  const target = existsSync(place) ? realpathSync(place) : place;
  if (target !== place && (root === '' || target.startsWith(`${realpathSync(root)}${sep}`)))
    for (const name of readdirSync(target)) rmSync(join(target, name), { recursive: true, force: true });
  rmSync(place, { recursive: true, force: true });
}

export async function uninstallSystemd(
  session: Session,
  { deleteData = false, root = '' }: UninstallOptions,
): Promise<void> {
  needRoot(root);
  if (deleteData) {
    const question = `Delete ${DATA_DIR} and ${SIGNER_DIR}, with the wallet and everything that was paid?`;
    await confirm(session.io, session.yes, question);
  }
  const runs = root === '' && existsSync('/run/systemd/system');
  const removed = [DAEMON_UNIT, SIGNER_UNIT, HOME_UNIT, SERVICE_ENVIRONMENT, SYSUSERS]
    .map((path) => join(root, path))
    .filter((path) => existsSync(path) && isOurs(path));
  if (runs) endUnits(removed);
  for (const path of removed) rmSync(path);
  if (runs) run('systemctl', ['daemon-reload']);
  if (deleteData) {
    for (const path of [DATA_DIR, SIGNER_DIR, ...CACHES]) deleteFolder(join(root, path), root);
    if (root === '') for (const user of [SIGNER_USER, USER]) run('userdel', [user], true);
  }
  session.print({ removed, data_deleted: deleteData }, () => {
    const none = 'No service of this program is installed.\n';
    const kept = deleteData ? 'The data were deleted.\n' : `The data stay in ${DATA_DIR}.\n`;
    return removed.length === 0 ? none : `${removed.map((path) => `removed ${path}\n`).join('')}${kept}`;
  });
}

/** Compares an installed unit with the one that this release would write. */
function unitState(path: string, wanted: string | undefined): string {
  if (!existsSync(path)) return 'not installed';
  if (!isOurs(path)) return 'not made by this program';
  const text = readFileSync(path, 'utf8');
  const first = (one: string): string => one.split('\n', 1)[0]!;
  if (wanted === undefined || text === wanted) return 'as this release writes it';
  const older = first(text) !== first(wanted);
  return older ? 'of another release: run `service install` again' : 'changed by hand: a drop-in survives an upgrade';
}

/** `service status` with systemd: exits with 1 unless everything that is installed runs. */
export async function statusSystemd(session: Session, { root = '' }: { root?: string }): Promise<void> {
  const path = (unit: string): string => join(root, unit);
  const program = await runningProgram();
  const wanted = serviceFiles({ program, ...installedWith(root), systemd: systemdRelease() });
  const isHome = existsSync(path(HOME_UNIT));
  const shown = isHome
    ? ([[AT_HOME, HOME_UNIT]] as const)
    : ([DAEMON_UNIT, SIGNER_UNIT] as const).map((file, n) => [UNITS[n]!, file] as const);
  const units = shown.map(([name, file]) => {
    const installed = existsSync(path(file));
    return {
      name,
      installed,
      file: unitState(path(file), wanted.get(file)),
      active: installed && root === '' ? run('systemctl', ['is-active', name], true) || 'unknown' : 'not asked',
      at_boot: installed && root === '' ? run('systemctl', ['is-enabled', name], true) || 'unknown' : 'not asked',
    };
  });
  session.print({ units, data_dir: DATA_DIR }, () =>
    units
      .map(({ name, installed, file, active, at_boot }) =>
        pairs([
          ['Unit', name],
          ['File', file],
          ...(installed
            ? ([
                ['State', active],
                ['At boot', at_boot],
              ] as [string, string][])
            : []),
        ]),
      )
      .join('\n'),
  );
  const bad = units.filter(({ installed, active }) => installed && !['active', 'not asked'].includes(active));
  if (!units[0]!.installed || bad.length > 0) throw new FaultShown();
}
