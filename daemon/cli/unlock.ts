/**
 * `countinghouse wallet`: unlocks and locks the merchant's wallet in the running service.
 *
 * Invariant: a passphrase leaves this process only encrypted to the signer process, or into the keychain.
 */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { action } from './commands.ts';
import type { Io } from './io.ts';
import { confirm } from './prompt.ts';
import { secretFile } from './secrets.ts';
import type { Session } from './session.ts';
import { withSignerService } from './signer.ts';
import { pairs, when } from './table.ts';
import { askSecret, newPassphrase } from './wallet.ts';

type Wallet = Result<'wallet.status'>['wallet'];

const FILE_HELP = 'a file that holds the passphrase; otherwise it is asked for';

export function walletCommands(root: Command, io: Io): void {
  const wallet = root
    .command('wallet')
    .description("the wallet that withdrawals are signed with: 'business add' makes it");
  wallet.command('status').description('whether it is open, and until when').action(action(io, showWallet));
  wallet
    .command('unlock')
    .option('--passphrase-file <file>', FILE_HELP)
    .option('--remember', 'put the passphrase into this system\'s keychain, for wallet.unlock = "keychain"')
    .description('open it, so that approved withdrawals are signed')
    .action(action(io, unlock));
  wallet.command('lock').description('close it: withdrawals wait, everything else goes on').action(action(io, lock));
  wallet
    .command('passphrase')
    .option('--passphrase-file <file>', 'a file that holds the old one; otherwise it is asked for')
    .option('--new-passphrase-file <file>', 'a file that holds the new one; otherwise it is asked for')
    .description('change the passphrase')
    .action(action(io, changePassphrase));
  wallet
    .command('revoke')
    .option('--passphrase-file <file>', FILE_HELP)
    .description('make every approval and every limit of a policy worthless that the wallet was given so far')
    .action(action(io, revoke));
  wallet.command('forget').description('take the passphrase out of the keychain').action(action(io, forget));
}

async function showWallet(session: Session): Promise<void> {
  print(session, await session.call('wallet.status', {}));
}

async function unlock(session: Session, options: { passphraseFile?: string; remember?: boolean }): Promise<void> {
  const passphrase = await given(session, options.passphraseFile, 'Passphrase of the wallet:', '--passphrase-file');
  const { seal, SEAL_UNLOCK } = await sealing();
  // a signer that is a service of its own is asked directly, so that the key does not come from the daemon
  await withSignerService(session, async (signer) => {
    await signer.unlock(seal(await signer.sealKey(), SEAL_UNLOCK, passphrase));
  });
  const opened =
    session.signerSocket === null
      ? await session.call('wallet.unlock', { sealed: seal(await sealKey(session), SEAL_UNLOCK, passphrase) })
      : await session.call('wallet.status', {});
  if (options.remember && opened.wallet.fingerprint !== null) {
    const { writeKeychain } = await import('../wallet/signer/keychain.ts');
    await writeKeychain(opened.wallet.fingerprint, passphrase);
    session.note('The passphrase is in the keychain.');
  }
  print(session, opened);
}

async function lock(session: Session): Promise<void> {
  // by the service it could be kept from the wallet
  await withSignerService(session, (signer) => signer.lock());
  print(session, await session.call(session.signerSocket === null ? 'wallet.lock' : 'wallet.status', {}));
}

type PassphraseFiles = { passphraseFile?: string; newPassphraseFile?: string };

async function changePassphrase(session: Session, files: PassphraseFiles): Promise<void> {
  const old = await given(session, files.passphraseFile, 'The passphrase so far:', '--passphrase-file');
  const fresh = await newPassphrase(session, files.newPassphraseFile, '--new-passphrase-file');
  const { seal, SEAL_CHANGE } = await sealing();
  const both = JSON.stringify({ old, new: fresh });
  await withSignerService(session, async (signer) => {
    await signer.changePassphrase(seal(await signer.sealKey(), SEAL_CHANGE, both));
  });
  const changed =
    session.signerSocket === null
      ? await session.call('wallet.passphrase', { sealed: seal(await sealKey(session), SEAL_CHANGE, both) })
      : await session.call('wallet.status', {});
  if (changed.wallet.unlock === 'keychain' && changed.wallet.fingerprint !== null) {
    const { writeKeychain } = await import('../wallet/signer/keychain.ts');
    await writeKeychain(changed.wallet.fingerprint, fresh);
  }
  session.note('The passphrase is changed. Copies of the wallet made before, in backups too, open with the old one.');
  print(session, changed);
}

async function revoke(session: Session, { passphraseFile }: { passphraseFile?: string }): Promise<void> {
  await confirm(session.io, session.yes, 'Is nothing to be signed that was approved so far, and no policy to hold?');
  const revoked = await revokeApprovals(session, passphraseFile);
  session.note('What waits is to be approved anew, and policies are to be set anew.');
  print(session, revoked);
}

/** Opens the wallet, and ends every approval and limit that it was given so far. */
export async function revokeApprovals(session: Session, passphraseFile?: string): Promise<Result<'wallet.status'>> {
  const passphrase = await given(session, passphraseFile, 'Passphrase of the wallet:', '--passphrase-file');
  const [{ withOperatorKeys }, { seal, SEAL_UNLOCK }] = await Promise.all([import('../wallet/wallet.ts'), sealing()]);
  const word = () => withOperatorKeys(session.walletFolder, passphrase, (keys) => keys.revoke());
  if (session.signerSocket === null) {
    await session.call('wallet.unlock', { sealed: seal(await sealKey(session), SEAL_UNLOCK, passphrase) });
    return session.call('wallet.revoke', await word());
  }
  await withSignerService(session, async (signer) => {
    await signer.unlock(seal(await signer.sealKey(), SEAL_UNLOCK, passphrase));
    // made once it is open: a journal that begins then has an epoch of its own
    const { next, mac } = await word();
    await signer.revokeApprovals(next, mac);
  });
  return session.call('wallet.status', {});
}

async function forget(session: Session): Promise<void> {
  const { wallet } = await session.call('wallet.status', {});
  const { forgetKeychain } = await import('../wallet/signer/keychain.ts');
  const forgotten = wallet.fingerprint !== null && (await forgetKeychain(wallet.fingerprint));
  session.print({ forgotten }, () => (forgotten ? 'The keychain has forgotten it.\n' : 'The keychain had none.\n'));
}

const given = (session: Session, file: string | undefined, question: string, option: string): Promise<string> =>
  file === undefined ? askSecret(session, question, option) : secretFile(file, option);

const sealKey = async (session: Session): Promise<string> => (await session.call('wallet.sealKey', {})).seal_key;

/** Loaded late: other commands need no cryptography. */
async function sealing() {
  const [{ seal }, { SEAL_CHANGE, SEAL_UNLOCK }] = await Promise.all([
    import('../wallet/signer/seal.ts'),
    import('../wallet/signer/port.ts'),
  ]);
  return { seal, SEAL_CHANGE, SEAL_UNLOCK };
}

const STATES: Record<Wallet['state'], string> = {
  none: "there is none yet: 'countinghouse business add' makes it",
  locked: 'locked: withdrawals wait',
  unlocked: 'unlocked',
};

function print(session: Session, result: { wallet: Wallet }): void {
  const { wallet } = result;
  session.print(result, () =>
    pairs([
      ['wallet', STATES[wallet.state]],
      ['fingerprint', wallet.fingerprint ?? '-'],
      ['opened by', wallet.unlock === 'prompt' ? 'its operator' : `itself, from: ${wallet.unlock}`],
      ['locks', wallet.locks_at === null ? '-' : when(wallet.locks_at)],
      ...(wallet.retry_after_seconds > 0 ? [['next try', `in ${wallet.retry_after_seconds} s`] as const] : []),
    ]),
  );
}
