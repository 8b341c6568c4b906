/**
 * What stands before the nodes of one operator: a load balancer, behind which several nodes are at different blocks, and limits of what is
 * answered. Each call goes to any of the nodes, also within one batch, so that the newest block, a nonce and a receipt go back and forth.
 * No node of it lies.
 */
import { bytesToHex, type Hex } from 'viem';
import { Random } from '../random.ts';
import { type AccountNetwork, FINAL_DEPTH, idOf, type Mined, type Shown } from './network.ts';
import type { Answered, Asked, LogFilter } from './rpc.ts';

const NODES = 3;
/** A balancer takes nodes out that are more blocks behind. */
const LAG_MAX = 6;
/** How far behind a node may be right after it caught up. */
const LAG_AFTER_MAX = 2;
/** Whether a node catches up before it answers. */
const CATCHES_UP = 0.02;
const RANGES = [1, 4, 20] as const;
const BATCHES = [1, 5, 20] as const;
const REFUSED = 0.1;
const LIMIT_EXCEEDED = -32_005;
const INVALID_PARAMS = -32_602;

/** A node that has the blocks up to some tip, maybe of a branch that the others have left. */
class Behind implements Shown {
  readonly #network: AccountNetwork;
  /** It hears of waiting transactions, and knows none otherwise. */
  readonly #hears: boolean;
  readonly byHash = new Map<Hex, Mined>();
  chain: Mined[] = [];

  constructor(network: AccountNetwork, hears: boolean) {
    this.#network = network;
    this.#hears = hears;
    this.follow(0);
  }

  /** Goes over to the network's branch, up to so many blocks below its tip. */
  follow(lag: number): void {
    const { chain } = this.#network;
    const to = chain.slice(0, Math.max(1, chain.length - lag));
    if (this.chain.length > to.length && this.chain[to.length - 1] === to.at(-1)) return;
    this.chain = to;
    for (const mined of to) this.byHash.set(mined.hash, mined);
  }

  get lag(): number {
    return this.#network.tip.height - this.tip.height;
  }

  get name() {
    return this.#network.name;
  }
  get machine() {
    return this.#network.machine;
  }
  get baseFee(): bigint {
    return this.#network.baseFee;
  }
  get tip(): Mined {
    return this.chain.at(-1) as Mined;
  }
  get final(): Mined {
    return this.chain[Math.max(0, this.tip.height - FINAL_DEPTH)] as Mined;
  }

  /** What waits, for this node also what is in blocks that it does not have. */
  get pool(): AccountNetwork['pool'] {
    if (!this.#hears) return new Map();
    const later = this.#network.chain.slice(1).filter((mined) => !this.isCanonical(mined));
    return new Map([
      ...later.flatMap(({ txs }) => txs.map(({ id, tx }) => [id, tx] as const)),
      ...[...this.#network.pool].filter(([id]) => this.placeOf(id) === null),
    ]);
  }

  isCanonical({ height, hash }: Mined): boolean {
    return this.chain[height]?.hash === hash;
  }

  placeOf(id: Hex): { mined: Mined; at: number } | null {
    for (const mined of this.chain) {
      const at = mined.txs.findIndex((one) => one.id === id);
      if (at >= 0) return { mined, at };
    }
    return null;
  }

  nonceInPool(address: Hex, nonce: bigint): bigint {
    const waiting = [...this.pool.values()].filter((tx) => bytesToHex(tx.getSenderAddress().bytes) === address);
    let next = nonce;
    while (waiting.some((tx) => tx.nonce === next)) next++;
    return next;
  }

  accountAt(address: Hex, mined: Mined) {
    return this.#network.accountAt(address, mined);
  }

  call(...asked: Parameters<AccountNetwork['call']>) {
    return this.#network.call(...asked);
  }

  /** It judges by its own blocks, and tells the others what it takes. */
  async submit(raw: Uint8Array): Promise<string | null> {
    const tx = this.machine.read(raw);
    if (this.pool.has(idOf(tx))) return 'already known';
    const { nonce, balance } = await this.accountAt(bytesToHex(tx.getSenderAddress().bytes), this.tip);
    if (tx.nonce < nonce) return 'nonce too low';
    if (balance < tx.gasLimit * tx.maxFeePerGas + tx.value) return 'insufficient funds for gas * price + value';
    const refusal = await this.#network.submit(raw);
    return refusal === 'replacement transaction underpriced' ? refusal : null;
  }
}

/** Before the nodes of one endpoint. Draws by itself, so that runs without it stay what they were. */
export class Front {
  readonly #network: AccountNetwork;
  readonly #random: Random;
  #nodes: readonly Behind[] = [];
  #rangeMax = Number.POSITIVE_INFINITY;
  #batchMax = Number.POSITIVE_INFINITY;
  #refuses = 0;

  constructor(network: AccountNetwork, seed: number) {
    this.#network = network;
    this.#random = new Random(seed);
  }

  get isBalanced(): boolean {
    return this.#nodes.length > 0;
  }

  /** Several nodes stand behind it from now on. */
  balance(): void {
    this.#nodes = Array.from({ length: NODES }, (_, at) => new Behind(this.#network, at > 0));
  }

  /** One node that has everything stands behind it. */
  end(): void {
    this.#nodes = [];
  }

  /** Limits what it answers; returns in words how. */
  limit(): string {
    this.#rangeMax = this.#random.pick(RANGES) ?? 1;
    this.#batchMax = this.#random.pick(BATCHES) ?? 1;
    this.#refuses = this.#random.chance(0.5) ? REFUSED : 0;
    const often = this.#refuses > 0 ? ', and often nothing' : '';
    return `answers ranges of ${this.#rangeMax}, batches of ${this.#batchMax}${often}`;
  }

  unlimit(): void {
    this.#rangeMax = Number.POSITIVE_INFINITY;
    this.#batchMax = Number.POSITIVE_INFINITY;
    this.#refuses = 0;
  }

  /** The node that answers a call. */
  shown(): Shown {
    const node = this.#random.pick(this.#nodes);
    if (!node) return this.#network;
    if (this.#random.chance(CATCHES_UP)) node.follow(this.#random.whole(0, LAG_AFTER_MAX));
    if (node.lag > LAG_MAX) node.follow(LAG_AFTER_MAX);
    return node;
  }

  /** Whether a request of so many calls is answered with HTTP 429. */
  refuses(calls: number): boolean {
    return calls > this.#batchMax || (this.#refuses > 0 && this.#random.chance(this.#refuses));
  }

  /** The refusal of a call that asks for too much; null: none. */
  refusal({ method, params }: Asked): Answered | null {
    const { fromBlock, toBlock, blockHash } = (params[0] ?? {}) as LogFilter;
    if (method !== 'eth_getLogs' || blockHash !== undefined) return null;
    const blocks = Number(toBlock ?? this.#network.tip.height) - Number(fromBlock ?? 0) + 1;
    if (blocks <= this.#rangeMax) return null;
    const isCoded = this.#random.chance(0.5);
    const message = isCoded ? 'limit exceeded' : `block range is too wide: at most ${this.#rangeMax}`;
    return { error: { code: isCoded ? LIMIT_EXCEEDED : INVALID_PARAMS, message } };
  }
}
