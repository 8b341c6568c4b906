/** What a chain's blocks ask for now, asked of its source at most every so often, and what stands in when it is away. */
import type { SpendingSource } from '../../chains/adapter.ts';
import { FEE_TERMS } from '../../chains/utxo/spend/fees.ts';
import { assetOf, type ChainId } from '../../domain/assets.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { formatUnits } from '../../domain/money.ts';
import type { SpendPlan } from '../../domain/spend.ts';
import { feeLimit } from '../../wallet/signer/limits.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { deadline } from '../deadline.ts';

/** A withdrawal is to be in one of the next blocks, and need not be in the very next. */
const TARGET_BLOCKS = 6;
/** A speed-up is. */
const TARGET_BLOCKS_FAST = 2;
export const RATE_TIMEOUT_MS = 5_000;
const RATE_HOLDS_MS = 30_000;
/** What is held for the fee is that of a rate so many times higher than now's: blocks may ask for more by then. */
const HIGHEST_RATE_FACTOR = 2n;

export const isUtxo = (chain: ChainId): chain is 'BTC' | 'LTC' | 'BCH' =>
  chain === 'BTC' || chain === 'LTC' || chain === 'BCH';

/** How a chain takes transactions. Throws `Rejected` for one that takes none of ours yet. */
export function spendingOf(chain: ChainRuntime): SpendingSource {
  const { spending } = chain.adapter;
  if (spending) return spending;
  throw new Rejected('withdrawal.unsupported', `This release does not spend on ${chain.adapter.chain} yet`, 'crypto');
}

const held = new WeakMap<ChainRuntime, { rate: bigint; until: number }>();

/** Smallest units per 1,000 virtual bytes; the chain's fallback while its source does not answer. */
export async function feeRateNow(chain: ChainRuntime): Promise<bigint> {
  const known = held.get(chain);
  if (known && known.until > performance.now()) return known.rate;
  try {
    const rate = await spendingOf(chain).feeRate(TARGET_BLOCKS, deadline(RATE_TIMEOUT_MS, chain.key));
    held.set(chain, { rate, until: performance.now() + RATE_HOLDS_MS });
    return rate;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return known?.rate ?? fallbackRate(chain.adapter.chain);
  }
}

/** What a place in the very next blocks costs. Throws `Unavailable`. */
export function fastRate(chain: ChainRuntime): Promise<bigint> {
  return spendingOf(chain).feeRate(TARGET_BLOCKS_FAST, deadline(RATE_TIMEOUT_MS, chain.key));
}

/** The rate that a highest fee is worked out with. */
export function highestRate(chain: ChainRuntime, rate: bigint): bigint {
  const { chain: id } = chain.adapter;
  const highest = rate * HIGHEST_RATE_FACTOR;
  const ceiling = isUtxo(id) ? FEE_TERMS[id].ceiling : highest;
  return highest < ceiling ? highest : ceiling;
}

export const FEE_UNLIMITED = 1n << 256n;

/** The most that anybody may approve as the fee of a plan, smallest units. */
export function approvableFee(plan: SpendPlan): bigint {
  if (plan.kind !== 'utxo' || !isUtxo(plan.chain)) return FEE_UNLIMITED;
  return feeLimit(
    plan.chain,
    plan,
    plan.outputs.every(({ kind }) => kind === 'change'),
  );
}

/** The same. Throws `Rejected('withdrawal.fee')` when the plan costs more than that. */
export function needApprovable(plan: SpendPlan): bigint {
  const limit = approvableFee(plan);
  if (plan.fee <= limit || !isUtxo(plan.chain)) return limit;
  const asset = assetOf(plan.chain);
  const [fee, most] = [plan.fee, limit].map((units) => formatUnits(units, asset));
  const text = `Its fee would be ${fee} ${asset.symbol} now, and nobody may approve more than ${most}: wait until blocks ask for less`;
  throw new Rejected('withdrawal.fee', text, 'fee_rate');
}

function fallbackRate(chain: ChainId): bigint {
  return isUtxo(chain) ? FEE_TERMS[chain].fallback : 1n;
}
