/** Statements about addresses that are watched and never given out, and about the history of a used wallet. */
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

/** Stores how far a range was derived, if its position is still the expected one. */
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

/** Raises the index of the next receiving address to at least `to`. */
export const raiseNextIndex = statement((p: { account_id: number; to: number }) =>
  sqlite
    .updateTable('account')
    .set({ next_index: sql<number>`max(next_index, ${p.to})` })
    .where('id', '=', p.account_id),
);

/** Raises the index of the next change address to at least `to`. */
export const raiseNextChange = statement((p: { account_id: number; to: number }) =>
  sqlite
    .updateTable('account')
    .set({ next_change: sql<number>`max(next_change, ${p.to})` })
    .where('id', '=', p.account_id),
);

/** Retires the unused addresses below an index: they are not given out any more, but stay watched. */
export const retireBelow = statement((p: { account_id: number; below: number }) =>
  sqlite
    .updateTable('target')
    .set({ invoice_id: 0 })
    .where('account_id', '=', p.account_id)
    .where('invoice_id', 'is', null)
    .where('branch', '=', sql.lit(0))
    .where('idx', '<', p.below)
    .where(sql<boolean>`NOT EXISTS (SELECT 1 FROM given_lately WHERE target_id = target.id)`),
);

/** Marks an account as used before, and stores its highest known used indices. */
export const setPast = statement((p: { account_id: number; gap: number; used_index: number; used_change: number }) =>
  sqlite
    .updateTable('account')
    .set({ gap: p.gap, used_index: p.used_index, used_change: p.used_change })
    .where('id', '=', p.account_id),
);

/** Raises the highest used indices. */
export const raiseUsed = statement((p: { account_id: number; used_index: number; used_change: number }) =>
  sqlite
    .updateTable('account')
    .set({
      used_index: sql<number>`max(used_index, ${p.used_index})`,
      used_change: sql<number>`max(used_change, ${p.used_change})`,
    })
    .where('id', '=', p.account_id),
);

/** Begins to read an account's history, if its position is still the expected one. */
export const beginPast = statement(
  (p: { account_id: number; from: string; to: string; ready_index: number; ready_change: number }) =>
    sqlite
      .updateTable('account')
      .set({ rescan: p.to, ready_index: p.ready_index, ready_change: p.ready_change })
      .where('id', '=', p.account_id)
      .where('rescan', '=', p.from),
);

/** Ends the reading of an account's history: transactions up to this height are older than this service. */
export const endPast = statement((p: { account_id: number; height: number }) =>
  sqlite.updateTable('account').set({ rescan: null, past_until: p.height }).where('id', '=', p.account_id),
);
