/** The methods about the merchant's wallet. Each one passes its call to the signer. */
import { findAddresses, type GivenAddress, listAddresses } from '../../app/operator/addresses.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { leaveKeychain, unlockSource, useKeychain } from '../../app/operator/unlocking.ts';
import { neededGap } from '../../app/recovery/gaps.ts';
import type { Result } from '../../contract/operator.ts';
import type { WALLET } from '../../contract/wallet.ts';
import { assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { chainOf } from '../../domain/chain.ts';
import { formatUnits } from '../../domain/money.ts';
import type { SignerStatus } from '../../wallet/signer/port.ts';
import type { Context, Methods } from './context.ts';

export const WALLET_METHODS: Methods<typeof WALLET> = {
  'wallet.status': async ({ app }) => walletJson(app, await app.signer.status()),
  'wallet.sealKey': async ({ app }) => ({ seal_key: await app.signer.sealKey() }),
  'wallet.unlock': async ({ app }, { sealed }) => {
    const status = await app.signer.unlock(sealed);
    app.wake.allWithdrawals();
    return walletJson(app, status);
  },
  'wallet.keychain': async ({ app }, { on }) => {
    await (on ? useKeychain(app) : leaveKeychain(app));
    if (on) app.wake.allWithdrawals();
    return walletJson(app, await app.signer.status());
  },
  'wallet.authorize': async ({ app }, { sealed }) => ({ macs: await app.signer.authorize(sealed) }),
  'wallet.custody': ({ app }, { sealed }) => app.signer.custody(sealed),
  'address.list': async ({ app }, { business: ref, chain = null, text, limit, before = null }) => {
    const business = findBusiness(app, ref);
    const page =
      text === undefined
        ? await listAddresses(app, { business, chain, limit, before })
        : { addresses: await findAddresses(app, business, text), next: null };
    return { addresses: page.addresses.map(addressJson), next: page.next };
  },
  'wallet.lock': async ({ app }) => walletJson(app, await app.signer.lock()),
  'wallet.revoke': async ({ app }, { next, mac }) => {
    await app.signer.revokeApprovals(next, mac);
    return walletJson(app, await app.signer.status());
  },
  'wallet.passphrase': async ({ app }, { sealed }) => walletJson(app, await app.signer.changePassphrase(sealed)),
};

function addressJson({ target, invoice, payment }: GivenAddress): Result<'address.list'>['addresses'][number] {
  return {
    id: target.id,
    chain: chainOf(target.chain_key),
    address: target.address,
    index: target.idx,
    invoice: invoice.slug,
    given_at: toIso(payment?.created_at ?? invoice.created_at),
    crypto: payment?.asset ?? null,
    received: payment ? formatUnits(payment.received, assetOf(payment.asset)) : null,
  };
}

function walletJson(app: Context['app'], status: SignerStatus): Result<'wallet.status'> {
  const { config, store } = app;
  const { kind: unlock } = unlockSource(config, store);
  return {
    wallet: {
      state: status.state,
      fingerprint: status.fingerprint,
      unlock,
      // otherwise it opens itself again
      locks_at: status.lockAt === null || unlock !== 'prompt' ? null : toIso(status.lockAt),
      retry_after_seconds: status.retryAfterSeconds,
      words_unproved: status.wordsUnproved,
      separate: config.wallet.signer !== null,
      gap: neededGap(app),
    },
  };
}
