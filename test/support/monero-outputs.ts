/** Outputs of Monero as a sender makes them: the sender's half of the protocol, written for tests alone. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Output, Transaction } from '../../daemon/monero/transaction.ts';
import { varint } from '../../daemon/monero/varint.ts';

const { Point } = ed25519;
const H = Point.fromHex('8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94');

const scalarOf = (bytes: Uint8Array): bigint =>
  Point.Fn.create(BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`));
const hash = (...parts: Uint8Array[]): Uint8Array => keccak_256(Buffer.concat(parts));
const text = (word: string): Uint8Array => Buffer.from(word, 'ascii');

/** The prefix of a standard address on mainnet. */
const STANDARD = 18;

/** What a wallet writes to pay an address of mainnet (its 65 bytes) with a secret of its choice. */
export function paying(
  script: Uint8Array,
  units: bigint,
  secret: bigint,
  n = 0,
): { output: Output; publicKey: Uint8Array } {
  const [spend, view] = [Point.fromBytes(script.subarray(1, 33)), Point.fromBytes(script.subarray(33))];
  const publicKey = (script[0] === STANDARD ? Point.BASE : spend).multiply(secret).toBytes();
  const shared = view.multiply(secret).multiply(8n).toBytes();
  const scalar = scalarOf(hash(shared, varint(n)));
  const scalarBytes = Buffer.from(Point.Fn.toBytes(scalar));
  const key = Point.BASE.multiply(scalar).add(spend).toBytes();
  const pad = hash(text('amount'), scalarBytes);
  const clear = Buffer.alloc(8);
  clear.writeBigUInt64LE(units);
  const mask = scalarOf(hash(text('commitment_mask'), scalarBytes));
  const commitment = Point.BASE.multiply(mask).add(H.multiply(units)).toBytes();
  const viewTag = hash(text('view_tag'), shared, varint(n))[0] ?? 0;
  const output = {
    key,
    viewTag,
    clearUnits: 0n,
    sealedUnits: clear.map((byte, i) => byte ^ (pad[i] ?? 0)),
    commitment,
  };
  return { output, publicKey };
}

export function transactionOf(
  id: string,
  parts: ReturnType<typeof paying>[],
  changes: Partial<Transaction> = {},
): Transaction {
  return {
    id: id.repeat(64),
    version: 2,
    unlockTime: 0n,
    isCoinbase: false,
    keyImages: ['aa'.repeat(32)],
    rings: [],
    fee: 0n,
    nonces: [],
    hasMore: false,
    outputs: parts.map(({ output }) => output),
    publicKeys: parts.slice(0, 1).map(({ publicKey }) => publicKey),
    outputKeys: parts.length > 1 ? parts.map(({ publicKey }) => publicKey) : [],
    ...changes,
  };
}
