/** Adds a business on a real network, with the public keys of an account that the operator's own program derives. */
import type { Call, Params, Result } from '../contract/operator.ts';
import type { Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { GAP } from '../domain/indices.ts';

export type Accounts = NonNullable<Params<'business.add'>['accounts']>;
/** `used`: another program or machine may have given out addresses of the words. */
export type DerivedAccounts = { accounts: Accounts; used: boolean };

/** Monero's own 25 words, whose key becomes that of the new account. */
export type MoneroImport = {
  take(network: Network, accountNo: number): Promise<void>;
  /** Takes it back. */
  drop(network: Network, accountNo: number): Promise<void>;
};

/** Another business may take the account's number between its request and its use. */
const RACES_MAX = 3;

/**
 * Derives the next account and sends its public keys. Of used words, or with a birthday or restore height, the first
 * addresses are left out, because somebody may have them. Throws what `derive` and `business.add` throw.
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

/** Like `openBusiness`, with the key of 25 words for the Monero account. Throws what `take` throws, too. */
export async function openWithMonero(
  call: Call,
  wanted: Params<'business.add'>,
  derive: (network: Network, accountNo: number) => Promise<DerivedAccounts>,
  { take, drop }: MoneroImport,
): Promise<Result<'business.add'>> {
  const { network } = wanted;
  let tried: number | null = null;
  const undo = async (): Promise<void> => {
    if (tried !== null) await drop(network, tried);
    tried = null;
  };
  try {
    return await openBusiness(call, wanted, async (_, accountNo) => {
      await undo();
      await take(network, accountNo);
      tried = accountNo;
      return { ...(await derive(network, accountNo)), used: true };
    });
  } catch (error) {
    // without an answer the business may be there
    if (error instanceof Rejected || typeof (error as { status?: unknown }).status === 'number') await undo();
    throw error;
  }
}
