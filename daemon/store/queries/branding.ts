/** Statements about the appearance of businesses to their payers. */
import { columnsBut, find, insert, matching, remove } from '../statement.ts';

export const allBrands = matching('brand');

export const setBrand = insert('brand', columnsBut('brand'), ['business_id']);

export const insertLogo = insert('logo', columnsBut('logo'), 'ignore');

export const logoById = find('logo', 'id');

export const deleteLogo = remove('logo', 'id');
