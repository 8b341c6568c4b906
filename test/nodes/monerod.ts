/**
 * A real monerod for tests: Debian's, in regtest, in a folder of its own, on a free loopback port, with a wallet that pays
 * (monero-wallet-rpc). Both are slow to start and to mine, so that tests share one.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { spawnBound } from '../support/bound-child.ts';
import { postJson } from '../support/exchange.ts';
import { selfSigned } from './certificate.ts';
import { freePort } from './litecoind.ts';

const PROGRAMS = ['/usr/bin/monerod', '/usr/bin/monero-wallet-rpc'];

/** With CI=true a missing program fails the tests; otherwise they are skipped, and their name says how to get it. */
export const hasMonerod = PROGRAMS.every((program) => existsSync(program)) || process.env.CI === 'true';
export const monerodTitle = (what: string): string => (hasMonerod ? what : `${what} (skipped: apt-get install monero)`);

// without `--rpc-ssl` each program makes an RSA key of 4,096 bits at its start, which takes seconds
const REGTEST = ['--regtest', '--fixed-difficulty', '1', '--keep-fakechain', '--rpc-ssl', 'disabled'];
/** In a node's folder, in place of the library that works for blocks. */
const NO_WORK = 'no-work.so';
const NO_WORK_SOURCE = join(import.meta.dirname, 'no-work.c');
const WALLET_TRIES_MAX = 3;
const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
/** Mined before the payer pays, so that it has coins of many blocks, which are each spendable after 60 more. */
const FUNDING_BLOCKS = 95;
const BLOCKS_PER_REQUEST = 20;
/** The payer's keys are the same each time, so that blocks are mined to it while its wallet is still being made. */
const PAYER = {
  address: '46NFLGmf5meFAG6dzzptiwH7J4Cwmrg54P2SL9YGCLRhi3pCUUgYNNDYJoMw87hRHx9246gfgt81NW5wtZ1enDLE25WGS6p',
  spendkey: '232dc2a8258040226082d9a43ece719be2e3a9be08d64cc3fa2a8f3d12903a0b',
  viewkey: '5088cdacb99f3585c184a78fccf44cf369d3564f2bac767d65689458326b530e',
};
/** Somebody's standard address, for blocks whose reward is not the payer's. */
const STRANGER = '42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm';

const run = promisify(execFile);

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Output = { address: string; units: bigint };

async function post<T>(port: number, path: string, body: Json): Promise<T> {
  return (await postJson(`http://127.0.0.1:${port}${path}`, body)) as T;
}

async function jsonRpc<T>(port: number, method: string, params: Json): Promise<T> {
  type Answer = { result: T; error?: { message: string } };
  const { result, error } = await post<Answer>(port, '/json_rpc', { jsonrpc: '2.0', id: '0', method, params });
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

export class Monerod {
  readonly port: number;
  readonly folder: string;
  #walletPort = 0;
  #node: ChildProcess | null = null;
  #wallet: ChildProcess | null = null;
  /** The last mining: of two at the same time each would refuse the other's blocks. */
  #mining: Promise<void> = Promise.resolve();

  private constructor(port: number, folder: string) {
    this.port = port;
    this.folder = folder;
  }

  /** Starts a node with a chain that a wallet can pay from. `like`: the folder of one that `leave` left. */
  static async start(like: string | null = null): Promise<Monerod> {
    const node = await Monerod.#new();
    if (like !== null) await copyChain(`${like}/.`, node.folder);
    await node.launch();
    const mined = like === null ? node.mine(FUNDING_BLOCKS, PAYER.address) : null;
    await Promise.all([mined, node.#launchWallet(like === null)]);
    return node;
  }

  /** Ends both programs, and leaves what they stored in this folder. */
  async leave(folder: string): Promise<void> {
    await this.wallet('refresh', {});
    await this.wallet('close_wallet', {});
    await ended(this.#wallet, 'SIGKILL');
    await this.stop();
    await copyChain(this.folder, folder);
    await this.remove();
  }

  /**
   * Starts a node of the public test network that knows nothing but its first block, and that answers over TLS with a certificate
   * that nobody vouches for. `login`: user:password.
   */
  static async stagenet(login: string): Promise<Monerod> {
    const node = await Monerod.#new();
    const { key, cert } = selfSigned();
    const [keyFile, certFile] = [join(node.folder, 'key.pem'), join(node.folder, 'cert.pem')];
    await writeFile(keyFile, key);
    await writeFile(certFile, cert);
    const tls = ['--rpc-ssl', 'enabled', '--rpc-ssl-private-key', keyFile, '--rpc-ssl-certificate', certFile];
    await node.launch(['--stagenet', '--rpc-login', login, ...tls]);
    return node;
  }

  static async #new(): Promise<Monerod> {
    const folder = await mkdtemp(join(tmpdir(), 'monerod-'));
    // without a compiler and its headers it works for its blocks
    await run('cc', ['-shared', '-fPIC', '-o', join(folder, NO_WORK), NO_WORK_SOURCE]).catch(() => undefined);
    return new Monerod(await freePort(), folder);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async launch(options: readonly string[] = REGTEST): Promise<void> {
    const peers = await freePort();
    this.#node = spawnBound(
      PROGRAMS[0] as string,
      [
        '--offline',
        '--data-dir',
        join(this.folder, 'chain'),
        '--non-interactive',
        '--no-zmq',
        '--no-igd',
        '--disable-rpc-ban',
        '--rpc-bind-ip',
        '127.0.0.1',
        '--rpc-bind-port',
        String(this.port),
        '--p2p-bind-ip',
        '127.0.0.1',
        '--p2p-bind-port',
        String(peers),
        '--db-sync-mode',
        'fastest:async:1000',
        '--log-file',
        join(this.folder, 'monerod.log'),
        '--log-level',
        '0',
        ...options,
      ],
      { stdio: 'ignore', env: { ...process.env, LD_PRELOAD: join(this.folder, NO_WORK) } },
    );
    // it listens once it is ready; the content of an answer depends on its options
    await this.#ready(this.#node, async () => {
      const socket = connect(this.port, '127.0.0.1');
      await once(socket, 'connect').finally(() => socket.destroy());
    });
  }

  async #launchWallet(isNew: boolean): Promise<void> {
    const { port, child } = await this.#startWallet(this.folder);
    this.#walletPort = port;
    this.#wallet = child;
    const opened = { filename: 'payer', password: '' };
    if (isNew) await this.wallet('generate_from_keys', { ...opened, restore_height: 0, ...PAYER });
    else await this.wallet('open_wallet', opened);
  }

  /** Starts the program of a wallet at a free port, and at another one where somebody has taken that meanwhile. */
  async #startWallet(folder: string): Promise<{ port: number; child: ChildProcess }> {
    for (let tries = 1; ; tries++) {
      const port = await freePort();
      const child = this.#walletProgram(port, folder);
      try {
        // a node that has the port knows nothing of languages
        await this.#ready(child, () => jsonRpc(port, 'get_languages', {}));
        return { port, child };
      } catch (error) {
        if (child.exitCode === null || tries >= WALLET_TRIES_MAX) throw error;
      }
    }
  }

  #walletProgram(port: number, folder: string): ChildProcess {
    return spawnBound(
      PROGRAMS[1] as string,
      [
        '--rpc-bind-ip',
        '127.0.0.1',
        '--rpc-bind-port',
        String(port),
        '--disable-rpc-login',
        '--rpc-ssl',
        'disabled',
        '--daemon-ssl',
        'disabled',
        '--wallet-dir',
        folder,
        // the user's is shared by all, and a wallet that was killed leaves it locked
        '--shared-ringdb-dir',
        join(folder, 'rings'),
        '--daemon-address',
        `127.0.0.1:${this.port}`,
        '--trusted-daemon',
        '--log-file',
        join(folder, 'wallet.log'),
        '--log-level',
        '0',
      ],
      { stdio: 'ignore' },
    );
  }

  /** Another wallet, of somebody who is not the payer, in a program and a folder of its own. */
  async otherWallet(): Promise<OtherWallet> {
    const folder = await mkdtemp(join(tmpdir(), 'monero-wallet-'));
    const { port, child } = await this.#startWallet(folder);
    const wallet = new OtherWallet(port, folder, child);
    await wallet.call('create_wallet', { filename: OTHER, password: '', language: 'English' });
    return wallet;
  }

  async #ready(child: ChildProcess, ask: () => Promise<unknown>): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
      try {
        await ask();
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await sleep(50);
      }
    }
  }

  /** The process of the payer's wallet. */
  get walletPid(): number | undefined {
    return this.#wallet?.pid;
  }

  rpc<T = Json>(method: string, params: Json): Promise<T> {
    return jsonRpc<T>(this.port, method, params);
  }

  /** The node's methods that have a path of their own. */
  other<T = Json>(path: string, body: Json): Promise<T> {
    return post<T>(this.port, path, body);
  }

  wallet<T = Json>(method: string, params: Json): Promise<T> {
    return jsonRpc<T>(this.#walletPort, method, params);
  }

  /** Mines blocks with what is in the pool. */
  mine(count: number, address = STRANGER): Promise<void> {
    const mined = this.#mining.then(async () => {
      await this.#relayed();
      // a request for many would take longer than a client waits
      for (let left = count; left > 0; left -= BLOCKS_PER_REQUEST) {
        const amount_of_blocks = Math.min(left, BLOCKS_PER_REQUEST);
        await this.rpc('generateblocks', { amount_of_blocks, wallet_address: address });
      }
    });
    this.#mining = mined.catch(() => undefined);
    return mined;
  }

  /** Puts one transaction with these outputs into the pool; returns its id. */
  async pay(outputs: readonly Output[], options: { [key: string]: Json } = {}): Promise<string> {
    await this.wallet('refresh', {});
    const destinations = outputs.map(({ address, units }) => ({ address, amount: Number(units) }));
    return (await this.wallet<{ tx_hash: string }>('transfer', { destinations, ...options })).tx_hash;
  }

  /** Another subaddress of the payer's. */
  async newAddress(): Promise<string> {
    return (await this.wallet<{ address: string }>('create_address', { account_index: 0 })).address;
  }

  /** What a subaddress of the payer's has got in blocks, piconero. */
  async received(address: string): Promise<bigint> {
    return (await this.payments(address)).reduce((sum, { units }) => sum + units, 0n);
  }

  /** The payments in blocks to a subaddress of the payer's. */
  async payments(address: string): Promise<{ txid: string; units: bigint }[]> {
    await this.wallet('refresh', {});
    const { index } = await this.wallet<{ index: { minor: number } }>('get_address_index', { address });
    const { in: found = [] } = await this.wallet<{ in?: { amount: number; txid: string }[] }>('get_transfers', {
      in: true,
      account_index: 0,
      subaddr_indices: [index.minor],
    });
    return found.map(({ amount, txid }) => ({ txid, units: BigInt(amount) }));
  }

  /** Two transactions that spend the same output of the payer's, one to each address, and that nobody has yet (hex). */
  async rivals(
    addresses: readonly [string, string],
    options: { [key: string]: Json } = {},
  ): Promise<{ raw: string; units: bigint }[]> {
    await this.wallet('refresh', {});
    const { transfers } = await this.wallet<{ transfers: { key_image: string; amount: number; unlocked: boolean }[] }>(
      'incoming_transfers',
      { transfer_type: 'available', account_index: 0 },
    );
    const largest = transfers.filter(({ unlocked }) => unlocked).toSorted((a, b) => b.amount - a.amount)[0];
    const key_image = largest?.key_image ?? '';
    const made: { raw: string; units: bigint }[] = [];
    for (const address of addresses) {
      const { tx_blob, amount } = await this.wallet<{ tx_blob: string; amount: number }>('sweep_single', {
        address,
        key_image,
        do_not_relay: true,
        get_tx_hex: true,
        ...options,
      });
      made.push({ raw: tx_blob, units: BigInt(amount) });
    }
    return made;
  }

  /** A transaction is not mined before the node has sent it on, which it notes a moment after it took it in. */
  async #relayed(): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      const { transactions = [] } = await this.other<{ transactions?: { relayed: boolean }[] }>(
        '/get_transaction_pool',
        {},
      );
      if (transactions.every(({ relayed }) => relayed)) return;
      if (performance.now() > deadline) throw new Error('a transaction is not sent on');
      await sleep(10);
    }
  }

  /** The bytes of transactions, as hex. */
  async raw(txids: readonly string[]): Promise<string[]> {
    if (txids.length === 0) return [];
    const { txs } = await this.other<{ txs: { as_hex: string }[] }>('/get_transactions', { txs_hashes: [...txids] });
    return txs.map(({ as_hex }) => as_hex);
  }

  /** Whether it has a transaction, in a block or in its pool. */
  async has(txid: string): Promise<boolean> {
    const { txs = [] } = await this.other<{ txs?: unknown[] }>('/get_transactions', { txs_hashes: [txid] });
    return txs.length > 0;
  }

  async pool(): Promise<string[]> {
    return (await this.other<{ tx_hashes?: string[] }>('/get_transaction_pool_hashes', {})).tx_hashes ?? [];
  }

  async flush(txids: readonly string[] = []): Promise<void> {
    await this.rpc('flush_txpool', txids.length === 0 ? {} : { txids: [...txids] });
  }

  async submit(raw: string): Promise<void> {
    const answer = await this.offer(raw);
    if (answer.status !== 'OK') throw new Error(`send_raw_transaction: ${JSON.stringify(answer)}`);
  }

  /** Hands a transaction over, which it may refuse. */
  offer(raw: string): Promise<{ status: string; double_spend?: boolean }> {
    return this.other('/send_raw_transaction', { tx_as_hex: raw });
  }

  /** Has it take the newest block of another node on the same chain, whose transactions it has. */
  async takeBlock(from: Monerod): Promise<void> {
    const { height } = await from.rpc<{ height: number }>('get_info', {});
    const { blob } = await from.rpc<{ blob: string }>('get_block', { height: height - 1 });
    await this.rpc('submit_block', [blob]);
  }

  /** A second node with a copy of its chain; the two do not know each other. */
  async twin(): Promise<Monerod> {
    const twin = await Monerod.#new();
    this.freeze();
    try {
      await copyChain(join(this.folder, 'chain'), twin.folder);
    } finally {
      this.thaw();
    }
    await twin.launch();
    return twin;
  }

  /** It takes connections and answers nothing, until `thaw`. */
  freeze(): void {
    this.#node?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#node?.kill('SIGCONT');
  }

  /** It ends at once, as with its machine. */
  die(): Promise<void> {
    return ended(this.#node, 'SIGKILL');
  }

  /** The last `depth` blocks give way to `depth + 1` empty ones; their transactions return to the pool or go. */
  async reorg(depth: number, drop: boolean): Promise<void> {
    await this.other('/pop_blocks', { nblocks: depth });
    const txids = drop ? [] : await this.pool();
    const raws = await this.raw(txids);
    await this.flush();
    await this.mine(depth + 1, PAYER.address);
    for (const raw of raws) await this.submit(raw);
  }

  /** Goes back to as many blocks as there were, with an empty pool. The payer's wallet learns that with the next block. */
  async rewind(blocks: number): Promise<void> {
    const { height } = await this.rpc<{ height: number }>('get_info', {});
    if (height > blocks) await this.other('/pop_blocks', { nblocks: height - blocks });
    await this.flush();
  }

  async stop(): Promise<void> {
    await ended(this.#node, 'SIGINT');
  }

  /** Ends both programs and removes what they stored. */
  async remove(): Promise<void> {
    await ended(this.#wallet, 'SIGKILL');
    await ended(this.#node, 'SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Its file is a gigabyte, mostly holes. */
const copyChain = (from: string, to: string) => run('cp', ['-r', '--sparse=always', from, to]);

export const OTHER = 'other';

/** A wallet of monero-wallet-rpc that is not the payer's. */
export class OtherWallet {
  readonly #port: number;
  readonly #child: ChildProcess;
  readonly folder: string;

  constructor(port: number, folder: string, child: ChildProcess) {
    this.#port = port;
    this.folder = folder;
    this.#child = child;
  }

  call<T = Json>(method: string, params: Json): Promise<T> {
    return jsonRpc<T>(this.#port, method, params);
  }

  async address(): Promise<string> {
    return (await this.call<{ address: string }>('get_address', { account_index: 0 })).address;
  }

  async key(kind: 'view_key' | 'spend_key' | 'mnemonic'): Promise<string> {
    return (await this.call<{ key: string }>('query_key', { key_type: kind })).key;
  }

  /** What it has in blocks, piconero. */
  async balance(): Promise<bigint> {
    await this.call('refresh', {});
    return BigInt((await this.call<{ balance: number }>('get_balance', { account_index: 0 })).balance);
  }

  /** Puts a transaction into the pool; returns its id and its fee, piconero. */
  async pay(address: string, units: bigint): Promise<{ txid: string; fee: bigint }> {
    await this.call('refresh', {});
    const destinations = [{ address, amount: Number(units) }];
    const { tx_hash, fee } = await this.call<{ tx_hash: string; fee: number }>('transfer', { destinations });
    return { txid: tx_hash, fee: BigInt(fee) };
  }

  async remove(): Promise<void> {
    await ended(this.#child, 'SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function ended(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await end;
  clearTimeout(timer);
}
