/**
 * Reads the address and the private view key of a Monero account whose spend key is in another wallet.
 *
 * Invariant: a private spend key is refused, and neither it nor a view key is in an error.
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import type { Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import { addressAt, isOfNetwork, type NamedAddress, readAddress } from '../monero/address.ts';
import { littleEndian, multipliedBase, Point } from '../monero/curve.ts';

type MoneroKey = Extract<AccountKey, { kind: 'monero' }>;
/** An account of another wallet. */
export type ViewOnlyKey = MoneroKey & { watch: true };

const FIELD = 'accounts';
const KEY = /^[0-9a-f]{64}$/;
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{90,110}$/;
/** A wallet's words are 12, 16, 24 or 25. */
const WORDS_MIN = 12;

/**
 * The account of a primary address and its private view key (hex). Throws `Rejected`: `account.private` (words, or a private spend
 * key), `.key` (no address, or no key), `.checksum`, `.network`, `.subaddress` and `.integrated` (in place of the primary address),
 * `.view_key` (of another address).
 */
export function readViewOnly(address: string, viewKey: string, network: Network): ViewOnlyKey {
  const [given, key] = [address.trim(), viewKey.trim().toLowerCase()];
  if (areWords(key)) throw isPrivate();
  const { spend, view } = readPrimary(given, network);
  if (!KEY.test(key)) throw new Rejected('account.key', 'A private view key of Monero has 64 hex digits', FIELD);
  const scalar = littleEndian(hexToBytes(key));
  const publicSpendKey = bytesToHex(spend);
  const account: ViewOnlyKey = { kind: 'monero', privateViewKey: key, publicSpendKey, watch: true };
  refuseSpendKey(account);
  const isOwn = scalar > 0n && scalar < Point.Fn.ORDER && multipliedBase(scalar).toHex() === bytesToHex(view);
  if (isOwn) return account;
  throw new Rejected('account.view_key', 'The private view key is not that of the address', FIELD);
}

/** Throws `Rejected('account.private')` where the private spend key stands in place of the view key. */
export function refuseSpendKey({ privateViewKey, publicSpendKey }: MoneroKey): void {
  const scalar = Point.Fn.create(littleEndian(hexToBytes(privateViewKey)));
  if (multipliedBase(scalar).toHex() === publicSpendKey) throw isPrivate();
}

/** The primary address of an account: what its owner can compare with the wallet. */
export const primaryAddress = (key: AccountKey, network: Network): string => addressAt(key, 1, 0, network).address;

const isPrivate = (): Rejected =>
  new Rejected(
    'account.private',
    'That is secret: a private spend key or the words of a wallet. Nothing of it was kept, and this machine must not know it. Give the private view key',
    FIELD,
  );

const areWords = (text: string): boolean => text.split(/\s+/).length >= WORDS_MIN;

/** The public keys of a primary address. Throws `Rejected` as `readViewOnly`. */
export function readPrimary(text: string, network: Network): NamedAddress {
  if (areWords(text) || KEY.test(text.toLowerCase())) throw isPrivate();
  if (!ADDRESS.test(text)) throw new Rejected('account.key', 'It is no address of Monero', FIELD);
  const named = readAddress(text);
  if (named === null) {
    throw new Rejected('account.checksum', 'A character of the address is wrong: its checksum does not match', FIELD);
  }
  const { kind, of } = named;
  if (!isOfNetwork(named, network)) {
    throw new Rejected('account.network', `The address is of ${of}, and the business is on ${network}`, FIELD);
  }
  if (kind === 'standard') return named;
  const is = kind === 'subaddress' ? 'a subaddress' : 'an integrated address';
  throw new Rejected(`account.${kind}`, `It is ${is}: give the primary address of the account`, FIELD);
}
