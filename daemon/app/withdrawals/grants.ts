/**
 * Policies with their grants to the wallet. The signer counts limits in units of each asset and accepts them only with
 * the passphrase, so that a compromised daemon cannot approve more than was granted.
 */
import { ASSETS, type Asset } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { divideUp } from '../../domain/money.ts';
import type { Policy } from '../../domain/policy.ts';
import type { AddressBookRow } from '../../store/queries/policies.ts';
import type { PolicyGrant } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { addressBook, addressOf, changePolicy, policyFor, removeAddress } from './policy.ts';

/**
 * A coin may lose half its value before new grants are needed, because the daemon counts dollars and the signer coins.
 */
const GRANT_HEADROOM = 2n;

/** A grant with the operator's MAC. */
export type SignedGrant = { grant: PolicyGrant; mac: string };

/**
 * The grants that a policy needs, for every asset. A manual policy grants 0 of each. An asset
 * that the business does not take gets 0 too, because it may have taken it before. `without`: an address that will be
 * removed from the address book. Throws `Rejected` without a rate; but a removal waits for none, and grants 0 instead.
 */
export function wantedGrants(
  app: App,
  business: Business,
  policy: Policy,
  without: number | null = null,
): PolicyGrant[] {
  if (business.network === 'sandbox') return [];
  const issuedAt = app.now();
  const book = addressBook(app.store, business).filter(({ id }) => id !== without);
  return ASSETS.map((asset) => {
    const rate = rateFor(app, business, asset, policy, without !== null);
    const [perWithdrawal, perDay] = [policy.perWithdrawalUsd, policy.perDayUsd].map((usd) =>
      unitsFor(asset, usd, rate),
    );
    const isNothing = perWithdrawal === 0n && perDay === 0n;
    // a limit of nothing needs none, and all have to fit into what is sealed
    const its = isNothing ? [] : book.filter(({ chain }) => chain === asset.chain);
    return {
      network: business.network,
      accountNo: business.accountNo,
      asset: asset.symbol,
      perWithdrawal: `${perWithdrawal}`,
      perDay: `${perDay}`,
      addresses: policy.addressBookOnly ? its.map(({ address }) => address) : null,
      issuedAt,
    };
  });
}

/** Scaled US dollars per coin; null: nothing of it is granted. */
function rateFor(
  app: App,
  { network, enabled }: Business,
  { symbol }: Asset,
  policy: Policy,
  mayLack: boolean,
): bigint | null {
  if (policy.mode === 'manual' || !enabled.some((one) => one.symbol === symbol)) return null;
  const rate = app.rates.rate(network, symbol, 'USD', app.now());
  if (!rate && !mayLack) throw new Rejected('policy.rate', `There is no exchange rate for ${symbol} at the moment`);
  return rate?.scaled ?? null;
}

const unitsFor = ({ decimals }: Asset, usd: bigint | null, rate: bigint | null): bigint =>
  usd === null || rate === null ? 0n : divideUp(usd * GRANT_HEADROOM * 10n ** BigInt(decimals), rate);

/**
 * Sets a policy, and grants its limits to the signer. Raised limits are granted before the policy is stored; lowered
 * limits after it. Throws `Rejected`: `policy.limits`, `policy.grants`, `signer.locked`, `signer.approval`.
 */
export async function changePolicyGranted(
  app: App,
  business: Business,
  policy: Policy,
  grants: readonly SignedGrant[],
): Promise<void> {
  const wasAutomatic = policyFor(app.store, business).mode === 'automatic';
  if (policy.mode === 'automatic' || wasAutomatic) needGrants(wantedGrants(app, business, policy), grants);
  const write = () => app.store.write((tx) => changePolicy(app, tx, business, policy));
  if (policy.mode === 'manual') {
    await write();
    await grantAll(app, grants, `Withdrawals of ${business.name} wait for you from now on`);
  } else {
    for (const { grant, mac } of grants) await app.signer.grantPolicy(grant, mac);
    await write();
  }
}

/** The new grants that the removal of an address from the book needs. Throws `Rejected('address_book.not_found')`. */
export function grantsWithout(app: App, id: number): { grants: PolicyGrant[]; policy: Policy } {
  const row = addressOf(app.store, id);
  const business = app.directory.business(row.business_id);
  const policy = policyFor(app.store, business);
  const isBound = policy.mode === 'automatic' && policy.addressBookOnly;
  return { grants: isBound ? wantedGrants(app, business, policy, id) : [], policy };
}

/**
 * Removes an address from the book, and then from the signer's grants. Throws `Rejected`: `address_book.not_found`,
 * `policy.grants`, `signer.locked`, `signer.approval`.
 */
export async function removeAddressGranted(
  app: App,
  id: number,
  grants: readonly SignedGrant[],
): Promise<AddressBookRow> {
  const { address } = addressOf(app.store, id);
  needGrants(grantsWithout(app, id).grants, grants);
  if (grants.some(({ grant }) => grant.addresses?.includes(address))) {
    throw new Rejected('policy.grants', `The wallet would still pay ${address} without asking`, 'grants');
  }
  const row = await app.store.write((tx) => removeAddress(tx, id));
  await grantAll(app, grants, `${row.label} is no longer in the address book`);
  return row;
}

/** `done`: the part that is already in force if the signer refuses the rest. */
async function grantAll(app: App, grants: readonly SignedGrant[], done: string): Promise<void> {
  try {
    for (const { grant, mac } of grants) await app.signer.grantPolicy(grant, mac);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== 'signer.locked') throw error;
    const text = `${done}. The wallet is locked and still has the limits that it was granted: unlock it, and set the policy again`;
    throw new Rejected('signer.locked', text);
  }
}

function needGrants(wanted: readonly PolicyGrant[], given: readonly SignedGrant[]): void {
  const missing = wanted.filter(
    ({ asset, accountNo }) => !given.some(({ grant }) => grant.asset === asset && grant.accountNo === accountNo),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ asset }) => asset).join(', ');
  throw new Rejected('policy.grants', `The wallet has to be granted this too: ${names}`, 'grants');
}
