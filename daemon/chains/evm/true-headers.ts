/**
 * Checks the time and the filter of the blocks in which an endpoint reports money of ours, because an invoice's deadline and rate go by
 * the time. A block's hash proves both (`header-hash.ts`). Where it proves nothing, because the header has fields that are not known here,
 * another operator's word counts, and a time on which two do not agree dates nothing.
 */
import type { BlockId } from '../../domain/chain.ts';
import { Malformed } from '../../domain/errors.ts';
import type { Endpoints } from '../endpoints.ts';
import type { Header } from './answers.ts';
import type { EvmEndpoint } from './endpoint.ts';

/** A fact in a block, or in none yet. */
type Dated = { block: BlockId | null; blockTime?: number };

/** The blocks that are remembered as checked. */
const CHECKED_MAX = 1_000;

export class TrueHeaders {
  readonly #endpoints: Endpoints<EvmEndpoint>;
  /** The times of blocks that were proved or affirmed, by hash, the newest last. */
  readonly #checked = new Map<string, number>();

  constructor(endpoints: Endpoints<EvmEndpoint>) {
    this.#endpoints = endpoints;
  }

  /**
   * Removes the times that are neither proved nor affirmed by another operator. `headers`: some that the endpoint told
   * before. Throws `Malformed` if it told another header than the block has.
   */
  async check(
    teller: EvmEndpoint,
    facts: readonly Dated[],
    headers: readonly Header[],
    signal: AbortSignal,
  ): Promise<void> {
    const dated = facts.filter(({ block, blockTime }) => block !== null && blockTime !== undefined);
    const isChecked = ({ block, blockTime }: Dated): boolean => this.#checked.get(block?.hash ?? '') === blockTime;
    for (const { hash, timeMs, isProved } of headers) {
      if (isProved && dated.some(({ block }) => block?.hash === hash)) this.#keep(hash, timeMs);
    }
    const open = dated.filter((fact) => !isChecked(fact));
    const hashes = [...new Set(open.map(({ block }) => block?.hash ?? ''))];
    const own = await teller.headersByHash(hashes, signal);
    for (const [i, hash] of hashes.entries()) {
      const header = own[i];
      if (header?.isProved) this.#keep(hash, header.timeMs);
      else if (header) await this.#compare(teller, header, signal);
    }
    if (open.some((fact) => this.#isRefuted(fact))) throw new Malformed('another time of a block than it has');
    if (this.#endpoints.operators > 1) for (const fact of open) if (!isChecked(fact)) delete fact.blockTime;
  }

  /** A time that is known to be another one. */
  #isRefuted({ block, blockTime }: Dated): boolean {
    const known = this.#checked.get(block?.hash ?? '');
    return known !== undefined && known !== blockTime;
  }

  /** Compares a header that proves nothing with another operator's, which may be proved, or say the same. */
  async #compare(teller: EvmEndpoint, { hash, timeMs, bloom }: Header, signal: AbortSignal): Promise<void> {
    const askedFor = async (endpoint: EvmEndpoint): Promise<Header | false> =>
      (await endpoint.headersByHash([hash], signal))[0] ?? false;
    const theirs = await this.#endpoints.other(teller, askedFor, signal);
    if (!theirs) return;
    const isSame = theirs.timeMs === timeMs && theirs.bloom === bloom;
    if (!isSame && theirs.isProved) throw new Malformed('another header of a block than its hash proves');
    if (isSame) this.#keep(hash, timeMs);
  }

  #keep(hash: string, timeMs: number): void {
    this.#checked.set(hash, timeMs);
    const [oldest] = this.#checked.keys();
    if (this.#checked.size > CHECKED_MAX && oldest !== undefined) this.#checked.delete(oldest);
  }
}
