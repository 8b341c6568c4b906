/**
 * The height up to which blocks are final, by the endpoints' tag "finalized" (Ethereum's execution API). It is
 * requested at intervals, because it moves once in minutes. Where there are endpoints of several operators, two must report
 * one, and the lower height counts: one alone could call its newest block final. The others are asked until one of them has come
 * as far as the asked one, so that one that stands still keeps no payment waiting.
 */
import type { BlockId, Checkpoint } from '../../domain/chain.ts';
import { tipOf } from '../adapter.ts';
import type { Endpoints } from '../endpoints.ts';
import type { EvmEndpoint } from './endpoint.ts';

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
    const other = this.#endpoints.operators < 2 ? own : await this.#highestOf(asked, own, use, signal);
    // while no other one answers, the last height on which two agreed stays final
    if (other !== undefined) this.#height = own === null || other === null ? null : Math.min(own, other);
    return this.#height;
  }

  /** The highest of other operators' heights, up to one that is not below `own`. Undefined if no other one answers. */
  async #highestOf(
    asked: EvmEndpoint,
    own: number | null,
    use: (endpoint: EvmEndpoint) => Promise<number | null>,
    signal: AbortSignal,
  ): Promise<number | null | undefined> {
    const told: (number | null)[] = [];
    const isHighEnough = async (endpoint: EvmEndpoint): Promise<boolean> => {
      const theirs = await use(endpoint);
      told.push(theirs);
      return own === null || (theirs !== null && theirs >= own);
    };
    await this.#endpoints.other(asked, isHighEnough, signal);
    const heights = told.filter((height) => height !== null);
    return told.length === 0 ? undefined : heights.length === 0 ? null : Math.max(...heights);
  }
}

/** The height of a final block, unless it contradicts the checkpoint. */
function heightOn(checkpoint: Checkpoint, block: BlockId | null): number | null {
  if (block === null || block.height > tipOf(checkpoint).height) return null;
  const here = checkpoint.find(({ height }) => height === block.height);
  return here === undefined || here.hash === block.hash ? block.height : null;
}
