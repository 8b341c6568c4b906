/**
 * Extended public keys (BIP-32, with SLIP-132's version bytes) as other wallets show them, with the key origin that BIP-380 writes
 * before them.
 *
 * Invariant: a private key is refused, and neither it nor another part of the text is in an error.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { base58, createBase58check, hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import type { Network } from '../domain/assets.ts';
import type { ScriptForm, WatchOnly } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import type { UtxoChain } from './signer/wire.ts';

/** `form` null: the version bytes do not say it. */
type Version = { isMainnet: boolean; chains: readonly UtxoChain[]; form: ScriptForm | null };

/** `depth` and `child`: its place under its master key; a hardened child counts from 2^31. Keys in hex. */
export type ExtendedKey = { version: Version; depth: number; child: number; publicKey: string; chainCode: string };

export const COIN_CHAINS: readonly UtxoChain[] = ['BTC', 'LTC', 'BCH'];
const SEGWIT: readonly UtxoChain[] = ['BTC', 'LTC'];

const version = (isMainnet: boolean, chains: readonly UtxoChain[], form: ScriptForm | null): Version => ({
  isMainnet,
  chains,
  form,
});

/** Version bytes of extended public keys: BIP-32, SLIP-132, and `chainparams.cpp` of Litecoin Core. */
const PUBLIC: Readonly<Record<string, Version>> = {
  // xpub, ypub, zpub
  '0488b21e': version(true, COIN_CHAINS, null),
  '049d7cb2': version(true, SEGWIT, 'p2sh-p2wpkh'),
  '04b24746': version(true, SEGWIT, 'p2wpkh'),
  // Ltub, Mtub
  '019da462': version(true, ['LTC'], 'p2pkh'),
  '01b26ef6': version(true, ['LTC'], 'p2sh-p2wpkh'),
  // tpub, upub, vpub, ttub
  '043587cf': version(false, COIN_CHAINS, null),
  '044a5262': version(false, SEGWIT, 'p2sh-p2wpkh'),
  '045f1cf6': version(false, SEGWIT, 'p2wpkh'),
  '0436f6e1': version(false, ['LTC'], 'p2pkh'),
};

/** xprv, yprv, zprv, Yprv, Zprv; tprv, uprv, vprv, Uprv, Vprv; Ltpv, Mtpv, ttpv. */
const PRIVATE = new Set(
  (
    '0488ade4 049d7878 04b2430c 0295b005 02aa7a99 04358394 044a4e28 045f18bc 024285b5 02575048 019d9cfe 01b26792 ' +
    '0436ef7d'
  ).split(' '),
);
/** Ypub, Zpub, Upub, Vpub. */
const MULTISIG = new Set(['0295b43f', '02aa7ed3', '024289ef', '02575483']);

const EXTENDED_BYTES = 78;
const VERSION_BYTES = 4;
const DEPTH_AT = 4;
const CHILD_AT = 9;
const CHAIN_CODE_AT = 13;
const PUBLIC_KEY_AT = 45;
export const FIELD = 'accounts';

/** A key in BIP-32's serialization; the longest has 113 characters. Shorter texts of the alphabet may be private keys in WIF. */
const base58check = createBase58check(sha256);
const WIF = /^[5KLT9c6][1-9A-HJ-NP-Za-km-z]{50,51}$/;
const PRIVATE_HEX = /^(?:0x)?[0-9a-fA-F]{64}$/;

/** Longer texts are no key of one account. */
const CHARS_MAX = 400;

/** The groups `fingerprint` and `path` of a key origin; both are missing without one. */
export const ORIGIN = String.raw`(?:\[(?<fingerprint>[0-9a-fA-F]{8})(?<path>(?:\/[0-9]{1,10}[hH']?)*)\])?`;

export const bad = (why: string): Rejected => new Rejected('account.key', why, FIELD);

/** The key origin of the groups of `ORIGIN`: `/84'/0'/0'` is `84h/0h/0h`. */
export function originOf({ fingerprint, path = '' }: Readonly<Record<string, string>>): WatchOnly['origin'] {
  if (fingerprint === undefined) return null;
  return { fingerprint: fingerprint.toLowerCase(), path: path.slice(1).replaceAll(/[H']/g, 'h') };
}

/** A text without the spaces around it. Throws `Rejected`: `account.private` for whatever looks like a private key, wherever it stands. */
export function needPublic(text: string): string {
  const given = text.trim();
  if (given.length > CHARS_MAX) throw bad(`It is longer than ${CHARS_MAX} characters, so it is no key of one account`);
  const isPrivate = given
    .split(/[^0-9A-Za-z]+/)
    .some((word) => PRIVATE_HEX.test(word) || WIF.test(word) || PRIVATE.has(versionOf(word) ?? ''));
  const isWords = given.split(/\s+/).length >= 12;
  if (!isPrivate && !isWords) return given;
  throw new Rejected(
    'account.private',
    'That is secret: private keys or the words of a wallet. Nothing of it was kept, and this machine must not know it. Give the extended public key',
    FIELD,
  );
}

/** The version bytes of a text of the length of an extended key, whether or not its checksum is right. */
function versionOf(word: string): string | null {
  if (!/^[1-9A-HJ-NP-Za-km-z]{107,115}$/.test(word)) return null;
  return hex.encode(base58.decode(word).subarray(0, VERSION_BYTES));
}

/** Reads an extended public key of any network and coin. Throws `Rejected`: `account.checksum`, `account.key`. */
export function readExtended(text: string): ExtendedKey {
  const known = versionOf(text);
  if (known === null) throw bad('It is no extended public key (xpub, zpub and the like) and no output descriptor');
  let bytes: Uint8Array;
  try {
    bytes = base58check.decode(text);
  } catch {
    throw new Rejected('account.checksum', 'A character of the key is wrong: its checksum does not match', FIELD);
  }
  if (MULTISIG.has(known)) throw bad('It is a key of a wallet of several signers, which is not supported');
  const found = PUBLIC[known];
  if (!found || bytes.length !== EXTENDED_BYTES) throw bad('It is no extended public key of a kind that is known here');
  const publicKey = bytes.subarray(PUBLIC_KEY_AT);
  const chainCode = bytes.subarray(CHAIN_CODE_AT, PUBLIC_KEY_AT);
  try {
    new HDKey({ publicKey, chainCode });
  } catch {
    throw bad('Its point is not on the curve, so it is no public key');
  }
  const child = new DataView(bytes.buffer, bytes.byteOffset).getUint32(CHILD_AT);
  const depth = bytes[DEPTH_AT] ?? 0;
  return { version: found, depth, child, publicKey: hex.encode(publicKey), chainCode: hex.encode(chainCode) };
}

/** Throws `Rejected('account.network')` for a key of mainnet on a test network, or the reverse. */
export function needNetwork({ isMainnet }: Version, network: Network): void {
  if (isMainnet === (network === 'mainnet')) return;
  const is = isMainnet ? 'mainnet' : 'a test network';
  throw new Rejected('account.network', `The key is of ${is}, and the business is on ${network}`, FIELD);
}
