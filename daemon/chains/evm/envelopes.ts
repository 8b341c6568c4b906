/**
 * The bytes of transactions and receipts (EIP-2718), made from the fields that an endpoint tells. A header's roots are made of them.
 *
 * A kind or a field that is not known here throws `Malformed`: a later fork may have added it.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { encodeRlp, numberBytes, type Rlp } from '../../domain/rlp.ts';
import { Malformed } from '../endpoints.ts';
import { hexOf } from './trie.ts';

export type Fields = Readonly<Record<string, unknown>>;

const NUMBER = /^0x[0-9a-fA-F]{1,64}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
const ADDRESS_BYTES = 20;
/** A signature without the id of a chain has this or one more as `v`; one with it (EIP-155) has twice the id more than the second one. */
const V_BARE = 27n;
const V_BOUND = 35n;

type Read = (value: unknown) => Rlp;
type Kind = readonly (readonly [name: string, read: Read])[];

function numberOf(value: unknown): bigint {
  if (typeof value !== 'string' || !NUMBER.test(value)) throw new Malformed('a bad number in a transaction');
  return BigInt(value);
}

const number: Read = (value) => numberBytes(numberOf(value));

function bytes(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !BYTES.test(value)) throw new Malformed('bad bytes in a transaction');
  return Uint8Array.from(Buffer.from(value.slice(2), 'hex'));
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Malformed('no list in a transaction');
  return value;
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null) throw new Malformed('no fields in a transaction');
  return value as Fields;
}

/** Null where a contract is made. */
const recipient: Read = (value) => (value === null || value === undefined ? new Uint8Array() : bytes(value));

const accessList: Read = (value) =>
  listOf(value).map((one) => {
    const { address, storageKeys } = fieldsOf(one);
    return [bytes(address), listOf(storageKeys).map(bytes)];
  });

/** EIP-7702. */
const authorizations: Read = (value) =>
  listOf(value).map((one) => {
    const { chainId, address, nonce, yParity, v, r, s } = fieldsOf(one);
    return [number(chainId), bytes(address), ...[nonce, yParity ?? v, r, s].map(number)];
  });

const CALL: Kind = [
  ['gas', number],
  ['to', recipient],
  ['value', number],
  ['input', bytes],
];
const WITH_BASE_FEE: Kind = [
  ['chainId', number],
  ['nonce', number],
  ['maxPriorityFeePerGas', number],
  ['maxFeePerGas', number],
  ...CALL,
  ['accessList', accessList],
];
const LEGACY: Kind = [['nonce', number], ['gasPrice', number], ...CALL];
/** By type: of EIP-2930, EIP-1559, EIP-4844 and EIP-7702. */
const TYPED: Readonly<Record<number, Kind>> = {
  1: [['chainId', number], ...LEGACY, ['accessList', accessList]],
  2: WITH_BASE_FEE,
  3: [...WITH_BASE_FEE, ['maxFeePerBlobGas', number], ['blobVersionedHashes', (value) => listOf(value).map(bytes)]],
  4: [...WITH_BASE_FEE, ['authorizationList', authorizations]],
};

const kindOf = (one: Fields): number => (one.type === undefined ? 0 : Number(numberOf(one.type)));

function parts(one: Fields): { kind: number; unsigned: Rlp[]; signature: Rlp[]; parity: number } {
  const kind = kindOf(one);
  const fields = kind === 0 ? LEGACY : TYPED[kind];
  if (!fields) throw new Malformed(`a transaction of the type ${kind}`);
  const unsigned = fields.map(([name, read]) => read(one[name]));
  const [r, s] = [number(one.r), number(one.s)];
  const v = numberOf(kind === 0 ? one.v : (one.yParity ?? one.v));
  const signature = [numberBytes(v), r, s];
  if (kind > 0) return { kind, unsigned, signature, parity: Number(v) };
  if (v < V_BOUND) return { kind, unsigned, signature, parity: Number(v - V_BARE) };
  const chain = numberBytes((v - V_BOUND) / 2n);
  const none = new Uint8Array();
  return { kind, unsigned: [...unsigned, chain, none, none], signature, parity: Number((v - V_BOUND) % 2n) };
}

const enveloped = (kind: number, fields: Rlp[]): Uint8Array => {
  const body = encodeRlp(fields);
  if (kind === 0) return body;
  const whole = new Uint8Array(body.length + 1);
  whole[0] = kind;
  whole.set(body, 1);
  return whole;
};

/** The signed bytes of a transaction, whose hash is its id. Throws `Malformed`. */
export function transactionBytes(one: Fields): Uint8Array {
  const { kind, unsigned, signature } = parts(one);
  // the id of the chain is hashed and signed, but not sent
  const fields = kind === 0 ? unsigned.slice(0, LEGACY.length) : unsigned;
  return enveloped(kind, [...fields, ...signature]);
}

/** The address that signed a transaction, hex with 0x; null where the signature is none. Throws `Malformed`. */
export function senderOf(one: Fields): string | null {
  const { kind, unsigned, signature, parity } = parts(one);
  const [, r = [], s = []] = signature;
  const padded = [r, s].map((part) =>
    Buffer.from(part as Uint8Array)
      .toString('hex')
      .padStart(64, '0'),
  );
  try {
    const signed = Buffer.concat([Buffer.of(parity), Buffer.from(padded.join(''), 'hex')]);
    const key = secp256k1.recoverPublicKey(signed, keccak_256(enveloped(kind, unsigned)), { prehash: false });
    const point = secp256k1.Point.fromBytes(key).toBytes(false);
    return hexOf(keccak_256(point.subarray(1)).subarray(-ADDRESS_BYTES));
  } catch {
    return null;
  }
}

/** The bytes of a receipt as the trie has them. Throws `Malformed`. */
export function receiptBytes(receipt: Fields): Uint8Array {
  const { status, cumulativeGasUsed, logsBloom, logs } = receipt;
  const events = listOf(logs).map((log): Rlp => {
    const { address, topics, data } = fieldsOf(log);
    return [bytes(address), listOf(topics).map(bytes), bytes(data)];
  });
  return enveloped(kindOf(receipt), [number(status), number(cumulativeGasUsed), bytes(logsBloom), events]);
}
