/**
 * Searches blocks that were read already for spends of our coins: a key image can become known after its block was read, when the
 * wallet is unlocked, or after a restore. Blocks are read in order, so that the node does not learn which key images are ours.
 *
 * Where another operator's node is configured, it must have the same blocks. Otherwise a single node could hide a spend by blocks
 * of its own, because nothing else compares them. A search that finds no agreement is not counted, and is made again.
 */
import type { Searched, SpendSeen } from '../../domain/chain.ts';
import { idOf, type LinkedHeader } from '../checkpoint.ts';
import type { Endpoints } from '../endpoints.ts';
import type { MoneroNode } from './node.ts';
import type { Scanner } from './scan.ts';
import type { BlockStream } from './stream.ts';

/** A step ends after so many blocks, or milliseconds. */
const BLOCKS_PER_STEP = 4_000;
const STEP_MS = 3_000;
/** After a step without agreement. */
const AGAIN_MS = 30_000;

/** `from`: the first block. `newest`: when the newest key image was learned that is searched for. `tip`: the last block. */
type SearchRange = { from: number; newest: number; tip: number };
type SearchResult = { spends: SpendSeen[]; searched: Searched };
type Nodes = Pick<Endpoints<MoneroNode>, 'other' | 'operators'>;

export class Search {
  readonly #scanner: Pick<Scanner, 'spends'>;
  readonly #nodes: Nodes;
  readonly #blocks: Pick<BlockStream, 'read'>;
  readonly #alert: (server: string, message: string) => void;
  #notBefore = 0;

  /** `alert`: called when two nodes have different blocks. */
  constructor(
    scanner: Pick<Scanner, 'spends'>,
    nodes: Nodes,
    blocks: Pick<BlockStream, 'read'>,
    alert: (server: string, message: string) => void,
  ) {
    this.#scanner = scanner;
    this.#nodes = nodes;
    this.#blocks = blocks;
    this.#alert = alert;
  }

  /** Whether a step may be made now. */
  isDue(): boolean {
    return performance.now() >= this.#notBefore;
  }

  /** One step; null if no other node vouches for its blocks. Its end is stored with its spends, or it is made again. */
  async step(node: MoneroNode, { from, newest, tip }: SearchRange, signal: AbortSignal): Promise<SearchResult | null> {
    const until = performance.now() + STEP_MS;
    const spends: SpendSeen[] = [];
    let last: LinkedHeader | null = null;
    for await (const page of this.#blocks.read(node, from, tip, null, signal)) {
      for (const { header, transactions } of page) {
        const where = { block: idOf(header), blockTime: header.timeMs };
        for (const transaction of transactions) spends.push(...this.#scanner.spends(transaction, where));
        last = header;
      }
      if (last && (last.height - from + 1 >= BLOCKS_PER_STEP || performance.now() >= until)) break;
    }
    if (last && !(await this.#isAgreed(node, last, signal))) {
      this.#notBefore = performance.now() + AGAIN_MS;
      return null;
    }
    const to = last?.height ?? tip;
    return { spends, searched: { to, newest, isWhole: to >= tip } };
  }

  /** Whether another operator has the last block: its hash proves all that are below it. */
  async #isAgreed(node: MoneroNode, { height, hash }: LinkedHeader, signal: AbortSignal): Promise<boolean> {
    if (this.#nodes.operators < 2) return true;
    let isOther = false;
    const isSame = async (other: MoneroNode): Promise<boolean> => {
      const [theirs] = await other.headers([height], signal);
      if (theirs && theirs.hash !== hash) isOther = true;
      return theirs?.hash === hash;
    };
    const said = await this.#nodes.other(node, isSame, signal);
    if (said === false && isOther)
      this.#alert(node.name, `it has other blocks than another node, up to height ${height}`);
    return said === true;
  }
}
