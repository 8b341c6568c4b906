/**
 * Sorts the facts of an update before they are applied: by transaction, in parts of bounded size, with sets for
 * lookups. Works in short turns, because a source may report any number of facts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockId, ChainUpdate, Credit } from '../../domain/chain.ts';
import { OUTPUTS_PER_UNCONFIRMED_MAX } from '../../domain/chain.ts';
import type { Group } from './facts.ts';

/** Credits per group. An unconfirmed transaction is always one group. */
const GROUP_MAX = OUTPUTS_PER_UNCONFIRMED_MAX;
const FACTS_PER_TURN = 10_000;

export type Grouped = {
  groups: readonly Group[];
  /** The outpoints of the credits in these groups. */
  present: ReadonlySet<string>;
  /** The spends as "outpoint txid". */
  spent: ReadonlySet<string>;
  /** The ids of the covered targets; null: all. */
  targets: ReadonlySet<number> | null;
  /** The references of the debits. */
  debited: ReadonlySet<string>;
  /** The blocks of the facts, by hash. `time`: milliseconds since 1970, if reported. */
  blocks: ReadonlyMap<string, { height: number; time: number | undefined }>;
};

export async function grouped(update: ChainUpdate): Promise<Grouped> {
  const byTxid = new Map<string, Credit[]>();
  const present = new Set<string>();
  const spent = new Set<string>();
  const debited = new Set<string>();
  const blocks = new Map<string, { height: number; time: number | undefined }>();
  const place = ({ block, blockTime }: { block: BlockId | null; blockTime?: number }): void => {
    if (block) blocks.set(block.hash, { height: block.height, time: blockTime ?? blocks.get(block.hash)?.time });
  };
  await inTurns(update.credits, (credit) => {
    const { id, txid, block } = credit;
    place(credit);
    const ofOne = byTxid.get(txid);
    if (!block && (ofOne?.length ?? 0) >= OUTPUTS_PER_UNCONFIRMED_MAX) return;
    present.add(id);
    if (ofOne) ofOne.push(credit);
    else byTxid.set(txid, [credit]);
  });
  await inTurns(update.spends, (spend) => {
    spent.add(`${spend.outpoint} ${spend.txid}`);
    place(spend);
  });
  await inTurns(update.debits ?? [], (debit) => {
    debited.add(debit.id);
    place(debit);
  });
  // an output that is locked now stops counting before the one that counts in its place
  const [locked, free]: [Group[], Group[]] = [[], []];
  await inTurns([...byTxid.values()], (credits) => {
    const groups = credits.some((credit) => credit.locked) ? locked : free;
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
  const groups = [...locked, ...free];
  const targets = update.targets === 'all' ? null : new Set(update.targets);
  return { groups, present, spent, debited, targets, blocks };
}

async function inTurns<T>(list: readonly T[], each: (item: T) => void): Promise<void> {
  for (const [i, item] of list.entries()) {
    each(item);
    if ((i + 1) % FACTS_PER_TURN === 0) await nextTurn();
  }
}
