/** `countinghouse signer …`: a computer at home that has the wallet and signs for this server; both ends of it. */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { Rejected } from '../domain/errors.ts';
import type { UnlockSource } from '../wallet/signer/unlock.ts';
import { auditCommands, failIfStopped, lookTold } from './audit.ts';
import { action } from './commands.ts';
import { clean, EXIT, Failure, type Io, usage } from './io.ts';
import { moveCommand } from './moving.ts';
import { askLine, canAsk, confirm } from './prompt.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';

type Machines = Result<'signer.machines'>;

const POLL_MS = 1_000;
const CODE_TRIES_MAX = 3;

export function machineCommands(signer: Command, io: Io): void {
  signer
    .command('invite')
    .option('--no-wait', 'print the code, and do not wait for the computer')
    .description('on the server: make a code with which one computer becomes the one that signs')
    .action(action(io, invite));
  signer
    .command('join')
    .argument('<server>', 'its address, such as pay.shop.example')
    .argument('[code]', 'the code that `signer invite` printed there; otherwise it is asked for')
    .option('--name <name>', "this computer's name in the server's list (default: its host name)")
    .option('--as <name>', 'what the server is called here (default: its address)')
    .option('--proxy <url>', 'its SOCKS5 proxy, such as socks5h://127.0.0.1:9050 of Tor; "none": straight')
    .description('at home: connect this computer with a server')
    .action(
      action(io, (session, options: JoinOptions, ...names) =>
        session.asDataUser(() => join(session, options, ...names)),
      ),
    );
  signer
    .command('run')
    .option(
      '--no-notification',
      'show no notification of a foreign address, because the program that runs this one does',
    )
    .description('at home: sign for the server that --server names, while this runs; Ctrl-C stops it')
    .action(action(io, run));
  auditCommands(signer, io);
  signer
    .command('proxy')
    .argument('<url>', 'a SOCKS5 proxy, such as socks5h://127.0.0.1:9050 of Tor; "none": straight')
    .description('at home: reach the server that --server names in another way; restart `signer run` afterwards')
    .action(action(io, changeProxy));
  signer
    .command('servers')
    .description('at home: list the servers that this computer signs for')
    .action(action(io, servers));
  signer
    .command('machines')
    .description('on the server: show the computer that signs, and whether it is connected')
    .action(action(io, machines));
  signer
    .command('remove')
    .argument('<name>', 'as `signer machines` shows it')
    .description('on the server: end the connection with a computer for ever')
    .action(action(io, remove));
  moveCommand(signer, io);
}

async function invite(session: Session, { wait }: { wait: boolean }): Promise<void> {
  const { spacedCode } = await import('../contract/signing-machine.ts');
  const { server, code, ends_at } = await session.call('signer.invite', {});
  const [host, shown] = [server.replace(/^https:\/\//, ''), spacedCode(code)];
  const text = [
    `Invitation for one computer. It works once, until ${when(ends_at)} (10 minutes).`,
    '',
    `    Server   ${host}`,
    `    Code     ${shown}`,
    '',
    `In a terminal at home:    countinghouse signer join ${host}`,
    '',
    'The code tells your computer which server is the right one.',
    'Read it to nobody; type it, or copy it over a line that you trust.',
  ];
  if (server.startsWith('http://')) text.push('', TUNNEL);
  session.print({ server, code: shown, ends_at }, () => `${text.join('\n')}\n`);
  if (wait && !session.json && session.io.stdout.isTTY) await joined(session, Date.parse(ends_at));
}

const TUNNEL =
  'This address is for this machine alone. From home it is reached through an SSH tunnel, or set [console] public_url and a proxy before it.';

async function joined(session: Session, endsAt: number): Promise<void> {
  session.note('\nWaiting for the computer …  Ctrl-C ends the waiting; the code works on.');
  while (Date.now() < endsAt) {
    const [machine] = (await session.call('signer.machines', {})).machines;
    if (machine) {
      session.note(`Connected: ${clean(machine.name)}. It makes or has the words; nothing is to do here.`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Failure('no computer used the code in time', EXIT.failed, 'signer.code_expired');
}

type JoinOptions = { name?: string; as?: string; proxy?: string };

async function join(session: Session, options: JoinOptions, server = '', given?: string): Promise<void> {
  if (session.server !== null) throw usage('--server goes with servers that this computer has joined');
  const [{ MachineName }, { joinServer, needSameServer }, place] = await Promise.all([
    import('../contract/signing-machine.ts'),
    import('../home/dial.ts'),
    import('../home/place.ts'),
  ]);
  const name = MachineName.safeParse(options.name ?? hostname());
  if (!name.success) throw usage('--name: give a name of at most 60 characters');
  const { url, name: host } = place.addressOf(server);
  const called = options.as ?? host;
  const folder = place.serverFolder(session.dataDir, called);
  const former = await place.readServer(folder).catch(() => null);
  const proxy = place.proxyTo(url, options.proxy ?? former?.proxy ?? place.STRAIGHT);
  if ((await place.serverNames(session.dataDir)).includes(called)) {
    const question = `This computer has joined ${called} already. Join it anew? The wallet for it stays.`;
    await confirm(session.io, session.yes, question);
  }
  const code = await codeFrom(session, given);
  try {
    await needSameServer(folder, code);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    await confirm(session.io, session.yes, `${error.message}. Connect? Another --as gives it words of its own.`);
  }
  await place.writeServer(folder, await joinServer(url, code, name.data, proxy));
  const next = {
    words: `countinghouse --server ${called} business add --name "My shop" --network mainnet`,
    run: `countinghouse --server ${called} signer run`,
  };
  session.print({ server: called, url, proxy: proxy ?? null, name: name.data, next }, () => {
    const lines = [
      `Connected with ${url}${throughOf(proxy)}. It knows this computer as "${clean(name.data)}".`,
      '',
      `Make the words here:    ${next.words}`,
      `Sign, while it runs:    ${next.run}`,
    ];
    return `${lines.join('\n')}\n`;
  });
}

const throughOf = (proxy: string | undefined): string => (proxy === undefined ? '' : ` through ${proxy}`);

/** The code as it was typed, checked before anything is sent. */
async function codeFrom({ io }: Session, given: string | undefined): Promise<string> {
  const { readCode } = await import('../home/dial.ts');
  if (given === undefined && !canAsk(io))
    throw new Failure('there is no terminal to ask on: give the code', EXIT.failed, 'no_terminal');
  for (let tries = 1; ; tries++) {
    try {
      return await readCode(given ?? (await askLine(io, 'Code:')));
    } catch (error) {
      if (!(error instanceof Rejected) || given !== undefined || tries >= CODE_TRIES_MAX) throw error;
      io.stderr.write(`${error.message}.\n`);
    }
  }
}

type RunOptions = { autoLockMinutes: number; passphraseFile?: string; notification: boolean };

async function run(session: Session, { autoLockMinutes, passphraseFile, notification }: RunOptions): Promise<void> {
  if (session.server === null) throw usage('name the server: countinghouse --server NAME signer run');
  if (process.platform === 'win32') throw usage('this runs on Linux and macOS');
  const { server, dataDir } = session;
  const [{ signAtHome }, { isRemembered }, { version }] = await Promise.all([
    import('../home/signing.ts'),
    import('../home/place.ts'),
    import('./version.ts'),
  ]);
  const source = (): UnlockSource => {
    if (passphraseFile !== undefined) return { kind: 'file', path: passphraseFile };
    return isRemembered(dataDir) ? { kind: 'keychain', server } : { kind: 'prompt' };
  };
  const signing = await signAtHome({
    folder: dataDir,
    release: version(),
    autoLockMinutes,
    source,
    log: (message) => session.note(clean(message)),
    told: (isConnected) => session.note(isConnected ? `Connected with ${server}.` : 'The connection has ended.'),
    audit: { env: session.io.env, told: lookTold(session, notification) },
  });
  const { isStopped, stoppedText } = await import('../home/alarm.ts');
  if (await isStopped(dataDir)) session.note(stoppedText(server));
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  try {
    await Promise.race([stopped, signing.ended]);
  } finally {
    await signing.close();
  }
  await failIfStopped(session);
}

async function changeProxy(session: Session, _: object, through = ''): Promise<void> {
  if (session.server === null) throw usage('name the server: countinghouse --server NAME signer proxy URL');
  const { proxyTo, readServer, writeServer } = await import('../home/place.ts');
  const { proxy: _former, ...server } = await readServer(session.dataDir);
  const proxy = proxyTo(server.url, through);
  await writeServer(session.dataDir, proxy === undefined ? server : { ...server, proxy });
  session.print({ server: session.server, proxy: proxy ?? null }, () => `${server.url}${throughOf(proxy)}\n`);
}

async function servers(session: Session): Promise<void> {
  const { readServer, serverFolder, serverNames } = await import('../home/place.ts');
  const names = await serverNames(session.dataDir);
  const known = await Promise.all(
    names.map(async (server) => {
      const { url, proxy, name } = await readServer(serverFolder(session.dataDir, server));
      return { server, url, proxy, name };
    }),
  );
  session.print({ servers: known }, () =>
    table(
      ['SERVER', 'ADDRESS', 'KNOWS THIS COMPUTER AS'],
      known.map(({ server, url, proxy, name }) => [server, `${url}${throughOf(proxy)}`, name]),
      'This computer signs for no server yet: countinghouse signer join',
    ),
  );
}

async function machines(session: Session): Promise<void> {
  printMachines(session, await session.call('signer.machines', {}));
}

async function remove(session: Session, _options: object, name = ''): Promise<void> {
  const question = `Shall ${name} not sign here any more? Its words stay on it; withdrawals wait until another computer with the same words joins.`;
  await confirm(session.io, session.yes, question);
  printMachines(session, await session.call('signer.remove', { name }));
}

function printMachines(session: Session, found: Machines): void {
  session.print(found, () =>
    table(
      ['NAME', 'WALLET', 'STATE', 'SINCE', '>WAITING'],
      found.machines.map(({ name, fingerprint, connected, since, waiting }) => [
        name,
        fingerprint ?? '-',
        connected ? 'connected' : 'away',
        since === null ? '-' : when(since),
        `${waiting}`,
      ]),
      'No computer at home signs here. `countinghouse signer invite` makes a code for one.',
    ),
  );
}
