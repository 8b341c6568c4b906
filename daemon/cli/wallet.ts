/**
 * The merchant's wallet on the command line: created, imported or opened in this short-lived process.
 *
 * Invariant: a new wallet's words are shown until the operator has proved to have them.
 */
import { randomInt } from 'node:crypto';
import { CHAINS, type Network } from '../domain/assets.ts';
import type { Accounts, MoneroImport } from '../operator/open-business.ts';
import {
  areWordsNew,
  areWordsUnproved,
  createWallet,
  deriveAccounts,
  hasWallet,
  walletFingerprint,
  wordsOf,
  wordsWereProved,
} from '../wallet/wallet.ts';
import { EXIT, Failure, usage } from './io.ts';
import { askHidden, askLine, canAsk } from './prompt.ts';
import { askedWords, askSecret, passphraseOf, secretFile } from './secrets.ts';
import type { Session } from './session.ts';
import { handOver } from './signer.ts';

export type WalletOptions = {
  passphraseFile?: string;
  import?: boolean;
  wordsFile?: string;
  birthday?: string;
  restoreHeight?: number;
  iHaveTheWords?: boolean;
  moneroWordsFile?: string;
};

export type Unlocked = {
  fingerprint: string;
  /** The words, for scripts: of a new wallet, or of one with unproved words. */
  words: readonly string[] | null;
  /** Whether another program may have used the words. */
  wasUsed: boolean;
  /** The public keys of an account for every chain. */
  accounts(network: Network, accountNo: number): Promise<Accounts>;
  monero(words: string): MoneroImport;
};

const PASSPHRASE_CHARS_MIN = 10;
const WORDS_ASKED = 3;
const TRIES_MAX = 3;
const SCREEN_ALTERNATE = '\u001b[?1049h\u001b[H';
const SCREEN_BACK = '\u001b[?1049l';

/** Opens the wallet of this data directory; makes or imports it if there is none. Throws `Failure` and `Rejected`. */
export async function unlockWallet(session: Session, options: WalletOptions): Promise<Unlocked> {
  const folder = session.walletFolder;
  const importing = options.import === true || options.wordsFile !== undefined;
  const known = await hasWallet(folder);
  if (known && importing) {
    throw new Failure(
      `there is a wallet already in ${folder}: leave --import out to use it`,
      EXIT.failed,
      'vault.exists',
    );
  }
  if (options.birthday !== undefined && options.restoreHeight !== undefined) {
    throw usage('give --birthday or --restore-height, not both');
  }
  const hasPast = options.birthday !== undefined || options.restoreHeight !== undefined;
  if (hasPast && !known && !importing && options.moneroWordsFile === undefined) {
    const option = options.birthday === undefined ? '--restore-height' : '--birthday';
    throw usage(`a new wallet has no past: ${option} goes with --import`);
  }
  const passphrase = known
    ? await passphraseOf(session, options)
    : importing
      ? await importWallet(session, options, folder)
      : await newWallet(session, options, folder);
  const words = (await areWordsUnproved(folder)) ? await wordsOf(folder, passphrase) : null;
  if (words && options.iHaveTheWords !== true) await proveWords(session, words);
  return {
    fingerprint: await walletFingerprint(folder),
    words: options.iHaveTheWords === true ? words : null,
    wasUsed: !(await areWordsNew(folder)),
    accounts: (network, accountNo) => deriveAccounts(folder, passphrase, network, accountNo, CHAINS),
    monero: (words) => ({
      take: async (network, accountNo) => {
        const { importMoneroWords } = await import('../wallet/monero-words.ts');
        await session.asOwner(() => importMoneroWords(folder, passphrase, { network, accountNo, words }));
        await handOver(session);
        // an open wallet does not have the key yet
        const { wallet } = await session.call('wallet.status', {});
        if (wallet.state !== 'unlocked') return;
        await (await session.keyholder()).lock();
        session.note('The wallet was locked: unlock it again, so that it has the key.');
      },
      drop: async (network, accountNo) => {
        const { dropMoneroWords } = await import('../wallet/monero-words.ts');
        await session.asOwner(() => dropMoneroWords(folder, passphrase, network, accountNo));
      },
    }),
  };
}

/** To be called when the words were printed for a script; they are not shown again. */
export async function wordsWereSeen(session: Session): Promise<void> {
  await session.asOwner(() => wordsWereProved(session.walletFolder));
}

async function newWallet(session: Session, options: WalletOptions, folder: string): Promise<string> {
  if (options.iHaveTheWords !== true && !canAsk(session.io)) {
    const text = 'the words of a new wallet need a terminal to be shown on: a script gives --i-have-the-words';
    throw new Failure(text, EXIT.failed, 'no_terminal');
  }
  const passphrase = await newPassphrase(session, options.passphraseFile, '--passphrase-file');
  await session.asOwner(() => createWallet(folder, { passphrase }));
  await handOver(session);
  return passphrase;
}

async function importWallet(session: Session, options: WalletOptions, folder: string): Promise<string> {
  const words = await askedWords(session, options.wordsFile);
  const { parseWords } = await import('../wallet/mnemonic.ts');
  await parseWords(words);
  const passphrase = await newPassphrase(session, options.passphraseFile, '--passphrase-file');
  await session.asOwner(() => createWallet(folder, { words, passphrase }));
  await handOver(session);
  return passphrase;
}

/** The operator's new passphrase, from `file` if `option` was given. Throws `Failure`. */
export async function newPassphrase(session: Session, file: string | undefined, option: string): Promise<string> {
  if (file !== undefined) {
    const text = await secretFile(file, option);
    if (isLongEnough(text)) return text;
    throw new Failure(TOO_SHORT, EXIT.failed, 'vault.weak_passphrase');
  }
  if (canAsk(session.io))
    session.note('The wallet is encrypted with a passphrase. If you forget it, you need the words.');
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const first = await askSecret(session, 'New passphrase:', option);
    if (!isLongEnough(first)) session.note(TOO_SHORT);
    else if ((await askHidden(session.io, 'Once more:')) === first) return first;
    else session.note('The two differ.');
  }
  throw new Failure('no passphrase was chosen: nothing was made', EXIT.failed, 'vault.weak_passphrase');
}

const TOO_SHORT = `A passphrase has at least ${PASSPHRASE_CHARS_MIN} characters: several words are easy to remember.`;
const isLongEnough = (text: string): boolean => [...text].length >= PASSPHRASE_CHARS_MIN;

/** Shows the words on a screen that leaves no trace, and asks for some of them. */
async function proveWords(session: Session, words: readonly string[]): Promise<void> {
  const { io } = session;
  if (!canAsk(io)) throw new Failure('the words of the wallet are still to be written down: use a terminal');
  io.stderr.write(`${SCREEN_ALTERNATE}${wordsText(words)}`);
  try {
    await askHidden(io, 'Press Enter when all of them are on paper.');
  } finally {
    io.stderr.write(SCREEN_BACK);
  }
  for (const position of somePositions(words.length)) {
    for (
      let tries = 1;
      (await askLine(io, `Word ${position}:`)).trim().toLowerCase() !== words[position - 1];
      tries++
    ) {
      if (tries < TRIES_MAX) session.note(`That is not word ${position}.`);
      else throw new Failure('the words are not proved: run this again, it shows them again', EXIT.failed, 'words');
    }
  }
  await wordsWereSeen(session);
  session.note('The words are right. Keep the paper safe: they are the money, and they are not shown again.');
}

function wordsText(words: readonly string[]): string {
  const rows = words.map((word, i) => `${String(i + 1).padStart(4)}  ${word}\n`).join('');
  return `The words of the wallet. Write them down, in order, on paper. Anybody who has them has the money.\n\n${rows}\n`;
}

/** Different positions from 1, ascending. */
function somePositions(count: number): number[] {
  const positions = new Set<number>();
  while (positions.size < Math.min(WORDS_ASKED, count)) positions.add(randomInt(1, count + 1));
  return [...positions].sort((a, b) => a - b);
}
