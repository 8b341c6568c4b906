/** Adds a business on a real network, with the public keys of an account that the operator's own program derives. */
import type { Call, Params, Result } from '../contract/operator.ts';
import type { Network } from '../domain/assets.ts';
import { GAP } from '../domain/indices.ts';

export type Accounts = NonNullable<Params<'business.add'>['accounts']>;
/** `used`: another program or machine may have given out addresses of the words. */
export type DerivedAccounts = { accounts: Accounts; used: boolean };

/** Another business may take the account's number between its request and its use. */
const RACES_MAX = 3;

/**
 * Derives the next account and sends its public keys. Of used words, or with a birthday or restore height, the first addresses are left
 * out, because somebody may have them. Throws what `derive` and `business.add` throw.
 */
export async function openBusiness(
  call: Call,
  wanted: Params<'business.add'>,
  derive: (network: Network, accountNo: number) => Promise<DerivedAccounts>,
): Promise<Result<'business.add'>> {
  for (let race = 1; ; race++) {
    const { account_no } = await call('business.nextAccount', { network: wanted.network });
    const { accounts, used } = await derive(wanted.network, account_no);
    const { gap = GAP, birthday = null, ...rest } = wanted;
    const past = used || birthday !== null || rest.restore_height !== undefined ? { gap, birthday } : {};
    try {
      return await call('business.add', { ...rest, ...past, account_no, accounts });
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'business.account' || race >= RACES_MAX) throw error;
    }
  }
}
