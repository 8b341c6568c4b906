/**
 * The facts of an update, put in order before they are applied: by transaction, in parts of bounded size, with sets of
 * what is there. Takes turns with others, since a source may tell any number of them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChainUpdate, Credit } from '../../domain/chain.ts';
import { OUTPUTS_PER_UNCONFIRMED_MAX } from '../../domain/chain.ts';
import type { Group } from './facts.ts';

/** Credits of one group: an unconfirmed transaction is always one. */
const GROUP_MAX = OUTPUTS_PER_UNCONFIRMED_MAX;
const FACTS_PER_TURN = 10_000;

export type Grouped = {
  groups: readonly Group[];
  /** The outpoints of the credits in these groups. */
  present: ReadonlySet<string>;
  /** The spends, as "outpoint txid". */
  spent: ReadonlySet<string>;
  /** The ids of the targets spoken of; null for all. */
  targets: ReadonlySet<number> | null;
  /** The blocks that facts are in: hash to height. */
  blocks: ReadonlyMap<string, number>;
};

export async function grouped(update: ChainUpdate): Promise<Grouped> {
  const byTxid = new Map<string, Credit[]>();
  const present = new Set<string>();
  const spent = new Set<string>();
  const blocks = new Map<string, number>();
  await inTurns(update.credits, (credit) => {
    const { id, txid, block } = credit;
    if (block) blocks.set(block.hash, block.height);
    const ofOne = byTxid.get(txid);
    if (!block && (ofOne?.length ?? 0) >= OUTPUTS_PER_UNCONFIRMED_MAX) return;
    present.add(id);
    if (ofOne) ofOne.push(credit);
    else byTxid.set(txid, [credit]);
  });
  await inTurns(update.spends, ({ outpoint, txid, block }) => {
    spent.add(`${outpoint} ${txid}`);
    if (block) blocks.set(block.hash, block.height);
  });
  const groups: Group[] = [];
  await inTurns([...byTxid.values()], (credits) => {
    for (let at = 0; at < credits.length; at += GROUP_MAX) {
      const size = credits.length;
      groups.push({
        credits: credits.slice(at, at + GROUP_MAX),
        size,
        first: at === 0,
        last: at + GROUP_MAX >= size,
      });
    }
  });
  const targets = update.targets === 'all' ? null : new Set(update.targets);
  return { groups, present, spent, targets, blocks };
}

async function inTurns<T>(list: readonly T[], each: (item: T) => void): Promise<void> {
  for (const [i, item] of list.entries()) {
    each(item);
    if ((i + 1) % FACTS_PER_TURN === 0) await nextTurn();
  }
}
