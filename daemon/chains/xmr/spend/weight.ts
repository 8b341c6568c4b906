/**
 * The weight of a transaction and its fee, exactly as nodes count the one and `wallet2` makes the other, so that a fee does not tell
 * which program made a payment (`get_transaction_weight`, `calculate_fee_from_weight`).
 */
import { divideUp, maxOf } from '../../../domain/money.ts';
import { isSubaddress } from '../../../monero/address.ts';

export const RING_MEMBERS = 16;
/** A number on the chain takes up to four bytes until there are 2^28 outputs, as the difference from the one before. */
export const RING_BYTES_MAX = 4 * RING_MEMBERS;
/** Fees are whole multiples of this, piconero (`fee_quantization_mask`). */
const FEE_STEP = 10_000n;
const KEY_BYTES = 32;
/** Type, amount, number of members, key image. */
const INPUT_BYTES = 3 + KEY_BYTES;
/** Type, amount, key, view tag. */
const OUTPUT_BYTES = 3 + KEY_BYTES;
/** Amount and commitment. */
const COVERED_BYTES = 8 + KEY_BYTES;
/** CLSAG: a scalar for each member, and two keys; and the commitment of the input. */
const SIGNATURE_BYTES = KEY_BYTES * (RING_MEMBERS + 2) + KEY_BYTES;
/** The public key, and with two outputs a payment id, which mostly stands for none. */
const PUBLIC_KEY_BYTES = 1 + KEY_BYTES;
const PAYMENT_ID_BYTES = 11;
const PROOF_KEYS = 6;
const RANGE_BITS_LOG = 6;
/** Every transaction has two. */
const OUTPUTS_MIN = 2;
const FEE_ROUNDS = 3;
/** Without a payment id. */
export const ADDRESS_BYTES = 65;

/** `payouts`: the bytes of the addresses, without the change. `ringBytes`: of all rings together. */
export type Shape = { inputs: number; payouts: readonly Uint8Array[]; ringBytes: number };

/** Seven bits of a number take a byte. */
function lengthOf(value: number | bigint): number {
  let bytes = 1;
  for (let rest = Number(value); rest >= 128; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

/** The bytes of a ring whose members' numbers ascend. */
export const ringBytes = (ring: readonly number[]): number =>
  ring.reduce((sum, index, at) => sum + lengthOf(index - (ring[at - 1] ?? 0)), 0);

/** Whether each output has its own key (`classify_addresses`): several receivers, and a subaddress among them. */
function hasOutputKeys(payouts: readonly Uint8Array[]): boolean {
  const different = new Map(payouts.map((script) => [Buffer.from(script).toString('hex'), isSubaddress(script)]));
  return different.size > 1 && [...different.values()].includes(true);
}

/** For more than two outputs, because their common proof is short but takes long to check (`get_transaction_weight_clawback`). */
function surchargeOf(outputs: number): number {
  if (outputs <= OUTPUTS_MIN) return 0;
  const log = Math.ceil(Math.log2(outputs));
  const base = (KEY_BYTES * (PROOF_KEYS + 2 * (RANGE_BITS_LOG + 1))) / 2;
  return Math.floor(((base * 2 ** log - proofBytes(outputs)) * 4) / 5);
}

const proofBytes = (outputs: number): number =>
  KEY_BYTES * (PROOF_KEYS + 2 * (RANGE_BITS_LOG + Math.ceil(Math.log2(outputs))));

const outputsIn = ({ payouts }: Pick<Shape, 'payouts'>): number => Math.max(OUTPUTS_MIN, payouts.length + 1);

/** The weight as nodes count it: the bytes and the surcharge. */
export function weightOf({ inputs, payouts, ringBytes }: Shape, fee: bigint): bigint {
  const outputs = outputsIn({ payouts });
  const keys = hasOutputKeys(payouts) ? 2 + outputs * KEY_BYTES : 0;
  const extra = PUBLIC_KEY_BYTES + (outputs === OUTPUTS_MIN ? PAYMENT_ID_BYTES : 0) + keys;
  const spent = lengthOf(inputs) + inputs * INPUT_BYTES + ringBytes;
  const prefix = 2 + spent + 1 + outputs * OUTPUT_BYTES + lengthOf(extra) + extra;
  const covered = 1 + lengthOf(fee) + outputs * COVERED_BYTES;
  // the number of proofs, and the lengths of their two lists
  const signed = 3 + proofBytes(outputs) + inputs * SIGNATURE_BYTES;
  return BigInt(prefix + covered + signed + surchargeOf(outputs));
}

/**
 * Other wallets estimate the weight so before they make a transaction (`estimate_tx_weight`), and pay for this if it is more. That is so
 * where the numbers of outputs are small, as on a young chain.
 */
function expectedWeight({ inputs, payouts }: Shape): bigint {
  const outputs = outputsIn({ payouts });
  const extra = payouts.some(({ length }) => length > ADDRESS_BYTES) ? PAYMENT_ID_BYTES : 0;
  const prefix = 7 + inputs * (7 + 2 * RING_MEMBERS + KEY_BYTES) + outputs * (6 + KEY_BYTES) + extra;
  const signed = 1 + proofBytes(outputs) + 3 + inputs * SIGNATURE_BYTES;
  return BigInt(prefix + signed + outputs * (1 + COVERED_BYTES) + 4 + surchargeOf(outputs));
}

/**
 * The fee of a transaction, and its weight with that fee. `feeRate`: piconero per 1,000 of weight. `takesAll`: it pays out all that its
 * coins have, whose fee other wallets make from the weight alone.
 */
export function feeFor(shape: Shape, feeRate: bigint, feeMin: bigint, takesAll: boolean): Weighed {
  const least = takesAll ? 0n : expectedWeight(shape);
  let fee = feeMin;
  // a fee is a number in the transaction, too
  for (let round = 0; round < FEE_ROUNDS; round++) {
    const weight = maxOf(weightOf(shape, fee), least);
    fee = maxOf(divideUp(divideUp(weight * feeRate, 1_000n), FEE_STEP) * FEE_STEP, feeMin);
  }
  return { fee, weight: weightOf(shape, fee) };
}

type Weighed = { fee: bigint; weight: bigint };

/** The same for rings that are not chosen yet: never less than it will be. */
export const highestFee = (inputs: number, payouts: readonly Uint8Array[], feeRate: bigint): bigint =>
  feeFor({ inputs, payouts, ringBytes: inputs * RING_BYTES_MAX }, feeRate, 0n, false).fee;

/** The same: never more than it will be. */
export const lowestFee = (inputs: number, payouts: readonly Uint8Array[], feeRate: bigint): bigint =>
  feeFor({ inputs, payouts, ringBytes: inputs * RING_MEMBERS }, feeRate, 0n, true).fee;
