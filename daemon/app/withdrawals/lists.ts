/** The operator's lists of withdrawals: pages of bounded work. */

import {
  type SpendRow,
  type VersionRow,
  versionsOf,
  type WithdrawalRow,
  withdrawalsBelow,
  withdrawalsOfBusinessBelow,
} from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { findWithdrawal, spendOf } from '../spends/rows.ts';
import { ownOf } from '../spends/sign.ts';
import { replacementsOf } from './replace.ts';

/** The maximum number of rows that one call reads, for filters with few matches. */
const SCANNED_MAX = 5_000;
const NEWEST = Number.MAX_SAFE_INTEGER;

type WithdrawalFilter = {
  business: Business | null;
  state: string | null;
  limit: number;
  before: number | null;
};

/** The newest withdrawals that match, and the cursor of the next page; null if there is none. */
export function listWithdrawals(
  app: App,
  { business, state, limit, before }: WithdrawalFilter,
): { rows: WithdrawalRow[]; next: number | null } {
  const page = { id: before ?? NEWEST, limit: state === null ? limit : SCANNED_MAX };
  const found = business
    ? app.store.all(withdrawalsOfBusinessBelow, { ...page, business_id: business.id })
    : app.store.all(withdrawalsBelow, page);
  const rows = found.filter((row) => state === null || row.state === state).slice(0, limit);
  const last = rows.length === limit ? rows.at(-1) : found.at(-1);
  const more = rows.length === limit || found.length === page.limit;
  return { rows, next: more && last && last.id > 1 ? last.id : null };
}

type WithdrawalDetails = {
  row: WithdrawalRow;
  spend: SpendRow | null;
  versions: VersionRow[];
  replacements: ReturnType<typeof replacementsOf>;
  /** Whether its newest transaction takes back the coins of what a lost machine signed (`reclaim.ts`). */
  isReclaimed: boolean;
};

/** All data of one. Throws `Rejected('withdrawal.not_found')`. */
export function showWithdrawal(app: App, name: string): WithdrawalDetails {
  const row = findWithdrawal(app.store, name);
  if (row.spend_id === null) return { row, spend: null, versions: [], replacements: [], isReclaimed: false };
  const spend = spendOf(app.store, row.spend_id);
  const versions = app.store.all(versionsOf, { spend_id: spend.id });
  const newest = versions.at(-1);
  const isReclaimed = newest !== undefined && ownOf(newest) !== null;
  return { row, spend, versions, replacements: replacementsOf(app, row), isReclaimed };
}
