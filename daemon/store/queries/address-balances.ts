/** Statements about the balances of single addresses on account chains. */
import { sql } from 'kysely';
import type { AssetId } from '../../domain/assets.ts';
import { columnsBut, find, insert, remove, sqlite, statement } from '../statement.ts';

export const addressBalance = find('address_balance', 'target_id', 'asset');

export const setAddressBalance = insert('address_balance', columnsBut('address_balance'), ['target_id', 'asset']);

export const dropAddressBalance = remove('address_balance', 'target_id', 'asset');

/** The addresses of an account that hold an asset, the largest holding first. */
export const addressesHolding = statement((p: { account_id: number; asset: AssetId; limit: number }) =>
  sqlite
    .selectFrom('address_balance')
    .innerJoin('target', 'target.id', 'address_balance.target_id')
    .select(['target.id', 'target.address', 'target.script', 'target.branch', 'target.idx', 'address_balance.units'])
    .where('address_balance.account_id', '=', p.account_id)
    .where('address_balance.asset', '=', p.asset)
    .orderBy(sql`length(address_balance.units)`, 'desc')
    .orderBy('address_balance.units', 'desc')
    .limit(p.limit),
);
