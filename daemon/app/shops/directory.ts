/**
 * The businesses with their assets, accounts and client IDs, in memory, because every request needs them and they
 * change rarely. Loaded again after every commit that changes one of them.
 */
import { ASSETS, type Asset, type AssetId, assetOf, type ChainId, type Network } from '../../domain/assets.ts';
import { type AccountKey, type ChainKey, chainKey, isWatchOnly } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { allBrands } from '../../store/queries/branding.ts';
import { type AccountRow, allAccounts, allBusinessAssets, allBusinesses } from '../../store/queries/businesses.ts';
import { liveClients } from '../../store/queries/clients.ts';
import { type EndpointRow, endpoints } from '../../store/queries/shop-events.ts';
import type { Reader } from '../../store/store.ts';

/** The jobs of each minute look at a few of them in each turn of the event loop. */
export const BUSINESSES_MAX = 1_000;

export type Account = { id: number; businessId: number; chainKey: ChainKey; key: AccountKey; birthday: number | null };

export type Business = {
  id: number;
  uuid: string;
  name: string;
  network: Network;
  timeZone: string;
  accountNo: number;
  createdAt: number;
  /** In the order of the asset table. */
  enabled: readonly Asset[];
  brand: Brand;
};

/** Null: the default. `logo`: the picture's id. `contact`: free text. `favourites`: symbols of the assets shown first. */
type Brand = {
  name: string | null;
  accent: string | null;
  logo: string | null;
  contact: string | null;
  favourites: readonly string[];
  /** The currency in which the business reckons, an ISO 4217 code; null: nobody chose one. */
  currency: string | null;
};

/** A client ID that was not revoked. */
export type Client = {
  id: number;
  publicId: string;
  businessId: number;
  /** The origins of pages that may use it. */
  origins: ReadonlySet<string>;
  /** The hosts, with their subdomains, that its invoices' URLs may have. */
  hosts: readonly string[];
};

export class Directory {
  #businesses = new Map<number, Business>();
  #clients = new Map<string, Client>();
  #accounts = new Map<string, Account>();
  #endpoints: readonly EndpointRow[] = [];

  load(reader: Reader): void {
    const enabled = new Map<number, Set<string>>();
    for (const row of reader.all(allBusinessAssets, {})) {
      if (!row.enabled) continue;
      const assets = enabled.get(row.business_id) ?? new Set();
      enabled.set(row.business_id, assets.add(row.asset));
    }
    const brands = new Map(reader.all(allBrands, {}).map((row) => [row.business_id, row]));
    const businesses = new Map<number, Business>();
    for (const row of reader.all(allBusinesses, {})) {
      businesses.set(row.id, {
        id: row.id,
        uuid: row.uuid,
        name: row.name,
        network: row.network,
        timeZone: row.time_zone,
        accountNo: row.account_no,
        createdAt: row.created_at,
        enabled: ASSETS.filter((asset) => enabled.get(row.id)?.has(asset.symbol)),
        brand: {
          name: brands.get(row.id)?.display_name ?? null,
          accent: brands.get(row.id)?.accent ?? null,
          logo: brands.get(row.id)?.logo_id ?? null,
          contact: brands.get(row.id)?.contact ?? null,
          favourites: brands.get(row.id)?.favourites ?? [],
          currency: brands.get(row.id)?.currency ?? null,
        },
      });
    }
    this.#businesses = businesses;
    this.#clients = new Map(
      reader.all(liveClients, {}).map((row) => [
        row.public_id,
        {
          id: row.id,
          publicId: row.public_id,
          businessId: row.business_id,
          origins: new Set(row.origins),
          hosts: row.url_hosts,
        },
      ]),
    );
    this.#endpoints = reader.all(endpoints, {});
    this.#accounts = new Map(
      reader.all(allAccounts, {}).map((row) => [`${row.business_id} ${row.chain_key}`, fromRow(row)]),
    );
  }

  businesses(): Business[] {
    return [...this.#businesses.values()];
  }

  business(id: number): Business {
    const business = this.#businesses.get(id);
    assert(business, `no business ${id}`);
    return business;
  }

  /** The client ID with this public id; undefined if it is unknown or revoked. */
  client(publicId: string): Client | undefined {
    return this.#clients.get(publicId);
  }

  clients(): Client[] {
    return [...this.#clients.values()];
  }

  /** The event endpoints of a business, including disabled ones. */
  endpoints(businessId: number): EndpointRow[] {
    return this.#endpoints.filter((row) => row.business_id === businessId);
  }

  allEndpoints(): readonly EndpointRow[] {
    return this.#endpoints;
  }

  accounts(): Account[] {
    return [...this.#accounts.values()];
  }

  /** The account that receives an asset for a business; undefined if its chain has none. */
  account(business: Business, asset: AssetId): Account | undefined {
    return this.#accounts.get(`${business.id} ${chainKey(business.network, assetOf(asset).chain)}`);
  }

  /** Whether the private keys of a business's account on a chain are in another wallet. False if it has none. */
  isWatchOnly(business: Pick<Business, 'id' | 'network'>, chain: ChainId): boolean {
    const account = this.#accounts.get(`${business.id} ${chainKey(business.network, chain)}`);
    return account !== undefined && isWatchOnly(account.key);
  }

  /** An account by its id, which is known to exist. */
  accountOf(accountId: number): Account {
    const account = this.accounts().find(({ id }) => id === accountId);
    assert(account, `no account ${accountId}`);
    return account;
  }

  businessOfAccount(accountId: number): number {
    return this.accountOf(accountId).businessId;
  }

  /** Whether a business takes this symbol. */
  takes(business: Business, asset: AssetId): boolean {
    return business.enabled.some((enabled) => enabled.symbol === asset);
  }
}

function fromRow(row: AccountRow): Account {
  return {
    id: row.id,
    businessId: row.business_id,
    chainKey: row.chain_key as ChainKey,
    key: row.key,
    birthday: row.birthday,
  };
}
