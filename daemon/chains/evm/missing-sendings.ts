/**
 * Finds what was sent from an address of ours without the books: by another wallet that has its keys, or by this wallet after the backup that
 * was restored. No index of an endpoint lists that. An address's count of transactions only grows, so bisection finds the blocks in which it
 * grew by more than the books have there.
 *
 * Below the checkpoint it needs the states of old blocks, which many endpoints do not keep. Without them a difference stays, which the proof
 * of the books names, and which the operator can adopt.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Checkpoint, Credit, Debit } from '../../domain/chain.ts';
import { type ListedScript, type OpenNonce, type ScriptList, tipOf } from '../adapter.ts';
import { idOf } from '../checkpoint.ts';
import type { Sending } from './answers.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import { type Outgoing, txidOf } from './outgoing.ts';

/** Blocks with unknown transactions that one search finds, each with two requests for each halving. */
const BLOCKS_MAX = 20;
/** The first step below the tip in the search for a block up to which all is known. Each further one is twice as long. */
const STEP_BLOCKS = 8;

/** The height of the newest block whose balance the books adopted, by the stored debits of an address; -1: there is none. */
export const adoptedTo = (debits: readonly { id: string; block: BlockId }[]): number =>
  debits.reduce((most, { id, block }) => (id.includes(':adopted:') ? Math.max(most, block.height) : most), -1);

/** The transaction that used a nonce up to the tip of a checkpoint; null: none did, or the endpoint does not have the states that show it. */
export async function userOf(
  endpoint: EvmEndpoint,
  { target, nonce }: Pick<OpenNonce, 'target' | 'nonce'>,
  checkpoint: Checkpoint,
  signal: AbortSignal,
): Promise<Outgoing | null> {
  const isUsedAt = async (height: number): Promise<boolean> => {
    const block = await blockAt(endpoint, checkpoint, height, signal);
    const count = block && (await endpoint.nonceAfter(hexOfScript(target.script), block, signal));
    return (count ?? 0n) > nonce;
  };
  let high = tipOf(checkpoint).height;
  if (!(await isUsedAt(high))) return null;
  let low = Math.max(0, high - STEP_BLOCKS);
  for (let step = 2 * STEP_BLOCKS; low > 0 && (await isUsedAt(low)); step *= 2) {
    high = low;
    low = Math.max(0, high - step);
  }
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isUsedAt(middle)) high = middle;
    else low = middle;
  }
  const block = await blockAt(endpoint, checkpoint, high, signal);
  const isWanted = (sending: Sending): boolean => sending.nonce === nonce;
  const [found = null] = block ? await sendingsIn(endpoint, target, block, isWanted, signal) : [];
  return found;
}

/** The transactions of an address in a block that are wanted, with their receipts. */
async function sendingsIn(
  endpoint: EvmEndpoint,
  target: ListedScript,
  block: BlockId,
  isWanted: (sending: Sending) => boolean,
  signal: AbortSignal,
): Promise<Outgoing[]> {
  const address = hexOfScript(target.script);
  const sent = (await endpoint.sendings(block, signal)).filter((one) => one.from === address && isWanted(one));
  const txids = sent.map(({ txid }) => txid);
  const receipts = await endpoint.receipts(txids, signal);
  return sent.flatMap((sending, i) => {
    const receipt = receipts[i];
    return receipt ? [{ target, receipt, sending }] : [];
  });
}

async function blockAt(
  endpoint: EvmEndpoint,
  checkpoint: Checkpoint,
  height: number,
  signal: AbortSignal,
): Promise<BlockId | null> {
  const listed = checkpoint[height - (checkpoint[0]?.height ?? 0)];
  if (listed?.height === height) return listed;
  const [header] = await endpoint.headers([height], signal);
  return header ? idOf(header) : null;
}

/** `hasMore`: the search ended at its limit. */
type Missing = { found: Outgoing[]; hasMore: boolean };

/**
 * `orphaned`: blocks that left the chain. `debits`: those of this step, which are not stored yet. `held`: credits that are known, and that
 * the store does not have in their blocks yet.
 */
type View = {
  checkpoint: Checkpoint;
  orphaned: ReadonlySet<string>;
  debits: readonly Debit[];
  held: readonly Credit[];
};

export class MissingSendings {
  readonly #native: AssetId;
  readonly #list: ScriptList;

  constructor(native: AssetId, list: ScriptList) {
    this.#native = native;
    this.#list = list;
  }

  /**
   * The transactions of an address that the books do not have, the newest first. Only those count that came after the first money that is
   * known.
   */
  async find(
    endpoint: EvmEndpoint,
    target: ListedScript,
    { checkpoint, orphaned, debits, held }: View,
    signal: AbortSignal,
  ): Promise<Missing> {
    const stored = this.#list.debitsAt(target.id, this.#native).filter(({ block }) => !orphaned.has(block.hash));
    const fresh = debits.flatMap(({ id, targetId, block }) =>
      targetId === target.id && block !== null ? [{ id, block }] : [],
    );
    const waiting = held.flatMap(({ targetId, block }) =>
      targetId === target.id && block !== null ? [block.height] : [],
    );
    const heights = [...waiting, ...this.#list.coinsOf(target.id).flatMap(({ blockHeight }) => blockHeight ?? [])];
    const tip = tipOf(checkpoint).height;
    // a balance that was adopted contains what was sent before it
    const from = Math.max(heights.reduce((least, height) => Math.min(least, height), tip + 1) - 1, adoptedTo(stored));
    return new Search({ endpoint, target, checkpoint, debits: [...stored, ...fresh], from, signal }).below(tip);
  }
}

type SearchParts = {
  endpoint: EvmEndpoint;
  target: ListedScript;
  checkpoint: Checkpoint;
  debits: readonly { id: string; block: BlockId }[];
  /** The height up to which nothing is looked for. */
  from: number;
  signal: AbortSignal;
};

/** The search at one address. Unknown up to a block is all that the address had sent by then, less the part that the books have. */
class Search {
  readonly #parts: SearchParts;
  /** The transactions of the books, each of which paid a fee, with their heights. */
  readonly #booked: ReadonlyMap<string, number>;

  constructor(parts: SearchParts) {
    this.#parts = parts;
    const own = parts.debits.filter(({ id }) => id.endsWith(':fee'));
    this.#booked = new Map(own.map(({ id, block }) => [txidOf(id), block.height]));
  }

  /** The unknown ones up to a height. */
  async below(height: number): Promise<Missing> {
    const found: Outgoing[] = [];
    let unknown = await this.#unknownAt(height);
    if (unknown === null) return { found, hasMore: false };
    const lowest = await this.#lowest(height, unknown);
    let high = height;
    for (let blocks = 0; unknown > lowest.unknown; blocks++) {
      if (blocks === BLOCKS_MAX) return { found, hasMore: true };
      const at = await this.#firstWith(unknown, { low: lowest.height, high });
      const before = at === null ? null : await this.#unknownAt(at - 1);
      if (at === null || before === null || before >= unknown) break;
      const there = await this.#sentIn(at);
      if (there.length === 0) break;
      for (const one of there) found.push(one);
      [unknown, high] = [before, at - 1];
    }
    return { found, hasMore: false };
  }

  /** The lowest block whose state the endpoint has, or one up to which all is known, and how many are unknown up to it. */
  async #lowest(height: number, unknown: bigint): Promise<{ height: number; unknown: bigint }> {
    const { from } = this.#parts;
    let lowest = { height, unknown };
    for (let step = STEP_BLOCKS; lowest.height > from && lowest.unknown > 0n; step *= 2) {
      const next = Math.max(from, lowest.height - step);
      const there = await this.#unknownAt(next);
      if (there === null) break;
      lowest = { height: next, unknown: there };
    }
    return lowest;
  }

  /** The first block above `low` up to which so many are unknown; null: the endpoint does not tell. */
  async #firstWith(unknown: bigint, range: { low: number; high: number }): Promise<number | null> {
    let [low, high] = [range.low + 1, range.high];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const there = await this.#unknownAt(middle);
      if (there === null) return null;
      if (there >= unknown) high = middle;
      else low = middle + 1;
    }
    return high;
  }

  async #sentIn(height: number): Promise<Outgoing[]> {
    const { endpoint, target, signal } = this.#parts;
    const block = await this.#blockAt(height);
    const isUnknown = ({ txid }: Sending): boolean => !this.#booked.has(txid);
    return block ? sendingsIn(endpoint, target, block, isUnknown, signal) : [];
  }

  /** How many transactions up to a block the books do not have; null: the endpoint does not have that state any more. */
  async #unknownAt(height: number): Promise<bigint | null> {
    const { endpoint, target, signal } = this.#parts;
    const block = await this.#blockAt(height);
    const sent = block ? await endpoint.nonceAfter(hexOfScript(target.script), block, signal) : null;
    return sent === null ? null : sent - this.#bookedTo(height);
  }

  #blockAt(height: number): Promise<BlockId | null> {
    const { endpoint, checkpoint, signal } = this.#parts;
    return blockAt(endpoint, checkpoint, height, signal);
  }

  #bookedTo(height: number): bigint {
    let count = 0n;
    for (const at of this.#booked.values()) if (at <= height) count++;
    return count;
  }
}
