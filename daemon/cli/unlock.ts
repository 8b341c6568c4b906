/**
 * `countinghouse wallet`: unlocks and locks the merchant's wallet in the running service.
 *
 * Invariant: a passphrase leaves this process only encrypted to the signer process, or into the keychain.
 */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { GAP } from '../domain/indices.ts';
import { businessesMeant } from '../domain/merchant.ts';
import { isAway } from '../wallet/signer/port.ts';
import { action, BUSINESS } from './commands.ts';
import { EXIT, Failure, type Io } from './io.ts';
import { asOpenedHere, changing, forget, remember, rememberForServer } from './keychain.ts';
import { limitCommands } from './limits.ts';
import { confirm } from './prompt.ts';
import { type PassphraseOption, passphraseOf, secretFrom, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';
import { pairs, when } from './table.ts';
import { newPassphrase } from './wallet.ts';

type Wallet = Result<'wallet.status'>['wallet'];

export function walletCommands(root: Command, io: Io): void {
  const wallet = root
    .command('wallet')
    .description("the wallet, which signs withdrawals: 'business add' makes or imports it");
  wallet
    .command('status')
    .description('show whether the wallet is unlocked, and until when')
    .action(action(io, showWallet));
  withPassphrase(wallet.command('unlock'))
    .option(
      '--remember',
      "put the passphrase into this system's keychain: from then on the service opens the wallet itself",
    )
    .description('unlock the wallet, so that approved withdrawals are signed')
    .action(action(io, unlock));
  wallet
    .command('lock')
    .description('lock the wallet: withdrawals wait, everything else goes on')
    .action(action(io, lock));
  wallet
    .command('passphrase')
    .option('--passphrase-file <file>', 'a file that holds the old one; otherwise it is asked for')
    .option('--new-passphrase-file <file>', 'a file that holds the new one; otherwise it is asked for')
    .description('change the passphrase of the wallet')
    .action(action(io, changePassphrase));
  withPassphrase(wallet.command('monero-words'))
    .argument(...BUSINESS)
    .description("show the 25 words of a business's Monero account, which every wallet of Monero opens")
    .action(action(io, showMoneroWords));
  withPassphrase(wallet.command('revoke'))
    .description('make all approvals and all limits of policies worthless that the wallet was given so far')
    .action(action(io, revoke));
  limitCommands(wallet, io);
  wallet
    .command('forget')
    .description('take the passphrase out of the keychain, and lock the wallet')
    .action(action(io, forget));
}

async function showWallet(session: Session): Promise<void> {
  print(session, await session.call('wallet.status', {}));
}

async function unlock(session: Session, options: PassphraseOption & { remember?: boolean }): Promise<void> {
  const passphrase = await passphraseOf(session, options);
  if (options.remember && session.server !== null) return rememberForServer(session, session.server, passphrase);
  const wallet = await (await session.keyholder()).unlock(passphrase);
  print(session, options.remember ? await remember(session, wallet, passphrase) : { wallet });
}

async function lock(session: Session): Promise<void> {
  print(session, { wallet: await (await session.keyholder()).lock() });
}

type PassphraseFiles = PassphraseOption & { newPassphraseFile?: string };

async function changePassphrase(session: Session, files: PassphraseFiles): Promise<void> {
  const old = await secretFrom(session, files.passphraseFile, 'The passphrase so far:', '--passphrase-file');
  const fresh = await newPassphrase(session, files.newPassphraseFile, '--new-passphrase-file');
  const keyholder = await session.keyholder();
  const wallet = await changing(session, fresh, () => keyholder.changePassphrase(old, fresh));
  session.note('The passphrase is changed. Copies of the wallet made before, in backups too, open with the old one.');
  print(session, { wallet });
}

async function showMoneroWords(session: Session, options: PassphraseOption, name = ''): Promise<void> {
  const { businesses } = await session.call('business.list', {});
  const business = businessCalled(businesses, name);
  if (business.network === 'sandbox')
    throw new Failure('the sandbox has no words to show', EXIT.failed, 'wallet.sandbox');
  const passphrase = await passphraseOf(session, options);
  const { network, account_no } = business;
  const { moneroWordsIn } = await import('../wallet/monero-words.ts');
  const words = await moneroWordsIn(session.walletFolder, passphrase, network, account_no);
  session.note('These words are the money. Spend it in one place only: here, or in the other wallet.');
  session.print({ words: words.split(' ') }, () => `${words}\n`);
}

/** The business that is meant, as the service finds it. Throws `Failure` if it is none or several. */
export function businessCalled<B extends { id: number; uuid: string; name: string }>(
  all: readonly B[],
  ref: string,
): B {
  const found = businessesMeant(all, ref);
  const [only] = found;
  if (!only) throw new Failure(`there is no business ${ref}`, EXIT.failed, 'business.not_found');
  if (found.length > 1) {
    const numbers = found.map(({ id }) => id).join(', ');
    throw new Failure(
      `several businesses are called ${ref}: use a number (${numbers})`,
      EXIT.failed,
      'business.ambiguous',
    );
  }
  return only;
}

async function revoke(session: Session, options: PassphraseOption): Promise<void> {
  await confirm(session.io, session.yes, 'Is nothing to be signed that was approved so far, and no policy to hold?');
  const revoked = await revokeApprovals(session, options);
  session.note('Approve the waiting withdrawals anew, and set the policies anew.');
  print(session, revoked);
}

/** Opens the wallet, and ends every approval and limit that it was given so far. */
export async function revokeApprovals(session: Session, options: PassphraseOption): Promise<Result<'wallet.status'>> {
  const passphrase = await passphraseOf(session, options);
  const { revokeApprovals: revoke } = await import('../operator/local-keyholder.ts');
  await revoke(session.walletPlace, session.call, passphrase);
  // true whether or not the service answers after it
  session.note('The wallet has ended every approval and limit that it was given.');
  return session.call('wallet.status', {});
}

const stateText = (session: Session, state: Wallet['state']): string => {
  if (state === 'none') return `there is none yet: '${session.commandText('business add')}' makes it`;
  return state === 'locked' ? 'locked: withdrawals wait' : state;
};

function print(session: Session, result: { wallet: Wallet }): void {
  const wallet = asOpenedHere(session, result.wallet);
  session.print({ ...result, wallet }, () =>
    pairs([
      [
        'wallet',
        isAway(wallet)
          ? 'away: the separate signer does not answer, and withdrawals wait'
          : stateText(session, wallet.state),
      ],
      ['fingerprint', wallet.fingerprint ?? '-'],
      [
        'opened by',
        wallet.separate
          ? 'its operator, or the separate signer by itself'
          : wallet.unlock === 'prompt'
            ? 'its operator'
            : `itself, from: ${wallet.unlock}`,
      ],
      ['locks', wallet.locks_at === null ? '-' : when(wallet.locks_at)],
      ...(wallet.retry_after_seconds > 0 ? [['next try', `in ${wallet.retry_after_seconds} s`] as const] : []),
      ...(wallet.gap > GAP
        ? [['beside the words', `restore words finds all money with --gap ${wallet.gap}`] as const]
        : []),
    ]),
  );
}
