/**
 * Limits that no approval may exceed, not even the operator's. Fees and times beyond them are a mistake or an attack.
 * The operator's client does not make such an approval, and the signer refuses it.
 */

import { Rejected } from '../../domain/errors.ts';
import type { EvmChain } from '../../domain/evm.ts';
import type { SpendPlan } from '../../domain/spend.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { isUtxo, type UtxoChain } from './wire.ts';

/** How long an approval stays valid before it begins a payment, by the clock of the operator's machine. */
export const APPROVAL_MS = 7 * MS_PER_DAY;
const CLOCKS_APART_MS_MAX = 3_600_000;

/** The highest fee of a transaction, smallest units. */
const FEE_UNITS_MAX: Readonly<Record<UtxoChain, bigint>> = {
  BTC: 10_000_000n,
  LTC: 1_000_000_000n,
  BCH: 100_000_000n,
};

/**
 * The highest fee per virtual byte, smallest units: about 25 times the highest rates of recent years. A transaction that
 * pays only ourselves may pay more, because its fee is for its parents too.
 */
const FEE_RATE_MAX: Readonly<Record<UtxoChain, bigint>> = { BTC: 5_000n, LTC: 5_000n, BCH: 500n };

/** Version, lock time, marker, and counts of up to three bytes each (BIP-144). */
const FRAME_VBYTES = 18;
/** With the largest signature: P2WPKH (BIP-141), on BCH P2PKH. */
const INPUT_VBYTES: Readonly<Record<UtxoChain, number>> = { BTC: 69, LTC: 69, BCH: 149 };
const OUTPUT_VBYTES = 9;

/** The parts of a transaction that determine its size. */
type Parts = { inputs: readonly unknown[]; outputs: readonly { script: Uint8Array }[] };

/** The highest fee for a transaction of these parts, smallest units. `toSelf`: it pays only ourselves. */
export function feeLimit(chain: UtxoChain, { inputs, outputs }: Parts, toSelf: boolean): bigint {
  const most = FEE_UNITS_MAX[chain];
  if (toSelf) return most;
  const scripts = outputs.reduce((bytes, { script }) => bytes + OUTPUT_VBYTES + script.length, 0);
  const limit = BigInt(FRAME_VBYTES + inputs.length * INPUT_VBYTES[chain] + scripts) * FEE_RATE_MAX[chain];
  return limit < most ? limit : most;
}

/** The highest price of gas, wei: about ten times the highest prices of recent years. */
const GAS_PRICE_MAX: Readonly<Record<EvmChain, bigint>> = { ETH: 2_000_000_000_000n, BSC: 200_000_000_000n };
/** The highest fee of a transaction, wei: 0.1 ETH, 0.1 BNB. */
const GAS_FEE_MAX = 100_000_000_000_000_000n;

/** The highest fee for a transaction with this limit of gas, wei. */
export function gasFeeLimit(chain: EvmChain, gasLimit: bigint): bigint {
  const limit = gasLimit * GAS_PRICE_MAX[chain];
  return limit < GAS_FEE_MAX ? limit : GAS_FEE_MAX;
}

/** The longest time for which gas can be granted. */
export const GAS_GRANT_MS_MAX = 31 * MS_PER_DAY;

/** The highest fee of a Monero transaction, piconero: one XMR, and about ten times the highest rate that nodes recommend. */
const MONERO_FEE_MAX = 1_000_000_000_000n;
const MONERO_FEE_PER_WEIGHT_MAX = 50_000_000n;
const MONERO_FRAME_WEIGHT = 1_000;
const MONERO_INPUT_WEIGHT = 900;
const MONERO_OUTPUT_WEIGHT = 500;

/** The highest fee for a Monero transaction with these inputs and outputs, piconero. */
export function moneroFeeLimit({
  inputs,
  outputs,
}: {
  inputs: readonly unknown[];
  outputs: readonly unknown[];
}): bigint {
  const weight = MONERO_FRAME_WEIGHT + inputs.length * MONERO_INPUT_WEIGHT + outputs.length * MONERO_OUTPUT_WEIGHT;
  const limit = BigInt(weight) * MONERO_FEE_PER_WEIGHT_MAX;
  return limit < MONERO_FEE_MAX ? limit : MONERO_FEE_MAX;
}

/** More than any fee, for simulated transactions, whose coins are worthless. */
export const FEE_UNLIMITED = 1n << 256n;

type PlanOf<K extends SpendPlan['kind']> = Extract<SpendPlan, { kind: K }>;

const APPROVABLE: { readonly [K in SpendPlan['kind']]: (plan: PlanOf<K>) => bigint } = {
  utxo: (plan) => {
    const toSelf = plan.outputs.every(({ kind }) => kind === 'change');
    return isUtxo(plan.chain) ? feeLimit(plan.chain, plan, toSelf) : FEE_UNLIMITED;
  },
  evm: ({ chain, gasLimit }) => gasFeeLimit(chain, gasLimit),
  monero: moneroFeeLimit,
  sandbox: () => FEE_UNLIMITED,
  'sandbox-account': () => FEE_UNLIMITED,
};

/** The highest fee that can be approved for a plan, smallest units of the fee's asset. */
export function approvableFee(plan: SpendPlan): bigint {
  return (APPROVABLE[plan.kind] as (plan: SpendPlan) => bigint)(plan);
}

/** Throws `Rejected('signer.approval')` unless `until` is later than `now` by at most APPROVAL_MS. */
export function needTimely(until: number, now: number): void {
  if (until <= now) throw new Rejected('signer.approval', "Refused: the operator's approval has expired");
  if (until > now + APPROVAL_MS + CLOCKS_APART_MS_MAX) {
    throw new Rejected('signer.approval', 'Refused: an approval holds for up to seven days');
  }
}
