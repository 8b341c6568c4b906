/** Statements about the fees of transactions that other wallets made. */
import { columnsBut, find, insert } from '../statement.ts';

export const outsideFee = find('outside_fee', 'txid', 'chain_key');

export const saveOutsideFee = insert('outside_fee', columnsBut('outside_fee'), 'ignore');
