/** The current fee rates of a chain, requested from its source at intervals, with a fallback while it is away. */
import { assetOf } from '../../domain/assets.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { divideUp, formatUnits } from '../../domain/money.ts';
import type { SpendPlan } from '../../domain/spend.ts';
import { BID_BLOCK_SECONDS, SPEEDS, type Speed, TARGET_BLOCKS } from '../../domain/withdrawal.ts';
import { approvableFee } from '../../wallet/signer/limits.ts';
import type { ChainRuntime } from '../chains/chains.ts';

/** A replacement should confirm sooner. */
const TARGET_BLOCKS_FAST = 2;
export const RATE_TIMEOUT_MS = 5_000;
const RATE_HOLDS_MS = 30_000;

const held = new WeakMap<ChainRuntime, Partial<Record<Speed, { rate: bigint; until: number }>>>();

/** Smallest units per 1,000 units of size; while the chain's source does not answer the last rate, or the chain's fallback. */
export async function feeRateNow(chain: ChainRuntime, speed: Speed = 'normal'): Promise<bigint> {
  try {
    return await feeRateTold(chain, speed);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return held.get(chain)?.[speed]?.rate ?? chain.spending.fallbackRate;
  }
}

/** The rate that the chain's source told within the last half minute. Throws `Unavailable`. */
export async function feeRateTold(chain: ChainRuntime, speed: Speed = 'normal'): Promise<bigint> {
  const rates = held.get(chain) ?? {};
  held.set(chain, rates);
  const known = rates[speed];
  if (known && known.until > performance.now()) return known.rate;
  const rate = await chain.spending.feeRate(TARGET_BLOCKS[speed], chain.limit(RATE_TIMEOUT_MS));
  rates[speed] = { rate, until: performance.now() + RATE_HOLDS_MS };
  return rate;
}

const asking = new WeakSet<ChainRuntime>();

/** The last known rate, without waiting for the source; null: none yet. It is asked for again where that is old. */
export function feeRateKnown(chain: ChainRuntime): bigint | null {
  const known = held.get(chain)?.normal;
  const isOld = known === undefined || known.until <= performance.now();
  if (isOld && !asking.has(chain)) {
    asking.add(chain);
    // a failure leaves the last one
    feeRateNow(chain)
      .catch(() => {})
      .finally(() => asking.delete(chain));
  }
  return known?.rate ?? null;
}

/** `minutes`: the likely wait. `fee`: smallest units of the fee's asset. */
export type SpeedCost = { speed: Speed; minutes: number; fee: bigint };

/** A plan's fee at each speed, from its size; at `rate`'s own speed it is the plan's fee. */
export async function speedsOf(
  { chain }: { chain: ChainRuntime },
  plan: SpendPlan,
  rate: bigint,
): Promise<SpeedCost[]> {
  const perBlock = BID_BLOCK_SECONDS[chain.adapter.chain];
  if (perBlock === undefined) return [];
  const costs: SpeedCost[] = [];
  for (const speed of SPEEDS) {
    const own = await feeRateNow(chain, speed);
    const fee = own === rate ? plan.fee : divideUp(plan.fee * own, rate);
    costs.push({ speed, minutes: Math.ceil((TARGET_BLOCKS[speed] * perBlock) / 60), fee });
  }
  return costs;
}

/** The rate for the very next blocks. Throws `Unavailable`. */
export function fastRate(chain: ChainRuntime): Promise<bigint> {
  return chain.spending.feeRate(TARGET_BLOCKS_FAST, chain.limit(RATE_TIMEOUT_MS));
}

/** The highest fee that may be approved for a plan. Throws `Rejected('withdrawal.fee')` if it costs more. */
export function needApprovable(chain: ChainRuntime, plan: SpendPlan): bigint {
  const limit = approvableFee(plan);
  if (plan.fee <= limit) return limit;
  const asset = assetOf(chain.spending.feeAsset);
  const [fee, most] = [plan.fee, limit].map((units) => formatUnits(units, asset));
  const text = `Its fee would be ${fee} ${asset.symbol} now, and nobody may approve more than ${most}: wait until blocks ask for less`;
  throw new Rejected('withdrawal.fee', text, 'fee_rate');
}
