/**
 * Transactions of Ethereum and BNB Smart Chain with a base fee (EIP-1559, type 2): their bytes, and the transfer of a token
 * (ERC-20) as call data. The keccak-256 digest of signed bytes is the transaction's id, that of unsigned bytes is signed.
 */
import { assert, Rejected } from './errors.ts';
import { chainIdOf } from './evm.ts';
import { decodeRlp, encodeRlp, numberBytes, type Rlp } from './rlp.ts';
import type { EvmPlan } from './spend.ts';

/** Fees are wei per gas. `to`: 20 bytes. */
export type EvmTransaction = {
  chainId: bigint;
  nonce: bigint;
  maxPriorityFeePerGas: bigint;
  maxFeePerGas: bigint;
  gasLimit: bigint;
  to: Uint8Array;
  value: bigint;
  data: Uint8Array;
};

/** `yParity`: 0 or 1. `r` and `s`: 32 bytes each. */
type EvmSignature = { yParity: 0 | 1; r: Uint8Array; s: Uint8Array };

/** EIP-2718. */
const TYPE = 2;
const ADDRESS_BYTES = 20;
const WORD_BYTES = 32;
const SELECTOR_BYTES = 4;
/** keccak256("transfer(address,uint256)"), the first 4 bytes. */
const TRANSFER = Uint8Array.of(0xa9, 0x05, 0x9c, 0xbb);

/** The transaction of a plan: a transfer of the native coin, or the call of a token's contract. */
export function transactionOf(plan: EvmPlan): EvmTransaction {
  const { network, chain, nonce, maxFeePerGas, maxPriorityFeePerGas, gasLimit, contract } = plan;
  const [output, ...others] = plan.outputs;
  assert(output && others.length === 0, 'a transaction has one recipient');
  const { script, units } = output;
  const chainId = BigInt(chainIdOf(network, chain));
  const common = { chainId, nonce, maxFeePerGas, maxPriorityFeePerGas, gasLimit };
  if (contract === null) return { ...common, to: script, value: units, data: new Uint8Array() };
  return {
    ...common,
    to: word(BigInt(contract)).slice(WORD_BYTES - ADDRESS_BYTES),
    value: 0n,
    data: transferData(script, units),
  };
}

function fieldsOf(transaction: EvmTransaction): Rlp[] {
  const { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to, value, data } = transaction;
  const numbers = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit].map(numberBytes);
  // the empty list is the access list (EIP-2930)
  return [...numbers, to, numberBytes(value), data, []];
}

const typed = (fields: Rlp[]): Uint8Array => Uint8Array.of(TYPE, ...encodeRlp(fields));

/** The bytes that are hashed and signed. */
export const unsignedBytes = (transaction: EvmTransaction): Uint8Array => typed(fieldsOf(transaction));

/** The bytes that are broadcast. */
export const signedBytes = (transaction: EvmTransaction, { yParity, r, s }: EvmSignature): Uint8Array =>
  typed([...fieldsOf(transaction), ...[BigInt(yParity), bigIntOf(r), bigIntOf(s)].map(numberBytes)]);

const malformed = (what: string): Rejected =>
  new Rejected('spend.malformed', `The bytes are no transaction with a base fee: ${what}`);

/** Reads unsigned or signed bytes in their only valid form. Throws `Rejected('spend.malformed')`. */
export function parseTransaction(bytes: Uint8Array): { transaction: EvmTransaction; signature: EvmSignature | null } {
  if (bytes[0] !== TYPE) throw malformed('another type');
  const fields = decodeRlp(bytes.subarray(1));
  if (fields instanceof Uint8Array || (fields.length !== 9 && fields.length !== 12)) throw malformed('other fields');
  const [chainId, nonce, priority, most, gas, to, value, data, access, ...signature] = fields;
  if (access instanceof Uint8Array || access?.length !== 0) throw malformed('an access list');
  const target = bytesOf(to);
  if (target.length !== ADDRESS_BYTES) throw malformed('no recipient');
  const transaction = {
    chainId: numberOf(chainId),
    nonce: numberOf(nonce),
    maxPriorityFeePerGas: numberOf(priority),
    maxFeePerGas: numberOf(most),
    gasLimit: numberOf(gas),
    to: target,
    value: numberOf(value),
    data: bytesOf(data),
  };
  if (signature.length === 0) return { transaction, signature: null };
  const parity = numberOf(signature[0]);
  if (parity > 1n) throw malformed('another parity');
  const yParity = parity === 1n ? 1 : 0;
  return { transaction, signature: { yParity, r: word(numberOf(signature[1])), s: word(numberOf(signature[2])) } };
}

function bytesOf(field: Rlp | undefined): Uint8Array {
  if (field instanceof Uint8Array) return field;
  throw malformed('a list among its fields');
}

function numberOf(field: Rlp | undefined): bigint {
  const digits = bytesOf(field);
  if (digits[0] === 0 || digits.length > WORD_BYTES) throw malformed('a number that is not canonical');
  return bigIntOf(digits);
}

/** The call data of a token's transfer. Throws `RangeError` for an amount of more than 32 bytes. */
export function transferData(to: Uint8Array, units: bigint): Uint8Array {
  return Uint8Array.of(...TRANSFER, ...new Uint8Array(WORD_BYTES - ADDRESS_BYTES), ...to, ...word(units));
}

/** The recipient and the amount of a token's transfer; null for any other call. */
export function transferOf(data: Uint8Array): { to: Uint8Array; units: bigint } | null {
  if (data.length !== SELECTOR_BYTES + 2 * WORD_BYTES) return null;
  const to = data.slice(SELECTOR_BYTES + WORD_BYTES - ADDRESS_BYTES, SELECTOR_BYTES + WORD_BYTES);
  const units = bigIntOf(data.subarray(SELECTOR_BYTES + WORD_BYTES));
  return transferData(to, units).every((byte, at) => byte === data[at]) ? { to, units } : null;
}

const word = (value: bigint): Uint8Array => {
  const digits = numberBytes(value);
  if (digits.length > WORD_BYTES) throw new RangeError('a number of more than 32 bytes');
  return Uint8Array.of(...new Uint8Array(WORD_BYTES - digits.length), ...digits);
};

const bigIntOf = (bytes: Uint8Array): bigint => bytes.reduce((value, byte) => value * 256n + BigInt(byte), 0n);
