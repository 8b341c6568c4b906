/**
 * Addresses of Monero: the standard address and the subaddresses of an account, from its private view key and public
 * spend key; and the check of others' addresses.
 *
 * An address is a prefix that names network and kind, a public spend key, a public view key (and in an integrated
 * address a payment id of 8 bytes), four bytes of keccak as a checksum, in Base58 by blocks.
 *
 * Invariant: an accepted address belongs to this network and both its keys are points of the curve, canonically
 * encoded, as monerod itself demands.
 */

import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { base58xmr } from '@scure/base';
import type { Network } from '../domain/assets.ts';
import type { AccountKey, Branch, DerivedAddress } from '../domain/chain.ts';
import { assert } from '../domain/errors.ts';
import { type CurvePoint, hashToScalar, multipliedBase, Point, pointOf, scalarOf } from './curve.ts';
import { keccak256 } from './keccak.ts';

type Prefixes = { standard: number; integrated: number; subaddress: number };

const MAINNET: Prefixes = { standard: 18, integrated: 19, subaddress: 42 };
const STAGENET: Prefixes = { standard: 24, integrated: 25, subaddress: 36 };
/** Of Monero's developers; no network here has them. */
const TESTNET: Prefixes = { standard: 53, integrated: 54, subaddress: 63 };

/**
 * From `cryptonote_config.h`. The public test network for users is stagenet (Monero's own testnet is for its
 * developers). `monerod --regtest` is the FAKECHAIN type, which has mainnet's prefixes.
 */
const PREFIXES: Readonly<Record<Network, Prefixes>> = {
  mainnet: MAINNET,
  testnet: STAGENET,
  regtest: MAINNET,
  sandbox: STAGENET,
};

const KEY_BYTES = 32;
const PAYMENT_ID_BYTES = 8;
const CHECKSUM_BYTES = 4;
const PLAIN_BYTES = 1 + 2 * KEY_BYTES;
const INTEGRATED_BYTES = PLAIN_BYTES + PAYMENT_ID_BYTES;

/** The length of an integrated address, the longest kind. */
const ADDRESS_CHARS_MAX = 106;

const SUBADDRESS_INDEX_MAX = 2 ** 32 - 1;

/** Hashed with a subaddress's index (MRL-0006, `cryptonote::get_subaddress_secret_key`), including its zero byte. */
const SUBADDRESS_DOMAIN = utf8ToBytes('SubAddr\0');

/**
 * The subaddress (major, minor); (0, 0) is the standard address. Its script is the prefix byte and the two public keys,
 * 65 bytes. Throws on a key that is no Monero account and on an index above 2^32 - 1.
 */
export function subaddress(account: AccountKey, major: number, minor: number, network: Network): DerivedAddress {
  assert(account.kind === 'monero', 'a Monero account derives subaddresses');
  for (const index of [major, minor]) {
    assert(Number.isInteger(index) && index >= 0 && index <= SUBADDRESS_INDEX_MAX, 'an index is from 0 to 2^32 - 1');
  }
  const prefixes = PREFIXES[network];
  const { spend, view, viewBytes, viewScalar } = pointsOf(account);
  if (major === 0 && minor === 0) return encode(prefixes.standard, spend, Point.BASE.multiply(viewScalar));
  const offset = subaddressOffset(viewBytes, major, minor);
  // the view key times (B + mG) is aB + (am)G: a multiple of the base is quick, because its table is computed once
  const spendKey = spend.add(multipliedBase(offset));
  return encode(prefixes.subaddress, spendKey, view.add(multipliedBase(Point.Fn.mul(viewScalar, offset))));
}

/** `view`: the view key times the public spend key. */
type AccountPoints = { spend: CurvePoint; view: CurvePoint; viewBytes: Uint8Array; viewScalar: bigint };
const known = new WeakMap<AccountKey, AccountPoints>();

function pointsOf(account: Extract<AccountKey, { kind: 'monero' }>): AccountPoints {
  const found = known.get(account);
  if (found) return found;
  const spend = Point.fromHex(account.publicSpendKey);
  const viewBytes = hexToBytes(account.privateViewKey);
  const viewScalar = scalarOf(viewBytes);
  const points = { spend, view: spend.multiply(viewScalar), viewBytes, viewScalar };
  known.set(account, points);
  return points;
}

/**
 * The subaddress of a branch and an index: payers get (0, 1) and later ones, and change returns to (0, 0), the standard
 * address, as in Monero's own wallets.
 */
export function positionOf(branch: Branch, index: number): { major: number; minor: number } {
  if (branch === 0) return { major: 0, minor: index + 1 };
  return index === 0 ? { major: 0, minor: 0 } : { major: 1, minor: index };
}

export function addressAt(account: AccountKey, branch: Branch, index: number, network: Network): DerivedAddress {
  const { major, minor } = positionOf(branch, index);
  return subaddress(account, major, minor, network);
}

/** The difference between a subaddress's private spend key and the account's (MRL-0006); 0 for the standard address. */
export function subaddressOffset(view: Uint8Array, major: number, minor: number): bigint {
  if (major === 0 && minor === 0) return 0n;
  const indices = new DataView(new ArrayBuffer(8));
  indices.setUint32(0, major, true);
  indices.setUint32(4, minor, true);
  return hashToScalar(SUBADDRESS_DOMAIN, view, new Uint8Array(indices.buffer));
}

function encode(prefix: number, spend: CurvePoint, view: CurvePoint): DerivedAddress {
  const script = Uint8Array.of(prefix, ...spend.toBytes(), ...view.toBytes());
  return { script, address: base58xmr.encode(Uint8Array.of(...script, ...checksum(script))) };
}

/** The bytes of a standard address or a subaddress from its two public keys (32 bytes each). */
export function scriptOfKeys(spend: Uint8Array, view: Uint8Array, isStandard: boolean, network: Network): Uint8Array {
  const { standard, subaddress: sub } = PREFIXES[network];
  return Uint8Array.of(isStandard ? standard : sub, ...spend, ...view);
}

const checksum = (data: Uint8Array): Uint8Array => keccak256(data).subarray(0, CHECKSUM_BYTES);

/** An address's bytes without its checksum (65, or 73 with a payment id), or null when not of this network. */
export function scriptOf(address: string, network: Network): Uint8Array | null {
  const named = readAddress(address);
  return named && isOfNetwork(named, network) ? base58xmr.decode(address).subarray(0, -CHECKSUM_BYTES) : null;
}

/** Whether the bytes are those of a subaddress, for which the sender's computation differs. */
export const isSubaddress = ([prefix]: Uint8Array): boolean =>
  Object.values(PREFIXES).some(({ subaddress: sub }) => prefix === sub);

/** `of`: the chain of Monero's whose addresses begin so. `spend`, `view`: public keys, 32 bytes. */
export type NamedAddress = { kind: keyof Prefixes; of: string; spend: Uint8Array; view: Uint8Array };

const CHAINS = [
  ['mainnet', MAINNET],
  ['stagenet', STAGENET],
  ["Monero's developers' test network", TESTNET],
] as const;
const KINDS = ['standard', 'integrated', 'subaddress'] as const;

/** Kind, chain and keys of an address of any chain of Monero; null: it is no address, or a character of it is wrong. */
export function readAddress(text: string): NamedAddress | null {
  if (text.length > ADDRESS_CHARS_MAX) return null;
  let data: Uint8Array;
  try {
    data = base58xmr.decode(text);
  } catch {
    return null;
  }
  const script = data.subarray(0, -CHECKSUM_BYTES);
  const [of, prefixes] = CHAINS.find(([, each]) => KINDS.some((one) => each[one] === script[0])) ?? [];
  const kind = prefixes && KINDS.find((one) => prefixes[one] === script[0]);
  if (!of || !kind || script.length !== (kind === 'integrated' ? INTEGRATED_BYTES : PLAIN_BYTES)) return null;
  if (bytesToHex(checksum(script)) !== bytesToHex(data.subarray(-CHECKSUM_BYTES))) return null;
  const [spend, view] = [script.subarray(1, 1 + KEY_BYTES), script.subarray(1 + KEY_BYTES, PLAIN_BYTES)];
  return pointOf(spend) && pointOf(view) ? { kind, of, spend, view } : null;
}

/** Whether an address of this kind of chain is one of a network: a regtest chain has mainnet's. */
export const isOfNetwork = ({ of }: NamedAddress, network: Network): boolean =>
  CHAINS.some(([name, prefixes]) => name === of && prefixes === PREFIXES[network]);

export function isValidAddress(address: string, network: Network): boolean {
  return scriptOf(address, network) !== null;
}
