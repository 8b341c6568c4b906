/**
 * Deletes vanished unconfirmed credits. A row is kept while it may still tell when money was first seen, but their
 * number is limited, because anybody can make a source report deposits that never confirm.
 */
import { MS_PER_DAY } from '../../domain/time.ts';
import {
  creditsOfTransactionAfter,
  deleteCredit,
  deleteInboxItem,
  vanishedAfter,
  vanishedCredits,
} from '../../store/queries/credits.ts';
import { newestCredit } from '../../store/queries/operator.ts';
import { deletePayingInputs, deletePayingTx } from '../../store/queries/paying.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { searchAgain } from '../recovery/quarantine.ts';

/** A day after it was first seen, a credit can no longer keep the rate of a quote. */
const VANISHED_KEPT_MS = MS_PER_DAY;
const VANISHED_KEPT_MAX = 1_000;
const PAGE = 32;
const PAGES_PER_UPDATE_MAX = 20;

/**
 * Deletes a page of a chain's vanished credits, except those that a withdrawal or a decision of the operator names.
 * `done`: pages deleted so far. Null if there are no more for now.
 */
export function forgetVanished(app: App, tx: Tx, chain_key: string, done: number): { at: number } | null {
  const crowded = tx.get(vanishedAfter, { chain_key, skip: VANISHED_KEPT_MAX })?.gone_at ?? 0;
  const before = Math.max(app.chains.credibleNow(app.now()) - VANISHED_KEPT_MS, crowded);
  const page = tx.all(vanishedCredits, { chain_key, before, limit: PAGE });
  for (const { id, txid } of page) {
    tx.run(deleteInboxItem, { credit_id: id });
    const isLast = tx.get(newestCredit, {})?.id === id;
    tx.run(deleteCredit, { id });
    // behind the last ones that are left, numbers are given again
    if (isLast) searchAgain(tx, { credit: tx.get(newestCredit, {})?.id ?? 0 }, app.now());
    const others = tx.all(creditsOfTransactionAfter, { after: `${txid}:`, to: `${txid};`, chain_key, limit: 1 });
    if (others.length > 0) continue;
    tx.run(deletePayingInputs, { txid, chain_key });
    tx.run(deletePayingTx, { txid, chain_key });
  }
  return page.length === PAGE && done + 1 < PAGES_PER_UPDATE_MAX ? { at: done + 1 } : null;
}
