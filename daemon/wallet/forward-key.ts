/**
 * The destination of forwarding that is an account of another wallet: an extended public key, of which each payment gets the next
 * address. The operator's program, the daemon and the signer each derive from the text themselves.
 */
import type { Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { ownAddress } from './own-address.ts';
import { isUtxo } from './signer/wire.ts';
import { descriptorOf, readWatchOnly } from './watch-only.ts';

/** No address is longer, and no extended public key is as short. */
const ADDRESS_CHARS_MAX = 106;

/** `text`: the output descriptor with its checksum, in the one spelling that a grant and a plan have. */
export type ForwardKey = { text: string; at(index: number): string };

/** How many addresses of an extended public key people compare with the wallet that has its keys. */
export const COMPARED = 3;

/** The addresses that payments go to from an index on, to compare. */
export const nextOf = ({ at }: ForwardKey, from: number): string[] =>
  Array.from({ length: COMPARED }, (_, i) => at(from + i));

/** Whether a destination is meant as an extended public key, and not as an address. */
export const isForwardKey = (text: string): boolean => text.includes('(') || text.trim().length > ADDRESS_CHARS_MAX;

/**
 * Reads an extended public key or an output descriptor as a destination of an asset. Throws `Rejected`: `account.*` as
 * `readWatchOnly`, and `account.key` for an asset whose chain has no such accounts.
 */
export function forwardKeyOf(text: string, asset: string, network: Network): ForwardKey {
  const chain = asset as Parameters<typeof isUtxo>[0];
  if (!isUtxo(chain)) {
    throw new Rejected(
      'account.key',
      `${asset} is sent on to an address: extended public keys are of BTC, LTC and BCH`,
    );
  }
  const key = readWatchOnly(text, chain, network);
  return { text: descriptorOf(key, network), at: (index) => ownAddress(key, chain, network, index) };
}
