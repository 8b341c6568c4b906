/**
 * Lets a large credit count as confirmed only when an endpoint of another operator has the same block at its height with
 * the same payment in it. Nothing but a second opinion helps against an endpoint that invents a block: its header costs
 * nothing to make. A single configured endpoint is its owner's choice, and so are several of one operator.
 *
 * What is not agreed on is reported as unconfirmed, and asked about again. It is held in memory alone: a restart reads the
 * blocks of the checkpoint anew.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { Checkpoint, Credit } from '../../domain/chain.ts';
import type { ScriptList } from '../adapter.ts';
import { Malformed } from './answers.ts';
import { type Endpoint, hexOfScript } from './endpoint.ts';
import type { Endpoints } from './endpoints.ts';

/** A credit that was not agreed on is asked about again after so long. */
const ASK_MS = 5_000;
/** More large payments than these at a time were never made. */
const HELD_MAX = 1_000;

/** Credits, and the endpoint that told them. */
export type Told = { credits: readonly Credit[]; teller: Endpoint };

type IsNeeded = (credits: readonly { targetId: number; units: bigint; asset: AssetId }[]) => boolean;

export class Agreement {
  readonly #endpoints: Endpoints;
  readonly #list: ScriptList;
  readonly #isNeeded: IsNeeded;
  readonly #held = new Map<string, { credit: Credit; teller: Endpoint }>();
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(endpoints: Endpoints, list: ScriptList, isNeeded: IsNeeded) {
    this.#endpoints = endpoints;
    this.#list = list;
    this.#isNeeded = isNeeded;
  }

  /** Whether something waits that may be asked about again. */
  isDue(): boolean {
    return this.#held.size > 0 && performance.now() - this.#askedAtMs >= ASK_MS;
  }

  /** The credits of a step as they may be reported, with what was held before. */
  async judge(groups: readonly Told[], checkpoint: Checkpoint, signal: AbortSignal): Promise<Credit[]> {
    this.#forgetOrphans(checkpoint);
    const told: Credit[] = [];
    for (const { credits, teller } of groups) {
      for (const credit of credits) {
        if (this.#endpoints.operators < 2 || !this.#mustAgree(credit)) told.push(credit);
        else this.#held.set(credit.id, { credit, teller });
      }
    }
    if (this.#held.size > HELD_MAX) {
      this.#held.clear();
      throw new Malformed('more large payments than there can be');
    }
    if (this.#held.size === 0) return told;
    this.#askedAtMs = performance.now();
    for (const [id, { credit, teller }] of [...this.#held]) {
      if (await this.#isShared(credit, teller, signal)) {
        this.#held.delete(id);
        told.push(credit);
      } else {
        const { blockTime: _, ...seen } = credit;
        told.push({ ...seen, block: null });
      }
    }
    return told;
  }

  #mustAgree({ targetId, amount }: Credit): boolean {
    return this.#isNeeded([{ targetId, units: amount.units, asset: amount.asset }]);
  }

  /** What is held of a block that left the chain goes; what is below the checkpoint stays, since it can be agreed on yet. */
  #forgetOrphans(checkpoint: Checkpoint): void {
    const hashes = new Set(checkpoint.map(({ hash }) => hash));
    const lowest = checkpoint[0]?.height ?? 0;
    for (const [id, { credit }] of this.#held) {
      const { block } = credit;
      if (block && block.height >= lowest && !hashes.has(block.hash)) this.#held.delete(id);
    }
  }

  async #isShared(credit: Credit, teller: Endpoint, signal: AbortSignal): Promise<boolean> {
    const script = this.#list.page(credit.targetId - 1, 1)[0]?.script;
    if (!script) return false;
    const use = (endpoint: Endpoint) => isThere(endpoint, credit, hexOfScript(script), signal);
    return (await this.#endpoints.other(teller, use, signal)) ?? false;
  }
}

/** Whether an endpoint has the credit's block on its chain, with its transaction in it. */
async function isThere(
  endpoint: Endpoint,
  { block, txid, id, amount }: Credit,
  address: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!block) return false;
  const [header] = await endpoint.headers([block.height], signal);
  if (header?.hash !== block.hash) return false;
  // What a contract paid from inside has no transaction of its own: the balance after its block vouches for it.
  if (txid === block.hash) {
    const [balance] = await endpoint.balances([address], block, signal);
    return (balance ?? 0n) >= amount.units;
  }
  const [receipt] = await endpoint.receipts([txid], signal);
  const place = Number(id.slice(id.indexOf(':') + 1));
  return receipt?.succeeded === true && receipt.blockHash === block.hash && place <= receipt.logs.length;
}
