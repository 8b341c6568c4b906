/**
 * A large credit counts as confirmed only if an endpoint of another operator has the same block at its height with the
 * same payment in it. An endpoint could invent a block, because work and signatures are not checked here; only a second
 * endpoint reveals that. A single configured endpoint is its owner's choice, and so are several of one operator.
 *
 * A credit without agreement is reported as unconfirmed, and the question is repeated. Such credits are kept in memory
 * only: after a restart the adapter reads the blocks of its checkpoint again.
 */
import type { AssetId } from '../domain/assets.ts';
import type { Checkpoint, Credit } from '../domain/chain.ts';
import { type Endpoint, type Endpoints, Malformed } from './endpoints.ts';

/** The interval between two questions about one credit. */
const ASK_MS = 5_000;
/** A limit far above the number of large payments at one time. */
const HELD_MAX = 1_000;

/** Credits, and the endpoint that reported them. */
export type Told<E> = { credits: readonly Credit[]; teller: E };
/** Whether a second opinion is needed on credits. */
export type NeedsAgreement = (credits: readonly { targetId: number; units: bigint; asset: AssetId }[]) => boolean;

export class Agreement<E extends Endpoint> {
  readonly #endpoints: Endpoints<E>;
  readonly #isNeeded: NeedsAgreement;
  /** Whether an endpoint has the credit's block on its chain, with its payment in it. */
  readonly #isThere: (endpoint: E, credit: Credit, signal: AbortSignal) => Promise<boolean>;
  readonly #held = new Map<string, { credit: Credit; teller: E }>();
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    endpoints: Endpoints<E>,
    isNeeded: NeedsAgreement,
    isThere: (endpoint: E, credit: Credit, signal: AbortSignal) => Promise<boolean>,
  ) {
    this.#endpoints = endpoints;
    this.#isNeeded = isNeeded;
    this.#isThere = isThere;
  }

  /** Whether something waits that may be asked about again. */
  isDue(): boolean {
    return this.#held.size > 0 && performance.now() - this.#askedAtMs >= ASK_MS;
  }

  /** The credits of a step as they may be reported, with those that were kept back before. */
  async judge(groups: readonly Told<E>[], checkpoint: Checkpoint, signal: AbortSignal): Promise<Credit[]> {
    this.#forgetOrphans(checkpoint);
    const told: Credit[] = [];
    for (const { credits, teller } of groups) {
      for (const credit of credits) {
        if (credit.block === null || this.#endpoints.operators < 2 || !this.#mustAgree(credit)) told.push(credit);
        else this.#held.set(credit.id, { credit, teller });
      }
    }
    if (this.#held.size > HELD_MAX) {
      this.#held.clear();
      throw new Malformed('too many large payments wait for a second endpoint');
    }
    if (this.#held.size === 0) return told;
    this.#askedAtMs = performance.now();
    for (const [id, { credit, teller }] of [...this.#held]) {
      const use = (endpoint: E) => this.#isThere(endpoint, credit, signal);
      if (await this.#endpoints.other(teller, use, signal)) {
        this.#held.delete(id);
        told.push(credit);
      } else {
        told.push({ ...credit, block: null });
      }
    }
    return told;
  }

  /**
   * Forgets credits of blocks that left the chain. Credits below the checkpoint stay, since agreement on them is still
   * possible.
   */
  #forgetOrphans(checkpoint: Checkpoint): void {
    const hashes = new Set(checkpoint.map(({ hash }) => hash));
    const lowest = checkpoint[0]?.height ?? 0;
    for (const [id, { credit }] of this.#held) {
      const { block } = credit;
      if (block && block.height >= lowest && !hashes.has(block.hash)) this.#held.delete(id);
    }
  }

  #mustAgree({ targetId, amount }: Credit): boolean {
    return this.#isNeeded([{ targetId, units: amount.units, asset: amount.asset }]);
  }
}
