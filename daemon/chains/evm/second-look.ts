/**
 * Asks an endpoint of another operator at intervals for the same blocks, because one endpoint alone can omit a payment
 * unnoticed. A payment that only the other endpoint reports is credited, and the endpoint that omitted it is not used for a
 * while. Events of tokens are looked up from where the last look ended, so that an outage of the other endpoint, or catching up
 * after one of ours, hides none of them from this process. Coins need no such range, because balances have the past in them.
 */
import { CHECKPOINT_BLOCKS_MAX, type Checkpoint, type Credit, type Debit } from '../../domain/chain.ts';
import { type ListedScript, type ScriptList, tipOf } from '../adapter.ts';
import type { Report } from '../agreement.ts';
import type { Endpoints } from '../endpoints.ts';
import { slices } from '../slices.ts';
import type { Header } from './answers.ts';
import type { BlockProofs } from './block-proofs.ts';
import { placeOf } from './credit-ids.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import { type Held, LeftOut, type Range, type Window } from './left-out.ts';
import { isInside, type NativeCoin } from './native.ts';
import { confirmed, type Transfers, urgent } from './transfers.ts';
import type { TrueHeaders } from './true-headers.ts';

/** `to`: the height up to which it looked. `searched`: the part of the window that it looked in. */
type Told = { credits: Credit[]; to: number; searched: Range | null };

export class SecondLook {
  readonly #endpoints: Endpoints<EvmEndpoint>;
  readonly #list: ScriptList;
  readonly #transfers: Transfers;
  readonly #native: NativeCoin;
  readonly #trueHeaders: TrueHeaders;
  readonly #proofs: BlockProofs;
  readonly #everyMs: number;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** The height up to which another endpoint was asked; null: it was not asked since the start. */
  #lookedTo: number | null = null;
  readonly #leftOut: LeftOut;

  constructor(parts: {
    endpoints: Endpoints<EvmEndpoint>;
    list: ScriptList;
    transfers: Transfers;
    native: NativeCoin;
    trueHeaders: TrueHeaders;
    proofs: BlockProofs;
    everyMs: number;
  }) {
    this.#everyMs = parts.everyMs;
    this.#endpoints = parts.endpoints;
    this.#list = parts.list;
    this.#transfers = parts.transfers;
    this.#native = parts.native;
    this.#trueHeaders = parts.trueHeaders;
    this.#proofs = parts.proofs;
    this.#leftOut = new LeftOut(parts.list, parts.transfers);
  }

  /** Begins at a height, unless it has begun: the first blocks that this process read. */
  begin(height: number): void {
    this.#lookedTo ??= height;
  }

  /** Looks at an address at once, because an endpoint has more there than the books. */
  pin(script: ListedScript, held: Held): void {
    if (this.#leftOut.add(script, held)) this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  isDue(): boolean {
    return this.#endpoints.operators > 1 && performance.now() - this.#lookedAtMs >= this.#everyMs;
  }

  /**
   * The credits that another endpoint reports in the blocks of a checkpoint and that are neither stored nor in `told`.
   * Null when no look is due. `debits`: those of this step. `held`: see `NativeCoin`.
   */
  async look(
    asked: EvmEndpoint,
    checkpoint: Checkpoint,
    { credits: told, ...view }: { credits: readonly Credit[]; held: readonly Credit[]; debits: readonly Debit[] },
    signal: AbortSignal,
  ): Promise<Report<EvmEndpoint> | null> {
    if (!this.isDue()) return null;
    this.#lookedAtMs = performance.now();
    const window = this.#leftOut.next(tipOf(checkpoint).height);
    const recent = this.#missed(checkpoint)?.from ?? checkpoint[0]?.height ?? 0;
    const omitted = await this.#endpoints.other(
      asked,
      async (teller) => ({ ...(await this.#toldBy(teller, checkpoint, { ...view, window }, signal)), teller }),
      signal,
    );
    if (!omitted) return null;
    this.#lookedTo = omitted.to;
    if (window && omitted.searched) this.#leftOut.note(window, omitted.searched);
    // the next look goes on at once
    if (this.#missed(checkpoint) || omitted.searched) this.#lookedAtMs = Number.NEGATIVE_INFINITY;
    const known = new Set(told.map(({ id }) => id));
    // The credits of this step already explain a part of a balance.
    const paid = new Set(told.map(({ targetId }) => targetId));
    const credits = omitted.credits.filter(
      ({ id, targetId }) => !known.has(id) && !this.#list.coin(id) && !(placeOf(id) === 0 && paid.has(targetId)),
    );
    if (credits.length === 0) return null;
    // blocks further down may have been read from another endpoint
    const isLeftOut = (credit: Credit): boolean => {
      const { id, targetId, block } = credit;
      // what the first look had no time for was not left out
      const isCoin = placeOf(id) === 0 || isInside(credit);
      const isUntold = isCoin && this.#native.isUntold(targetId);
      return block !== null && block.height >= recent && !isUntold;
    };
    if (credits.some(isLeftOut))
      this.#endpoints.caught(asked, 'it left out payments that another endpoint has in the same blocks');
    return { facts: credits, teller: omitted.teller };
  }

  /** The next blocks below a checkpoint that no look reached, as many as a checkpoint has; null: none. */
  #missed([first]: Checkpoint): Range | null {
    const from = (this.#lookedTo ?? Number.POSITIVE_INFINITY) + 1;
    if (!first || from >= first.height) return null;
    return { from, to: Math.min(first.height - 1, from + CHECKPOINT_BLOCKS_MAX - 1) };
  }

  async #toldBy(
    teller: EvmEndpoint,
    checkpoint: Checkpoint,
    { window, ...known }: { window: Window | null; held: readonly Credit[]; debits: readonly Debit[] },
    signal: AbortSignal,
  ): Promise<Told> {
    const last = tipOf(checkpoint);
    const lowest = checkpoint[0]?.height ?? last.height;
    const missed = this.#missed(checkpoint);
    const to = missed && missed.to < lowest - 1 ? missed.to : last.height;
    const [tip] = await teller.headers([last.height], signal);
    // it says nothing about blocks that it does not have
    if (!tip) return { credits: [], to: this.#lookedTo ?? last.height, searched: null };
    const mostUrgent = urgent(this.#list);
    const listed = [...new Map([...mostUrgent, ...(window?.scripts ?? [])].map((one) => [one.id, one])).values()];
    if (listed.length === 0) return { credits: [], to: last.height, searched: null };
    const recipients = mostUrgent.map(({ script }) => hexOfScript(script));
    const found = window && (await this.#leftOut.find(teller, window, signal));
    const searched = found?.range ?? null;
    const incoming = found?.incoming ?? [];
    for (const range of [...(missed ? [missed] : []), { from: lowest, to: last.height }]) {
      incoming.push(...(await this.#transfers.findFor(teller, range, recipients, signal)));
    }
    const onChain = new Set(checkpoint.map(({ hash }) => hash));
    const heights = [...new Set(incoming.map(({ log }) => log.height))];
    const headers = (await teller.headers(heights, signal)).filter(
      (header): header is Header => header !== null && (header.height < lowest || onChain.has(header.hash)),
    );
    const once = new Map(incoming.map((one) => [`${one.log.txid}:${one.log.index}`, one]));
    const shared = [...once.values()].filter(({ log }) => headers.some(({ hash }) => hash === log.blockHash));
    const byHash = new Map(headers.map((header) => [header.hash, header]));
    const credits = await confirmed(teller, shared, { list: this.#list, headers: byHash }, slices(), signal);
    await this.#trueHeaders.check(teller, credits, headers, signal);
    await this.#proofs.check(teller, credits, signal);
    if (tip.hash !== last.hash) return { credits, to, searched };
    const timeOf = (hash: string) => byHash.get(hash)?.timeMs;
    const view = { checkpoint, atHead: true, orphaned: new Set<string>(), timeOf, ...known };
    const coins = (await this.#native.look(teller, view, slices(), signal, listed)) ?? [];
    await this.#trueHeaders.check(teller, coins, [], signal);
    await this.#proofs.check(teller, coins, signal);
    return { credits: [...credits, ...coins], to, searched };
  }
}
