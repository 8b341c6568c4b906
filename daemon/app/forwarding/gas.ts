/**
 * The gas that deposit addresses need to send their token straight on. A forwarding plan gives it from the tank, under its own grant: no
 * gas plan is asked.
 *
 * Invariants. Each is a payment to ourselves that is stored before it is signed, and at most one is open for an address; the first of a run is
 * stored together with the run's beginning. So a pass after a crash goes on from the rows alone. A stuck one is replaced under the same approval.
 */
import { randomUUIDv7 } from 'node:crypto';
import { Rejected } from '../../domain/errors.ts';
import { nextDue } from '../../domain/forwarding.ts';
import { type Message, message, messageOf, reasonOf } from '../../domain/messages.ts';
import { minOf } from '../../domain/money.ts';
import { type ForwardPlanRow, forwardPlanById } from '../../store/queries/forwarding.ts';
import { openSpends } from '../../store/queries/withdrawals.ts';
import { ownTarget } from '../addresses/watch.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { replaceStuck } from '../gas/stuck.ts';
import { Overtaken } from '../spends/claim.ts';
import { feeRateTold } from '../spends/fees.ts';
import { claimTransfer, type OwnTransfer, ownIntent, prepareOwn } from '../spends/own.ts';
import { type Holder, holderOf } from '../spends/plan.ts';
import { failedLast, noteBegun, noteFailed } from '../spends/turns.ts';
import { payeeOf } from './payee.ts';
import { isRunning, note, timesOf } from './payments.ts';
import { type Lack, usedIn } from './run.ts';

/** Addresses that one pass gives gas to. */
const BEGUN_PER_PASS_MAX = 20;
const ASK_TIMEOUT_MS = 20_000;

/** The account's coin, which gas is paid in. */
const coinOf = (holder: Holder): Holder => ({ ...holder, asset: holder.chain.spending.feeAsset });

/** The fees that the plan may still pay today, and those of one payment. */
function feeLeft(app: App, plan: ForwardPlanRow): { ofDay: bigint; ofOne: bigint } {
  const { fees } = usedIn(app, plan, plan.account_id);
  const ofDay = plan.fee_day > fees ? plan.fee_day - fees : 0n;
  return { ofDay, ofOne: plan.fee_max ?? plan.fee_day };
}

/**
 * Gives gas to the addresses that lack it, and begins the run. Returns why one of them gets none, or null. Throws `Unavailable`, also while no
 * endpoint tells the price: what is sent at a guess stays where it was sent.
 */
export async function giveGas(
  app: App,
  chain: ChainRuntime,
  plan: ForwardPlanRow,
  lacks: readonly Lack[],
): Promise<Message | null> {
  if (lacks.length === 0) return null;
  const feeRate = await feeRateTold(chain);
  let why: Message | null = null;
  const placeOf = ({ at }: Lack) => ({ asset: plan.asset, address: at.address });
  for (const lack of failedLast(chain, lacks, placeOf).slice(0, BEGUN_PER_PASS_MAX)) {
    try {
      const refusal = await giveOne(app, plan, lack, feeRate);
      if (refusal) noteFailed(chain, placeOf(lack));
      else noteBegun(chain, placeOf(lack));
      why = refusal ?? why;
    } catch (error) {
      if (error instanceof Overtaken) continue;
      if (!(error instanceof Rejected)) throw error;
      return messageOf(reasonOf(error));
    }
  }
  return why;
}

/** Returns why the token would not leave the address, where gas would be lost; null: it gets gas, or has another payment under way. */
async function giveOne(app: App, plan: ForwardPlanRow, { at, units }: Lack, feeRate: bigint): Promise<Message | null> {
  const holder = holderOf(app, plan);
  const { chain, business } = holder;
  const target = ownTarget(app.store, chain.key, at);
  if (!target) return null;
  const payee = payeeOf(plan, business.network);
  const refusal = await chain.spending.whyRefused?.(plan.asset, at, payee, chain.limit(ASK_TIMEOUT_MS));
  if (refusal) return message('gas.refused', { asset: plan.asset, address: at.address, reason: refusal });
  const transfer: OwnTransfer = { purpose: 'fund', at: target, units, forwards: plan.asset };
  const { ofDay, ofOne } = feeLeft(app, plan);
  const planned = await prepareOwn(app, coinOf(holder), transfer, { feeRate, feeMax: minOf(ofDay, ofOne) });
  const feeMax = planned.plan.fee.toString();
  const intent = ownIntent(coinOf(holder), { uuid: randomUUIDv7(), feeMax, coins: null });
  const approved = { intent, approval: { by: 'forward' as const, asset: plan.asset } };
  await app.store.write((tx) => {
    const now = tx.get(forwardPlanById, { id: plan.id });
    if (!now || now.updated_at !== plan.updated_at || now.withdrawal_id !== null)
      throw new Overtaken('the plan changed');
    claimTransfer(app, tx, coinOf(holder), { planned, transfer, approved });
    if (isRunning(now, app.now())) return;
    const { schedule, timeZone } = timesOf(app, now);
    const next_at = nextDue(schedule, app.now(), timeZone);
    note(tx, now, { run_at: app.now(), next_at, left_out: 0, cheap_since: null });
  });
  return null;
}

/** Replaces the gas of a plan that no block includes, within its fees. Returns why not, or null. Throws `Unavailable`. */
export async function hurryGas(app: App, chain: ChainRuntime, plan: ForwardPlanRow): Promise<Message | null> {
  const spends = app.store
    .all(openSpends, { chain_key: chain.key })
    .filter(({ forwards, account_id }) => forwards === plan.asset && account_id === plan.account_id);
  if (spends.length === 0) return null;
  // the fee of the version that is replaced is counted already
  const feeMaxOf = (paid: bigint): bigint => {
    const { ofDay, ofOne } = feeLeft(app, plan);
    return minOf(paid + ofDay, ofOne);
  };
  try {
    await replaceStuck(app, holderOf(app, plan), { spends, feeMaxOf, use: () => {} }, await feeRateTold(chain));
    return null;
  } catch (error) {
    if (error instanceof Overtaken) return null;
    if (!(error instanceof Rejected)) throw error;
    return messageOf(reasonOf(error));
  }
}
