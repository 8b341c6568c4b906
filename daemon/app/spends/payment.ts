/** Begins the first payment of a withdrawal, as its row asks for it, or tells why it waits. */
import { networkOf } from '../../domain/chain.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { message, reasonOf, type Value } from '../../domain/messages.ts';
import { minOf } from '../../domain/money.ts';
import { gasPlanOf } from '../../store/queries/gas.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import { claim, Overtaken } from './claim.ts';
import { availableUnits, coinAt, sweepLimit, takesAll } from './coins.ts';
import { reservedBy } from './facts.ts';
import { feeRateNow } from './fees.ts';
import { type Holder, holderOf, type PlanRequest, prepare } from './plan.ts';
import { whyUncovered } from './refund-left.ts';
import { withdrawalOf } from './rows.ts';
import { approvedUnits } from './sign.ts';

const CLAIM_TRIES_MAX = 5;
const REFUSED = 'withdrawal.refused';
/** Reasons that a person has to know of: a withdrawal waits until they have changed. */
const TOLD: ReadonlySet<string> = new Set([
  // a token is paused, or blocks an address
  'spend.refused',
  // a refund's deposits vanished
  'spend.uncovered',
  // another machine pays with the same words
  'spend.unknown',
]);

/** Plans and claims one withdrawal. Returns the reason if it has to wait, or null. */
export async function beginPayment(app: App, { id }: WithdrawalRow): Promise<Value | null> {
  for (let attempt = 1; ; attempt++) {
    const row = withdrawalOf(app.store, id);
    try {
      const uncovered = whyUncovered(app.store, row);
      if (uncovered) throw uncovered;
      const holder = holderOf(app, row);
      if (await app.gas.collectsFor(app, holder, row))
        return whyNotNow(app, row, new Rejected('spend.scattered', COLLECT_FIRST));
      const rate = await feeRateNow(holder.chain, row.speed);
      const wanted = paymentOf(app, holder, row, rate);
      const planned = await prepare(app, holder, wanted);
      await app.store.write((tx) => claim(app, tx, holder, planned, [row]));
      await end(app, REFUSED, `${row.id}`);
      return null;
    } catch (error) {
      if (error instanceof Rejected) return await refused(app, row, error);
      if (error instanceof Unavailable) return reasonOf(error);
      if (!(error instanceof Overtaken)) throw error;
      if (attempt >= CLAIM_TRIES_MAX) return reasonOf(error);
    }
  }
}

/** Notes why a withdrawal waits: its money is to be collected first, and the token may block the tank. */
async function refused(app: App, row: WithdrawalRow, error: Rejected): Promise<Value> {
  try {
    const why = (isForCollecting(error) ? await app.gas.refusalOf(app, row) : null) ?? error;
    if (TOLD.has(why.code)) {
      const text = message('withdrawal.waits', { id: row.id, reason: reasonOf(why) });
      await raise(app, networkOf(row.chain_key), REFUSED, `${row.id}`, text);
    }
    return whyNotNow(app, row, why);
  } catch (away) {
    if (!(away instanceof Unavailable)) throw away;
    return whyNotNow(app, row, error);
  }
}

/**
 * Why a withdrawal cannot be planned. If the balance suffices and the coins do not, the rest is in unconfirmed
 * transactions of ours: the next block solves it.
 */
export function whyNotNow(app: App, row: WithdrawalRow, error: Rejected): Value {
  const { code } = error;
  const reason = reasonOf(error);
  if (code === 'spend.unsettled') return message('wait.confirmations');
  const plan = isForCollecting(error) ? app.store.get(gasPlanOf, { account_id: row.account_id }) : undefined;
  if (row.state === 'approved' && plan?.state === 'open') {
    return plan.problem === null ? message('wait.collected') : message('wait.collected_but', { reason: plan.problem });
  }
  if (row.sweep && isForCollecting(error)) return message('wait.collect', { reason });
  if (code === 'spend.insufficient' && takesAll(row) && sweepLimit(app.store, row) !== null)
    return message('wait.reserved');
  if (code !== 'spend.insufficient' || row.outpoint !== null || row.sweep) return reason;
  const needed = row.units + (row.fee_asset === row.asset ? row.fee_held : 0n);
  if (availableUnits(app.store, row.account_id, row.asset, row.id) < needed) return reason;
  return message('wait.block');
}

/** One transaction takes what one address holds, so a sweep needs everything in one place. */
const COLLECT_FIRST = 'Collect the deposit addresses into the tank first, then take everything';

/** Whether a payment may be possible once money is collected from other addresses: account chains alone throw these. */
export const isForCollecting = ({ code }: Rejected): boolean => code === 'spend.scattered' || code === 'spend.gas';

/** The planner's request for a withdrawal. Throws `Rejected` while a refund's deposit cannot be spent. */
export function paymentOf(app: App, holder: Holder, row: WithdrawalRow, feeRate: bigint): PlanRequest {
  const { outpoint, sweep, address, units, fee_held, approved_by } = row;
  const payouts = [{ address, units: sweep ? null : units }];
  const decidedOnly = approved_by === 'forward';
  const reserve = decidedOnly ? app.gas.reserve(app, holder, feeRate) : null;
  const wanted = { payouts, feeRate, feeMax: fee_held, settledOnly: isUnasked(approved_by), decidedOnly, reserve };
  if (outpoint === null)
    return { ...wanted, inputsMax: sweep ? least(inputsMaxOf(row), sweepLimit(app.store, row)) : null };
  const { chain } = holder;
  const coin = coinAt(app.store, chain, outpoint);
  if (!coin) throw new Rejected('spend.gone', 'The deposit is not on the chain any more');
  if (coin.spent_txid !== null || reservedBy(app.store, chain, outpoint, 0) !== null) {
    throw new Rejected('spend.spent', 'The deposit was spent by another withdrawal: reject this one');
  }
  const uncovered = whyUncovered(app.store, row);
  if (uncovered) throw uncovered;
  // an account chain pays the deposit's amount from any address
  if (chain.adapter.accountBased) return { ...wanted, inputsMax: least(coin.units, inputsMaxOf(row)) };
  return { ...wanted, only: [outpoint] };
}

/** Whether the signer lets it go by itself: then it takes no money that somebody could still take back. */
export const isUnasked = (by: WithdrawalRow['approved_by']): boolean => by === 'policy' || by === 'forward';

/** Null: no limit. */
const least = (a: bigint | null, b: bigint | null): bigint | null =>
  a === null || b === null ? (a ?? b) : minOf(a, b);

function inputsMaxOf(row: WithdrawalRow): bigint | null {
  const units = approvedUnits(row);
  return units === null ? null : BigInt(units);
}
