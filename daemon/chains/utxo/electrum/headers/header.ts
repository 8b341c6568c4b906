/**
 * The 80 bytes of a block header, its id, and its proof-of-work hash. Pure, except for scrypt, which runs on Node's
 * thread pool: a thousand hashes would block the event loop for a quarter of a second.
 *
 * Source: the Bitcoin developer reference, "Block Headers". Litecoin differs only in its proof of work.
 */
import { scrypt } from 'node:crypto';
import { reversedHex, sha256d } from '../../../../kit/bytes.ts';
import type { Header } from './types.ts';

export const HEADER_BYTES = 80;

const PREVIOUS_AT = 4;
const MERKLE_ROOT_AT = 36;
const TIME_AT = 68;
const BITS_AT = 72;
const HASH_BYTES = 32;

/** Litecoin: N = 1024, r = 1, p = 1, with the header as password and salt. */
const SCRYPT = { N: 1024, r: 1, p: 1, maxmem: 1024 * 1024 };

/** A hash as the number that is compared with the target. */
export const asNumber = (digest: Uint8Array): bigint => BigInt(`0x${reversedHex(digest)}`);

export const timeOf = (header: Buffer): number => header.readUInt32LE(TIME_AT);
export const bitsOf = (header: Buffer): number => header.readUInt32LE(BITS_AT);
/** A view of the previous header's hash. */
export const previousOf = (header: Buffer): Buffer => header.subarray(PREVIOUS_AT, PREVIOUS_AT + HASH_BYTES);

export function readHeader(bytes: Buffer, height: number): Header {
  return {
    height,
    hash: reversedHex(sha256d(bytes)),
    previous: reversedHex(previousOf(bytes)),
    merkleRoot: reversedHex(bytes.subarray(MERKLE_ROOT_AT, MERKLE_ROOT_AT + HASH_BYTES)),
    timeSeconds: timeOf(bytes),
    bits: bitsOf(bytes),
  };
}

/** Litecoin's proof-of-work hash. Runs on the thread pool. */
export function scryptHash(header: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(header, header, HASH_BYTES, SCRYPT, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
