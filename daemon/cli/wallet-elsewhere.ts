/** Commands about words, on a server for which a computer at home signs. */
import { EXIT, Failure } from './io.ts';
import type { Session } from './session.ts';

/** Refuses where a computer at home has the words: it could not sign for words of this machine. Throws `Failure`. */
export async function needWalletHere(session: Session): Promise<void> {
  if (session.server !== null) return;
  const [machine] = (await session.call('signer.machines', {})).machines;
  if (!machine) return;
  throw new Failure(
    `the computer ${machine.name} signs for this server and keeps its words: run this command there, with --server NAME. ` +
      `If that computer is lost: \`countinghouse signer remove ${machine.name}\` first`,
    EXIT.failed,
    'signer.machine',
  );
}

/** The error of a command that needs the passphrase: where no wallet is here, `needWalletHere` says where it is. */
export async function missingHere(session: Session, error: unknown): Promise<never> {
  if ((error as { code?: unknown } | null)?.code === 'vault.missing') await needWalletHere(session);
  throw error;
}
