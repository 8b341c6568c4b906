/** `countinghouse service`: the program as a service of systemd. */
import type { Command } from 'commander';
import { action } from './commands.ts';
import { clean, Failure, type Io } from './io.ts';
import type { InstallOptions, UninstallOptions } from './service/install.ts';
import type { Session } from './session.ts';

/** Loaded on demand. */
async function systemd({ io, server }: Session, { signerOnly = false }: InstallOptions = {}) {
  if (io.platform === 'linux') return import('./service/install.ts');
  const program = signerOnly ? `countinghouse --server ${clean(server ?? 'NAME')} signer run` : 'countinghouse start';
  throw new Failure(`services are set up by this command on Linux only: elsewhere have \`${program}\` run at login`);
}

const install = async (session: Session, options: InstallOptions): Promise<void> =>
  (await systemd(session, options)).installSystemd(session, options);

const status = async (session: Session, options: UninstallOptions): Promise<void> =>
  (await systemd(session)).statusSystemd(session, options);

const uninstall = async (session: Session, options: UninstallOptions): Promise<void> =>
  (await systemd(session)).uninstallSystemd(session, options);

export function serviceCommands(root: Command, io: Io): void {
  const service = root.command('service').description('install the program as a service of systemd');
  const below = ['--root <folder>', 'work on the files below this folder, and run nothing'] as const;
  service
    .command('install')
    .description('make the users and units, and start them; repeated after an upgrade, it keeps the options')
    .option('--separate-signer', 'the wallet as a service of its own user')
    .option('--no-separate-signer', 'the wallet in the service')
    .option('--signer-only', 'on a machine at home that is always on: sign for the server that --server names')
    .option('--passphrase-file <file>', 'a file of root that opens the wallet by itself')
    .option('--no-passphrase-file', 'ask for the passphrase')
    .option(...below)
    .action(action(io, install));
  service
    .command('status')
    .description('show whether it is installed, of which release, and whether it runs')
    .option(...below)
    .action(action(io, status));
  service
    .command('uninstall')
    .description('stop the service and remove its units; the data stay')
    .option('--delete-data', 'also the wallet and everything else')
    .option(...below)
    .action(action(io, uninstall));
}
