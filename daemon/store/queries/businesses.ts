/** Statements about businesses, their accounts, keys and client IDs. */
import { sql } from 'kysely';
import type { Row } from '../schema.ts';
import { columnsBut, find, inOrder, insert, matching, SOME, sqlite, statement, update } from '../statement.ts';
import { readyTargets } from './ready.ts';

export type AccountRow = Row<'account'>;

export type ApiKeyRow = Row<'api_key'>;

export type ClientRow = Row<'client'>;

export const insertBusiness = insert('business', columnsBut('business', 'id'));

export const allBusinesses = inOrder('business');

export const setBusiness = update('business', ['name', 'time_zone'], 'id');

export const setBusinessAsset = insert('business_asset', columnsBut('business_asset'), ['business_id', 'asset']);

export const allBusinessAssets = matching('business_asset');

export const insertAccount = insert('account', ['business_id', 'chain_key', 'key', 'next_index', 'birthday', 'rescan']);

export const allAccounts = inOrder('account');

export const accountsOfChain = inOrder('account', ['chain_key'], {}, ['id', 'rescan', 'key']);

export const accountById = find('account', 'id');

/** Returns a row if more than `above` addresses of an account are unused. */
export const poolAbove = statement((p: { account_id: number; above: number }) =>
  readyTargets(p.account_id).select('id').orderBy('idx').limit(1).offset(p.above),
);

/** One of the unused addresses of an account. */
export const firstAddressOf = statement((p: { account_id: number }) =>
  readyTargets(p.account_id).select('address').orderBy('idx').limit(sql.lit(1)),
);

/** The number of unused addresses of an account. */
export const poolSize = statement((p: { account_id: number }) =>
  readyTargets(p.account_id).select((eb) => eb.fn.countAll<number>().as('ready')),
);

export const accountsToRescan = matching('account', ['chain_key'], { rescan: SOME });

/** Advances an account's rescan if it is still at `from`. */
export const stepRescan = statement((p: { id: number; from: string; to: string | null }) =>
  sqlite.updateTable('account').set({ rescan: p.to }).where('id', '=', p.id).where('rescan', '=', p.from),
);

/** Begins to read an account's history, unless that is under way. */
export const rescanAccount = update('account', [{ rescan: '[]' }], 'id', { rescan: null });

/** The same from a block on. */
export const rescanFrom = statement((p: { id: number; to: string }) =>
  sqlite.updateTable('account').set({ rescan: p.to }).where('id', '=', p.id).where('rescan', 'is', null),
);

/** The same where the past is being read already, but for a wallet whose past was never read. */
export const rescanAgainFrom = statement((p: { id: number; to: string }) =>
  sqlite
    .updateTable('account')
    .set({ rescan: p.to })
    .where('id', '=', p.id)
    .where((eb) => eb.or([eb('rescan', 'is', null), eb('gap', 'is', null), eb('past_until', 'is not', null)])),
);

export const setNextIndex = update('account', ['next_index'], 'id');

export const insertApiKey = insert('api_key', columnsBut('api_key', 'id', 'last_used_at', 'revoked_at'));

export const apiKeyByHash = matching('api_key', ['hash'], { revoked_at: null });

export const allApiKeys = inOrder('api_key');

export const revokeApiKey = update('api_key', ['revoked_at'], 'id', { revoked_at: null });

export const touchApiKey = update('api_key', ['last_used_at'], 'id');

export const insertClient = insert('client', columnsBut('client', 'id', 'revoked_at'));

export const allClients = inOrder('client');

export const setClient = update('client', ['name', 'origins', 'url_hosts'], 'id', { revoked_at: null });

export const revokeClient = update('client', ['revoked_at'], 'id', { revoked_at: null });
