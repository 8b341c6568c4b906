/**
 * Enters the addresses that were given out lately into their own rows (`store/lately.ts`), in the order of these: so
 * addresses of one account, which stand beside each other, cost a page together.
 */

import { ENTERED_SETTING } from '../../store/lately.ts';
import { assignTarget } from '../../store/queries/credits.ts';
import { deleteLately, lastGiven, latelyAbove, latelyAfter } from '../../store/queries/given.ts';
import { saveSetting } from '../../store/queries/settings.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { retireKin } from './kin.ts';

/** So many are entered at once: eighty for each of a hundred accounts, which stand in two or three pages. */
const ENTERED_FROM = 8_000;
/** Addresses per write: about two milliseconds. */
const ENTERED_AT_ONCE = 200;

/** Whether so many are to be entered that it is worth it. */
export const isEnteringDue = (app: App): boolean => app.store.get(latelyAbove, { above: ENTERED_FROM }) !== undefined;

/** Enters all that were given out before the call, a few milliseconds at a time, until told to stop. A restart continues. */
export async function enterGiven(app: App, stopped: () => boolean): Promise<void> {
  if (!app.store.get(latelyAbove, { above: 0 })) return;
  const no = app.store.get(lastGiven, {})?.no ?? 0;
  for (let after: number | null = 0; after !== null && !stopped(); ) {
    const from: number = after;
    after = await app.store.write((tx) => enterSome(app, tx, from, no));
  }
}

/** Returns the last row that was entered; null: that were all up to the number `no` of the log. */
function enterSome(app: App, tx: Tx, after: number, no: number): number | null {
  const rows = tx.all(latelyAfter, { after, limit: ENTERED_AT_ONCE });
  for (const { target_id: id, invoice_id, ...target } of rows) {
    tx.run(assignTarget, { id, invoice_id });
    retireKin(tx, target, false);
  }
  const last = rows.at(-1)?.target_id ?? after;
  tx.run(deleteLately, { after, last });
  if (rows.length === ENTERED_AT_ONCE) return last;
  tx.run(saveSetting, { key: ENTERED_SETTING, value: `${no}`, updated_at: app.now() });
  return null;
}
