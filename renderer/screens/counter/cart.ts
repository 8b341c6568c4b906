/** The cart of a till: items and typed amounts, in the currency's smallest unit. */
import type { Params, Result } from '../../bridge.ts';
import { amountOf, CENTS } from './amount.ts';

export type Item = Result<'item.list'>['items'][number];
/** `key`: of its item, or of the typed amount. `unit`: the price of one. */
export type CartLine = {
  key: string;
  item: number | null;
  name: string;
  unit: bigint;
  quantity: number;
  vat: number | null;
};
export type Cart = readonly CartLine[];

const QUANTITY_MAX = 9_999;

/** A decimal in the currency's smallest unit; further decimals, which a price does not have, are cut. */
export function unitsOf(price: string, decimals = CENTS): bigint {
  const [whole = '0', part = ''] = price.split('.');
  return BigInt(whole + part.slice(0, decimals).padEnd(decimals, '0'));
}

export const totalOf = (cart: Cart): bigint =>
  cart.reduce((sum, { unit, quantity }) => sum + unit * BigInt(quantity), 0n);
export const countOf = (cart: Cart): number => cart.reduce((sum, { quantity }) => sum + quantity, 0);

/** Adds to a line, or takes from it; a line of nothing goes. */
export function changed(cart: Cart, key: string, by: number): Cart {
  return cart
    .map((line) => (line.key === key ? { ...line, quantity: Math.min(QUANTITY_MAX, line.quantity + by) } : line))
    .filter(({ quantity }) => quantity > 0);
}

export function withItem(cart: Cart, { id, name, price, vat }: Item, decimals: number): Cart {
  const key = `${id}`;
  if (cart.some((line) => line.key === key)) return changed(cart, key, 1);
  return [...cart, { key, item: id, name, unit: unitsOf(price, decimals), quantity: 1, vat }];
}

/** Each typed amount is one line. */
export const withTyped = (cart: Cart, unit: bigint, vat: number | null): Cart => [
  ...cart,
  { key: `typed ${crypto.getRandomValues(new Uint32Array(1))[0]}`, item: null, name: '', unit, quantity: 1, vat },
];

/** The lines as the service takes them. */
export const linesOf = (cart: Cart, decimals: number): NonNullable<Params<'counter.sell'>['lines']> =>
  cart.map(({ item, unit, quantity, vat }) => ({ item, price: amountOf(`${unit}`, decimals), quantity, vat }));

/** The same sale again: what is still sold, at today's prices. Typed amounts stay. */
export const again = (cart: Cart, items: readonly Item[], decimals: number): Cart =>
  cart.flatMap((line) => {
    if (line.item === null) return [line];
    const item = items.find(({ id, sold_out }) => id === line.item && !sold_out);
    return item ? [{ ...line, name: item.name, unit: unitsOf(item.price, decimals), vat: item.vat }] : [];
  });
