/** Statements about the appearance of businesses to their payers. */
import { columnsBut, find, insert, remove, sqlite, statement } from '../statement.ts';

export const allBrands = statement((_: Record<never, never>) => sqlite.selectFrom('brand').selectAll());

export const setBrand = insert('brand', columnsBut('brand'), ['business_id']);

export const insertLogo = insert('logo', columnsBut('logo'), 'ignore');

export const logoById = find('logo', 'id');

export const deleteLogo = remove('logo', 'id');
