/**
 * Electrum servers of one's own: programs that the environment names, before a node of one's own. Their options are those
 * of Fulcrum's manual and of ElectrumX's documentation of its environment.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { spawnBound } from '../support/bound-child.ts';
import { freePort, type Litecoind } from './litecoind.ts';
import { OWN_NODES, type OwnNode, ownNode, ownTitle } from './own.ts';

type Start = { args: string[]; env: Record<string, string> };

/** `needs`: options of the node. `chains`: what it serves. */
type OwnElectrum = {
  name: string;
  variable: string;
  chains: readonly UtxoChain[];
  needs: readonly string[];
  start(node: Litecoind, folder: string, port: number): Start;
};

/** Of ElectrumX's coins, by their names there. */
const COINS: Readonly<Partial<Record<UtxoChain, string>>> = { BTC: 'Bitcoin', LTC: 'Litecoin' };

const OWN_ELECTRUM: readonly OwnElectrum[] = [
  {
    name: 'Fulcrum',
    variable: 'COUNTINGHOUSE_TEST_FULCRUM',
    chains: ['BTC', 'LTC', 'BCH'],
    needs: ['-txindex=1'],
    start: (node, folder, port) => ({
      args: [
        ...['--datadir', folder, '--bitcoind', `127.0.0.1:${node.port}`, '--tcp', `127.0.0.1:${port}`],
        ...['--rpcuser', 'user', '--rpcpassword', 'p@ss:word'],
      ],
      env: {},
    }),
  },
  {
    name: 'ElectrumX',
    variable: 'COUNTINGHOUSE_TEST_ELECTRUMX',
    chains: ['BTC', 'LTC'],
    needs: ['-txindex=1'],
    start: (node, folder, port) => ({
      args: [],
      env: {
        ...{ COIN: COINS[node.kind.chain] ?? '', NET: 'regtest', DAEMON_URL: `${node.url}/`, DB_DIRECTORY: folder },
        ...{ SERVICES: `tcp://127.0.0.1:${port}`, PEER_DISCOVERY: 'off', ALLOW_ROOT: '1' },
        // every client is on this machine: no session is to be slowed down
        ...{ COST_SOFT_LIMIT: '0', COST_HARD_LIMIT: '0' },
      },
    }),
  },
];

/** A node, and perhaps a server before it. */
type OwnWay = { own: OwnNode; server: OwnElectrum | null };

export const OWN_WAYS: readonly OwnWay[] = OWN_NODES.flatMap((own) => [
  { own, server: null },
  ...OWN_ELECTRUM.filter(({ chains }) => chains.includes(own.chain)).map((server) => ({ own, server })),
]);

/** Whether the environment names all of it. */
export const wayIsThere = ({ own, server }: OwnWay): boolean =>
  ownNode(own) !== null && (server === null || programOf(server) !== null);

/** The words that let a continuous integration skip it stand in the name (`test/run.mjs`). */
export function wayTitle({ own, server }: OwnWay, what: string): string {
  if (server === null || programOf(server)) return ownTitle(own, `${what}${server ? ` over ${server.name}` : ''}`);
  return `${what} over ${server.name} and ${own.name} (needs a networked machine: ${server.variable} names it)`;
}

const programOf = ({ variable }: OwnElectrum): string | null => process.env[variable] || null;

const READY_MS = 60_000;
const STOP_MS = 20_000;
const ANSWER_MS = 5_000;

/** One of them before a node; `close` and `listen` take it away and bring it back. */
export class OwnElectrumServer {
  readonly url: string;
  readonly #own: OwnElectrum;
  readonly #node: Litecoind;
  readonly #folder: string;
  readonly #port: number;
  #child: ChildProcess | null = null;

  private constructor(own: OwnElectrum, node: Litecoind, folder: string, port: number) {
    this.#own = own;
    this.#node = node;
    this.#folder = folder;
    this.#port = port;
    this.url = `tcp://127.0.0.1:${port}`;
  }

  static async start(own: OwnElectrum, node: Litecoind): Promise<OwnElectrumServer> {
    const folder = await mkdtemp(join(tmpdir(), 'own-electrum-'));
    const server = new OwnElectrumServer(own, node, folder, await freePort());
    await server.listen();
    return server;
  }

  async listen(): Promise<void> {
    const program = programOf(this.#own);
    if (program === null) throw new Error(`${this.#own.variable} names no program`);
    const data = join(this.#folder, 'data');
    await mkdir(data, { recursive: true });
    const { args, env } = this.#own.start(this.#node, data, this.#port);
    const { PATH = '' } = process.env;
    this.#child = spawnBound(program, args, { env: { PATH, HOME: this.#folder, ...env }, stdio: 'ignore' });
    await this.caughtUp();
  }

  /** Waits until it has the node's newest block. */
  async caughtUp(): Promise<void> {
    const height = await this.#node.rpc<number>('getblockcount', []);
    const tip = await this.#node.rpc<string>('getblockheader', [
      await this.#node.rpc<string>('getblockhash', [height]),
      false,
    ]);
    for (const deadline = Date.now() + READY_MS; ; await sleep(50)) {
      if (this.#child?.exitCode !== null) throw new Error(`${this.#own.name} ended with ${this.#child?.exitCode}`);
      const answer = await this.#ask('blockchain.headers.subscribe').catch(() => null);
      if (answer?.result?.hex === tip) return;
      if (Date.now() > deadline) throw new Error(`${this.#own.name} has not caught up: ${JSON.stringify(answer)}`);
    }
  }

  /** The answer to a call on a connection of its own. */
  async #ask(method: string): Promise<{ result?: { hex?: string } }> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', timeout: ANSWER_MS });
    socket.on('timeout', () => socket.destroy(new Error('no answer')));
    try {
      const lines = createInterface(socket)[Symbol.asyncIterator]();
      let answer = '';
      for (const [id, [name, ...params]] of [['server.version', 'test', '1.4'], [method]].entries()) {
        socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: name, params })}\n`);
        answer = (await lines.next()).value ?? '{}';
      }
      return JSON.parse(answer);
    } finally {
      socket.destroy();
    }
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  async stop(): Promise<void> {
    await this.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
