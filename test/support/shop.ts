/** A shop on regtest in a service of a test: its wallet, its business with every chain's account, its key, its operator. */
import { join } from 'node:path';
import type { Call as OperatorCall, Params } from '../../daemon/contract/operator.ts';
import { CHAINS } from '../../daemon/domain/assets.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { type Answer, type TestDaemon, until } from './daemon.ts';
import { Operator } from './operator.ts';
import { cheapWallet } from './wallet.ts';

export const PASSPHRASE = 'a passphrase of the test';

type Scopes = NonNullable<Params<'business.add'>['key']>['scopes'];
/** `cryptos`: those that it can take. */
type Opened = { key: string; operator: Operator; cryptos: string[] };

export async function openShop(
  service: TestDaemon,
  scopes: Scopes = ['invoices', 'balance'],
  name = 'Regtest shop',
): Promise<Opened> {
  const vault = join(service.dataDir, 'vault');
  await cheapWallet(vault, { passphrase: PASSPHRASE });
  const operator = new Operator(service.dataDir, PASSPHRASE);
  const { key, business } = await operator.call('business.add', {
    name,
    network: 'regtest',
    account_no: 0,
    accounts: await deriveAccounts(vault, PASSPHRASE, 'regtest', 0, CHAINS),
    key: { name: 'shop', scopes },
  });
  return { key: key.key, operator, cryptos: business.cryptos };
}

/** A business on regtest whose money nobody can spend, with a client ID for pages of these origins. */
export async function liveClient(call: OperatorCall, origins: string[], name = 'Live') {
  const { client } = await call('business.add', {
    name,
    network: 'regtest',
    account_no: 0,
    accounts: Object.fromEntries(
      CHAINS.map((chain) => [chain, accountKey(new Uint8Array(32).fill(9), chain, 'regtest', 0)]),
    ),
    key: { name: 'till', scopes: ['invoices'] },
    client: { name: 'page', origins },
  });
  return client!;
}

type Call = <Body>(method: string, path: string, body?: unknown) => Promise<Answer<Body>>;

/** A shop's invoices: as they are, and as soon as something holds. */
export function invoicesOf<Invoice extends object>(call: Call) {
  const get = async (id: string): Promise<Invoice> => (await call<Invoice>('GET', `/invoice/${id}`)).body;
  const when = (id: string, what: string, holds: (invoice: Invoice) => boolean): Promise<Invoice> =>
    until(what, async () => {
      const invoice = await get(id);
      return holds(invoice) ? invoice : null;
    });
  return { get, when };
}
