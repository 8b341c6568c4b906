/**
 * Finds what another wallet sent from an address of ours before the blocks of the checkpoint, as while the service was not running. No
 * index of an endpoint lists that. An address's count of transactions only grows, so bisection finds the block of each.
 *
 * It needs the states of old blocks, which many endpoints do not keep. Without them a difference stays, which the proof of the books
 * names, and which the operator can adopt.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId } from '../../domain/chain.ts';
import type { ListedScript, ScriptList } from '../adapter.ts';
import { idOf } from '../checkpoint.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { Outgoing } from './outgoing.ts';

/** Transactions of an address that are looked for at a time, each with two requests for each halving. */
const NONCES_MAX = 20n;

/** The height of the newest block whose balance the books adopted, by the stored debits of an address; -1: there is none. */
export const adoptedTo = (debits: readonly { id: string; block: BlockId }[]): number =>
  debits.reduce((most, { id, block }) => (id.includes(':adopted:') ? Math.max(most, block.height) : most), -1);

/** The transaction of an address with a nonce in a block; null: it is not there. */
export async function sendingIn(
  endpoint: EvmEndpoint,
  target: ListedScript,
  nonce: bigint,
  block: BlockId,
  signal: AbortSignal,
): Promise<Outgoing | null> {
  const address = hexOfScript(target.script);
  const all = await endpoint.sendings(block, signal);
  const sending = all.find((one) => one.from === address && one.nonce === nonce);
  const [receipt] = sending ? await endpoint.receipts([sending.txid], signal) : [];
  return sending && receipt ? { target, receipt, sending } : null;
}

export class OlderSendings {
  readonly #native: AssetId;
  readonly #list: ScriptList;

  constructor(native: AssetId, list: ScriptList) {
    this.#native = native;
    this.#list = list;
  }

  /**
   * The transactions that the books do not have, the newest first. `until`: how many the address had sent after `first`, the oldest
   * block of the checkpoint. Only those count that came after the first money of the books.
   */
  async missing(
    endpoint: EvmEndpoint,
    target: ListedScript,
    { until, first }: { until: bigint; first: BlockId },
    signal: AbortSignal,
  ): Promise<Outgoing[]> {
    const heights = this.#list.coinsOf(target.id).flatMap(({ blockHeight }) => blockHeight ?? []);
    const debits = this.#list.debitsAt(target.id, this.#native);
    // a balance that was adopted contains what was sent before it
    const from = Math.max(Math.min(...heights) - 1, adoptedTo(debits));
    const address = hexOfScript(target.script);
    if (until === 0n || heights.length === 0 || from >= first.height) return [];
    const base = await countAfter(endpoint, address, from, signal);
    // each paid a fee
    const booked = new Set(debits.map(({ id }) => txidOf(id)));
    const found: Outgoing[] = [];
    for (let nonce = until - 1n; base !== null && nonce >= base && until - nonce <= NONCES_MAX; nonce--) {
      const block = await this.#blockOf(endpoint, address, nonce, { from, to: first.height }, signal);
      const one = block && (await sendingIn(endpoint, target, nonce, block, signal));
      if (!one) break;
      if (!booked.has(one.receipt.txid)) found.push(one);
    }
    return found;
  }

  /** The first block after which an address has sent more than `nonce`, between two heights; null: the endpoint does not tell. */
  async #blockOf(
    endpoint: EvmEndpoint,
    address: string,
    nonce: bigint,
    { from, to }: { from: number; to: number },
    signal: AbortSignal,
  ): Promise<BlockId | null> {
    let [low, high] = [from + 1, to];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const count = await countAfter(endpoint, address, middle, signal);
      if (count === null) return null;
      if (count > nonce) high = middle;
      else low = middle + 1;
    }
    const [header] = await endpoint.headers([high], signal);
    return header ? idOf(header) : null;
  }
}

/** How many transactions an address had sent after a block; null: the endpoint does not have that state any more. */
async function countAfter(
  endpoint: EvmEndpoint,
  address: string,
  height: number,
  signal: AbortSignal,
): Promise<bigint | null> {
  const [header] = await endpoint.headers([height], signal);
  return header ? endpoint.nonceAfter(address, idOf(header), signal) : null;
}

const txidOf = (id: string): string => id.slice(0, id.indexOf(':'));
