/**
 * Addresses of BTC, LTC and BCH: made from our public keys, and decoded into scripts.
 *
 * Invariant: a text has a script only if it is a standard destination of exactly this chain and network. Forms on which
 * a coin would be lost are refused: those of another chain or network, a legacy BCH address (it looks like BTC's), an
 * LTC `3…` (likewise), an MWEB address, the unused witness versions 2 to 16, and a P2TR address whose key is no point of
 * the curve, so that nobody can sign for it (BIP-341).
 */
import { createHash } from 'node:crypto';
import { bech32, bech32m, createBase58check } from '@scure/base';
import { isXOnlyPoint, xOnlyPointAddTweak } from 'tiny-secp256k1';
import type { Network } from '../../domain/assets.ts';
import type { AccountKey, Branch, DerivedAddress, ScriptForm } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { sha256 } from '../../kit/bytes.ts';
import { childPublicKey } from '../hd.ts';
import { decodeCashAddress, encodeCashAddress } from './cashaddr.ts';
import { UTXO_PARAMS, type UtxoChain } from './params.ts';

/** The characters of all these formats. The longest has 90 (BIP-173). */
const ADDRESS = /^[0-9A-Za-z:]{1,90}$/;

const base58check = createBase58check((data: Uint8Array) => new Uint8Array(sha256(data)));

const SCRIPTS = {
  p2pkh: (hash20: Uint8Array) => Uint8Array.of(0x76, 0xa9, 20, ...hash20, 0x88, 0xac),
  p2sh: (hash20: Uint8Array) => Uint8Array.of(0xa9, 20, ...hash20, 0x87),
  /** BCH only, by OP_HASH256, since its upgrade of May 2023. */
  p2sh32: (hash32: Uint8Array) => Uint8Array.of(0xaa, 32, ...hash32, 0x87),
  witness: (version: number, program: Uint8Array) =>
    Uint8Array.of(version === 0 ? 0 : 0x50 + version, program.length, ...program),
};

/**
 * The address of a compressed public key (33 bytes): P2WPKH (BIP-141) on BTC and LTC, P2PKH as CashAddr with its prefix
 * on BCH.
 */
export function addressOfKey(publicKey: Uint8Array, chain: UtxoChain, network: Network): DerivedAddress {
  assert(publicKey.length === 33, 'a public key is compressed');
  const form = UTXO_PARAMS[chain][network].address;
  const keyHash = hash160(publicKey);
  if (form.kind === 'cashaddr') {
    return { script: SCRIPTS.p2pkh(keyHash), address: encodeCashAddress(form.prefix, { type: 0, hash: keyHash }) };
  }
  const address = bech32.encode(form.hrp, [0, ...bech32.toWords(keyHash)]);
  return { script: SCRIPTS.witness(0, keyHash), address };
}

/**
 * The address at branch/index of an account. A watch-only account has its own form of scripts. Throws as
 * `childPublicKey`, and for a form that the chain does not have.
 */
export function addressAt(
  account: AccountKey,
  branch: Branch,
  index: number,
  chain: UtxoChain,
  network: Network,
): DerivedAddress {
  const publicKey = childPublicKey(account, branch, index);
  const form = account.kind === 'secp256k1' ? account.watch?.form : undefined;
  if (!form) return addressOfKey(publicKey, chain, network);
  const script = SCRIPT_OF_KEY[form](publicKey);
  const address = addressOf(script, chain, network);
  assert(address !== null, `${chain} has addresses of ${form}`);
  return { script, address };
}

/** RIPEMD-160 of SHA-256. */
export const hash160 = (data: Uint8Array): Buffer => createHash('ripemd160').update(sha256(data)).digest();

/** The script that pays a compressed public key, by its form. */
export const SCRIPT_OF_KEY: Readonly<Record<ScriptForm, (publicKey: Uint8Array) => Uint8Array>> = {
  p2pkh: (key) => SCRIPTS.p2pkh(hash160(key)),
  'p2sh-p2wpkh': (key) => SCRIPTS.p2sh(hash160(SCRIPTS.witness(0, hash160(key)))),
  p2wpkh: (key) => SCRIPTS.witness(0, hash160(key)),
  p2tr: (key) => SCRIPTS.witness(1, taprootKey(key.subarray(1))),
};

/** The output key of an internal key that no script belongs to (BIP-341, BIP-86). */
function taprootKey(internal: Uint8Array): Uint8Array {
  const tag = sha256(Buffer.from('TapTweak'));
  const tweaked = xOnlyPointAddTweak(internal, sha256(Buffer.concat([tag, tag, internal])));
  assert(tweaked, 'a tweak leads to a point');
  return tweaked.xOnlyPubkey;
}

/**
 * The scriptPubKey of an address, or null if it is no destination on this chain and network. BTC and LTC: P2PKH, P2SH,
 * P2WPKH, P2WSH (BIP-173) and P2TR (BIP-350). BCH: CashAddr with or without its prefix, P2PKH, P2SH and P2SH32; the
 * token-aware forms have the same scripts.
 */
export function scriptOf(address: string, chain: UtxoChain, network: Network): Uint8Array | null {
  if (!ADDRESS.test(address)) return null;
  const form = UTXO_PARAMS[chain][network].address;
  if (form.kind === 'cashaddr') return cashScript(form.prefix, address);
  return witnessScript(form.hrp, address) ?? base58Script(form.p2pkh, form.p2sh, address);
}

/** The address of a scriptPubKey, or null if it has none of the forms of `scriptOf`. On BCH with the prefix. */
export function addressOf(script: Uint8Array, chain: UtxoChain, network: Network): string | null {
  const form = UTXO_PARAMS[chain][network].address;
  const [first] = script;
  const length = script.length - 2;
  // where a key or script hash would be; the address made of it must give the same script again
  const keyHash = script.subarray(3, 23);
  const scriptHash = script.subarray(2, -1);
  const candidates: string[] = [];
  if (form.kind === 'cashaddr') {
    if (script.length === 25) candidates.push(encodeCashAddress(form.prefix, { type: 0, hash: keyHash }));
    if (script.length === 23 || script.length === 35) {
      candidates.push(encodeCashAddress(form.prefix, { type: 1, hash: scriptHash }));
    }
  } else if (first === 0 && (length === 20 || length === 32)) {
    candidates.push(bech32.encode(form.hrp, [0, ...bech32.toWords(script.subarray(2))]));
  } else if (first === 0x51 && length === 32) {
    candidates.push(bech32m.encode(form.hrp, [1, ...bech32m.toWords(script.subarray(2))]));
  } else if (script.length === 25) candidates.push(base58check.encode(Uint8Array.of(form.p2pkh, ...keyHash)));
  else if (script.length === 23) candidates.push(base58check.encode(Uint8Array.of(form.p2sh, ...scriptHash)));
  return candidates.find((address) => isSame(scriptOf(address, chain, network), script)) ?? null;
}

const isSame = (a: Uint8Array | null, b: Uint8Array): boolean => a !== null && Buffer.compare(a, b) === 0;

export function isValidAddress(address: string, chain: UtxoChain, network: Network): boolean {
  return scriptOf(address, chain, network) !== null;
}

function cashScript(prefix: string, text: string): Uint8Array | null {
  const address = decodeCashAddress(prefix, text);
  if (!address || address.type > 3) return null;
  const isScriptHash = (address.type & 1) === 1;
  if (address.hash.length === 20) return isScriptHash ? SCRIPTS.p2sh(address.hash) : SCRIPTS.p2pkh(address.hash);
  return address.hash.length === 32 && isScriptHash ? SCRIPTS.p2sh32(address.hash) : null;
}

/** Version 0 uses bech32, version 1 bech32m (BIP-350). Only their standard lengths are accepted. */
function witnessScript(hrp: string, text: string): Uint8Array | null {
  for (const [codec, version, lengths] of [
    [bech32, 0, [20, 32]],
    [bech32m, 1, [32]],
  ] as const) {
    const decoded = codec.decodeUnsafe(text);
    if (decoded?.prefix !== hrp || decoded.words[0] !== version) continue;
    const program = codec.fromWordsUnsafe(decoded.words.slice(1));
    if (!program || !(lengths as readonly number[]).includes(program.length)) return null;
    return version === 1 && !isXOnlyPoint(program) ? null : SCRIPTS.witness(version, program);
  }
  return null;
}

function base58Script(p2pkh: number, p2sh: number, text: string): Uint8Array | null {
  let data: Uint8Array;
  try {
    data = base58check.decode(text);
  } catch {
    return null;
  }
  if (data.length !== 21) return null;
  if (data[0] === p2pkh) return SCRIPTS.p2pkh(data.subarray(1));
  return data[0] === p2sh ? SCRIPTS.p2sh(data.subarray(1)) : null;
}
