/** Adds a business on a real network, with the public keys of an account that the operator's own program derives. */
import type { Call, Params, Result } from '../contract/operator.ts';
import type { Network } from '../domain/assets.ts';

export type Accounts = NonNullable<Params<'business.add'>['accounts']>;

/** Another business may take the account's number between its request and its use. */
const RACES_MAX = 3;

/** Derives the next account and sends its public keys. Throws what `accounts` and `business.add` throw. */
export async function openBusiness(
  call: Call,
  wanted: Params<'business.add'>,
  accounts: (network: Network, accountNo: number) => Promise<Accounts>,
): Promise<Result<'business.add'>> {
  for (let race = 1; ; race++) {
    const { account_no } = await call('business.nextAccount', { network: wanted.network });
    const derived = await accounts(wanted.network, account_no);
    try {
      return await call('business.add', { ...wanted, account_no, accounts: derived });
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'business.account' || race >= RACES_MAX) throw error;
    }
  }
}
