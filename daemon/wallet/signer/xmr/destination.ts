/** The destination that an address of Monero stands for. */
import { bytesToHex } from '@noble/hashes/utils.js';
import type { Network } from '../../../domain/assets.ts';
import { scriptOf } from '../../../monero/address.ts';

/** The bytes (hex) of an address on this network, or null. */
export function destinationOf(address: string, network: Network): string | null {
  const script = scriptOf(address, network);
  return script && bytesToHex(script);
}
