/** `countinghouse service`: the program as something that the machine runs. */
import type { Command } from 'commander';
import { action, type Work } from './commands.ts';
import { Failure, type Io } from './io.ts';
import type { Session } from './session.ts';

/** The system's service manager, loaded on demand. */
async function manager({ io }: Session) {
  if (io.platform === 'darwin') {
    const { installLaunchd, statusLaunchd, uninstallLaunchd } = await import('./service/mac.ts');
    return { install: installLaunchd, status: statusLaunchd, uninstall: uninstallLaunchd };
  }
  if (io.platform !== 'linux') throw new Failure('services are set up by this command on Linux and macOS only');
  const { installSystemd, statusSystemd, uninstallSystemd } = await import('./service/install.ts');
  return { install: installSystemd, status: statusSystemd, uninstall: uninstallSystemd };
}

const by =
  <K extends 'install' | 'status' | 'uninstall'>(
    name: K,
  ): Work<Parameters<Awaited<ReturnType<typeof manager>>[K]>[1]> =>
  async (session, options) =>
    (await manager(session))[name](session, options);

export function serviceCommands(root: Command, io: Io): void {
  const service = root.command('service').description('install the program as a service of systemd or launchd');
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
    .action(action(io, by('install')));
  service
    .command('status')
    .description('show whether it is installed, of which release, and whether it runs')
    .option(...below)
    .action(action(io, by('status')));
  service
    .command('uninstall')
    .description('stop the service and remove its units; the data stay')
    .option('--delete-data', 'also the wallet and everything else')
    .option(...below)
    .action(action(io, by('uninstall')));
}
