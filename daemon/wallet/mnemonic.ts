/**
 * BIP-39: the words of a wallet, and the seed that follows from them and an optional passphrase. English only.
 *
 * Invariant: no error and no log contains a word; an error names a word by its position. The word lists (14 MB) are
 * loaded only when words are made or checked, not to compute a seed from stored words.
 */
import { pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Rejected } from '../domain/errors.ts';

const derive = promisify(pbkdf2);

/** The allowed numbers of words: 128 to 256 bits in steps of 32. */
const WORD_COUNTS = [12, 15, 18, 21, 24];

/** Longer input is refused unread: 24 words of 8 letters with generous spacing. */
const WORDS_CHARS_MAX = 1_000;

const loadBip39 = async () => (await import('bip39')).default;

/** New random words: 24 have 256 bits, 12 have 128. */
export async function createWords(count: 12 | 24 = 24): Promise<string> {
  const bip39 = await loadBip39();
  return bip39.generateMnemonic((count / 3) * 32, randomBytes, bip39.wordlists.english);
}

/**
 * Imported words in their normal form: lower case, single spaces. Throws `Rejected`: `mnemonic.length`, `mnemonic.word`
 * with the position of the first unknown word, `mnemonic.checksum`.
 */
export async function parseWords(text: string): Promise<string> {
  const words = text.length > WORDS_CHARS_MAX ? [] : text.normalize('NFKD').toLowerCase().trim().split(/\s+/);
  if (!WORD_COUNTS.includes(words.length)) {
    throw new Rejected('mnemonic.length', 'A recovery phrase has 12, 15, 18, 21 or 24 words', 'words');
  }
  const bip39 = await loadBip39();
  const list = bip39.wordlists.english ?? [];
  const unknown = words.findIndex((word) => !list.includes(word));
  if (unknown >= 0) {
    throw new Rejected('mnemonic.word', `Word ${unknown + 1} is not in the English BIP-39 word list`, 'words');
  }
  const mnemonic = words.join(' ');
  if (!bip39.validateMnemonic(mnemonic, list)) {
    const message = 'The words do not fit together: one of them is wrong or out of order';
    throw new Rejected('mnemonic.checksum', message, 'words');
  }
  return mnemonic;
}

/**
 * The 64-byte seed of words in their normal form (BIP-39: PBKDF2-HMAC-SHA512, 2048 rounds), computed off the event
 * loop. The caller wipes it with `fill(0)`.
 */
export function seedOf(mnemonic: string, passphrase: string): Promise<Buffer> {
  return derive(mnemonic.normalize('NFKD'), `mnemonic${passphrase.normalize('NFKD')}`, 2048, 64, 'sha512');
}
