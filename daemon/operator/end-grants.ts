/** Takes rights back from the wallet on its own machine: directly from a separate signer, without the daemon. */
import type { Call } from '../contract/operator.ts';
import type { Grant, Signer } from '../wallet/signer/port.ts';
import { SEAL_AUTHORIZE, SEAL_UNLOCK } from '../wallet/signer/port.ts';
import { endOf } from '../wallet/signer/register.ts';
import { seal } from '../wallet/signer/seal.ts';
import { authorizing, macAt } from './keyholder.ts';
import { localKeyholder, type WalletLocation, withSignerService } from './local-keyholder.ts';
import type { Authorize } from './review.ts';

const GRANTS_PER_CALL_MAX = 50;

/** Replaces these grants by ones that allow nothing, in a wallet that is unlocked. Throws as `Signer.grantPolicy` and `authorize`. */
export async function endIn(
  signer: Pick<Signer, 'grantPolicy'>,
  authorize: Authorize,
  grants: readonly Grant[],
  now: number,
): Promise<void> {
  const ends = grants.map((grant) => endOf(grant, now));
  for (let from = 0; from < ends.length; from += GRANTS_PER_CALL_MAX) {
    const some = ends.slice(from, from + GRANTS_PER_CALL_MAX);
    const { grants: macs } = await authorize({ approvals: [], change: null, grants: some });
    for (const [at, grant] of some.entries()) await signer.grantPolicy(grant, macAt(macs, at));
  }
}

/** `endIn` of a separate signer, which is left locked if it was. */
export async function endGrants(
  place: WalletLocation & { socket: string },
  passphrase: string,
  grants: readonly Grant[],
  now: number,
): Promise<void> {
  await withSignerService(place, place.socket, async (signer) => {
    const { state } = await signer.status();
    if (state !== 'unlocked') await signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, passphrase));
    const authorize: Authorize = async (wanted) =>
      signer.authorize(await seal(await signer.sealKey(), SEAL_AUTHORIZE, authorizing(passphrase, wanted)));
    await endIn(signer, authorize, grants, now);
    if (state !== 'unlocked') await signer.lock();
  });
}

/** Locks the wallet. Throws `Unavailable` if nobody answers who could. */
export async function lockNow(place: WalletLocation, call: Call): Promise<void> {
  if (place.socket === null) await localKeyholder(place, call).lock();
  else await withSignerService(place, place.socket, (signer) => signer.lock());
}
