/**
 * An account chain reports debits and used conflict keys beside credits. Both follow the rules of credits: a fact in a
 * block disappears only with that block, and an unconfirmed fact disappears when a complete view lacks it.
 */
import type { ChainUpdate } from '../../domain/chain.ts';
import { type DebitRow, reportedDebitsInBlock, reportedDebitsUnconfirmed } from '../../store/queries/debits.ts';
import {
  dropUsedKey,
  saveUsedKey,
  type UsedKeyRow,
  usedKeysInBlock,
  usedKeysUnconfirmed,
} from '../../store/queries/used-keys.ts';
import type { Entries } from '../books/entries.ts';
import type { Grouped } from './grouped.ts';
import type { Phase } from './ingest.ts';

/** Rows that one step reads. */
const PAGE = 32;

export class Reported {
  readonly #chainKey: string;
  readonly #update: ChainUpdate;
  readonly #facts: Grouped;
  readonly #entries: () => Entries;

  constructor(chainKey: string, update: ChainUpdate, facts: Grouped, entries: () => Entries) {
    this.#chainKey = chainKey;
    this.#update = update;
    this.#facts = facts;
    this.#entries = entries;
  }

  /** The removals, which run before new facts are stored. `undone`: the hashes of blocks that left the chain. */
  before(undone: readonly string[]): Phase[] {
    if (!this.#update.debits) return [];
    const undo = [this.#undoDebits(undone), this.#undoUses(undone)];
    return this.#isComplete ? [...undo, this.#absentDebits(), this.#absentUses()] : undo;
  }

  /** `isPast`: blocks of a past. */
  debits(isPast = false): Phase[] {
    const { debits } = this.#update;
    if (!debits) return [];
    return [
      (_, at) => {
        const page = debits.slice(at, at + PAGE);
        for (const debit of page) this.#entries().see(debit, isPast);
        return page.length === 0 ? null : { at: at + PAGE };
      },
    ];
  }

  get #isComplete(): boolean {
    return this.#update.mempool === 'complete';
  }

  #undoDebits(blocks: readonly string[]): Phase {
    return (tx, at, key) => {
      const block_hash = blocks[at];
      if (block_hash === undefined) return null;
      const page = tx.all(reportedDebitsInBlock, { block_hash, after: Number(key), limit: PAGE });
      for (const row of page) {
        if (this.#isDebitGone(row)) this.#entries().lose(row);
        else this.#entries().unplace(row);
      }
      return page.length === PAGE ? { at, key: `${page.at(-1)?.id}` } : { at: at + 1 };
    };
  }

  #absentDebits(): Phase {
    return (tx, after) => {
      const page = tx.all(reportedDebitsUnconfirmed, { chain_key: this.#chainKey, after, limit: PAGE });
      for (const row of page) if (this.#isDebitGone(row)) this.#entries().lose(row);
      const last = page.at(-1);
      return last && page.length === PAGE ? { at: last.id } : null;
    };
  }

  #isDebitGone({ ref, target_id }: DebitRow): boolean {
    const { targets, debited } = this.#facts;
    const isSpokenOf = targets === null || (target_id !== null && targets.has(target_id));
    return this.#isComplete && isSpokenOf && !debited.has(ref);
  }

  #undoUses(blocks: readonly string[]): Phase {
    return (tx, at, after) => {
      const block_hash = blocks[at];
      if (block_hash === undefined) return null;
      const page = tx.all(usedKeysInBlock, { block_hash, after, limit: PAGE });
      for (const use of page) {
        if (this.#isUseGone(use)) tx.run(dropUsedKey, use);
        else tx.run(saveUsedKey, { ...use, block_height: null, block_hash: null, failed: false });
      }
      return page.length === PAGE ? { at, key: page.at(-1)!.conflict_key } : { at: at + 1 };
    };
  }

  #absentUses(): Phase {
    return (tx, at, after) => {
      const page = tx.all(usedKeysUnconfirmed, { chain_key: this.#chainKey, after, limit: PAGE });
      for (const use of page) if (this.#isUseGone(use)) tx.run(dropUsedKey, use);
      return page.length === PAGE ? { at, key: page.at(-1)!.conflict_key } : null;
    };
  }

  /** A key belongs to no target. So only an update that covers all targets shows that a key was not used. */
  #isUseGone({ conflict_key, txid }: UsedKeyRow): boolean {
    const { targets, spent } = this.#facts;
    return this.#isComplete && targets === null && !spent.has(`${conflict_key} ${txid}`);
  }
}
