/**
 * Addresses at which an endpoint has more than the books: another one has left out a payment. Payments in tokens are looked for backwards
 * from the tip, a window of blocks at a time, until the books have as much. The coin needs no such search: balances have the past in them.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { ListedScript, ScriptList } from '../adapter.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import { type Incoming, isTooMuch, type Transfers } from './transfers.ts';

const ADDRESSES_MAX = 50;
const WINDOW_BLOCKS = 5_000;
/** Below the tip: five days of BNB Smart Chain, five months of Ethereum. */
const BLOCKS_BACK_MAX = 1_000_000;

export type Range = { from: number; to: number };

/** The units that an endpoint has at an address, by asset. */
export type Held = ReadonlyMap<AssetId, bigint>;

/** `below`: no block from this height on is left to look in; null: none was looked in. */
type Address = { script: ListedScript; held: Held; below: number | null };

/** The next window, and the addresses that are looked for in it. */
export type Window = { scripts: readonly ListedScript[]; range: Range };

export class LeftOut {
  readonly #list: Pick<ScriptList, 'unitsAt'>;
  readonly #transfers: Transfers;
  readonly #addresses = new Map<number, Address>();

  constructor(list: Pick<ScriptList, 'unitsAt'>, transfers: Transfers) {
    this.#list = list;
    this.#transfers = transfers;
  }

  /** False: it is looked for already, or too many are. */
  add(script: ListedScript, held: Held): boolean {
    if (this.#addresses.size >= ADDRESSES_MAX || this.#addresses.has(script.id)) return false;
    this.#addresses.set(script.id, { script, held, below: null });
    return true;
  }

  /** The next window below a tip; null: nothing is looked for. An address whose books have as much is left out, but for a first look. */
  next(tip: number): Window | null {
    const lowest = Math.max(0, tip - BLOCKS_BACK_MAX);
    for (const [id, { held, below }] of this.#addresses) {
      const isFound = [...held].every(([asset, units]) => this.#list.unitsAt(id, asset) >= units);
      if (below !== null && (isFound || below <= lowest)) this.#addresses.delete(id);
    }
    const all = [...this.#addresses.values()];
    if (all.length === 0) return null;
    const below = all.reduce((most, one) => Math.max(most, one.below ?? tip + 1), 0);
    const scripts = all.filter((one) => (one.below ?? tip + 1) === below).map(({ script }) => script);
    return { scripts, range: { from: Math.max(lowest, below - WINDOW_BLOCKS), to: below - 1 } };
  }

  /** The events of a window that pay its addresses, and the part of it that the endpoint tells in one answer. */
  async find(
    endpoint: EvmEndpoint,
    { scripts, range: { from, to } }: Window,
    signal: AbortSignal,
  ): Promise<{ incoming: Incoming[]; range: Range }> {
    const recipients = scripts.map(({ script }) => hexOfScript(script));
    for (let blocks = to - from + 1; ; blocks = Math.ceil(blocks / 4)) {
      const range = { from: to - blocks + 1, to };
      try {
        return { incoming: await this.#transfers.findFor(endpoint, range, recipients, signal), range };
      } catch (error) {
        if (!isTooMuch(error) || blocks <= 1) throw error;
      }
    }
  }

  /** Notes that a window was looked in down to a height. */
  note({ scripts }: Window, { from }: Range): void {
    for (const { id } of scripts) {
      const one = this.#addresses.get(id);
      if (one) one.below = from;
    }
  }
}
