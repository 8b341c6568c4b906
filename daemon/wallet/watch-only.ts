/**
 * Reads the public key of an account whose private keys are in another wallet, such as a hardware wallet: an extended public
 * key (BIP-32, with SLIP-132's version bytes) or an output descriptor (BIP-380, BIP-389).
 *
 * Invariant: a private key is refused, and neither it nor another part of the text is in an error.
 */
import { hexToBytes } from '@noble/curves/utils.js';
import { HDKey } from '@scure/bip32';
import type { Network } from '../domain/assets.ts';
import type { AccountKey, ScriptForm, WatchOnly } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import {
  bad,
  COIN_CHAINS,
  type ExtendedKey,
  FIELD,
  needNetwork,
  needPublic,
  ORIGIN,
  originOf,
  readExtended,
} from './extended-key.ts';
import type { UtxoChain } from './signer/wire.ts';

/** An account of coins of another wallet. */
export type WatchOnlyKey = Extract<AccountKey, { kind: 'secp256k1' }> & { watch: WatchOnly & { form: ScriptForm } };

/** The script forms that each chain's watch-only accounts can have. */
export const FORMS: Readonly<Record<UtxoChain, readonly ScriptForm[]>> = {
  BTC: ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'],
  LTC: ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh'],
  BCH: ['p2pkh'],
};

/** How people know them, with the beginning of a mainnet address of BTC. */
export const FORM_NAMES: Readonly<Record<ScriptForm, string>> = {
  p2pkh: 'legacy (P2PKH, BIP-44)',
  'p2sh-p2wpkh': 'nested segwit (P2SH-P2WPKH, BIP-49)',
  p2wpkh: 'native segwit (P2WPKH, BIP-84)',
  p2tr: 'taproot (P2TR, BIP-86)',
};

/** The form of each BIP-43 purpose. */
const PURPOSES: Readonly<Record<string, ScriptForm>> = {
  '44h': 'p2pkh',
  '49h': 'p2sh-p2wpkh',
  '84h': 'p2wpkh',
  '86h': 'p2tr',
};

/** SLIP-44 coin types on mainnet. A BCH account from before the split has BTC's. */
const COINS: Readonly<Record<UtxoChain, readonly string[]>> = { BTC: ['0h'], LTC: ['2h'], BCH: ['145h', '0h'] };

/**
 * Reads the key of an account of a chain and network. `form`: what its owner says; null: as the text says. Throws `Rejected`:
 * `account.private`, `.checksum`, `.key` (no such key, several keys, or a path that is none of an account), `.network` (of another
 * network or coin) and `.script` (another script form than it was told, or none that can be known).
 */
export function readWatchOnly(
  text: string,
  chain: UtxoChain,
  network: Network,
  form: ScriptForm | null = null,
): WatchOnlyKey {
  const given = needPublic(text);
  const parsed = given.includes('(') ? readDescriptor(given) : { text: given, origin: null, form: null };
  const key = readExtended(parsed.text);
  needOf(key, chain, network);
  const { origin } = parsed;
  if (origin) checkPath(origin.path, chain, network);
  const purpose = origin && (PURPOSES[origin.path.split('/')[0] ?? ''] ?? null);
  const said = [form, parsed.form, key.version.form, purpose, chain === 'BCH' ? ('p2pkh' as const) : null].filter(
    (one) => one !== null,
  );
  const [first] = said;
  if (first === undefined) {
    throw new Rejected(
      'account.script',
      `The key does not say which addresses its wallet makes: ${FORMS[chain].join(', ')}. Give one of these, or the wallet's output descriptor`,
      FIELD,
    );
  }
  const other = said.find((one) => one !== first);
  if (other !== undefined) {
    throw new Rejected(
      'account.script',
      `The key is of an account with ${FORM_NAMES[other]} addresses, not ${FORM_NAMES[first]}`,
      FIELD,
    );
  }
  if (!FORMS[chain].includes(first)) {
    throw new Rejected(
      'account.script',
      `${chain} accounts with ${FORM_NAMES[first]} addresses are not supported`,
      FIELD,
    );
  }
  const { publicKey, chainCode } = key;
  return { kind: 'secp256k1', publicKey, chainCode, watch: { form: first, origin } };
}

/** Throws `Rejected('account.network')` for a key of another network or coin. */
function needOf({ version }: ExtendedKey, chain: UtxoChain, network: Network): void {
  needNetwork(version, network);
  if (version.chains.includes(chain)) return;
  throw new Rejected('account.network', `The key is of ${version.chains.join(' or ')}, not of ${chain}`, FIELD);
}

/** `84h/0h/0h`: the coin must be the chain's. */
function checkPath(path: string, chain: UtxoChain, network: Network): void {
  const [purpose, coin] = path.split('/');
  if (network !== 'mainnet' || PURPOSES[purpose ?? ''] === undefined || coin === undefined) return;
  const others = COIN_CHAINS.filter((one) => COINS[one].includes(coin));
  if (COINS[chain].includes(coin) || others.length === 0) return;
  throw new Rejected('account.network', `The path ${path} is of ${others.join(' or ')}, not of ${chain}`, FIELD);
}

type Described = { text: string; origin: WatchOnly['origin']; form: ScriptForm };

/** One key with an origin, and the addresses of its receiving branch. */
const KEY = new RegExp(String.raw`^${ORIGIN}(?<key>[1-9A-HJ-NP-Za-km-z]+)(?<steps>(?:\/[0-9<>;hH'*]+)*)$`);

const WRAPPERS: readonly (readonly [begin: string, end: string, ScriptForm])[] = [
  ['sh(wpkh(', '))', 'p2sh-p2wpkh'],
  ['wpkh(', ')', 'p2wpkh'],
  ['pkh(', ')', 'p2pkh'],
  ['tr(', ')', 'p2tr'],
];

function readDescriptor(text: string): Described {
  const [body = '', checksum, ...rest] = text.split('#');
  if (rest.length > 0) throw bad('An output descriptor has one checksum');
  if (checksum !== undefined && checksum !== descriptorChecksum(body)) {
    throw new Rejected(
      'account.checksum',
      'A character of the descriptor is wrong: its checksum does not match',
      FIELD,
    );
  }
  const wrapper = WRAPPERS.find(([begin]) => body.startsWith(begin));
  if (!wrapper) throw bad('The descriptor is of none of the kinds pkh(…), sh(wpkh(…)), wpkh(…) and tr(…) with one key');
  const [begin, end, form] = wrapper;
  const groups = body.endsWith(end) ? KEY.exec(body.slice(begin.length, -end.length))?.groups : undefined;
  if (!groups) throw bad('The descriptor does not have one extended public key in it');
  const { key = '', steps = '' } = groups;
  if (steps === '/1/*') throw bad("It is the descriptor of the wallet's change: give that of its receiving addresses");
  if (steps !== '/<0;1>/*' && steps !== '/0/*' && steps !== '') {
    throw bad('Addresses are made at /0/* of an account; the descriptor has another path behind its key');
  }
  return { text: key, origin: originOf(groups), form };
}

/** BIP-380's characters, in the order of their values. */
const INPUT_CHARSET =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ ';
const CHECKSUM_CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const GENERATOR = [0xf5dee51989n, 0xa9fdca3312n, 0x1bab10e32dn, 0x3706b1677an, 0x644d626ffdn];
const CHECKSUM_CHARS = 8;

/** The eight characters behind a descriptor's `#` (BIP-380). Empty where a character of it belongs to none. */
export function descriptorChecksum(body: string): string {
  let sum = 1n;
  const step = (value: number): void => {
    const top = sum >> 35n;
    sum = ((sum & 0x7ffffffffn) << 5n) ^ BigInt(value);
    GENERATOR.forEach((word, bit) => {
      if ((top >> BigInt(bit)) & 1n) sum ^= word;
    });
  };
  let groups: number[] = [];
  for (const character of body) {
    const value = INPUT_CHARSET.indexOf(character);
    if (value < 0) return '';
    step(value & 31);
    groups.push(value >> 5);
    if (groups.length < 3) continue;
    step(groups.reduce((all, group) => all * 3 + group, 0));
    groups = [];
  }
  if (groups.length > 0) step(groups.reduce((all, group) => all * 3 + group, 0));
  for (let i = 0; i < CHECKSUM_CHARS; i++) step(0);
  sum ^= 1n;
  return Array.from({ length: CHECKSUM_CHARS }, (_, i) => {
    const at = Number((sum >> BigInt(5 * (CHECKSUM_CHARS - 1 - i))) & 31n);
    return CHECKSUM_CHARSET.charAt(at);
  }).join('');
}

/** The output descriptor of an account (BIP-380, BIP-389), with its checksum: what its owner can compare with the wallet. */
export function descriptorOf({ publicKey, chainCode, watch }: WatchOnlyKey, network: Network): string {
  const public_ = network === 'mainnet' ? 0x0488b21e : 0x043587cf;
  const { origin, form } = watch;
  const depth = origin === null || origin.path === '' ? 0 : origin.path.split('/').length;
  const node = new HDKey({
    publicKey: hexToBytes(publicKey),
    chainCode: hexToBytes(chainCode),
    depth,
    // the parent is not known, and only children are derived
    parentFingerprint: 0,
    versions: { public: public_, private: public_ },
  });
  const place = origin ? `[${[origin.fingerprint, ...(origin.path === '' ? [] : [origin.path])].join('/')}]` : '';
  const [begin, end] = WRAPPERS.find(([, , one]) => one === form)!;
  const body = `${begin}${place}${node.publicExtendedKey}/<0;1>/*${end}`;
  return `${body}#${descriptorChecksum(body)}`;
}
