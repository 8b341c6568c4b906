/**
 * A large credit, and on Monero the spend of a large coin, counts as confirmed only if an endpoint of another operator has the
 * same block at its height with the same payment in it. An endpoint could invent a block, because work and signatures are not
 * checked here; only a second endpoint reveals that. A single configured endpoint is its owner's choice, and so are several of one operator.
 *
 * A credit without agreement is reported as unconfirmed, and the question is repeated. Such credits are kept in memory
 * only: after a restart the adapter reads the blocks of its checkpoint again.
 */
import type { AssetId } from '../domain/assets.ts';
import type { Checkpoint, Credit } from '../domain/chain.ts';
import { Unavailable } from '../domain/errors.ts';
import type { Endpoint, Endpoints } from './endpoints.ts';

/** The interval between two questions about one credit. */
const ASK_MS = 5_000;
/** A limit above a flood of small payments for a large invoice, which all wait while no other operator answers. */
const HELD_MAX = 20_000;
const RETRY_SECONDS = 60;

/** A statement about a block: a credit, or a spend with the worth of its coin. */
export type Fact = Pick<Credit, 'id' | 'txid' | 'targetId' | 'amount' | 'block'>;
/** Credits, and the endpoint that reported them. */
export type Told<E, F = Credit> = { credits: readonly F[]; teller: E };
/** For each fact whether an endpoint has its block on its chain, with the same payment in it. */
export type AreThere<E, F = Credit> = (endpoint: E, facts: readonly F[], signal: AbortSignal) => Promise<boolean[]>;
/** Whether a second opinion is needed on credits. */
export type NeedsAgreement = (credits: readonly { targetId: number; units: bigint; asset: AssetId }[]) => boolean;

export class Agreement<E extends Endpoint, F extends Fact = Credit> {
  readonly #endpoints: Endpoints<E>;
  readonly #isNeeded: NeedsAgreement;
  readonly #areThere: AreThere<E, F>;
  readonly #held = new Map<string, { credit: F; teller: E }>();
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(endpoints: Endpoints<E>, isNeeded: NeedsAgreement, areThere: AreThere<E, F>) {
    this.#endpoints = endpoints;
    this.#isNeeded = isNeeded;
    this.#areThere = areThere;
  }

  /** Whether something waits that may be asked about again. */
  isDue(): boolean {
    return this.#held.size > 0 && performance.now() - this.#askedAtMs >= ASK_MS;
  }

  /** The credits of a step as they may be reported, with those that were kept back before. */
  async judge(groups: readonly Told<E, F>[], checkpoint: Checkpoint, signal: AbortSignal): Promise<F[]> {
    this.#forgetOrphans(checkpoint);
    const told: F[] = [];
    for (const { credits, teller } of groups) {
      for (const credit of credits) {
        if (credit.block === null || this.#endpoints.operators < 2 || !this.#mustAgree(credit)) told.push(credit);
        else this.#held.set(credit.id, { credit, teller });
      }
    }
    if (this.#held.size > HELD_MAX) {
      this.#held.clear();
      throw new Unavailable('Too many large payments wait for an endpoint of another operator', RETRY_SECONDS);
    }
    if (this.#held.size === 0) return told;
    this.#askedAtMs = performance.now();
    for (const teller of new Set([...this.#held.values()].map((one) => one.teller))) {
      for (const credit of await this.#agreed(teller, signal)) {
        this.#held.delete(credit.id);
        told.push(credit);
      }
    }
    for (const { credit } of this.#held.values()) told.push({ ...credit, block: null });
    return told;
  }

  /** The held credits of an endpoint that others have. One that denies a credit does not keep the next from being asked. */
  async #agreed(teller: E, signal: AbortSignal): Promise<F[]> {
    let open = [...this.#held.values()].flatMap((one) => (one.teller === teller ? [one.credit] : []));
    const agreed: F[] = [];
    const use = async (endpoint: E): Promise<boolean> => {
      const there = await this.#areThere(endpoint, open, signal);
      for (const [i, credit] of open.entries()) if (there[i]) agreed.push(credit);
      open = open.filter((_, i) => !there[i]);
      return open.length === 0;
    };
    await this.#endpoints.other(teller, use, signal);
    return agreed;
  }

  /**
   * Forgets credits of blocks that left the chain. Those below and above the checkpoint stay, since agreement on them is still
   * possible: the checkpoint may be one of the past.
   */
  #forgetOrphans(checkpoint: Checkpoint): void {
    const hashes = new Set(checkpoint.map(({ hash }) => hash));
    const lowest = checkpoint[0]?.height ?? 0;
    const highest = checkpoint.at(-1)?.height ?? 0;
    for (const [id, { credit }] of this.#held) {
      const { block } = credit;
      if (!block || block.height < lowest || block.height > highest) continue;
      if (!hashes.has(block.hash)) this.#held.delete(id);
    }
  }

  #mustAgree({ targetId, amount }: Fact): boolean {
    return this.#isNeeded([{ targetId, units: amount.units, asset: amount.asset }]);
  }
}
