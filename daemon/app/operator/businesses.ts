/** Adds businesses with their first key and client ID, in one transaction. */
import { CHAINS, type ChainId, type Network } from '../../domain/assets.ts';
import { type AccountKey, chainKey } from '../../domain/chain.ts';
import { assert, Rejected } from '../../domain/errors.ts';
import type { Scope } from '../../domain/merchant.ts';
import { allClients, type ClientRow } from '../../store/queries/businesses.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { addBusiness, type NewBusiness } from '../shops/businesses.ts';
import { hostsOf } from '../shops/clients.ts';
import type { Business } from '../shops/directory.ts';
import { addApiKey, addClient, changeClient } from '../shops/keys.ts';

export type NewClient = { name: string; origins: readonly string[]; hosts: readonly string[] | undefined };

type AddedBusiness = { id: number; keyId: number; key: string; clientId: number | null };

/**
 * Adds a business, its first key and, if wanted, a client ID, in one transaction. Throws `Rejected`, also for account
 * keys from which no address can be derived (`business.accounts`).
 */
export async function openBusiness(
  app: App,
  wanted: NewBusiness,
  key: { name: string; scopes: readonly Scope[] },
  client: NewClient | null,
): Promise<AddedBusiness> {
  await checkAccounts(app, wanted.network, wanted.accounts);
  return app.store.write((tx) => {
    const id = addBusiness(app, wanted, tx);
    const added = addApiKey(app, tx, id, wanted.network === 'mainnet', key.name, key.scopes);
    const clientId = client && openClient(app, tx, { id, network: wanted.network }, client);
    return { id, keyId: added.id, key: added.key, clientId };
  });
}

/** A key that is not on its curve would make address derivation fail later. */
async function checkAccounts(
  app: App,
  network: Network,
  accounts: Partial<Record<ChainId, AccountKey>>,
): Promise<void> {
  for (const chain of CHAINS) {
    const key = accounts[chain];
    const runtime = app.chains.find(chainKey(network, chain));
    if (!key || !runtime) continue;
    try {
      await runtime.adapter.deriveAddress(key, 0, 0);
    } catch (error) {
      const rejected = new Rejected('business.accounts', `The ${chain} account's key is not valid`, 'accounts');
      rejected.cause = error;
      throw rejected;
    }
  }
}

/** Makes a client ID. Only the sandbox's may have no origin; it then accepts any. Throws `Rejected`. */
export function openClient(app: App, tx: Tx, business: Pick<Business, 'id' | 'network'>, client: NewClient): number {
  needOrigins(business.network, client.origins);
  // addClient refuses invalid origins
  const hosts = client.hosts?.map(checkHost) ?? hostsOf(client.origins);
  return addClient(app, tx, business.id, client.name, [...new Set(client.origins)], [...new Set(hosts)]).id;
}

/** Changes the origins or hosts of a client ID; undefined ones stay. Throws `Rejected`. */
export function reviseClient(
  app: App,
  tx: Tx,
  row: ClientRow,
  change: { origins: readonly string[] | undefined; hosts: readonly string[] | undefined },
): ClientRow {
  const origins = change.origins ?? row.origins;
  const hosts = change.hosts?.map(checkHost) ?? row.url_hosts;
  needOrigins(app.directory.business(row.business_id).network, origins);
  changeClient(app, tx, row, [...new Set(origins)], [...new Set(hosts)]);
  return clientOf(tx, row.id);
}

/** The client ID with a number that exists. */
export function clientOf(reader: Reader, id: number): ClientRow {
  const row = reader.all(allClients, {}).find((client) => client.id === id);
  assert(row, `no client ${id}`);
  return row;
}

function needOrigins(network: Network, origins: readonly string[]): void {
  if (origins.length > 0 || network === 'sandbox') return;
  throw new Rejected('client.origin', 'Give at least one origin, such as https://shop.example', 'origins');
}

/** A host as in URLs: lower case, without a port. */
function checkHost(text: string): string {
  const host = text.toLowerCase();
  const url = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : null;
  if (url?.hostname === host) return host;
  throw new Rejected('client.host', `${text} is no host: write it like shop.example`, 'hosts');
}
