/** Statements about addresses that are watched and never given out, and about the past of a wallet that has one. */
import { sql } from 'kysely';
import type { Row } from '../schema.ts';
import { find, sqlite, statement } from '../statement.ts';

export type SkippedRow = Row<'skipped'>;

export const skippedOf = find('skipped', 'account_id');

/** A range of an account whose addresses are not all derived yet. */
export const skippedNext = statement((p: { account_id: number }) =>
  sqlite
    .selectFrom('skipped')
    .selectAll()
    .where('account_id', '=', p.account_id)
    .whereRef('reached', '<', 'to_index')
    .orderBy('branch')
    .orderBy('from_index')
    .limit(1),
);

export const insertSkipped = statement(
  (p: { account_id: number; branch: number; from_index: number; to_index: number }) =>
    sqlite.insertInto('skipped').values({
      account_id: p.account_id,
      branch: p.branch,
      from_index: p.from_index,
      to_index: p.to_index,
      reached: p.from_index,
    }),
);

/** Notes how far a range was derived, if it is still where the caller believes it to be. */
export const stepSkipped = statement(
  (p: { account_id: number; branch: number; from_index: number; was: number; reached: number }) =>
    sqlite
      .updateTable('skipped')
      .set({ reached: p.reached })
      .where('account_id', '=', p.account_id)
      .where('branch', '=', p.branch)
      .where('from_index', '=', p.from_index)
      .where('reached', '=', p.was),
);

/** The next receiving address is none below an index. */
export const raiseNextIndex = statement((p: { account_id: number; to: number }) =>
  sqlite
    .updateTable('account')
    .set({ next_index: sql<number>`max(next_index, ${p.to})` })
    .where('id', '=', p.account_id),
);

/** The same of change. */
export const raiseNextChange = statement((p: { account_id: number; to: number }) =>
  sqlite
    .updateTable('account')
    .set({ next_change: sql<number>`max(next_change, ${p.to})` })
    .where('id', '=', p.account_id),
);

/** Addresses below an index that nobody is known to have are given to nobody any more, and stay watched. */
export const retireBelow = statement((p: { account_id: number; below: number }) =>
  sqlite
    .updateTable('target')
    .set({ invoice_id: 0 })
    .where('account_id', '=', p.account_id)
    .where('invoice_id', 'is', null)
    .where('branch', '=', sql.lit(0))
    .where('idx', '<', p.below),
);

/** Says that an account has a past, and up to which indices it is known to be used. */
export const setPast = statement((p: { account_id: number; gap: number; used_index: number; used_change: number }) =>
  sqlite
    .updateTable('account')
    .set({ gap: p.gap, used_index: p.used_index, used_change: p.used_change })
    .where('id', '=', p.account_id),
);

/** A higher index was found used. */
export const raiseUsed = statement((p: { account_id: number; used_index: number; used_change: number }) =>
  sqlite
    .updateTable('account')
    .set({
      used_index: sql<number>`max(used_index, ${p.used_index})`,
      used_change: sql<number>`max(used_change, ${p.used_change})`,
    })
    .where('id', '=', p.account_id),
);

/** Begins to read a past, if it is still where the caller believes it to be. */
export const beginPast = statement(
  (p: { account_id: number; from: string; to: string; ready_index: number; ready_change: number }) =>
    sqlite
      .updateTable('account')
      .set({ rescan: p.to, ready_index: p.ready_index, ready_change: p.ready_change })
      .where('id', '=', p.account_id)
      .where('rescan', '=', p.from),
);

/** The past was read: what happened up to this height was before this service. */
export const endPast = statement((p: { account_id: number; height: number }) =>
  sqlite.updateTable('account').set({ rescan: null, past_until: p.height }).where('id', '=', p.account_id),
);
