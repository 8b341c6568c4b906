/** Headers for tests: mined on regtest's rules, where every second nonce will do. */
import { asNumber, HEADER_BYTES } from '../../../daemon/chains/utxo/electrum/headers/header.ts';
import { targetOfBits } from '../../../daemon/chains/utxo/electrum/headers/target.ts';
import type { Header } from '../../../daemon/chains/utxo/electrum/headers/types.ts';
import { fromReversedHex, sha256d } from '../../../daemon/kit/bytes.ts';

const REGTEST_BITS = 0x207fffff;

type Fields = Pick<Header, 'previous' | 'merkleRoot' | 'timeSeconds' | 'bits'> & { version: number; nonce: number };

/** `version` is taken as 32 bits, signed or not. */
export function writeHeader({ version, previous, merkleRoot, timeSeconds, bits, nonce }: Fields): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt32LE(version >>> 0, 0);
  fromReversedHex(previous).copy(bytes, 4);
  fromReversedHex(merkleRoot).copy(bytes, 36);
  bytes.writeUInt32LE(timeSeconds, 68);
  bytes.writeUInt32LE(bits, 72);
  bytes.writeUInt32LE(nonce >>> 0, 76);
  return bytes;
}

/** Regtest's first block, as Bitcoin Core's `chainparams.cpp` makes it. */
export const REGTEST_GENESIS = writeHeader({
  version: 1,
  previous: '00'.repeat(32),
  merkleRoot: '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b',
  timeSeconds: 1_296_688_602,
  bits: REGTEST_BITS,
  nonce: 2,
});

export const hashOf = (header: Uint8Array): string => Buffer.from(sha256d(header)).reverse().toString('hex');

/** `salt`: makes another block of the same parent; `merkleRoot`: the id of its only transaction instead. */
type Mining = { timeSeconds: number; salt?: number; bits?: number; merkleRoot?: string };

/** A header on top of `parent` with as much work as its bits ask for. */
export function mine(parent: Buffer, { timeSeconds, salt = 0, bits = REGTEST_BITS, ...rest }: Mining): Buffer {
  const { merkleRoot = salt.toString(16).padStart(64, '0') } = rest;
  const target = targetOfBits(bits) as bigint;
  for (let nonce = 0; ; nonce++) {
    const header = writeHeader({ version: 4, previous: hashOf(parent), merkleRoot, timeSeconds, bits, nonce });
    if (asNumber(sha256d(header)) <= target) return header;
  }
}

/** A branch of `count` headers on top of `parent`, ten minutes apart unless said otherwise. */
export function branch(parent: Buffer, count: number, salt = 0, spacingSeconds = 600): Buffer[] {
  const headers: Buffer[] = [];
  let previous = parent;
  for (let i = 0; i < count; i++) {
    const timeSeconds = previous.readUInt32LE(68) + spacingSeconds;
    previous = mine(previous, { timeSeconds, salt });
    headers.push(previous);
  }
  return headers;
}
