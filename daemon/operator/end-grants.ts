/** Takes rights back from the wallet on its own machine: directly from a separate signer, without the daemon. */
import type { Call } from '../contract/operator.ts';
import type { Grant } from '../wallet/signer/port.ts';
import { SEAL_AUTHORIZE, SEAL_UNLOCK } from '../wallet/signer/port.ts';
import { endOf } from '../wallet/signer/register.ts';
import { seal } from '../wallet/signer/seal.ts';
import { authorizing, macAt } from './keyholder.ts';
import { localKeyholder, type WalletLocation, withSignerService } from './local-keyholder.ts';

const GRANTS_PER_CALL_MAX = 50;

/** Replaces these grants by ones that allow nothing, and leaves the wallet locked if it was. Throws as `Signer.grantPolicy`. */
export async function endGrants(
  place: WalletLocation & { socket: string },
  passphrase: string,
  grants: readonly Grant[],
  now: number,
): Promise<void> {
  const ends = grants.map((grant) => endOf(grant, now));
  await withSignerService(place, place.socket, async (signer) => {
    const { state } = await signer.status();
    if (state !== 'unlocked') await signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, passphrase));
    for (let from = 0; from < ends.length; from += GRANTS_PER_CALL_MAX) {
      const some = ends.slice(from, from + GRANTS_PER_CALL_MAX);
      const wanted = authorizing(passphrase, { approvals: [], change: null, grants: some });
      const { grants: macs } = await signer.authorize(await seal(await signer.sealKey(), SEAL_AUTHORIZE, wanted));
      for (const [at, grant] of some.entries()) await signer.grantPolicy(grant, macAt(macs, at));
    }
    if (state !== 'unlocked') await signer.lock();
  });
}

/** Locks the wallet. Throws `Unavailable` if nobody answers who could. */
export async function lockNow(place: WalletLocation, call: Call): Promise<void> {
  if (place.socket === null) await localKeyholder(place, call).lock();
  else await withSignerService(place, place.socket, (signer) => signer.lock());
}
