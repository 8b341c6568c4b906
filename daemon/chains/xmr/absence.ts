/**
 * Whether nodes of two operators show no further payment: both have the last block that was read here, and none after
 * it. Its hash proves every block and transaction below it, so that neither can keep one back alone.
 */
import type { BlockId } from '../../domain/chain.ts';
import type { AbsenceSource } from '../adapter.ts';
import type { Endpoints } from '../endpoints.ts';
import type { MoneroNode } from './node.ts';

/** Many invoices ask at the same time, and all get the same answer. */
const ANSWER_MS = 5_000;

type Nodes = Pick<Endpoints<MoneroNode>, 'each' | 'operatorOf'>;

export class BlockAbsence implements AbsenceSource {
  readonly #nodes: Nodes;
  #readTo: BlockId | null = null;
  #answer: Promise<readonly string[] | null> | null = null;
  #answerUntil = 0;

  constructor(nodes: Nodes) {
    this.#nodes = nodes;
  }

  /** Called when every block of the asked node was read. */
  noteRead(tip: BlockId): void {
    if (this.#readTo?.hash !== tip.hash) this.#answer = null;
    this.#readTo = tip;
  }

  showNothing(_script: unknown, signal: AbortSignal): Promise<readonly string[] | null> {
    const now = performance.now();
    if (this.#answer === null || now >= this.#answerUntil) {
      this.#answerUntil = now + ANSWER_MS;
      this.#answer = this.#ask(signal);
    }
    return this.#answer;
  }

  async #ask(signal: AbortSignal): Promise<readonly string[] | null> {
    const tip = this.#readTo;
    if (tip === null) return null;
    const names = new Map<string, string>();
    const others = await this.#nodes.each(async (node) => {
      const head = await node.head(signal);
      const operator = this.#nodes.operatorOf(node);
      if (head.hash === tip.hash && operator !== undefined) names.set(operator, node.name);
      return head.height > tip.height;
    }, signal);
    // one that is ahead may have a payment in its newest blocks: it is read first
    return names.size < 2 || others.includes(true) ? null : [...names.values()].slice(0, 2);
  }
}
