/** The items of a business's counter. A removed one stays in the sales in which it was. */
import { FIAT } from '../../domain/currencies.ts';
import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, parseDecimal } from '../../domain/money.ts';
import { type ItemRow, insertItem, itemById, itemCount, itemsOf, updateItem } from '../../store/queries/counter.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';

const ITEMS_MAX = 10_000;
/** Of a business that has chosen no currency. */
const DECIMALS = 2;

export type NewItem = { name: string; category: string; price: string; vat: number | null; soldOut: boolean };

export const itemsFor = (reader: Reader, { id }: Business): ItemRow[] =>
  reader.all(itemsOf, { business_id: id, limit: ITEMS_MAX });

/** An amount of the counter with at most the currency's decimals, 1e-8. Throws `Rejected('validation')`. */
export function priceOf(text: string, currency: string | null, field: string): bigint {
  const decimals = currency === null ? DECIMALS : (FIAT[currency] ?? DECIMALS);
  const amount = parseDecimal(text, decimals);
  if (amount === null) throw new Rejected('validation', `The amount has at most ${decimals} decimals.`, field);
  return amount * 10n ** BigInt(FIAT_DECIMALS - decimals);
}

const columnsOf = (business: Business, item: NewItem) => ({
  name: item.name,
  category: item.category,
  price: priceOf(item.price, business.brand.currency, 'price'),
  vat: item.vat,
  sold_out: item.soldOut,
  removed_at: null,
});

/** Adds items. Throws `Rejected`: `validation`, `item.too_many`. */
export function addItems(tx: Tx, business: Business, items: readonly NewItem[]): void {
  const { count } = tx.get(itemCount, { business_id: business.id })!;
  if (count + items.length > ITEMS_MAX) {
    throw new Rejected('item.too_many', `The counter holds at most ${ITEMS_MAX} items`);
  }
  for (const item of items) tx.run(insertItem, { business_id: business.id, ...columnsOf(business, item) });
}

/** The item of a business. Throws `Rejected('item.not_found')`. */
function itemOf(reader: Reader, business: Business, id: number): ItemRow {
  const row = reader.get(itemById, { id });
  if (row?.business_id !== business.id || row.removed_at !== null) {
    throw new Rejected('item.not_found', 'There is no such item', 'id');
  }
  return row;
}

/** Throws `Rejected`: `validation`, `item.not_found`. */
export function changeItem(tx: Tx, business: Business, id: number, item: NewItem): void {
  itemOf(tx, business, id);
  tx.run(updateItem, { id, ...columnsOf(business, item) });
}

/** Throws `Rejected('item.not_found')`. */
export function removeItem(app: App, tx: Tx, business: Business, id: number): void {
  const { name, category, price, vat, sold_out } = itemOf(tx, business, id);
  tx.run(updateItem, { id, name, category, price, vat, sold_out, removed_at: app.now() });
}
