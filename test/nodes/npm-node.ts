/**
 * bcoin (BTC) and bcash (BCH) for tests: real nodes from npm, each in a process of its own, in regtest, in memory, with
 * a payer inside, shaped like `Litecoind`. They are no dependency of the product: they lie in test/nodes/node_modules,
 * which `test/run.mjs` installs.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from './electrum-chain.ts';
import { freePort, type Output } from './litecoind.ts';

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 5_000;
const API_KEY = 'secret';

/** With CI=true missing packages fail the tests; otherwise they are skipped, and their name says how to get them. */
export const hasNpmNodes =
  existsSync(join(import.meta.dirname, 'node_modules', '.package-lock.json')) || process.env.CI === 'true';
export const npmNodesTitle = (what: string): string =>
  hasNpmNodes ? what : `${what} (skipped: npm ci --ignore-scripts --prefix test/nodes)`;

type Answer = { ready?: true; id?: number; result?: Json; error?: string };
type Pending = { resolve: (value: Json) => void; reject: (error: Error) => void };

export class NpmNode {
  readonly kind: 'bcoin' | 'bcash';
  readonly port: number;
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  private constructor(kind: 'bcoin' | 'bcash', port: number, folder: string, child: ChildProcess) {
    this.kind = kind;
    this.port = port;
    this.folder = folder;
    this.#child = child;
    child.on('message', (answer: Answer) => {
      const pending = answer.id === undefined ? undefined : this.#pending.get(answer.id);
      if (answer.id !== undefined) this.#pending.delete(answer.id);
      if (answer.error !== undefined) pending?.reject(new Error(answer.error));
      else pending?.resolve(answer.result ?? null);
    });
    child.on('exit', (code) => {
      for (const { reject } of this.#pending.values()) reject(new Error(`${kind} ended with ${code}`));
      this.#pending.clear();
    });
  }

  /** Starts a node with an empty chain. */
  static async start(kind: 'bcoin' | 'bcash'): Promise<NpmNode> {
    const folder = await mkdtemp(join(tmpdir(), `${kind}-`));
    const port = await freePort();
    const child = fork(join(import.meta.dirname, 'npm-node.mjs'), [kind, String(port)], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // What the test runner's own options would do to a plain script.
      execArgv: [],
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000);
    });
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${kind} did not start: ${said}`)), START_TIMEOUT_MS);
      child.once('message', () => resolve());
      child.once('exit', (code) => reject(new Error(`${kind} ended with ${code}: ${said}`)));
      child.once('error', reject);
      child.once('message', () => clearTimeout(timer));
    });
    return new NpmNode(kind, port, folder, child);
  }

  /** The RPC's address, with the key as the password, as a configuration has it. */
  get url(): string {
    return `http://x:${API_KEY}@127.0.0.1:${this.port}`;
  }

  get segwit(): boolean {
    return this.kind === 'bcoin';
  }

  /** Calls the node's RPC. Throws its errors, which come with HTTP status 200. */
  async rpc<T = Json>(method: string, params: Json[] = []): Promise<T> {
    const body = JSON.stringify({ id: 1, method, params });
    const text = await new Promise<string>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.port, method: 'POST', auth: `x:${API_KEY}`, agent: false };
      const headers = { 'content-type': 'application/json' };
      const request = http.request({ ...options, headers }, async (response) => {
        resolve((await response.setEncoding('utf8').toArray()).join(''));
      });
      request.on('error', reject);
      request.end(body);
    });
    const { result, error } = JSON.parse(text) as { result: T; error: { message: string } | null };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Has the node's process do what its RPC cannot. */
  #tell<T = void>(command: string, ...params: unknown[]): Promise<T> {
    const id = ++this.#lastId;
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve: (value) => resolve(value as T), reject });
      this.#child.send({ id, command, params: params.map(plain) });
    });
  }

  /** An address of nobody's. */
  newAddress(): Promise<string> {
    return this.#tell('newAddress');
  }

  /** Mines blocks with what is in the mempool; the coinbase goes to `address`, by default the payer's. */
  mine(count: number, address?: string): Promise<void> {
    return this.#tell('mine', count, ...(address === undefined ? [] : [address]));
  }

  /** Enough confirmed coins to pay from. */
  async fund(): Promise<void> {
    await this.mine(110);
  }

  /** Puts a payment into the mempool (replaceable, unless said otherwise), and returns its id. */
  pay(outputs: Output[], { replaceable = true } = {}): Promise<string> {
    return this.#tell('pay', outputs, { replaceable });
  }

  send(address: string, units: bigint): Promise<string> {
    return this.pay([{ address, units }]);
  }

  /** Spends a coin by its key (in wallet import format) to nobody, less a fee; returns the transaction's id. */
  spend(secret: string, txid: string, vout: number): Promise<string> {
    return this.#tell('spend', secret, txid, vout);
  }

  /** The ids of what is in the mempool. */
  mempool(): Promise<string[]> {
    return this.rpc<string[]>('getrawmempool');
  }

  /** Enters a signed transaction (hex). Throws why it is refused, which `sendrawtransaction` of these nodes does not. */
  submit(raw: string): Promise<string> {
    return this.#tell('submit', raw);
  }

  /** A signed transaction that spends the inputs of an unconfirmed payment to the payer. */
  conflictOf(txid: string, outputs: Output[] = []): Promise<string> {
    return this.#tell('conflictOf', txid, outputs);
  }

  /** Replaces an unconfirmed payment by one that goes elsewhere. */
  replace(txid: string): Promise<string> {
    return this.#tell('replace', txid, []);
  }

  /** Replaces an unconfirmed payment by one with a higher fee that pays `outputs`, and the rest to the payer. */
  bump(txid: string, outputs: Output[]): Promise<string> {
    return this.#tell('replace', txid, outputs);
  }

  /**
   * Replaces the last `depth` blocks by `depth + 1`. The transactions of the old ones return to the mempool, or, with
   * `drop`, are spent away in the new ones.
   */
  reorg(depth: number, drop: boolean): Promise<void> {
    return this.#tell('reorg', depth, drop);
  }

  /** Forgets every unconfirmed transaction. */
  evictAll(): Promise<void> {
    return this.#tell('evictAll');
  }

  /** Falls back by one block, until `catchUp`. */
  lag(): Promise<void> {
    return this.#tell('lag');
  }

  catchUp(): Promise<void> {
    return this.#tell('catchUp');
  }

  /** Closes the RPC's port, until `reconnect`. The chain, which lies in memory, stays. */
  disconnect(): Promise<void> {
    return this.#tell('disconnect');
  }

  reconnect(): Promise<void> {
    return this.#tell('reconnect');
  }

  /** Ends the node; its chain is gone with it. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      child.kill();
      await ended;
      clearTimeout(deadline);
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  /** As `Litecoind.remove`. */
  remove(): Promise<void> {
    return this.stop();
  }
}

/** What can be sent to another process: amounts as text. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? one.toString() : one)));
}
