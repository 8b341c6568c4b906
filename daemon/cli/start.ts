/**
 * `countinghouse start`: runs the daemon until it is stopped.
 *
 * Invariant: with `--json`, stdout has exactly one line that begins with `{`, written once the service is ready.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Daemon } from '../main.ts';
import { action } from './commands.ts';
import { type ConfigOptions, configFile, configOption } from './config.ts';
import { belongsToService, EXIT, Failure, type Io, jsonLine, usage } from './io.ts';
import { port } from './parse.ts';
import type { Session } from './session.ts';
import { pairs } from './table.ts';

/** One Ctrl-C may arrive three times: from the terminal, through npm and through the launcher. */
const SAME_SIGNAL_MS = 1_000;
/** Shorter than the launcher's limit, so that this process can report a stop that hangs. */
const STOP_TIMEOUT_MS = 15_000;
/** Calls to a disk or a name server that take longer may never end. */
const CALLS_MS_MAX = 1_000;
const LOOK_MS = 20;
const OWNER_ONLY = 0o077;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

type StartOptions = ConfigOptions & { port?: number };

export function startCommand(root: Command, io: Io): void {
  root
    .command('start')
    .description('run the service; Ctrl-C stops it')
    .option('--port <port>', 'the port of the merchant API, 0 for any free one', port)
    .addOption(configOption())
    .action(action(io, start));
}

async function start(session: Session, options: StartOptions): Promise<void> {
  if (session.server !== null) throw usage('start runs a service on this computer: leave --server out');
  refuseForeignData(session.dataDir);
  // the database has view keys and customers' addresses, so its files are for the owner only
  process.umask(OWNER_ONLY);
  const { promise: asked, resolve: stop } = Promise.withResolvers<void>();
  const ignore = onStop(stop);
  const { io, dataDir } = session;
  try {
    const { startDaemon } = await import('../main.ts');
    const { port } = options;
    const daemon = await startDaemon({ dataDir, configFile: configFile(io, options), port, givesMemoryBack: true });
    const { stopWithParent } = await import('../launcher/parent.ts');
    stopWithParent(stop);
    io.stdout.write(session.json ? readyJson(daemon) : `${readyText(daemon)}${await consoleText(session, daemon)}`);
    if (daemon.firstKeys) await daemon.acknowledgeKeys();
    await asked;
    await stopInTime(session, daemon);
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'store.locked') throw error;
    const text = `another Countinghouse is running on ${dataDir}: stop it first, or give another --data-dir`;
    throw new Failure(text, EXIT.locked, 'store.locked');
  } finally {
    ignore();
  }
}

/** Root would create files in a service's folder that the service cannot open. */
function refuseForeignData(dataDir: string): void {
  if (!belongsToService(dataDir)) return;
  const text = `${dataDir} belongs to the service: \`systemctl start countinghouse\` starts it, or give another --data-dir`;
  throw new Failure(text, EXIT.locked, 'data_dir');
}

async function stopInTime(session: Session, daemon: Daemon): Promise<never> {
  const deadline = setTimeout(() => {
    session.note(`error: the service did not stop within ${STOP_TIMEOUT_MS / 1_000} s and was ended`);
    end(EXIT.failed);
  }, STOP_TIMEOUT_MS);
  const isInTime = await daemon.stop();
  clearTimeout(deadline);
  const until = performance.now() + CALLS_MS_MAX;
  while (waitsForCalls() && performance.now() < until) await sleep(LOOK_MS);
  // remaining handles, such as a closing socket, must not keep a stopped service running
  return end(0, !isInTime || waitsForCalls());
}

/** Calls to a disk that give promises are not listed: the part of the service that waits for one is late. */
const waitsForCalls = (): boolean =>
  process.getActiveResourcesInfo().some((what) => /^(?:FSReq|GetAddrInfo)/.test(what));

/**
 * `process.exit` waits for each call to a disk or a name server, also for one that never answers. A signal does not, except in a process
 * of number 1: a container needs an init. Supervisors take SIGTERM for a success and SIGKILL for a failure.
 */
function end(code: number, isStuck = waitsForCalls()): never {
  if (isStuck) {
    for (const signal of SIGNALS) process.removeAllListeners(signal);
    process.kill(process.pid, code === 0 ? 'SIGTERM' : 'SIGKILL');
  }
  return process.exit(code);
}

/**
 * The first signal asks for a clean stop; a later one that is no repeat of the same keystroke ends the process at once.
 * Returns a function that removes the handlers.
 */
function onStop(stop: () => void): () => void {
  let firstAt: number | null = null;
  const onSignal = (): void => {
    const now = performance.now();
    if (firstAt !== null && now - firstAt > SAME_SIGNAL_MS) end(EXIT.canceled);
    firstAt ??= now;
    stop();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  };
}

/**
 * A sign-in link for the person at the terminal. The first reader of it is signed in, so it goes into a log only if the operator
 * asked for that, and only until a first browser has signed in.
 */
async function consoleText(session: Session, { wantsFirstLink }: Daemon): Promise<string> {
  if (session.io.stdout.isTTY !== true && !wantsFirstLink) return '';
  try {
    const { url } = await session.call('console.open', {});
    const where = wantsFirstLink ? '' : ' on this computer';
    return `Open the console in a browser${where} (the link works once, for ten minutes):\n\n  ${url}\n\n`;
  } catch (error) {
    return `The console could not be opened: ${(error as Error).message}\n`;
  }
}

function readyJson({ url, dataDir, firstKeys }: Daemon): string {
  const keys = firstKeys && { api_key: firstKeys.apiKey, client_id: firstKeys.clientId };
  return jsonLine({ url, data_dir: dataDir, ...keys });
}

/** The curl line is quoted so that it can be pasted into a shell of any system. */
export function readyText({ url, dataDir, firstKeys }: Daemon): string {
  const api = `${url}/api/v1`;
  const places = pairs([
    ['  Merchant API', api],
    ['  API description', `${api}/openapi.json`],
    ['  Payment pages', `${url}/pay/{invoice}`],
    ['  Data', dataDir],
  ]);
  const running = `Countinghouse is running. Ctrl-C stops it.\n\n${places}`;
  if (!firstKeys) return `${running}\nMake more keys with: countinghouse key add BUSINESS --name NAME\n`;
  const keys = pairs([
    ['  API key', firstKeys.apiKey],
    ['  Client ID', firstKeys.clientId],
  ]);
  const curl =
    `curl -X POST ${api}/merchant/invoice -H "MB-API-KEY: ${firstKeys.apiKey}"` +
    ` -H "Content-Type: application/json" -d "{\\"amount\\":25}"`;
  return `${running}
A sandbox business is ready: simulated chains, no real money. Its keys are shown this once:

${keys}
Make an invoice of 25 USD and open the invoice_url of the answer:

  ${curl}

Or buy something in the example shop, as a payer would: ${url}/demo

`;
}
