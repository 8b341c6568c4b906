/** The keys in what another wallet wrote: a file of its export, or its code. They are read in this page, as typed ones are. */
import type { Network } from '../../../daemon/domain/assets.ts';
import { type Found, readTyped, type Typed } from './account-reading.ts';

/** `typed`: what goes into the fields. `path`: of the account in its wallet; null: the text does not say. */
export type Offer = { typed: Typed; path: string | null };
type Candidate = Found & { typed: Typed };

/** A wallet's whole export has some thousands. */
const TEXTS_MAX = 20_000;
/** A private view key of Monero. Files of coins have hashes that look the same. */
const HEX_KEY = /^[0-9a-f]{64}$/i;
const MONERO_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{90,110}$/;
/** A wallet's words are twelve or more. */
const WORDS = /^(?:[a-z]{3,}\s+){11,}[a-z]{3,}$/;

/**
 * The accounts of a chain in a text: none, or each once. A private key or the words of a wallet in it are the only offer, so that they are
 * refused as typed ones are. A text without any account is offered as it is if it is a single word: the fields then say what is wrong.
 */
export const accountsIn = (text: string, chain: Typed['chain'], network: Network): Offer[] =>
  chosenIn(text, chain, network).map(({ typed, key }) => ({ typed, path: pathOf(key) }));

const pathOf = (key: Found['key']): string | null => (key?.kind === 'secp256k1' && key.watch?.origin?.path) || null;

function chosenIn(text: string, chain: Typed['chain'], network: Network): Candidate[] {
  const texts = textsIn(text);
  const all = (chain === 'XMR' ? moneroIn(texts) : coinsIn(texts)).map((one): Candidate => {
    const typed: Typed = { chain, text: '', viewKey: '', form: null, ...one };
    return { typed, ...readTyped(typed, network) };
  });
  const secret = all.find(({ fault }) => fault === 'account.private');
  if (secret !== undefined) return [secret];
  const sound = distinct(all);
  if (sound.length > 0) return sound;
  const open = all.find(({ fault }) => fault === 'account.choose' || (chain === 'XMR' && fault === null));
  const wrong = open ?? all.find(({ fault }) => fault !== null && fault !== 'account.key');
  return wrong ? [wrong] : all.filter(({ typed }) => typed.text === text.trim());
}

/** Different accounts; of the same account the text with its path in the wallet. */
function distinct(candidates: readonly Candidate[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const one of candidates) {
    const { key } = one;
    if (key === null) continue;
    const name = key.kind === 'monero' ? key.publicSpendKey : `${key.publicKey} ${key.watch?.form}`;
    if (pathOf(found.get(name)?.key ?? null) === null) found.set(name, one);
  }
  return [...found.values()];
}

/** The values of JSON; of another text its words, and its lines of words alone. */
function textsIn(text: string): string[] {
  const all: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value === 'string') all.push(value.trim());
    else if (typeof value === 'object' && value !== null && all.length < TEXTS_MAX) Object.values(value).forEach(walk);
  };
  try {
    walk(JSON.parse(text));
  } catch {
    all.push(
      ...text.split(/\s+/),
      ...text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => WORDS.test(line)),
    );
  }
  return [...new Set(all.filter((one) => one !== ''))].slice(0, TEXTS_MAX);
}

const coinsIn = (texts: readonly string[]): Partial<Typed>[] =>
  texts.filter((one) => !HEX_KEY.test(one)).map((text) => ({ text }));

/** Each address with each key beside it. Also of a URI such as monero_wallet:ADDRESS?view_key=KEY. */
function moneroIn(texts: readonly string[]): Partial<Typed>[] {
  const words = [...new Set(texts.flatMap((one) => (WORDS.test(one) ? [] : one.split(/[^0-9A-Za-z]+/))))];
  const keys = words.filter((one) => HEX_KEY.test(one));
  const addresses = words.filter((one) => MONERO_ADDRESS.test(one));
  return [
    ...texts.filter((one) => WORDS.test(one)).map((text) => ({ text })),
    ...addresses.flatMap((text) => [...keys.map((viewKey) => ({ text, viewKey })), { text }]),
  ];
}
