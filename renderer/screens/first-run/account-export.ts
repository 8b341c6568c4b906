/** The keys in what another wallet wrote: a file of its export, or its code. They are read in this page, as typed ones are. */
import type { Network } from '../../../daemon/domain/assets.ts';
import { readTyped, type Typed } from './account-reading.ts';

/** `typed`: what goes into the fields. `path`: of the account in its wallet; null: the text does not say. */
export type Offer = { typed: Typed; path: string | null };

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
export function accountsIn(text: string, chain: Typed['chain'], network: Network): Offer[] {
  const texts = textsIn(text);
  const offer = (one: Partial<Typed>): Offer => {
    const typed: Typed = { chain, text: '', viewKey: '', form: null, ...one };
    const { key } = readTyped(typed, network);
    const origin = key?.kind === 'secp256k1' ? key.watch?.origin : null;
    return { typed, path: origin?.path || null };
  };
  const faultOf = ({ typed }: Offer) => readTyped(typed, network).fault;
  const all = (chain === 'XMR' ? moneroIn(texts) : coinsIn(texts)).map(offer);
  const secret = all.find((one) => faultOf(one) === 'account.private');
  if (secret !== undefined) return [secret];
  const sound = all.filter(({ typed }) => readTyped(typed, network).key !== null);
  if (sound.length > 0) return distinct(sound, network);
  const open = all.filter((one) => faultOf(one) === 'account.choose' || (chain === 'XMR' && faultOf(one) === null));
  if (open.length > 0) return open.slice(0, 1);
  const wrong = all.filter((one) => faultOf(one) !== null && faultOf(one) !== 'account.key');
  return wrong.length > 0 ? wrong.slice(0, 1) : all.filter((one) => one.typed.text === text.trim());
}

/** The offers of different accounts; of the same account the one with its path in the wallet. */
function distinct(offers: readonly Offer[], network: Network): Offer[] {
  const found = new Map<string, Offer>();
  for (const one of offers) {
    const { key } = readTyped(one.typed, network);
    if (key === null) continue;
    const name = key.kind === 'monero' ? key.publicSpendKey : `${key.publicKey} ${key.watch?.form}`;
    if (found.get(name)?.path == null) found.set(name, one);
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
