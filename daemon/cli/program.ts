/**
 * The whole command line: its commands and its error handling.
 *
 * Invariant: an error is always one line on stderr that begins with `error:`, never a stack trace; with `--json` it is
 * `{"error":{"code","message"}}`.
 */
import { Command, CommanderError } from 'commander';
import { answersTo, type RejectCode } from '../domain/rejections.ts';
import { belongsToService, clean, EXIT, Failure, FaultShown, type Io, jsonLine, usage } from './io.ts';

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
    const root = await program(io, json, argv);
    await root.parseAsync([...argv], { from: 'user' });
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
  return code === 'commander.help' ? 'a command is missing: see --help' : clean(message.replace(/^error: /, ''));
}

type Group = (root: Command, io: Io) => void;

const invoiceGroup = async (): Promise<Group> => {
  const { inboxCommands, invoiceCommands } = await import('./invoices.ts');
  return (root, io) => {
    invoiceCommands(root, io);
    inboxCommands(root, io);
  };
};

/**
 * The commands by the module that has them, in the order of the help. A command loads its own module alone: all
 * together take 30 MB of memory and much of the time of a short command.
 */
const GROUPS: readonly [commands: readonly string[], load: () => Promise<Group>][] = [
  [['start'], async () => (await import('./start.ts')).startCommand],
  [['status'], async () => (await import('./status.ts')).statusCommand],
  [['doctor'], async () => (await import('./doctor.ts')).doctorCommand],
  [['console'], async () => (await import('./console.ts')).consoleCommands],
  [['maintenance'], async () => (await import('./maintenance.ts')).maintenanceCommand],
  [['business'], async () => (await import('./business.ts')).businessCommands],
  [['key'], async () => (await import('./keys.ts')).keyCommands],
  [['client'], async () => (await import('./clients.ts')).clientCommands],
  [['invoice', 'inbox'], invoiceGroup],
  [['link'], async () => (await import('./links.ts')).linkCommands],
  [['refund-link'], async () => (await import('./refund-links.ts')).refundLinkCommands],
  [['withdrawal'], async () => (await import('./withdrawals.ts')).withdrawalCommands],
  [['gas'], async () => (await import('./gas.ts')).gasCommands],
  [['forward'], async () => (await import('./forwarding.ts')).forwardCommands],
  [['policy', 'address-book', 'rates'], async () => (await import('./policies.ts')).policyCommands],
  [['events'], async () => (await import('./events.ts')).eventCommands],
  [['webhook'], async () => (await import('./webhooks.ts')).webhookCommands],
  [['endpoint'], async () => (await import('./endpoints.ts')).endpointCommands],
  [['alert'], async () => (await import('./alerts.ts')).alertCommands],
  [['source'], async () => (await import('./sources.ts')).sourceCommands],
  [['wallet'], async () => (await import('./unlock.ts')).walletCommands],
  [['signer'], async () => (await import('./signer.ts')).signerCommands],
  [['service'], async () => (await import('./service.ts')).serviceCommands],
  [['backup', 'restore'], async () => (await import('./backup.ts')).backupCommands],
  [['ledger', 'export'], async () => (await import('./books.ts')).bookCommands],
  [['statement'], async () => (await import('./statement.ts')).statementCommand],
  [['closing'], async () => (await import('./closing.ts')).closingCommands],
  [['releases', 'verify'], async () => (await import('./releases.ts')).releaseCommands],
  [['config'], async () => (await import('./config.ts')).configCommand],
];

/** The options before a command that take the next word. */
const WITH_VALUE: readonly string[] = ['--data-dir', '--server'];

/** The modules that the arguments need: that of the command, or all for the help and for what is no command. */
function groupsFor(argv: readonly string[]): (typeof GROUPS)[number][] {
  const command = argv.find((word, at) => !word.startsWith('-') && !WITH_VALUE.includes(argv[at - 1] ?? ''));
  const own = GROUPS.filter(([commands]) => command !== undefined && commands.includes(command));
  return own.length > 0 ? own : [...GROUPS];
}

async function program(io: Io, json: boolean, argv: readonly string[]): Promise<Command> {
  const root = new Command('countinghouse')
    .description('Takes payments in cryptocurrency: a self-hosted appliance for one merchant.')
    .option('--data-dir <folder>', 'the data directory (or COUNTINGHOUSE_DATA_DIR)')
    .option('--server <name>', 'of a server that this computer signs for: the wallet is here, all else is there')
    .option('--json', 'print results as JSON, for scripts')
    .option('-y, --yes', 'answer confirmations with yes, for scripts')
    .option('-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => json || io.stderr.write(text),
      // it repeats what was given, with its control characters
      outputError: (text, write) => write(`${clean(text.trimEnd())}\n`),
    })
    .exitOverride();
  for (const attach of await Promise.all(groupsFor(argv).map(([, load]) => load()))) attach(root, io);
  return root;
}

type CommandError = { message: string; code: string; field?: string | undefined; exitCode: number };

function tell(io: Io, error: unknown, json: boolean): number {
  const { exitCode, ...told } = inWords(error);
  // all problems of a configuration are listed, one per line
  const lines =
    told.code === 'config' ? told.message.split('\n').map((line) => line.replace(/[^ ][\s\S]*/, clean)) : null;
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
