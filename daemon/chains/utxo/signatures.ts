/**
 * Whether a transaction proves by a signature that it may spend a coin of ours. A server may name a spend that nobody signed. The
 * script and the amount of our coins are known, so this needs nobody's word: P2WPKH with SIGHASH_ALL on BTC and LTC (BIP-143), P2PKH
 * with SIGHASH_ALL | FORKID and ECDSA on BCH, whose digest is BIP-143's with that hash type.
 *
 * Invariant: `yes` only for a form that a stranger cannot change into one with another id. `no` only for one that no node accepts.
 */
import { createHash } from 'node:crypto';
import { verify } from 'tiny-secp256k1';
import { sha256, sha256d } from '../../kit/bytes.ts';
import { Reader } from './block.ts';
import type { UtxoChain } from './params.ts';

export type Signed = 'yes' | 'no' | 'unknown';

const SIGHASH_ALL = 0x01;
const SIGHASH_ALL_FORKID = 0x41;
const PUBLIC_KEY_BYTES = 33;
/** A longer push needs another opcode, which no signature and no key needs. */
const PUSH_BYTES_MAX = 75;
const FLAG_WITNESS = 0x01;
const SCALAR_BYTES = 32;

type SignedInput = { outpoint: Buffer; sequence: Buffer; script: Buffer; witness: Buffer[] };

/** The parts of a transaction that its signatures sign, as bytes. */
export type SignedTransaction = {
  chain: UtxoChain;
  version: Buffer;
  lockTime: Buffer;
  inputs: Map<string, SignedInput>;
  prevoutsHash: Buffer;
  sequencesHash: Buffer;
  outputsHash: Buffer;
};

const bytesOf = (reader: Reader, length: number): Buffer => {
  const from = reader.skip(length);
  return reader.bytes.subarray(from, from + length);
};

/** Reads a transaction that was parsed before (`block.ts`). Throws `ParseError`. */
export function readSigned(bytes: Buffer, chain: UtxoChain): SignedTransaction {
  const reader = new Reader(bytes);
  const version = bytesOf(reader, 4);
  let flags = 0;
  if (chain !== 'BCH' && bytes[reader.at] === 0) flags = bytesOf(reader, 2)[1] as number;
  const list: SignedInput[] = [];
  for (let count = reader.count(41); count > 0; count--) {
    const outpoint = bytesOf(reader, 36);
    const script = bytesOf(reader, reader.count(1));
    list.push({ outpoint, script, sequence: bytesOf(reader, 4), witness: [] });
  }
  let outputs = reader.count(9);
  const from = reader.at;
  for (; outputs > 0; outputs--) {
    reader.skip(8);
    reader.skip(reader.count(1));
  }
  const outputsHash = sha256d(bytes.subarray(from, reader.at));
  if (flags & FLAG_WITNESS) {
    for (const input of list)
      for (let items = reader.count(1); items > 0; items--) input.witness.push(bytesOf(reader, reader.count(1)));
  }
  const name = ({ outpoint }: SignedInput): string =>
    `${Buffer.from(outpoint.subarray(0, 32)).reverse().toString('hex')}:${outpoint.readUInt32LE(32)}`;
  return {
    chain,
    version,
    lockTime: bytes.subarray(-4),
    outputsHash,
    inputs: new Map(list.map((input) => [name(input), input])),
    prevoutsHash: sha256d(Buffer.concat(list.map(({ outpoint }) => outpoint))),
    sequencesHash: sha256d(Buffer.concat(list.map(({ sequence }) => sequence))),
  };
}

/** Whether a transaction is signed with the key of a coin's script. */
export function isSigned(
  transaction: SignedTransaction,
  outpoint: string,
  coin: { script: Uint8Array; units: bigint },
): Signed {
  const input = transaction.inputs.get(outpoint);
  if (!input) return 'no';
  const isCash = transaction.chain === 'BCH';
  const keyHash = isCash ? cashKeyHash(coin.script) : witnessKeyHash(coin.script);
  if (!keyHash) return 'unknown';
  const proof = isCash ? pushesOf(input.script) : input.witness;
  if (proof === null) return 'unknown';
  const [signature, publicKey, ...rest] = proof;
  if (!signature || signature.length === 0 || publicKey?.length !== PUBLIC_KEY_BYTES || rest.length > 0) return 'no';
  if (!createHash('ripemd160').update(sha256(publicKey)).digest().equals(keyHash)) return 'no';
  const hashType = signature.at(-1) as number;
  if (hashType !== (isCash ? SIGHASH_ALL_FORKID : SIGHASH_ALL)) return 'unknown';
  // of 65 bytes it is BCH's own kind (Schnorr)
  if (isCash && signature.length === 2 * SCALAR_BYTES + 1) return 'unknown';
  const scalars = scalarsOf(signature.subarray(0, -1));
  if (!scalars) return 'no';
  const hash = digest(transaction, input, { keyHash, units: coin.units, hashType });
  if (!isVerified(hash, publicKey, scalars, false)) return 'no';
  // of a high S anybody can make the low one, which on BCH gives another id
  return !isCash || isVerified(hash, publicKey, scalars, true) ? 'yes' : 'unknown';
}

function isVerified(hash: Buffer, publicKey: Buffer, scalars: Buffer, strict: boolean): boolean {
  try {
    return verify(hash, publicKey, scalars, strict);
  } catch {
    // no point, or a scalar beyond the order
    return false;
  }
}

function witnessKeyHash(script: Uint8Array): Buffer | null {
  return script.length === 22 && script[0] === 0 && script[1] === 20 ? Buffer.from(script.subarray(2)) : null;
}

function cashKeyHash(script: Uint8Array): Buffer | null {
  const code = scriptCodeOf(script.subarray(3, 23));
  return script.length === 25 && code.equals(script) ? Buffer.from(script.subarray(3, 23)) : null;
}

/** The P2PKH script, which BIP-143 also signs for P2WPKH. */
const scriptCodeOf = (keyHash: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(0x76, 0xa9, 20), keyHash, Buffer.of(0x88, 0xac)]);

/** The pushes of a script; null if it does something else, or pushes in another form than the shortest. */
function pushesOf(script: Buffer): Buffer[] | null {
  const pushes: Buffer[] = [];
  for (let at = 0; at < script.length; ) {
    const length = script[at] as number;
    if (length === 0 || length > PUSH_BYTES_MAX || at + 1 + length > script.length) return null;
    pushes.push(script.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return pushes;
}

/** R and S of a signature in the strict form of BIP-66; null for any other. */
function scalarsOf(der: Buffer): Buffer | null {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return null;
  const r = scalarAt(der, 2);
  const s = r && scalarAt(der, r.end);
  return s?.end === der.length ? Buffer.concat([r?.scalar as Buffer, s.scalar]) : null;
}

function scalarAt(der: Buffer, at: number): { scalar: Buffer; end: number } | null {
  const length = der[at + 1] ?? 0;
  const end = at + 2 + length;
  const bytes = der.subarray(at + 2, end);
  const [first = 0x80, second = 0x80] = bytes;
  if (der[at] !== 0x02 || end > der.length || length === 0 || first >= 0x80) return null;
  const isPadded = first === 0 && length > 1;
  if (isPadded && second < 0x80) return null;
  const digits = isPadded ? bytes.subarray(1) : bytes;
  if (digits.length > SCALAR_BYTES) return null;
  return { scalar: Buffer.concat([Buffer.alloc(SCALAR_BYTES - digits.length), digits]), end };
}

function digest(
  { version, lockTime, prevoutsHash, sequencesHash, outputsHash }: SignedTransaction,
  { outpoint, sequence }: SignedInput,
  { keyHash, units, hashType }: { keyHash: Buffer; units: bigint; hashType: number },
): Buffer {
  const code = scriptCodeOf(keyHash);
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(units);
  const type = Buffer.alloc(4);
  type.writeUInt32LE(hashType);
  const head = [version, prevoutsHash, sequencesHash, outpoint, Buffer.of(code.length), code, amount, sequence];
  return sha256d(Buffer.concat([...head, outputsHash, lockTime, type]));
}
