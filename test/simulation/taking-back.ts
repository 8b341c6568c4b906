/**
 * The operator takes a policy back while the service works for a thief: the wallet itself is told first, by its own register, as the
 * command line does beside a separate signer. The thief answers that all is well, keeps the policy, and brings old limits back.
 */
import { endIn } from '../../daemon/operator/end-grants.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import { limitsHeldIn } from '../../daemon/wallet/signer/register.ts';
import { PASSPHRASE } from './wallet.ts';
import type { World } from './world.ts';

/** From the end of this on, whatever a policy lets go is a fault. Throws as `endIn`. */
export async function takeBack(world: World): Promise<void> {
  const { appliance, time } = world;
  const { signer, walletFolder } = appliance;
  await appliance.unlock();
  const now = time.wall();
  const { policies } = await appliance.ask(() => time.outside(limitsHeldIn(walletFolder, now)));
  const grants = policies.map(({ grant }) => grant);
  await appliance.ask(() =>
    endIn(signer, (wanted) => time.outside(authorized(walletFolder, PASSPHRASE, wanted)), grants, now),
  );
  world.policyEnded = true;
}
