/**
 * What honest nodes of Monero do at times: one that was started again with older data has only the blocks up to some height, one that
 * synchronizes passes on what its bootstrap daemon says, and one hears of no waiting transaction.
 */
import { Chain } from './chain.ts';
import type { Fields } from './rpc.ts';

export const ODDITIES = ['has older blocks', 'passes on', 'hears of no transaction'] as const;
export type Oddity = (typeof ODDITIES)[number];

/** Monero's mark of what another daemon said. */
const UNTRUSTED: Fields = { untrusted: true };

/** A node that is odd from now on. `lag`: blocks that it does not have. */
export class OddNode {
  readonly #truth: Chain;
  readonly #oddity: Oddity;
  readonly #view: Chain;

  constructor(truth: Chain, oddity: Oddity, lag: number) {
    this.#truth = truth;
    this.#oddity = oddity;
    this.#view = new Chain('true', truth.rings);
    this.#view.forkFrom(truth, Math.max(0, truth.tip.height - lag));
  }

  /** What it has now. */
  get chain(): Chain {
    if (this.#oddity === 'has older blocks') return this.#view;
    this.#view.blocks = this.#truth.blocks;
    if (this.#oddity === 'hears of no transaction') return this.#view;
    return this.#truth;
  }

  /** The mark of its answers. */
  get mark(): Fields {
    return this.#oddity === 'passes on' ? UNTRUSTED : {};
  }
}
