/** Statements about businesses, their accounts, keys and client IDs. */
import { type Selectable, sql } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

export type BusinessRow = Selectable<Schema['business']>;

export type AccountRow = Selectable<Schema['account']>;

export type ApiKeyRow = Selectable<Schema['api_key']>;

export type ClientRow = Selectable<Schema['client']>;

type Nothing = Record<never, never>;

export const insertBusiness = statement((p: Omit<BusinessRow, 'id'>) =>
  sqlite.insertInto('business').values({
    uuid: p.uuid,
    name: p.name,
    network: p.network,
    time_zone: p.time_zone,
    account_no: p.account_no,
    created_at: p.created_at,
  }),
);

export const allBusinesses = statement((_: Nothing) => sqlite.selectFrom('business').selectAll().orderBy('id'));

export const setBusiness = statement((p: { id: number; name: string; time_zone: string }) =>
  sqlite.updateTable('business').set({ name: p.name, time_zone: p.time_zone }).where('id', '=', p.id),
);

export const setBusinessAsset = statement((p: { business_id: number; asset: string; enabled: number }) =>
  sqlite
    .insertInto('business_asset')
    .values({ business_id: p.business_id, asset: p.asset, enabled: p.enabled })
    .onConflict((conflict) => conflict.columns(['business_id', 'asset']).doUpdateSet({ enabled: p.enabled })),
);

export const allBusinessAssets = statement((_: Nothing) => sqlite.selectFrom('business_asset').selectAll());

export const insertAccount = statement(
  (p: Pick<AccountRow, 'business_id' | 'chain_key' | 'key' | 'next_index' | 'birthday' | 'rescan'>) =>
    sqlite.insertInto('account').values({
      business_id: p.business_id,
      chain_key: p.chain_key,
      key: p.key,
      next_index: p.next_index,
      birthday: p.birthday,
      rescan: p.rescan,
    }),
);

export const allAccounts = statement((_: Nothing) => sqlite.selectFrom('account').selectAll().orderBy('id'));

export const accountsOfChain = statement((p: { chain_key: string }) =>
  sqlite.selectFrom('account').select('id').where('chain_key', '=', p.chain_key).orderBy('id'),
);

export const accountById = statement((p: { id: number }) =>
  sqlite.selectFrom('account').selectAll().where('id', '=', p.id),
);

/** Whether more than `above` addresses of an account were given to nobody yet: a row, or none. */
export const poolAbove = statement((p: { account_id: number; above: number }) =>
  sqlite
    .selectFrom('target')
    .select('id')
    .where('account_id', '=', p.account_id)
    .where('invoice_id', 'is', null)
    .where('branch', '=', sql.lit(0))
    .orderBy('idx')
    .limit(1)
    .offset(p.above),
);

/** How many addresses of an account nobody was given yet. */
export const poolSize = statement((p: { account_id: number }) =>
  sqlite
    .selectFrom('target')
    .select((eb) => eb.fn.countAll<number>().as('ready'))
    .where('account_id', '=', p.account_id)
    .where('invoice_id', 'is', null)
    .where('branch', '=', sql.lit(0)),
);

export const accountsToRescan = statement((p: { chain_key: string }) =>
  sqlite.selectFrom('account').selectAll().where('chain_key', '=', p.chain_key).where('rescan', 'is not', null),
);

/** Moves an account's rescan on, if it is still where the caller believes it to be. */
export const stepRescan = statement((p: { id: number; from: string; to: string | null }) =>
  sqlite.updateTable('account').set({ rescan: p.to }).where('id', '=', p.id).where('rescan', '=', p.from),
);

export const setNextIndex = statement((p: { id: number; next_index: number }) =>
  sqlite.updateTable('account').set({ next_index: p.next_index }).where('id', '=', p.id),
);

export const insertApiKey = statement((p: Omit<ApiKeyRow, 'id' | 'last_used_at' | 'revoked_at'>) =>
  sqlite.insertInto('api_key').values({
    business_id: p.business_id,
    name: p.name,
    hash: p.hash,
    hint: p.hint,
    scopes: p.scopes,
    created_at: p.created_at,
    last_used_at: null,
    revoked_at: null,
    per_minute: p.per_minute,
  }),
);

export const apiKeyByHash = statement((p: { hash: Uint8Array }) =>
  sqlite.selectFrom('api_key').selectAll().where('hash', '=', p.hash).where('revoked_at', 'is', null),
);

export const allApiKeys = statement((_: Nothing) => sqlite.selectFrom('api_key').selectAll().orderBy('id'));

export const revokeApiKey = statement((p: { id: number; revoked_at: number }) =>
  sqlite
    .updateTable('api_key')
    .set({ revoked_at: p.revoked_at })
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null),
);

export const touchApiKey = statement((p: { id: number; last_used_at: number }) =>
  sqlite.updateTable('api_key').set({ last_used_at: p.last_used_at }).where('id', '=', p.id),
);

export const insertClient = statement((p: Omit<ClientRow, 'id' | 'revoked_at'>) =>
  sqlite.insertInto('client').values({
    public_id: p.public_id,
    business_id: p.business_id,
    name: p.name,
    origins: p.origins,
    url_hosts: p.url_hosts,
    created_at: p.created_at,
    revoked_at: null,
  }),
);

export const allClients = statement((_: Nothing) => sqlite.selectFrom('client').selectAll().orderBy('id'));

export const setClient = statement((p: { id: number; name: string; origins: string; url_hosts: string }) =>
  sqlite
    .updateTable('client')
    .set({ name: p.name, origins: p.origins, url_hosts: p.url_hosts })
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null),
);

export const revokeClient = statement((p: { id: number; revoked_at: number }) =>
  sqlite.updateTable('client').set({ revoked_at: p.revoked_at }).where('id', '=', p.id).where('revoked_at', 'is', null),
);
