/**
 * Asks an endpoint of another operator at intervals for the same blocks, because one endpoint alone can omit a payment
 * unnoticed. A payment that only the other endpoint reports is credited, and the endpoint that omitted it is not used for a
 * while.
 */
import type { Checkpoint, Credit, Debit } from '../../domain/chain.ts';
import type { ScriptList } from '../adapter.ts';
import type { Endpoints } from '../endpoints.ts';
import { slices } from '../slices.ts';
import type { Header } from './answers.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { NativeCoin } from './native.ts';
import { confirmed, type Transfers, urgent } from './transfers.ts';

/** The interval; a look costs one or two requests. */
export const SECOND_LOOK_MS = 30_000;

type Omitted = { credits: Credit[]; teller: EvmEndpoint };

export class SecondLook {
  readonly #endpoints: Endpoints<EvmEndpoint>;
  readonly #list: ScriptList;
  readonly #transfers: Transfers;
  readonly #native: NativeCoin;
  readonly #everyMs: number;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: {
    endpoints: Endpoints<EvmEndpoint>;
    list: ScriptList;
    transfers: Transfers;
    native: NativeCoin;
    everyMs: number;
  }) {
    this.#everyMs = parts.everyMs;
    this.#endpoints = parts.endpoints;
    this.#list = parts.list;
    this.#transfers = parts.transfers;
    this.#native = parts.native;
  }

  isDue(): boolean {
    return this.#endpoints.operators > 1 && performance.now() - this.#lookedAtMs >= this.#everyMs;
  }

  /**
   * The credits that another endpoint reports in the blocks of a checkpoint and that are neither stored nor in `told`. Null
   * when no look is due. `debits`: those of this step. `held`: see `NativeCoin`.
   */
  async look(
    asked: EvmEndpoint,
    checkpoint: Checkpoint,
    { credits: told, ...view }: { credits: readonly Credit[]; held: readonly Credit[]; debits: readonly Debit[] },
    signal: AbortSignal,
  ): Promise<Omitted | null> {
    if (!this.isDue()) return null;
    this.#lookedAtMs = performance.now();
    const omitted = await this.#endpoints.other(
      asked,
      async (teller) => ({ credits: await this.#toldBy(teller, checkpoint, view, signal), teller }),
      signal,
    );
    if (!omitted) return null;
    const known = new Set(told.map(({ id }) => id));
    // The credits of this step already explain a part of a balance.
    const paid = new Set(told.map(({ targetId }) => targetId));
    const credits = omitted.credits.filter(
      ({ id, targetId }) => !known.has(id) && !this.#list.coin(id) && !(id.endsWith(':0') && paid.has(targetId)),
    );
    if (credits.length === 0) return null;
    this.#endpoints.caught(asked, 'it left out payments that another endpoint has in the same blocks');
    return { credits, teller: omitted.teller };
  }

  async #toldBy(
    teller: EvmEndpoint,
    checkpoint: Checkpoint,
    known: { held: readonly Credit[]; debits: readonly Debit[] },
    signal: AbortSignal,
  ): Promise<Credit[]> {
    const [first, last] = [checkpoint[0], checkpoint.at(-1)];
    const head = await teller.head(signal);
    if (!first || !last || head.height < last.height) return [];
    const listed = urgent(this.#list);
    if (listed.length === 0) return [];
    const range = { from: first.height, to: last.height };
    const recipients = listed.map(({ script }) => hexOfScript(script));
    const incoming = await this.#transfers.findFor(teller, range, recipients, signal);
    const onChain = new Set(checkpoint.map(({ hash }) => hash));
    const heights = [...new Set(incoming.map(({ log }) => log.height))];
    const headers = (await teller.headers(heights, signal)).filter(
      (header): header is Header => header !== null && onChain.has(header.hash),
    );
    const shared = incoming.filter(({ log }) => onChain.has(log.blockHash));
    const byHash = new Map(headers.map((header) => [header.hash, header]));
    const credits = await confirmed(teller, shared, byHash, slices(), signal);
    const [tip] = await teller.headers([last.height], signal);
    if (tip?.hash !== last.hash) return credits;
    const timeOf = (hash: string) => byHash.get(hash)?.timeMs;
    const view = { checkpoint, atHead: true, orphaned: new Set<string>(), timeOf, ...known };
    const coins = await this.#native.look(teller, view, slices(), signal, listed);
    return [...credits, ...(coins ?? [])];
  }
}
