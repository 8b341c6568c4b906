/**
 * The whole command line: its commands and its error handling.
 *
 * Invariant: an error is always one line on stderr that begins with `error:`, never a stack trace; with `--json` it is
 * `{"error":{"code","message"}}`.
 */
import { Command, CommanderError, Option } from 'commander';
import { answersTo, type RejectCode } from '../domain/rejections.ts';
import { alertCommands } from './alerts.ts';
import { backupCommands } from './backup.ts';
import { bookCommands } from './books.ts';
import { businessCommands } from './business.ts';
import { clientCommands } from './clients.ts';
import { closingCommands } from './closing.ts';
import { action } from './commands.ts';
import { printConfig } from './config.ts';
import { consoleCommands } from './console.ts';
import { doctor } from './doctor.ts';
import { endpointCommands } from './endpoints.ts';
import { eventCommands } from './events.ts';
import { forwardCommands } from './forwarding.ts';
import { gasCommands } from './gas.ts';
import { inboxCommands, invoiceCommands } from './invoices.ts';
import { belongsToService, clean, EXIT, Failure, FaultShown, type Io, jsonLine, usage } from './io.ts';
import { keyCommands } from './keys.ts';
import { linkCommands } from './links.ts';
import { maintenanceCommand } from './maintenance.ts';
import { port } from './parse.ts';
import { policyCommands } from './policies.ts';
import { refundLinkCommands } from './refund-links.ts';
import { releaseCommands } from './releases.ts';
import { serviceCommands } from './service.ts';
import { signerCommands } from './signer.ts';
import { sourceCommands } from './sources.ts';
import { start } from './start.ts';
import { statementCommand } from './statement.ts';
import { printStatus } from './status.ts';
import { walletCommands } from './unlock.ts';
import { webhookCommands } from './webhooks.ts';
import { withdrawalCommands } from './withdrawals.ts';

/** Runs the command in `argv` (without program names) and returns the exit code. Never throws. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  const json = argv.includes('--json');
  try {
    const [first, ...others] = argv.filter((word) => word !== '--json');
    if ((first === '--version' || first === '-V') && others.length === 0) {
      const { version } = await import('./version.ts');
      io.stdout.write(json ? jsonLine({ version: version() }) : `${version()}\n`);
      return 0;
    }
    await program(io, json).parseAsync([...argv], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof FaultShown) return EXIT.failed;
    if (!(error instanceof CommanderError)) return tell(io, error, json);
    if (error.exitCode === 0) return 0;
    return json ? tell(io, usage(usageText(error)), json) : EXIT.usage;
  }
}

/** Commander's message without its prefix; empty if only the help was shown. */
function usageText({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'a command is missing: see --help' : message.replace(/^error: /, '');
}

function program(io: Io, json: boolean): Command {
  const root = new Command('countinghouse')
    .description('Takes payments in cryptocurrency: a self-hosted appliance for one merchant.')
    .option('--data-dir <folder>', 'the data directory (or COUNTINGHOUSE_DATA_DIR)')
    .option('--server <name>', 'of a server that this computer signs for: the wallet is here, all else is there')
    .option('--json', 'print results as JSON, for scripts')
    .option('-y, --yes', 'answer confirmations with yes, for scripts')
    .option('-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => json || io.stderr.write(text) })
    .exitOverride();
  const configFile = () => new Option('--config <file>', 'the configuration file (or COUNTINGHOUSE_CONFIG)');
  root
    .command('start')
    .description('run the service; Ctrl-C stops it')
    .option('--port <port>', 'the port of the merchant API, 0 for any free one', port)
    .addOption(configFile())
    .action(action(io, start));
  root
    .command('status')
    .description('show the state of the running service: chains, rates, addresses')
    .action(action(io, printStatus));
  root
    .command('doctor')
    .description('check the service: what is out of order, and what to do')
    .action(action(io, doctor));
  consoleCommands(root, io);
  maintenanceCommand(root, io);
  businessCommands(root, io);
  keyCommands(root, io);
  clientCommands(root, io);
  invoiceCommands(root, io);
  inboxCommands(root, io);
  linkCommands(root, io);
  refundLinkCommands(root, io);
  withdrawalCommands(root, io);
  gasCommands(root, io);
  forwardCommands(root, io);
  policyCommands(root, io);
  eventCommands(root, io);
  webhookCommands(root, io);
  endpointCommands(root, io);
  alertCommands(root, io);
  sourceCommands(root, io);
  walletCommands(root, io);
  signerCommands(root, io);
  serviceCommands(root, io);
  backupCommands(root, io);
  bookCommands(root, io);
  statementCommand(root, io);
  closingCommands(root, io);
  releaseCommands(root, io);
  root
    .command('config')
    .description(
      'show the configuration in force, without secrets: that of the running service, or the one that it would start with',
    )
    .addOption(configFile())
    .action(action(io, printConfig));
  return root;
}

type CommandError = { message: string; code: string; field?: string | undefined; exitCode: number };

function tell(io: Io, error: unknown, json: boolean): number {
  const { exitCode, ...told } = inWords(error);
  // all problems of a configuration are listed, one per line
  const lines = told.code === 'config' ? told.message.split('\n').map((line) => line.replace(/\S.*/, clean)) : null;
  io.stderr.write(json ? jsonLine({ error: told }) : `error: ${lines?.join('\n') ?? clean(told.message)}\n`);
  return exitCode;
}

/** Errors of other rooms are recognised by name, so that their modules need not be loaded. */
function inWords(error: unknown): CommandError {
  if (error instanceof Failure) return { code: error.code, message: error.message, exitCode: error.exitCode };
  if (!(error instanceof Error)) return { code: 'internal', message: String(error), exitCode: EXIT.failed };
  const { name, message } = error;
  const { code, field, dataDir } = error as { code?: string; field?: string; dataDir?: string };
  if (name === 'ConfigError') return { code: 'config', message, exitCode: EXIT.usage };
  if (name === 'NoDaemon') {
    const how = belongsToService(dataDir ?? '')
      ? '`systemctl start countinghouse` starts it, and `journalctl --unit countinghouse` says why it ended'
      : 'start it with `npm start` or `countinghouse start`';
    return { code: 'no_daemon', message: `no Countinghouse is running on ${dataDir}: ${how}`, exitCode: EXIT.failed };
  }
  const exitCode = code === undefined ? EXIT.failed : answersTo(code as RejectCode).exit;
  return { code: code ?? 'internal', message, field, exitCode };
}
