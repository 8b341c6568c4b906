/**
 * The height up to which blocks are final, by the endpoints' tag "finalized" (Ethereum's execution API). It is
 * requested at intervals, because it moves once in minutes. Where there are endpoints of several operators, two must report
 * one, and the lower height counts: one alone could call its newest block final.
 */
import type { BlockId, Checkpoint } from '../../domain/chain.ts';
import { tipOf } from '../adapter.ts';
import type { Endpoints } from '../endpoints.ts';
import type { EvmEndpoint } from './endpoint.ts';

export const FINALITY_MS = 30_000;

export class Finality {
  readonly #endpoints: Endpoints<EvmEndpoint>;
  readonly #everyMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #height: number | null = null;

  constructor(endpoints: Endpoints<EvmEndpoint>, everyMs: number) {
    this.#endpoints = endpoints;
    this.#everyMs = everyMs;
  }

  /** The height of the newest final block; null if no endpoint reports one on this checkpoint's chain. */
  async height(asked: EvmEndpoint, checkpoint: Checkpoint, signal: AbortSignal): Promise<number | null> {
    if (performance.now() - this.#askedAtMs < this.#everyMs) return this.#height;
    this.#askedAtMs = performance.now();
    const use = async (endpoint: EvmEndpoint) => heightOn(checkpoint, await endpoint.finalized(signal));
    const own = await use(asked);
    const other = this.#endpoints.operators < 2 ? own : await this.#endpoints.other(asked, use, signal);
    // while no other one answers, the last height on which two agreed stays final
    if (other !== undefined) this.#height = own === null || other === null ? null : Math.min(own, other);
    return this.#height;
  }
}

/** The height of a final block, unless it contradicts the checkpoint. */
function heightOn(checkpoint: Checkpoint, block: BlockId | null): number | null {
  if (block === null || block.height > tipOf(checkpoint).height) return null;
  const here = checkpoint.find(({ height }) => height === block.height);
  return here === undefined || here.hash === block.hash ? block.height : null;
}
