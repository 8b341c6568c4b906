/**
 * Three nodes of different operators, one of which may lie: several lies at a time, for as long as it likes, and if it likes only in
 * some of its answers. It knows our addresses and key images, which is more than a node can know.
 */
import type { Random } from '../random.ts';
import { Chain, paymentOf, type Tx } from './chain.ts';
import { type Asked, answerTo, blocksOf, type Fields } from './rpc.ts';

export const NODES = 3;
const LIES = [
  'invents a branch',
  'hides blocks',
  'hides the pool',
  'invents in the pool',
  'lies about outputs',
  'lies about numbers of outputs',
  'swallows transactions',
  'refuses transactions',
  'churns',
] as const;
type Lie = (typeof LIES)[number];
const TOGETHER_MAX = 4;
/** The product follows no longer branch that others contradict; what is below it may be believed until then. */
const BRANCH_MAX = 45;
const TRUTH_SHARE = 0.4;

/** `images`: of coins that we are spending. `scripts`: of our invoices, with what they ask for. `nobody`: whom a conflict pays. */
export type Known = {
  images: readonly string[];
  scripts: readonly { script: Uint8Array; units: bigint }[];
  nobody: Uint8Array;
};

export class Liar {
  node = 0;
  #lies = new Set<Lie>();
  #view: Chain | null = null;
  #fork = 0;
  #invented: Tx[] = [];
  #secret = 5_000_000n;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  get isLying(): boolean {
    return this.#lies.size > 0;
  }

  /** Begins to tell some lies together; returns them in words. */
  begin(truth: Chain, known: Known, nowMs: number): string {
    const random = this.#random;
    if (!this.isLying) this.node = random.whole(0, NODES - 1);
    const count = random.whole(1, TOGETHER_MAX);
    this.#lies = new Set(Array.from({ length: count }, () => random.pick(LIES) as Lie));
    const view = new Chain('liar', truth.rings);
    this.#invented = this.#invent(known);
    if (this.#lies.has('invents a branch')) {
      this.#fork = truth.tip.height - random.whole(0, 3);
      view.forkFrom(truth, this.#fork);
      for (const tx of this.#invented) view.submit(tx);
      view.mine(random.whole(1, 16), nowMs);
    } else if (this.#lies.has('hides blocks')) {
      view.forkFrom(truth, truth.tip.height);
    } else view.blocks = truth.blocks;
    this.#view = view;
    return `node ${this.node} ${[...this.#lies].join(', ')}`;
  }

  /** Takes of our coins, and payments of what our invoices ask for. */
  #invent({ images, scripts, nobody }: Known): Tx[] {
    const conflicts = images.map((image) => paymentOf([{ script: nobody, units: 1n }], image, this.#secret++));
    const paid = scripts.slice(-2).map((output) => {
      const image = this.#secret.toString(16).padStart(64, 'f');
      return paymentOf([output], image, this.#secret++);
    });
    return [...conflicts, ...paid];
  }

  /** The truth has so many blocks more. */
  mined(truth: Chain, count: number, nowMs: number): void {
    const view = this.#view;
    if (!view) return;
    if (!this.#lies.has('invents a branch')) {
      if (!this.#lies.has('hides blocks')) view.blocks = truth.blocks;
      return;
    }
    if (view.tip.height - this.#fork + count > BRANCH_MAX) this.end();
    else view.mine(count, nowMs);
  }

  end(): void {
    this.#lies = new Set();
    this.#view = null;
  }

  #chainFor(truth: Chain, node: number): Chain {
    const view = this.#view;
    if (!view || node !== this.node) return truth;
    if (this.#lies.has('churns') && this.#random.chance(TRUTH_SHARE)) return truth;
    view.pool.clear();
    if (this.#lies.has('invents in the pool')) for (const tx of this.#invented) view.submit(tx);
    if (!this.#lies.has('hides the pool')) for (const tx of truth.pool.values()) view.submit(tx);
    return view;
  }

  blocks(truth: Chain, node: number, heights: readonly number[]): Buffer {
    return blocksOf(this.#chainFor(truth, node), heights);
  }

  answer(truth: Chain, node: number, asked: Asked): Fields {
    const chain = this.#chainFor(truth, node);
    const { name } = asked;
    if (chain === truth) return answerTo(truth, asked);
    if (name === '/send_raw_transaction') {
      if (this.#lies.has('swallows transactions')) return { status: 'OK' };
      return this.#lies.has('refuses transactions') ? { status: 'Failed', double_spend: true } : answerTo(truth, asked);
    }
    const told = answerTo(chain, asked);
    if (name === '/get_outs' && this.#lies.has('lies about outputs')) {
      const outs = told.outs as { key: string }[];
      return { ...told, outs: outs.map((one, at) => ({ ...one, key: outs[(at + 1) % outs.length]?.key })) };
    }
    if (name === 'get_output_distribution' && this.#lies.has('lies about numbers of outputs')) {
      const [first] = told.distributions as { distribution: number[] }[];
      return { ...told, distributions: [{ ...first, distribution: first?.distribution.map((count) => count + 1) }] };
    }
    return told;
  }
}
