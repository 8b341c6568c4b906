/**
 * Policies with what the wallet has to be told of them. The signer counts limits of its own, in units of each asset, and
 * takes them only from somebody who has the passphrase: so a hole in the service approves no more than was granted.
 */
import { Rejected } from '../../domain/errors.ts';
import { divideUp } from '../../domain/money.ts';
import type { Policy } from '../../domain/policy.ts';
import type { PolicyGrant } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import type { Business } from '../directory.ts';
import { isUtxo } from './fees.ts';
import { addressBook, changePolicy } from './policy.ts';

/** A coin may lose half its worth before the operator has to grant anew: the daemon counts dollars, the signer coins. */
const GRANT_HEADROOM = 2n;

/** What has to be granted for a policy, of every asset that is signed for. Throws `Rejected` without a rate. */
export function wantedGrants(app: App, business: Business, policy: Policy): PolicyGrant[] {
  if (business.network === 'sandbox') return [];
  const issuedAt = app.now();
  const book = addressBook(app.store, business);
  return business.enabled
    .filter(({ symbol, chain }) => isUtxo(chain) && symbol === chain)
    .map((asset) => ({
      network: business.network,
      accountNo: business.accountNo,
      asset: asset.symbol,
      perWithdrawal: unitsFor(app, business, asset, policy, policy.perWithdrawalUsd).toString(),
      perDay: unitsFor(app, business, asset, policy, policy.perDayUsd).toString(),
      addresses: policy.addressBookOnly
        ? book.filter(({ chain }) => chain === asset.chain).map(({ address }) => address)
        : null,
      issuedAt,
    }));
}

function unitsFor(
  app: App,
  { network }: Business,
  asset: Business['enabled'][number],
  policy: Policy,
  usd: bigint | null,
): bigint {
  if (policy.mode === 'manual' || usd === null) return 0n;
  const rate = app.rates.rate(network, asset.symbol, 'USD', app.now());
  if (!rate) throw new Rejected('policy.rate', `There is no exchange rate for ${asset.symbol} at the moment`);
  return divideUp(usd * GRANT_HEADROOM * 10n ** BigInt(asset.decimals), rate.scaled);
}

/**
 * Sets a policy, and tells the signer first what it may let go. A policy by hand needs no grant: what was granted before
 * is then not used. Throws `Rejected`: `policy.limits`, `policy.grants`, `signer.locked`, `signer.approval`.
 */
export async function changePolicyGranted(
  app: App,
  business: Business,
  policy: Policy,
  grants: readonly { grant: PolicyGrant; mac: string }[],
): Promise<void> {
  const wanted = wantedGrants(app, business, policy);
  if (policy.mode === 'automatic') {
    const missing = wanted.filter(
      ({ asset }) => !grants.some(({ grant }) => grant.asset === asset && grant.accountNo === business.accountNo),
    );
    if (missing.length > 0) {
      const names = missing.map(({ asset }) => asset).join(', ');
      throw new Rejected('policy.grants', `The wallet has to be granted this too: ${names}`, 'grants');
    }
  }
  for (const { grant, mac } of grants) await app.signer.grantPolicy(grant, mac);
  await app.store.write((tx) => changePolicy(app, tx, business, policy));
}
