/**
 * What nobody may approve, not the operator either: fees and times so far out that they are a mistake or an attack. The
 * operator's client refuses to make such an approval, and the signer to act on one.
 */
import { ASSETS, type Asset } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import type { SpendPlan } from '../../domain/spend.ts';
import { isUtxo, type UtxoChain } from './wire.ts';

/** How long an approval may wait until it begins a payment, by the clock of who makes it. */
export const APPROVAL_MS = 7 * 24 * 3_600_000;
const CLOCKS_APART_MS_MAX = 3_600_000;

/** No fee is ever above this. Smallest units. */
const FEE_UNITS_MAX: Readonly<Record<UtxoChain, bigint>> = {
  BTC: 10_000_000n,
  LTC: 1_000_000_000n,
  BCH: 100_000_000n,
};

/**
 * Nor is one for each virtual byte, about 25 times what blocks ever asked for in the last years. Only a transaction to
 * ourselves may pay more: its fee is for its parents too.
 */
const FEE_RATE_MAX: Readonly<Record<UtxoChain, bigint>> = { BTC: 5_000n, LTC: 5_000n, BCH: 500n };

/** Version, lock time, marker, and counts of up to three bytes each (BIP-144). */
const FRAME_VBYTES = 18;
/** With the largest signature: P2WPKH (BIP-141), on BCH P2PKH. */
const INPUT_VBYTES: Readonly<Record<UtxoChain, number>> = { BTC: 69, LTC: 69, BCH: 149 };
const OUTPUT_VBYTES = 9;

/** The parts of a transaction that its size follows from. */
export type Parts = { inputs: readonly unknown[]; outputs: readonly { script: Uint8Array }[] };

/** The most that a transaction of these parts may pay as fee, smallest units. `toSelf`: it pays nobody else. */
export function feeLimit(chain: UtxoChain, { inputs, outputs }: Parts, toSelf: boolean): bigint {
  const most = FEE_UNITS_MAX[chain];
  if (toSelf) return most;
  const scripts = outputs.reduce((bytes, { script }) => bytes + OUTPUT_VBYTES + script.length, 0);
  const limit = BigInt(FRAME_VBYTES + inputs.length * INPUT_VBYTES[chain] + scripts) * FEE_RATE_MAX[chain];
  return limit < most ? limit : most;
}

/** The assets that the wallet signs for: limits of a policy are granted for each of them. */
export const SIGNED_ASSETS: readonly Asset[] = ASSETS.filter(({ symbol, chain }) => isUtxo(chain) && symbol === chain);

/** More than any fee: of transactions that cost nothing that is worth anything. */
export const FEE_UNLIMITED = 1n << 256n;

/** The most that anybody may approve as the fee of a plan, smallest units of the asset that the fee is paid in. */
export function approvableFee(plan: SpendPlan): bigint {
  if (plan.kind === 'sandbox') return FEE_UNLIMITED;
  const toSelf = plan.outputs.every(({ kind }) => kind === 'change');
  return isUtxo(plan.chain) ? feeLimit(plan.chain, plan, toSelf) : FEE_UNLIMITED;
}

/** Throws `Rejected('signer.approval')` unless `until` is ahead of `now` and no further than an approval holds. */
export function needTimely(until: number, now: number): void {
  if (until <= now) throw new Rejected('signer.approval', "Refused: the operator's approval has expired");
  if (until > now + APPROVAL_MS + CLOCKS_APART_MS_MAX) {
    throw new Rejected('signer.approval', 'Refused: an approval holds for up to seven days');
  }
}
