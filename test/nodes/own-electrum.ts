/**
 * Electrum servers of one's own: programs that the environment names, before a node of one's own. Their options are those
 * of Fulcrum's manual and of ElectrumX's documentation of its environment.
 */
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseTransaction } from '../../daemon/chains/utxo/block.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { spawnBound } from '../support/bound-child.ts';
import { freePort, type Litecoind } from './litecoind.ts';
import { OWN_NODES, type OwnNode, ownNode, ownTitle } from './own.ts';

type Ask = <R>(method: string, ...params: string[]) => Promise<R | null>;

type Start = { args: string[]; env: Record<string, string> };

/** `needs`: options of the node. `chains`: what it serves. `neverBehind`: it keeps a block that its node took back. */
type OwnElectrum = {
  name: string;
  variable: string;
  chains: readonly UtxoChain[];
  needs: readonly string[];
  neverBehind: boolean;
  start(node: Litecoind, folder: string, port: number): Start;
};

/** Of ElectrumX's coins, by their names there. */
const COINS: Readonly<Partial<Record<UtxoChain, string>>> = {
  BTC: 'Bitcoin',
  LTC: 'Litecoin',
  BCH: 'BitcoinCash',
};

const OWN_ELECTRUM: readonly OwnElectrum[] = [
  {
    name: 'Fulcrum',
    variable: 'COUNTINGHOUSE_TEST_FULCRUM',
    chains: ['BTC', 'LTC', 'BCH'],
    needs: ['-txindex=1'],
    neverBehind: false,
    start: (node, folder, port) => ({
      args: [
        '--datadir',
        folder,
        '--bitcoind',
        `127.0.0.1:${node.port}`,
        '--tcp',
        `127.0.0.1:${port}`,
        '--rpcuser',
        'user',
        '--rpcpassword',
        'p@ss:word',
        // seconds between two looks at its node
        '--polltime',
        '0.5',
      ],
      env: {},
    }),
  },
  {
    name: 'ElectrumX',
    variable: 'COUNTINGHOUSE_TEST_ELECTRUMX',
    chains: ['BTC', 'LTC', 'BCH'],
    needs: ['-txindex=1'],
    neverBehind: true,
    start: (node, folder, port) => ({
      args: [],
      env: {
        COIN: COINS[node.kind.chain] ?? '',
        NET: 'regtest',
        DAEMON_URL: `${node.url}/`,
        DB_DIRECTORY: folder,
        SERVICES: `tcp://127.0.0.1:${port}`,
        PEER_DISCOVERY: 'off',
        ALLOW_ROOT: '1',
        // every client is on this machine: no session is to be slowed down
        COST_SOFT_LIMIT: '0',
        COST_HARD_LIMIT: '0',
        // milliseconds between two looks at its node; 5,000 unless it is told otherwise
        DAEMON_POLL_INTERVAL_BLOCKS: '200',
        DAEMON_POLL_INTERVAL_MEMPOOL: '200',
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
  /** What it was seen to have in its mempool. */
  #shown = new Map<string, string>();

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

  /** Waits until it has the node's newest block, and shows exactly what is in the node's mempool. */
  async caughtUp(): Promise<void> {
    const height = await this.#node.rpc<number>('getblockcount', []);
    const tip = await this.#node.rpc<string>('getblockheader', [
      await this.#node.rpc<string>('getblockhash', [height]),
      false,
    ]);
    const pool = await this.#scriptsInMempool();
    const until = Date.now() + READY_MS;
    await this.#holds(until, 'its tip', async (ask) => {
      const answer = await ask<{ hex?: string }>('blockchain.headers.subscribe');
      return answer?.hex === tip;
    });
    for (const [txid, script] of new Map([...this.#shown, ...pool])) {
      await this.#holds(until, `the mempool, of ${txid}`, async (ask) => {
        const list = await ask<{ tx_hash: string }[]>('blockchain.scripthash.get_mempool', script);
        return list?.some(({ tx_hash }) => tx_hash === txid) === pool.has(txid);
      });
    }
    this.#shown = pool;
  }

  /** Each transaction of the node's mempool, with the script hash (as Electrum's protocol has it) of its first output. */
  async #scriptsInMempool(): Promise<Map<string, string>> {
    const scripts = new Map<string, string>();
    for (const txid of await this.#node.rpc<string[]>('getrawmempool', [])) {
      const raw = await this.#node.rpc<string>('getrawtransaction', [txid]);
      const [first] = parseTransaction(Buffer.from(raw, 'hex'), this.#node.kind.chain).outputs;
      if (first) scripts.set(txid, createHash('sha256').update(first.script).digest().reverse().toString('hex'));
    }
    return scripts;
  }

  /** Asks again and again, until an answer satisfies or `until`, in milliseconds since 1970, is over. */
  async #holds(until: number, what: string, satisfied: (ask: Ask) => Promise<boolean>): Promise<void> {
    for (; ; await sleep(50)) {
      if (this.#child?.exitCode !== null) throw new Error(`${this.#own.name} ended with ${this.#child?.exitCode}`);
      if (await this.#connected(satisfied).catch(() => false)) return;
      if (Date.now() > until) throw new Error(`${this.#own.name} has not caught up with ${what}`);
    }
  }

  /** Runs `use` on a connection of its own; a call resolves to its result, or null when it failed. */
  async #connected<T>(use: (ask: Ask) => Promise<T>): Promise<T> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', timeout: ANSWER_MS });
    socket.on('timeout', () => socket.destroy(new Error('no answer')));
    try {
      const lines = createInterface(socket)[Symbol.asyncIterator]();
      let id = 0;
      const ask: Ask = async <R>(method: string, ...params: string[]) => {
        const asked = ++id;
        socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: asked, method, params })}\n`);
        // what it says unasked comes between
        for (let line = await lines.next(); !line.done; line = await lines.next()) {
          const answer = JSON.parse(line.value) as { id?: number; result?: R };
          if (answer.id === asked) return answer.result ?? null;
        }
        return null;
      };
      await ask('server.version', 'test', '1.4');
      return await use(ask);
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
