/**
 * Blocks whose state an endpoint no longer has, so that no balance tells in which of them money came: after an outage, all but about
 * the newest 128. Their transactions are read instead, oldest first, and tell of direct transfers.
 */
import type { BlockId, Checkpoint } from '../../domain/chain.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { changed } from '../checkpoint.ts';
import type { Pause } from '../slices.ts';
import type { Sending } from './answers.ts';
import type { EvmEndpoint } from './endpoint.ts';
import { BLOCK_MS } from './params.ts';

/** Blocks that are read for one address: an hour of BNB Smart Chain. An invoice that was open before them ended by then. */
const BLOCKS_MAX = MS_PER_HOUR / BLOCK_MS.BSC;
/** Blocks that are asked for together, each with all its transactions. */
const PAGE = 20;

export type OwnSending = Sending & { block: BlockId };

type Parts = {
  endpoint: Pick<EvmEndpoint, 'wholeBlocks' | 'sendings'>;
  checkpoint: Checkpoint;
  /** The addresses that may be asked about, hex with 0x. */
  addresses: ReadonlySet<string>;
  pause: Pause;
  signal: AbortSignal;
};

/** One search, for all addresses of a look: each block is read once. */
export class DarkBlocks {
  readonly checkpoint: Checkpoint;
  readonly #parts: Parts;
  /** By height, the transactions from and to the addresses. */
  readonly #read = new Map<number, { hash: string; own: OwnSending[] }>();
  /** The same by hash, of blocks that the checkpoint has. */
  readonly #told = new Map<string, OwnSending[]>();

  constructor(parts: Parts) {
    this.checkpoint = parts.checkpoint;
    this.#parts = parts;
  }

  /** Whether blocks were read, which would be read once more by another search. */
  get hasRead(): boolean {
    return this.#read.size > 0;
  }

  /**
   * The transactions from and to an address from one height to another, until those that are not known send it so many units. Throws
   * `Unavailable`.
   */
  async sendings(
    address: string,
    range: { from: number; to: number },
    units: bigint,
    isKnown: (sending: OwnSending) => boolean,
  ): Promise<OwnSending[]> {
    const found: OwnSending[] = [];
    const to = Math.min(range.to, range.from + BLOCKS_MAX - 1);
    let came = 0n;
    for (let height = range.from; height <= to && came < units; height++) {
      const block = this.#read.get(height) ?? (await this.#page(height, to));
      for (const sending of block?.own ?? []) {
        if (sending.from !== address && sending.to !== address) continue;
        found.push(sending);
        if (sending.to === address && !isKnown(sending)) came += sending.value;
      }
    }
    return found;
  }

  /** The transactions from and to the addresses in a block of the checkpoint. */
  async inBlock(block: BlockId): Promise<OwnSending[]> {
    const known = this.#told.get(block.hash);
    if (known) return known;
    const { endpoint, signal } = this.#parts;
    const own = this.#ownOf(await endpoint.sendings(block, signal), block);
    this.#told.set(block.hash, own);
    return own;
  }

  #ownOf(sendings: readonly Sending[], { height, hash }: BlockId): OwnSending[] {
    const { addresses } = this.#parts;
    return sendings
      .filter((one) => addresses.has(one.from) || addresses.has(one.to ?? ''))
      .map((one): OwnSending => ({ ...one, block: { height, hash } }));
  }

  /** Reads some blocks from a height on. Returns the first of them. */
  async #page(from: number, to: number) {
    const { endpoint, pause, signal } = this.#parts;
    const heights = Array.from({ length: Math.min(PAGE, to - from + 1) }, (_, i) => from + i);
    for (const block of await endpoint.wholeBlocks(heights, signal)) {
      const wait = pause();
      if (wait) await wait;
      if (!block || !this.#isLinked(block)) throw changed();
      this.#read.set(block.height, { hash: block.hash, own: this.#ownOf(block.sendings, block) });
    }
    return this.#read.get(from);
  }

  /** Whether a block follows the one that was read below it, and is the checkpoint's where that has one. */
  #isLinked({ height, hash, parent }: BlockId & { parent: string }): boolean {
    const below = this.#read.get(height - 1);
    const listed = this.checkpoint[height - (this.checkpoint[0]?.height ?? 0)];
    const isFollowing = below === undefined || below.hash === parent;
    return isFollowing && (listed === undefined || listed.height !== height || listed.hash === hash);
  }
}
