/**
 * A large credit, and on Monero every spend, counts as confirmed only if an endpoint of another operator has the
 * same block at its height with the same payment in it. So does a small one that nothing proves to be in its block (`isProved`), but that
 * one also counts when no other operator has answered for a while. An endpoint could invent a block, because work and signatures are not
 * checked here; only a second endpoint reveals that. A single configured endpoint is its owner's choice, and so are several of one operator.
 *
 * A credit without agreement is reported as unconfirmed, and the question is repeated. One with agreement is reported until the
 * books have it, because an update may fail to be stored. Such credits are kept in memory only: after a restart the adapter reads
 * the blocks of its checkpoint again, and looks up what the books have in no block. Where its id and its block fix everything that is told
 * of it, a stored one needs no other word (`isSettled`).
 */
import type { AssetId } from '../domain/assets.ts';
import type { Checkpoint, Credit } from '../domain/chain.ts';
import { Unavailable } from '../domain/errors.ts';
import type { Endpoint, Endpoints } from './endpoints.ts';

/** The interval between two questions about one credit. */
const ASK_MS = 5_000;
/** Others are silent for so long before one endpoint's word counts about a small fact without a proof. */
const ALONE_AFTER_MS = 120_000;
/**
 * A limit above a flood of small payments for a large invoice, or of such without a proof: all wait while no other operator answers. Of
 * one endpoint, so that what it invents keeps nobody else's payments back.
 */
const HELD_MAX = 20_000;
const RETRY_SECONDS = 60;

/** A statement about a block: a credit, or a spend with the worth of its coin. */
export type Fact = Pick<Credit, 'id' | 'txid' | 'targetId' | 'amount' | 'block'>;
/** Facts, and the endpoint that reported them. */
export type Report<E, F = Credit> = { facts: readonly F[]; teller: E };
/**
 * For each fact whether an endpoint has its block on its chain, with the same payment in it; null: it was not asked, because that would
 * take too long now. `agreed`: facts that have agreement already, and that the books do not have yet.
 */
export type AreThere<E, F = Credit> = (
  endpoint: E,
  facts: readonly F[],
  signal: AbortSignal,
  agreed: readonly F[],
) => Promise<(boolean | null)[]>;
/**
 * `isStored`: whether the books have a fact that is agreed, so that it is told no more. `isSettled`: whether they have exactly this one in its
 * block, so that it was agreed on before; absent where more is told of a fact than they can show.
 */
type Rules<E, F> = {
  areThere: AreThere<E, F>;
  isStored: (fact: F) => boolean;
  isSettled?: (fact: F) => boolean;
  isProved?: (fact: F) => boolean;
};
/** Whether a second opinion is needed on credits. */
export type NeedsAgreement = (credits: readonly { targetId: number; units: bigint; asset: AssetId }[]) => boolean;

/**
 * `askedAtMs`: when another operator answered about it. `isDenied`: one answered that it does not have it. `isOld`: it was told in an
 * earlier step, and its teller may have taken it back since.
 */
type PendingFact<E, F> = {
  fact: F;
  teller: E;
  isLarge: boolean;
  sinceMs: number;
  askedAtMs: number;
  isAgreed: boolean;
  isDenied: boolean;
  isOld: boolean;
};

export class Agreement<E extends Endpoint, F extends Fact = Credit> {
  readonly #endpoints: Endpoints<E>;
  readonly #isNeeded: NeedsAgreement;
  readonly #areThere: AreThere<E, F>;
  readonly #isStored: (fact: F) => boolean;
  readonly #isSettled: (fact: F) => boolean;
  readonly #isProved: (fact: F) => boolean;
  readonly #held = new Map<string, PendingFact<E, F>>();
  /** Since when facts wait that were too many in the last step. */
  #refused = new Map<string, number>();
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(endpoints: Endpoints<E>, isNeeded: NeedsAgreement, rules: Rules<E, F>) {
    this.#endpoints = endpoints;
    this.#isNeeded = isNeeded;
    this.#areThere = rules.areThere;
    this.#isStored = rules.isStored;
    this.#isSettled = rules.isSettled ?? (() => false);
    this.#isProved = rules.isProved ?? (() => true);
  }

  /** Whether something waits that may be asked about again. */
  isDue(): boolean {
    return performance.now() - this.#askedAtMs >= ASK_MS && this.#waiting() > 0;
  }

  /** Whether something waits for another operator. */
  isWaiting(): boolean {
    return this.#waiting() > 0;
  }

  /** Facts that are kept back, and those with agreement that the books do not have yet; with their blocks. */
  held(): F[] {
    return [...this.#held.values()].map(({ fact }) => fact);
  }

  /** Those of them that this endpoint reported, and that nobody else has affirmed. */
  waitingOf(endpoint: E): F[] {
    return [...this.#held.values()].flatMap(({ fact, teller, isAgreed }) =>
      teller === endpoint && !isAgreed ? [fact] : [],
    );
  }

  /** The same without those that another operator denies. */
  undenied(): F[] {
    return [...this.#held.values()].filter(({ isDenied }) => !isDenied).map(({ fact }) => fact);
  }

  /** Forgets facts that another operator denies, if others explain the same. */
  replace(isReplaced: (denied: F) => boolean): void {
    for (const [id, { fact, isDenied }] of this.#held) if (isDenied && isReplaced(fact)) this.#held.delete(id);
  }

  /** The facts of a step as they may be reported, with those that were kept back before. */
  async judge(groups: readonly Report<E, F>[], checkpoint: Checkpoint, signal: AbortSignal): Promise<F[]> {
    this.#forget(checkpoint);
    for (const one of this.#held.values()) one.isOld = true;
    const told = new Map<string, F>();
    const fresh: string[] = [];
    for (const { facts, teller } of groups) {
      for (const fact of facts) {
        const { id, block } = fact;
        const isLarge = this.#isLarge(fact);
        // while others are away after a start, what was agreed on before would be taken out of its block
        const isClear = (!isLarge && this.#isProved(fact)) || (block !== null && this.#isSettled(fact));
        if (block === null || this.#endpoints.operators < 2 || isClear) {
          // what was said of another block before, this one disproves
          if (block !== null) this.#held.delete(id);
          if (block !== null || !told.has(id)) told.set(id, fact);
          continue;
        }
        const before = this.#held.get(id);
        if (!before) fresh.push(id);
        // others that denied it were not silent
        const waitsMs = before?.isDenied ? undefined : (before?.sinceMs ?? this.#refused.get(id));
        const sinceMs = waitsMs ?? performance.now();
        const { askedAtMs = Number.NEGATIVE_INFINITY } = before ?? {};
        const flags = { isAgreed: false, isDenied: false, isOld: false };
        this.#held.set(id, { fact, teller, isLarge, sinceMs, askedAtMs, ...flags });
      }
    }
    if (this.#waiting() > 0) await this.#ask(signal);
    this.#needRoom(fresh);
    for (const [id, { fact, isAgreed }] of this.#held) {
      if (isAgreed) told.set(id, fact);
      else if (!told.has(id)) told.set(id, { ...fact, block: null });
    }
    return [...told.values()];
  }

  /** Forgets the facts that a step brought if its endpoint has too many: the step is made again. */
  #needRoom(fresh: readonly string[]): void {
    this.#refused = new Map();
    const mine = fresh.flatMap((id) => this.#held.get(id) ?? []);
    const isFull = (teller: E): boolean => this.waitingOf(teller).length > HELD_MAX;
    if (![...new Set(mine.map(({ teller }) => teller))].some(isFull)) return;
    for (const { fact, sinceMs, isDenied } of mine) {
      if (!isDenied) this.#refused.set(fact.id, sinceMs);
      this.#held.delete(fact.id);
    }
    throw new Unavailable('Too many payments wait for an endpoint of another operator', RETRY_SECONDS);
  }

  #waiting(): number {
    return [...this.#held.values()].filter(({ isAgreed }) => !isAgreed).length;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    this.#askedAtMs = performance.now();
    for (const teller of new Set([...this.#held.values()].map((one) => one.teller))) {
      await this.#askOthers(teller, signal);
    }
  }

  /**
   * Asks about the held facts of an endpoint. One that denies a fact does not keep the next from being asked. New facts, the largest first,
   * take turns with those of which nobody was asked for the longest time: crumbs, which anybody can send, keep nothing waiting.
   */
  async #askOthers(teller: E, signal: AbortSignal): Promise<void> {
    const { fresh = [], asked = [] } = Object.groupBy(
      [...this.#held.values()].filter((one) => one.teller === teller),
      ({ askedAtMs }) => (Number.isFinite(askedAtMs) ? 'asked' : 'fresh'),
    );
    fresh.sort((a, b) => Number(b.fact.amount.units - a.fact.amount.units));
    asked.sort((a, b) => a.askedAtMs - b.askedAtMs);
    const mine = byTurns(fresh, asked);
    const affirmedBy = new Map<PendingFact<E, F>, string | undefined>();
    const use = async (endpoint: E): Promise<boolean> => {
      const open = mine.filter(({ isAgreed }) => !isAgreed);
      const facts = open.map(({ fact }) => fact);
      const agreed = [...this.#held.values()].filter(({ isAgreed }) => isAgreed).map(({ fact }) => fact);
      const there = await this.#areThere(endpoint, facts, signal, agreed);
      const affirmed = open.filter((_, i) => there[i] === true);
      const areKept = await this.#areKept(teller, affirmed, agreed, signal);
      const kept = new Map(affirmed.map((one, i) => [one, areKept[i]]));
      const operator = this.#endpoints.operatorOf(endpoint);
      for (const [i, one] of open.entries()) {
        const isThere = there[i];
        const isKept = isThere ? kept.get(one) : false;
        const isByTwo = affirmedBy.has(one) && affirmedBy.get(one) !== operator;
        if (isThere) affirmedBy.set(one, operator);
        // there was no time to ask about it, or to ask its teller again
        if (isThere === null || (isKept === null && !isByTwo)) continue;
        one.askedAtMs = performance.now();
        one.isAgreed = isThere === true && (isKept === true || isByTwo);
        one.isDenied = !one.isAgreed;
      }
      return mine.every(({ isAgreed }) => isAgreed);
    };
    const open = mine.filter(({ isAgreed }) => !isAgreed);
    if (open.length === 0 || (await this.#endpoints.other(teller, use, signal)) !== undefined) return;
    const small = open.filter(({ isLarge, isAgreed, isDenied }) => !isLarge && !isAgreed && !isDenied);
    for (const one of small) one.isAgreed = performance.now() - one.sinceMs >= ALONE_AFTER_MS;
  }

  /**
   * For each affirmed fact whether two operators state it now: its teller of this step, or one of an earlier step that is asked again,
   * because what it has taken back would agree with what another one says wrongly later. In place of a teller that does not answer, a
   * third operator counts; where there is none, the teller has taken nothing back. Null: there was no time to ask it.
   */
  async #areKept(
    teller: E,
    affirmed: readonly PendingFact<E, F>[],
    agreed: readonly F[],
    signal: AbortSignal,
  ): Promise<(boolean | null)[]> {
    const old = affirmed.filter(({ isOld }) => isOld);
    if (old.length === 0) return affirmed.map(() => true);
    const facts = old.map(({ fact }) => fact);
    const still = await this.#endpoints.with(teller, (own) => this.#areThere(own, facts, signal, agreed), signal);
    if (!still) return affirmed.map(({ isOld }) => !isOld || this.#endpoints.operators < 3);
    const isStill = new Map(old.map((one, i) => [one, still[i] ?? null]));
    return affirmed.map((one) => isStill.get(one) ?? (one.isOld ? null : true));
  }

  /**
   * Forgets facts that the books have, and those of blocks that left the chain. Blocks below and above the checkpoint
   * stay, since agreement on them is still possible: the checkpoint may be one of the past.
   */
  #forget(checkpoint: Checkpoint): void {
    const hashes = new Set(checkpoint.map(({ hash }) => hash));
    const lowest = checkpoint[0]?.height ?? 0;
    const highest = checkpoint.at(-1)?.height ?? 0;
    for (const [id, { fact, isAgreed }] of this.#held) {
      const { block } = fact;
      if (isAgreed && this.#isStored(fact)) this.#held.delete(id);
      if (!block || block.height < lowest || block.height > highest) continue;
      if (!hashes.has(block.hash)) this.#held.delete(id);
    }
  }

  #isLarge({ targetId, amount }: Fact): boolean {
    return this.#isNeeded([{ targetId, units: amount.units, asset: amount.asset }]);
  }
}

/** The items of two lists by turns. */
function byTurns<T>(first: readonly T[], second: readonly T[]): T[] {
  const length = Math.max(first.length, second.length);
  return Array.from({ length }, (_, i) => [...first.slice(i, i + 1), ...second.slice(i, i + 1)]).flat();
}
