/** Limits go to a separate signer, or to the process that signs at home, before the service gets them. */
import { Rejected } from '../domain/errors.ts';
import type { Grant } from '../wallet/signer/port.ts';
import type { Session } from './session.ts';

const LOCKED = 'The wallet is locked, and takes no limits: unlock it, and try again. Nothing was granted';

/**
 * To be called before the MACs leave this program. A compromised daemon could withhold a reduction. It could also keep limits that the wallet
 * does not know, so that nobody finds them to take them back, and hand them in later. Repeated grants have no effect. Throws
 * `Rejected('signer.locked')` unless they only end others: those give nobody a right.
 */
export async function grantFirst(
  { dataDir, server, signerSocket, walletFolder: folder }: Session,
  grants: readonly Grant[],
  macs: readonly string[],
): Promise<void> {
  if (grants.length === 0 || signerSocket === null) return;
  const [{ withSignerService }, { macAt }, { isEnd }] = await Promise.all([
    import('../operator/local-keyholder.ts'),
    import('../operator/keyholder.ts'),
    import('../wallet/signer/register.ts'),
  ]);
  try {
    await withSignerService({ dataDir, folder }, signerSocket, async (signer) => {
      for (const [at, grant] of grants.entries()) await signer.grantPolicy(grant, macAt(macs, at));
    });
  } catch (error) {
    const isLocked = error instanceof Rejected && error.code === 'signer.locked';
    if (isLocked && grants.every(isEnd)) return;
    if (isLocked) throw new Rejected('signer.locked', LOCKED);
    throw server === null ? error : (await import('../home/keyholder.ts')).notServed(error, server);
  }
}
