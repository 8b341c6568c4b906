/** Keccak-256. OpenSSL's, which Node has, is several times as fast as the portable one; browsers have none. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';

type Hashing = {
  getHashes(): string[];
  hash(name: string, bytes: Uint8Array, encoding: 'buffer'): Uint8Array;
  hash(name: string, bytes: Uint8Array, encoding: 'hex'): string;
};
type Builtins = { getBuiltinModule?: (name: string) => Hashing | undefined };

const NAME = 'keccak-256';
const crypto = (globalThis as { process?: Builtins }).process?.getBuiltinModule?.('node:crypto');
const native = crypto?.getHashes().includes(NAME) ? crypto : null;

export const keccak256 = (bytes: Uint8Array): Uint8Array =>
  native ? native.hash(NAME, bytes, 'buffer') : keccak_256(bytes);

/** The same as hex, which takes half the time, because nothing outside JavaScript's own memory is allocated. */
export const keccak256Hex = (bytes: Uint8Array): string =>
  native ? native.hash(NAME, bytes, 'hex') : bytesToHex(keccak_256(bytes));
