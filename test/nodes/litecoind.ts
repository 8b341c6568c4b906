/**
 * A real litecoind for tests: Debian's, in regtest, in a folder of its own, on a free loopback port, with a wallet that
 * pays. It sends nothing by itself (-walletbroadcast=0), so that a transaction is in the mempool only when a test put it
 * there.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { scriptOf } from '../../daemon/chains/utxo/address.ts';
import { type ParsedTransaction, parseTransaction } from '../../daemon/chains/utxo/block.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { writeTransaction } from '../adapters/fixtures/serial.ts';
import { spawnBound } from '../support/bound-child.ts';
import { minedBlock } from './mined-block.ts';

/** The program itself, unless the environment names another: Debian's /usr/bin/litecoind writes to the home folder. */
const PROGRAM = process.env.COUNTINGHOUSE_TEST_LITECOIND ?? '/usr/lib/litecoin/litecoind';

/** A program of Bitcoin Core's family, and what is its own. */
export type NodeKind = { chain: UtxoChain; program: string; options: readonly string[] };

const LITECOIN: NodeKind = { chain: 'LTC', program: PROGRAM, options: ['-mempoolreplacement=1'] };
/** Keeps MWEB from activating. */
const WITHOUT_MWEB = '-vbparams=mweb:4102444800:4133980800';

/** With CI=true a missing program fails the tests; otherwise they are skipped, and their name says how to get it. */
export const hasLitecoind = existsSync(PROGRAM) || process.env.CI === 'true';
export const litecoindTitle = (what: string): string =>
  hasLitecoind ? what : `${what} (skipped: apt-get install litecoind)`;

const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
const FEE_UNITS = 20_000n;
const REPLACEMENT_FEE_UNITS = 100_000n;
/** Whether a transaction signals that it may be replaced (BIP-125). */
const SEQUENCE_REPLACEABLE = 0xffff_fffd;
const SEQUENCE_FINAL = 0xffff_fffe;

export type Output = { address: string; units: bigint };
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export class Litecoind {
  readonly port: number;
  readonly folder: string;
  readonly kind: NodeKind;
  readonly #options: readonly string[];
  #process: ChildProcess | null = null;
  #address = '';

  private constructor(port: number, folder: string, kind: NodeKind, options: readonly string[]) {
    this.port = port;
    this.folder = folder;
    this.kind = kind;
    this.#options = options;
  }

  /** Starts a node with an empty chain and a wallet. MWEB, if it is wanted, activates at height 432. */
  static async start({ mweb = false, kind = LITECOIN } = {}): Promise<Litecoind> {
    const folder = await mkdtemp(join(tmpdir(), `${basename(kind.program)}-`));
    const options = kind.chain === 'LTC' && !mweb ? [...kind.options, WITHOUT_MWEB] : kind.options;
    const node = new Litecoind(await freePort(), folder, kind, options);
    await node.launch();
    if (!node.#hasOneWallet) await node.rpc('createwallet', ['payer']);
    node.#address = await node.rpc<string>('getnewaddress', []);
    return node;
  }

  get url(): string {
    return `http://user:p%40ss%3Aword@127.0.0.1:${this.port}`;
  }

  /** BCHN opens a wallet of its own accord; a second one would have to be named in every call. */
  get #hasOneWallet(): boolean {
    return this.kind.chain === 'BCH';
  }

  async launch(options: string[] = []): Promise<void> {
    const known =
      existsSync(join(this.folder, 'regtest', 'wallets', 'payer')) || existsSync(join(this.folder, 'regtest', 'payer'));
    const child = spawnBound(
      this.kind.program,
      [
        '-regtest',
        `-datadir=${this.folder}`,
        `-rpcport=${this.port}`,
        '-rpcbind=127.0.0.1',
        '-rpcallowip=127.0.0.1',
        '-rpcuser=user',
        '-rpcpassword=p@ss:word',
        '-listen=0',
        '-server',
        ...(options.some((option) => option.startsWith('-walletbroadcast')) ? [] : ['-walletbroadcast=0']),
        '-fallbackfee=0.0002',
        '-dbcache=4',
        // by default a new wallet makes 2,000 keys, in two seconds
        '-keypool=5',
        ...this.#options,
        ...(known && !this.#hasOneWallet ? ['-wallet=payer'] : []),
        ...options,
      ],
      { stdio: 'ignore' },
    );
    this.#process = child;
    await this.#ready(child);
  }

  async #ready(child: ChildProcess): Promise<void> {
    const deadline = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`${this.kind.program} ended with ${child.exitCode}`);
      try {
        await this.rpc('getblockchaininfo', []);
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await sleep(50);
      }
    }
  }

  async rpc<T = Json>(method: string, params: Json[]): Promise<T> {
    const body = JSON.stringify({ jsonrpc: '1.0', id: 1, method, params });
    const { result, error } = JSON.parse(await this.#post(body)) as { result: T; error: { message: string } | null };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** On a connection of its own: the node waits for kept ones before it ends. */
  #post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.port, method: 'POST', auth: 'user:p@ss:word', agent: false };
      const request = http.request(options, async (response) => {
        resolve((await response.setEncoding('utf8').toArray()).join(''));
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  script(address: string): Uint8Array {
    const script = scriptOf(address, this.kind.chain, 'regtest');
    if (!script) throw new Error(`no address: ${address}`);
    return script;
  }

  newAddress(): Promise<string> {
    return this.rpc<string>('getnewaddress', []);
  }

  /** Mines blocks with what is in the mempool; the coinbase goes to `address`, by default the payer's. */
  async mine(count: number, address?: string): Promise<void> {
    await this.rpc('generatetoaddress', [count, address ?? this.#address]);
  }

  /** Enough confirmed coins to pay from. */
  async fund(): Promise<void> {
    await this.mine(110);
  }

  /** Puts a payment into the mempool (replaceable, unless said otherwise), and returns its id. */
  async pay(outputs: Output[], { replaceable = true } = {}): Promise<string> {
    const total = outputs.reduce((sum, { units }) => sum + units, FEE_UNITS);
    const inputs: { txid: string; vout: number }[] = [];
    let gathered = 0n;
    for (const coin of await this.#coins()) {
      if (gathered >= total) break;
      inputs.push({ txid: coin.txid, vout: coin.vout });
      gathered += coin.units;
    }
    if (gathered < total) throw new Error('the payer has too few coins');
    const change = { address: await this.newAddress(), units: gathered - total };
    const to = change.units > 0n ? [...outputs, change] : outputs;
    // Written here: the node's own createrawtransaction refuses to pay an address twice.
    const raw = writeTransaction({
      inputs: inputs.map((input) => ({ ...input, sequence: replaceable ? SEQUENCE_REPLACEABLE : SEQUENCE_FINAL })),
      outputs: to.map(({ address, units }) => ({ units, script: this.script(address) })),
    }).toString('hex');
    return this.rpc<string>('sendrawtransaction', [await this.#signed(raw)]);
  }

  async #coins(): Promise<{ txid: string; vout: number; units: bigint }[]> {
    const all = await this.rpc<{ txid: string; vout: number; amount: number; spendable: boolean }[]>(
      'listunspent',
      [1],
    );
    return all
      .filter((coin) => coin.spendable && Number.isInteger(coin.vout))
      .map((coin) => ({ txid: coin.txid, vout: coin.vout, units: BigInt(Math.round(coin.amount * 1e8)) }));
  }

  async #signed(raw: string): Promise<string> {
    const { hex, complete } = await this.rpc<{ hex: string; complete: boolean }>('signrawtransactionwithwallet', [raw]);
    if (!complete) throw new Error('the payer cannot sign');
    return hex;
  }

  /** A transaction that the wallet knows, also one that has left the mempool. */
  async #walletTransaction(txid: string): Promise<ParsedTransaction> {
    const { hex } = await this.rpc<{ hex: string }>('gettransaction', [txid]);
    return parseTransaction(Buffer.from(hex, 'hex'), this.kind.chain);
  }

  /** A signed transaction that spends the inputs of one of the wallet's to `outputs`, and the rest to the payer. */
  async conflictOf(txid: string, outputs: { units: bigint; script: Uint8Array }[] = []): Promise<string> {
    const spent = (await this.#walletTransaction(txid)).inputs;
    const inputs = spent.map((input) => ({ txid: input.txid, vout: input.vout, sequence: SEQUENCE_REPLACEABLE }));
    let units = outputs.reduce((left, output) => left - output.units, -REPLACEMENT_FEE_UNITS);
    for (const input of inputs) {
      units += (await this.#walletTransaction(input.txid)).outputs[input.vout]?.units ?? 0n;
    }
    const change = { units, script: this.script(await this.newAddress()) };
    return this.#signed(writeTransaction({ inputs, outputs: [...outputs, change] }).toString('hex'));
  }

  /** Replaces an unconfirmed payment by one with a higher fee that pays `outputs` as the first did, less change. */
  async bump(txid: string, outputs: Output[]): Promise<string> {
    const paid = outputs.map(({ address, units }) => ({ units, script: this.script(address) }));
    return this.rpc<string>('sendrawtransaction', [await this.conflictOf(txid, paid)]);
  }

  /** Replaces an unconfirmed payment by one that goes elsewhere: where nodes replace nothing, in a block. */
  async replace(txid: string): Promise<void> {
    const conflict = await this.conflictOf(txid);
    if (this.kind.chain === 'BCH') await this.#mineOnly([conflict]);
    else await this.rpc('sendrawtransaction', [conflict]);
  }

  /** Mines a block with these transactions and no others of the mempool. */
  async #mineOnly(transactions: string[]): Promise<void> {
    if (this.kind.chain !== 'BCH') {
      // A reward of its own, or a block mined within the second could be one that was invalidated.
      await this.rpc('generateblock', [await this.newAddress(), transactions]);
      return;
    }
    const previous = await this.rpc<string>('getbestblockhash', []);
    const tip = await this.rpc<{ height: number; mediantime: number }>('getblockheader', [previous]);
    const timeSeconds = Math.max(tip.mediantime + 1, Math.floor(Date.now() / 1000));
    const refused = await this.rpc<string | null>('submitblock', [
      minedBlock({ previous, height: tip.height + 1, timeSeconds, transactions }),
    ]);
    if (refused !== null) throw new Error(`submitblock: ${refused}`);
  }

  /**
   * Replaces the last `depth` blocks by `depth + 1`. The transactions of the old ones return to the mempool, or, with
   * `drop`, are spent away in the new ones.
   */
  async reorg(depth: number, drop: boolean): Promise<void> {
    const height = await this.rpc<number>('getblockcount', []);
    const orphaned: string[] = [];
    for (let at = height; at > height - depth; at--) {
      const { tx } = await this.rpc<{ tx: string[] }>('getblock', [await this.rpc<string>('getblockhash', [at])]);
      orphaned.push(...tx.slice(1));
    }
    await this.rpc('invalidateblock', [await this.rpc<string>('getblockhash', [height - depth + 1])]);
    const conflicts: string[] = [];
    for (const txid of drop ? orphaned : []) conflicts.push(await this.conflictOf(txid));
    await this.#mineOnly(conflicts);
    for (let i = 0; i < depth; i++) await this.#mineOnly([]);
  }

  /** Lets the wallet send by itself, which paying into and out of the extension block (MWEB) needs. */
  launchBroadcasting(): Promise<void> {
    return this.restart(['-walletbroadcast=1']);
  }

  /** Leaves the wallet nothing to pay from but its coins in the extension block. */
  async lockTransparentCoins(): Promise<void> {
    const coinsNow = await this.#coins();
    await this.rpc('lockunspent', [false, coinsNow.map(({ txid, vout }) => ({ txid, vout }))]);
  }

  /** Ends the node in good order; its files stay. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    child.kill(signal);
    await ended;
    clearTimeout(deadline);
  }

  async restart(options: string[] = []): Promise<void> {
    await this.stop();
    await this.launch(options);
  }

  /** Ends the node as a power cut would. */
  kill(): Promise<void> {
    return this.stop('SIGKILL');
  }

  /** Ends the node and removes its files. */
  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
