/**
 * Each chain's first complete view since the last quarantine began. The machine before it may have sent the notification of an invoice that
 * was paid in there, so that this one does not: a notification is sent at most once.
 */
import { assetOf } from '../../domain/assets.ts';
import { isDeep, isMature } from '../../domain/finality.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';

const SETTING = 'first_views';

/** The height of the tip and of the newest final block; null if the source does not report it. `at`: milliseconds since 1970. */
type View = { height: number; finalized: number | null; at: number };
type Views = Readonly<Record<string, View>>;

function viewsIn(reader: Reader): Views | null {
  const row = reader.get(settingOf, { key: SETTING });
  return row ? (JSON.parse(row.value) as Views) : null;
}

const save = (tx: Tx, views: Views, now: number): void => {
  tx.run(saveSetting, { key: SETTING, value: JSON.stringify(views), updated_at: now });
};

/** To be called when a quarantine begins. */
export const beginViews = (tx: Tx, now: number): void => save(tx, {}, now);

/** To be called after each complete view of a chain. */
export function noteView(tx: Tx, chainKey: string, view: View): void {
  const views = viewsIn(tx);
  if (views && !views[chainKey]) save(tx, { ...views, [chainKey]: view }, view.at);
}

/** Whether the first view of a credit's chain showed it with its required confirmations; null: there was no quarantine. */
export function firstViews(reader: Reader): ((row: CreditRow) => boolean) | null {
  const views = viewsIn(reader);
  if (!views) return null;
  return (row) => {
    const view = views[row.chain_key];
    // the first view is not over
    if (!view) return true;
    const { height, finalized, at } = view;
    const depth = row.block_height === null ? 0 : Math.max(0, height - row.block_height + 1);
    const { symbol: asset } = assetOf(row.asset);
    const isEnough = isDeep({ required: row.required, depth, height: row.block_height, finalized, asset });
    return row.first_seen_at <= at && isMature({ asset, maturity: row.maturity }, depth) && isEnough;
  };
}
