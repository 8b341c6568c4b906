/** Limits go to a separate signer, or to the process that signs at home, before the service gets them. */
import { Rejected, Unavailable } from '../domain/errors.ts';
import type { Grant, Signer } from '../wallet/signer/port.ts';
import type { Session } from './session.ts';

const LOCKED =
  'The wallet is locked and still has the limits that it was granted. Nothing was changed: unlock it, and try again';
const RETRY_SECONDS = 60;

/**
 * To be called before the MACs leave this program. A compromised daemon could withhold a reduction. It could also keep limits that the wallet
 * does not know, so that nobody finds them to take them back, and hand them in later. Repeated grants have no effect. Throws
 * `Rejected('signer.locked')` unless they only end others: those give nobody a right. A grant that names a tank only needs an open wallet
 * here, see `tellAfter`.
 */
export async function grantFirst(session: Session, grants: readonly Grant[], macs: readonly string[]): Promise<void> {
  if (grants.length === 0 || session.signerSocket === null) return;
  if (grants.some(isOfTank)) await needOpenWallet(session);
  const first = [...grants.entries()].filter(([, grant]) => !isOfTank(grant));
  if (first.length === 0) return;
  const [{ macAt }, { isEnd }] = await Promise.all([
    import('../operator/keyholder.ts'),
    import('../wallet/signer/register.ts'),
  ]);
  let given = 0;
  try {
    await withSigner(session, session.signerSocket, async (signer) => {
      for (const [at, grant] of first) {
        await signer.grantPolicy(grant, macAt(macs, at));
        given += 1;
      }
    });
  } catch (error) {
    const isLocked = error instanceof Rejected && error.code === 'signer.locked';
    if (isLocked && grants.every(isEnd)) return;
    if (isLocked) throw new Rejected('signer.locked', given === 0 ? LOCKED : lockedAfter(first.slice(0, given)));
    throw await namedFor(session, error);
  }
}

/**
 * Gives the wallet the grant of a tank that the service has accepted, so that its record names it. Before that, the service may refuse it,
 * and the wallet would collect into another tank than the service. Only notes a failure: an honest service has given it already.
 */
export async function tellAfter(session: Session, { grant, mac }: { grant: Grant; mac: string }): Promise<void> {
  if (session.signerSocket === null) return;
  try {
    await withSigner(session, session.signerSocket, (signer) => signer.grantPolicy(grant, mac));
  } catch (error) {
    const { message } = (await namedFor(session, error)) as Error;
    const revoke = session.commandText('wallet revoke');
    session.note(`The wallet has it by the word of the service alone: ${message}. \`${revoke}\` ends every grant.`);
  }
}

/** Throws `Rejected('signer.locked')` before a grant is signed that a locked wallet would not take. */
export async function needOpenWallet(session: Session): Promise<void> {
  const { signerSocket: socket } = session;
  try {
    const { state } =
      socket === null ? (await session.call('wallet.status', {})).wallet : await stateOf(session, socket);
    if (state === 'locked') throw new Rejected('signer.locked', LOCKED);
  } catch (error) {
    throw await namedFor(session, error);
  }
}

/** By the wallet's own word. Throws `Unavailable` if nobody answers for it. */
async function stateOf(session: Session, socket: string): Promise<{ state: string }> {
  const status = await withSigner(session, socket, (signer) => signer.status());
  // a client answers for a signer that does not
  if (status.state !== 'locked' || status.fingerprint !== null) return status;
  throw new Unavailable((await import('../wallet/signer/channel.ts')).SIGNER_AWAY, RETRY_SECONDS);
}

const isOfTank = (grant: Grant): boolean => 'tank' in grant && grant.tank !== undefined;

/** The first limits of several are in force in the wallet already. */
function lockedAfter(given: [number, Grant][]): string {
  const names = given.map(([, grant]) => ('asset' in grant ? grant.asset : `gas on ${grant.chain}`));
  const text = `The wallet was locked meanwhile. It has the new limits of ${names.join(', ')}, and still has the others that it was granted`;
  return `${text}. The service got none: unlock the wallet, and try again`;
}

async function withSigner<T>(
  { dataDir, walletFolder: folder }: Session,
  socket: string,
  use: (signer: Signer) => Promise<T>,
): Promise<T> {
  const { withSignerService } = await import('../operator/local-keyholder.ts');
  return withSignerService({ dataDir, folder }, socket, use);
}

/** At home, an error says how to serve the wallet. */
async function namedFor({ server }: Session, error: unknown): Promise<unknown> {
  return server === null ? error : (await import('../home/keyholder.ts')).notServed(error, server);
}
