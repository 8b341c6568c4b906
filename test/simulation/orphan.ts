/**
 * A signer's process that outlives its daemon: it was signing when the daemon was killed. It has read the journal before
 * the next signer did, and adds its line to it afterwards. Nobody gets its signature.
 */
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import type { SignOrder } from '../../daemon/wallet/signer/port.ts';
import { Session } from '../../daemon/wallet/signer/session.ts';
import { Crashed } from './appliance.ts';
import { PASSPHRASE } from './wallet.ts';
import { Fault, type World } from './world.ts';

export type Orphan = { session: Session; order: SignOrder };

/** The power of the daemon alone fails; its signer lives on, with the order that it was given last. */
export async function orphan(world: World): Promise<string> {
  const { lastOrder } = world.appliance.signer;
  if (world.orphan !== null || lastOrder === null) return '';
  await world.restart();
  world.given.clear();
  const { appliance } = world;
  const session = await appliance.ask(() =>
    world.time.outside(Session.open(appliance.walletFolder, PASSPHRASE, world.time.wall)),
  );
  world.orphan = { session, order: lastOrder };
  await world.appliance.unlock();
  return `the daemon is killed; its signer lives on, with an order for ${lastOrder.withdrawals.length} withdrawals`;
}

/** It signs, and ends. Whoever opens the wallet after it finds a journal that can be read. */
export async function orphanSigns(world: World): Promise<string> {
  const left = world.orphan;
  if (left === null) return '';
  const { appliance } = world;
  const said = await appliance.ask(() =>
    world.time.outside(
      left.session.sign(left.order).then(
        () => 'signs',
        (error: unknown) => {
          if (error instanceof Rejected || error instanceof Unavailable) return `refuses: ${error.message}`;
          throw error;
        },
      ),
    ),
  );
  await endOrphan(world);
  try {
    await appliance.ask(() => appliance.signer.lock());
    await appliance.unlock();
  } catch (error) {
    if (error instanceof Crashed) throw error;
    throw new Fault(`the wallet does not open after a signer that outlived its daemon: ${(error as Error).message}`);
  }
  return `the signer that lived on ${said}`;
}

/** It ends with the machine. */
export async function endOrphan(world: World): Promise<void> {
  const { orphan: left } = world;
  world.orphan = null;
  await left?.session.close();
}
