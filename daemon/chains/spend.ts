/**
 * The door to spending on any chain: from what is asked for to a plan, and from bytes to what they say. Pure, but for
 * what a chain's `SpendingSource` does over the network.
 */
import type { ChainId, Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import type { DecodedSpend, SpendPlan, SpendRequest } from '../domain/spend.ts';
import { isUtxo } from './sandbox/addresses.ts';
import { decodeSimulated, planSimulated, simulatedSpend } from './sandbox/simulated.ts';
import { planUtxo } from './utxo/spend/plan.ts';
import { decodeTransaction, unsignedTransaction } from './utxo/spend/transaction.ts';

export { simulatedSpend } from './sandbox/simulated.ts';
export { replacementRate } from './utxo/spend/fees.ts';

const unsupported = (network: Network, chain: ChainId): Rejected =>
  new Rejected('spend.unsupported', `Withdrawals of ${chain} on ${network} are not possible yet`);

/**
 * The transaction that does what the request asks for: the same one for the same request. Throws `Rejected`:
 * `spend.insufficient` (with what is missing), `.dust`, `.too_many_coins`, `.too_large`, `.fee_too_high`, `.unsupported`.
 */
export function planSpend(request: SpendRequest): SpendPlan {
  if (isUtxo(request.chain)) return planUtxo(request, request.chain);
  if (request.network === 'sandbox') return planSimulated(request);
  throw unsupported(request.network, request.chain);
}

/** The bytes of a plan before it is signed: hex, or the JSON of a simulated one. */
export function unsignedSpend(plan: SpendPlan): string {
  return plan.kind === 'utxo' ? unsignedTransaction(plan) : simulatedSpend(plan).raw;
}

/** What the bytes of a transaction say, signed or not. Throws `Rejected('spend.malformed')`. */
export function decodeSpend(network: Network, chain: ChainId, raw: string): DecodedSpend {
  if (isUtxo(chain)) return decodeTransaction(raw, chain, network);
  if (network === 'sandbox') return decodeSimulated(chain, raw);
  throw unsupported(network, chain);
}
