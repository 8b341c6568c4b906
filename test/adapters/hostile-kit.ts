/**
 * A light client between a liar and an honest server, in front of one real litecoind: what it says is compared with the
 * node's chain after every update.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { addressOfKey } from '../../daemon/chains/utxo/address.ts';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { scripthashOf } from '../nodes/electrum-chain.ts';
import type { Behaviour } from '../nodes/electrum-server.ts';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import type { Scene } from '../nodes/lies.ts';
import { lineOf } from '../nodes/link.ts';
import { Litecoind, type Output } from '../nodes/litecoind.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';

const SYNC_MS = 10_000;
const REST_MS = 50;
/** A machine that does something else at the same time is slow. */
const FOUND_WITHIN_MS = 120_000;
/** Those of a client that has another server to go to. */
const SHORT_TIMEOUTS = { requestMs: 6_000, stallMs: 3_000, pingMs: 1_000 };
const BLOCKS = 150;
/** What moves the node also has the servers look. */
const POLL_MS = 1_000;
const CHECKPOINT_BLOCKS = 60;
/** One transaction a server sends may be this long; what the test's own liar says is not to be cut short by it. */
const LIAR_SENDS_BYTES_MAX = 200_000_000;

/** The node that all trials share: its payments and blocks are made one after the other. */
export class Ground {
  readonly node: Litecoind;
  readonly followed: FollowedChain;
  readonly #waiting = new Map<'pay' | 'mine', Promise<string>>();
  readonly #outputs: Output[] = [];
  #queue: Promise<unknown> = Promise.resolve();
  #nextIndex = 0;

  private constructor(node: Litecoind, followed: FollowedChain) {
    this.node = node;
    this.followed = followed;
  }

  static async start(): Promise<Ground> {
    const node = await Litecoind.start();
    await node.mine(BLOCKS);
    // One liar needs a block of two transactions; the trials' own payments fill later blocks with more.
    await node.pay([{ address: await node.newAddress(), units: 100_000n }]);
    await node.mine(1);
    return new Ground(node, await FollowedChain.start(node, { pollMs: POLL_MS }));
  }

  /** Does something once what was begun before has ended; whoever asks for the same before it begins shares it. */
  #shared(kind: 'pay' | 'mine', work: () => Promise<string>): Promise<string> {
    const waiting = this.#waiting.get(kind);
    if (waiting) return waiting;
    const done = this.#queue.then(() => {
      this.#waiting.delete(kind);
      return work();
    });
    this.#waiting.set(kind, done);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  nextIndex(): number {
    return this.#nextIndex++;
  }

  /** Pays an address, in one transaction with what else is to be paid at the moment. Returns its id. */
  async pay(output: Output): Promise<string> {
    this.#outputs.push(output);
    const txid = await this.#shared('pay', () => this.node.pay(this.#outputs.splice(0)));
    await this.followed.update();
    return txid;
  }

  async mine(): Promise<void> {
    await this.#shared('mine', async () => {
      await this.node.mine(1);
      return '';
    });
    await this.followed.update();
  }

  async stop(): Promise<void> {
    await this.followed.stop();
    await this.node.remove();
  }
}

const textOf = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value);

type Paid = { id: number; txid: string; units: bigint };

type TrialOptions = {
  ground: Ground;
  behaviour: (scene: Scene) => Behaviour;
  /** What is said of unconfirmed payments beyond the true ones is let pass. */
  unproved?: boolean;
  tls?: boolean;
  /** The honest server is of another operator. */
  apart?: boolean;
  /** With the time-outs of the product. */
  patient?: boolean;
  /** The honest server is there from the beginning, and the liar once `liar.listen()` is called. */
  honestFirst?: boolean;
  /** Another server behaves as the liar does, from the beginning. */
  accomplice?: boolean;
  /** How far away the servers are, each way. */
  latencyMs?: number;
};

type Servers = { liar: ElectrumServer; accomplice: ElectrumServer | null; honest: ElectrumServer };

export class Trial {
  readonly liar: ElectrumServer;
  readonly honest: ElectrumServer;
  readonly #accomplice: ElectrumServer | null;
  readonly adapter: ElectrumAdapter;
  readonly book = new FactBook();
  /** The servers that were dropped, in order. */
  readonly alerts: string[] = [];
  lies = 0;
  readonly #ground: Ground;
  readonly #folder: string;
  readonly #unproved: boolean;
  readonly #paid: Paid[] = [];
  readonly #scripts = new Map<string, Uint8Array>();
  readonly #addresses = new Map<Uint8Array, string>();

  private constructor(options: TrialOptions, folder: string, { liar, accomplice, honest }: Servers) {
    this.#ground = options.ground;
    this.#folder = folder;
    this.#unproved = options.unproved ?? false;
    this.liar = liar;
    this.honest = honest;
    this.#accomplice = accomplice;
    const lied = () => this.lies++;
    liar.behaviour = options.behaviour({ server: liar, scripts: this.#scripts, lied });
    if (accomplice) accomplice.behaviour = options.behaviour({ server: accomplice, scripts: this.#scripts, lied });
    const { blocks } = options.ground.followed.chain;
    this.book.checkpoint = blocks.map(({ hash }, height) => ({ height, hash })).slice(-CHECKPOINT_BLOCKS);
    this.adapter = new ElectrumAdapter({
      chain: 'LTC',
      network: 'regtest',
      folder,
      list: this.book,
      timeouts: options.patient ? {} : SHORT_TIMEOUTS,
      servers: [liar, accomplice, honest].flatMap((server) => server?.url ?? []),
      // Proofs alone are to hold: nobody is asked for a second opinion.
      needsAgreement: () => false,
      alert: (server) => this.alerts.push(server),
    });
  }

  /** Begins with the liar alone; the other server is there once `honest.listen()` is called. */
  static async start(options: TrialOptions): Promise<Trial> {
    const { followed } = options.ground;
    const { tls = false, latencyMs = 0 } = options;
    const line = latencyMs > 0 ? lineOf(latencyMs) : null;
    const folder = await mkdtemp(join(tmpdir(), 'hostile-'));
    const liar = await ElectrumServer.start(followed, { tls, line, limits: { sendBytesMax: LIAR_SENDS_BYTES_MAX } });
    const accomplice = options.accomplice ? await ElectrumServer.start(followed, { line }) : null;
    const honest = await ElectrumServer.start(followed, { line, ...(options.apart && { host: 'localhost' }) });
    await (options.honestFirst ? liar : honest).close();
    return new Trial(options, folder, { liar, accomplice, honest });
  }

  /** Pays a fresh address of ours. */
  pay(): Promise<void> {
    return this.payTo(this.watch());
  }

  /** Watches a fresh address of ours. Returns its script. */
  watch(): Uint8Array {
    const index = this.#ground.nextIndex();
    const target = addressOfKey(childPublicKey(testAccount, 0, index), 'LTC', 'regtest');
    this.book.watch(target);
    this.#scripts.set(scripthashOf(target.script), target.script);
    this.#addresses.set(target.script, target.address);
    return target.script;
  }

  async payTo(script: Uint8Array): Promise<void> {
    const address = this.#addresses.get(script) as string;
    const id = this.idOf(script);
    const units = 100_000n + BigInt(id);
    this.#paid.push({ id, units, txid: await this.#ground.pay({ address, units }) });
  }

  idOf(script: Uint8Array): number {
    return this.book.targetIdOf(script) as number;
  }

  /** Takes one update, if there is one. */
  async sync(): Promise<void> {
    try {
      const update = await this.adapter.sync(this.book.checkpoint, AbortSignal.timeout(SYNC_MS));
      if (update) this.book.apply(update);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
    this.#checkNothingInvented();
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
  }

  /** What counts is in a block of the real chain, with the transaction and the amount that are there. */
  #checkNothingInvented(): void {
    const { blocks } = this.#ground.followed.chain;
    for (const { txid, id, block, amount } of this.book.credits.values()) {
      if (!block) continue;
      expect(blocks[block.height]?.hash).toBe(block.hash);
      const tx = blocks[block.height]?.txs.find((one) => one.txid === txid);
      expect(tx?.outputs[Number(id.split(':')[1])]?.units).toBe(amount.units);
    }
  }

  /** Whether the book says of every payment what the node says of it, and of nothing else. */
  isRight(): boolean {
    const { chain } = this.#ground.followed;
    const right = this.#paid.filter(({ id, txid, units }) => {
      const height = chain.tx(txid)?.height ?? -1;
      return this.book.paid(id).some((one) => one.units === units && one.height === (height > 0 ? height : null));
    });
    const all = [...this.book.credits.values()];
    const counted = this.#unproved ? all.filter(({ block }) => block) : all;
    const exact = this.#unproved ? counted.length <= right.length : counted.length === right.length;
    return right.length === this.#paid.length && exact;
  }

  async syncUntil(condition: () => boolean, what: string, withinMs = FOUND_WITHIN_MS): Promise<void> {
    const attempt = async (): Promise<boolean> => {
      await this.sync();
      return condition();
    };
    await until(attempt, what, withinMs).catch((error: Error) => {
      const servers = this.adapter.servers().map(({ name, state, failures, error: why, tip }) => {
        return `${name === this.honest.url ? 'honest' : 'liar'} ${state}, ${failures} failures, ${why}, at ${tip?.height}`;
      });
      throw new Error(`${error.message}; paid ${JSON.stringify(this.#paid, textOf)}; ${servers.join('; ')}`);
    });
  }

  async stop(): Promise<void> {
    await this.adapter.close();
    await this.liar.stop();
    await this.#accomplice?.stop();
    await this.honest.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
