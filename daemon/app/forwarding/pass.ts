/** One pass over a chain's plans: begins what is due, and says why something waits. Everything is read from rows. */

import { assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { dueAt, nextDue } from '../../domain/forwarding.ts';
import { type Message, message, messageOf, reasonOf } from '../../domain/messages.ts';
import { formatUnits } from '../../domain/money.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../domain/time.ts';
import { isOpen, isSigned } from '../../domain/withdrawal.ts';
import { type ForwardPlanRow, forwardPlansOn } from '../../store/queries/forwarding.ts';
import { addressInBook } from '../../store/queries/policies.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { cheapGas } from '../gas/prices.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { feeRateNow } from '../spends/fees.ts';
import { whyUnsigned } from '../spends/pass.ts';
import { noteFailed } from '../spends/turns.ts';
import { giveGas, hurryGas } from './gas.ts';
import { payeeOf } from './payee.ts';
import {
  beginPayment,
  closePayment,
  isRunning,
  note,
  noteWaiting,
  paymentOf,
  retryPayment,
  says,
  timesOf,
  tryLater,
  unchanged,
} from './payments.ts';
import { type Forecast, forecast } from './run.ts';

/** A payment may wait so long, for a block or a signature, before the operator hears of it. */
const WAITS_MAX_MS = MS_PER_HOUR;
/** A payment that cannot be planned waits so long: by then its fee may be too low, or its money gone. */
const UNPLANNED_MAX_MS = MS_PER_HOUR / 4;
/** A plan waits so long for a cheap hour, and then sends within its fees. */
const CHEAP_WAIT_MAX_MS = MS_PER_DAY;

/** Returns whether the chain has a plan, so that another pass is needed later. */
export async function passForwards(app: App, chain: ChainRuntime): Promise<boolean> {
  if (!chain.adapter.spending || isQuarantined(app.store)) return false;
  const plans = app.store.all(forwardPlansOn, { chain_key: chain.key });
  for (const plan of plans) await passPlan(app, chain, plan);
  return plans.length > 0;
}

async function passPlan(app: App, chain: ChainRuntime, plan: ForwardPlanRow): Promise<void> {
  const goesOn = isRunning(plan, app.now());
  // after a run that the signer stopped, a version would be refused again at each pass
  const isDue = app.now() >= plan.next_at || goesOn;
  const stuck = isDue && chain.isCurrent && chain.syncs > 0 ? await gasStuck(app, chain, plan) : null;
  const payment = paymentOf(app.store, plan);
  if (payment && isOpen(payment.state)) return noteOpen(app, chain, plan, payment);
  if (payment) return app.store.write((tx) => closePayment(app, tx, plan.id));
  if (await isSetRight(app, plan)) return;
  if (!isDue || !chain.isCurrent || chain.syncs === 0) return;
  const away = await whyUnsigned(app, chain);
  // the fee of now is not asked for nothing
  if (away && says(plan, away)) return;
  try {
    const least = goesOn ? 0n : plan.least;
    const isLess = (one: Forecast): boolean => one.run.kind === 'less' || isTooSmall(plan, one, goesOn);
    const found = await forecast(app, plan, least);
    if (isLess(found)) return await nothingToSend(app, plan);
    const why = whyNot(app, plan, found) ?? away;
    if (why) return await waitFor(app, plan, why);
    if (!goesOn && (await waitsForCheap(app, chain, plan))) return;
    const { rest, refusal } = await unblocked(app, chain, plan, found, least);
    if (refusal && isLess(rest)) return await app.store.write((tx) => tryLater(app, tx, plan, refusal));
    const whyRest = whyNot(app, plan, rest);
    if (whyRest) return await waitFor(app, plan, whyRest);
    const { run, lacks, isReady } = rest;
    const short = (await giveGas(app, chain, plan, lacks)) ?? stuck ?? message('forward.gas_sent');
    if (run.kind !== 'send' || !isReady) return await waitFor(app, plan, short);
    await app.store.write((tx) => beginPayment(app, tx, plan, run));
  } catch (error) {
    if (error instanceof Unavailable) return;
    if (!(error instanceof Rejected)) throw error;
    await waitFor(app, plan, messageOf(reasonOf(error)));
  }
}

/** Addresses of one pass that may be found to be blocked. A payment is tried from them last. */
const BLOCKED_MAX = 20;
const ASK_TIMEOUT_MS = 20_000;

/**
 * The forecast of the `rest`, without the addresses that the token blocks, which would keep all others waiting. `refusal`: why one stays. Throws
 * `Unavailable`.
 */
async function unblocked(
  app: App,
  chain: ChainRuntime,
  plan: ForwardPlanRow,
  first: Forecast,
  least: bigint,
): Promise<{ rest: Forecast; refusal: Message | null }> {
  const blocked = new Set<string>();
  const payee = payeeOf(plan, chain.adapter.network);
  let [found, refusal]: [Forecast, Message | null] = [first, null];
  while (found.run.kind === 'send' && found.isReady && found.from && blocked.size < BLOCKED_MAX) {
    const { address } = found.from;
    const reason = await chain.spending.whyRefused?.(plan.asset, found.from, payee, chain.limit(ASK_TIMEOUT_MS));
    if (!reason) break;
    blocked.add(address);
    noteFailed(chain, { asset: plan.asset, address });
    refusal ??= message('gas.refused', { asset: plan.asset, address, reason });
    found = await forecast(app, plan, least, blocked);
  }
  return { rest: found, refusal };
}

/** Replaces gas that is stuck. Returns why not, or null. */
async function gasStuck(app: App, chain: ChainRuntime, plan: ForwardPlanRow): Promise<Message | null> {
  try {
    return await hurryGas(app, chain, plan);
  } catch (error) {
    if (error instanceof Unavailable) return null;
    throw error;
  }
}

/** Sets the next time of a plan that a clock which was ahead set, so that it does not wait for years. Returns whether there was such a one. */
async function isSetRight(app: App, plan: ForwardPlanRow): Promise<boolean> {
  const { schedule, timeZone } = timesOf(app, plan);
  const next_at = dueAt(schedule, { next: plan.next_at, leftOut: plan.left_out }, app.now(), timeZone);
  if (next_at === plan.next_at) return false;
  await app.store.write((tx) => {
    const now = unchanged(tx, plan);
    if (now) note(tx, now, { next_at, left_out: 0 });
    tx.afterCommit(() => app.wake.withdrawals(plan.chain_key));
  });
  return true;
}

/** Whether a plan waits for a cheap hour of gas. Notes since when it does, and says so; no alert, since it sends in time by itself. */
async function waitsForCheap(app: App, chain: ChainRuntime, plan: ForwardPlanRow): Promise<boolean> {
  const cheap = plan.cheap ? cheapGas(app.store, chain.key) : null;
  const since = plan.cheap_since ?? app.now();
  // a clock that was ahead, and was set right, keeps it no longer
  if (cheap === null || Math.abs(app.now() - since) >= CHEAP_WAIT_MAX_MS) return false;
  if ((await feeRateNow(chain)) <= cheap) return false;
  const why = message('forward.cheap', { until: toIso(since + CHEAP_WAIT_MAX_MS) });
  if (says(plan, why)) return true;
  await app.store.write((tx) => {
    const now = unchanged(tx, plan);
    if (!now) return;
    note(tx, now, { cheap_since: since });
    noteWaiting(app, tx, now.id, why, false);
  });
  return true;
}

/** Whether the rest of a run is less than the plan sends by itself, and not worth its fee. */
const isTooSmall = ({ least }: ForwardPlanRow, { run, free }: Forecast, goesOn: boolean): boolean =>
  goesOn && run.kind === 'dear' && free < least;

/** Notes why a plan waits. A machine at home may sleep: the payment goes on by itself once it is back. */
async function waitFor(app: App, plan: ForwardPlanRow, why: Message | null): Promise<void> {
  if (says(plan, why)) return;
  await app.store.write((tx) => {
    if (unchanged(tx, plan)) noteWaiting(app, tx, plan.id, why, why !== null && !goesOnByItself(why));
  });
}

const goesOnByItself = ({ code }: Message): boolean =>
  code === 'wait.machine_away' || code === 'wait.machine_never' || code === 'forward.gas_sent';

/** A payment that is not signed after an hour says why. One that cannot even be planned gives way to a new one. */
async function noteOpen(app: App, chain: ChainRuntime, plan: ForwardPlanRow, row: WithdrawalRow): Promise<void> {
  const age = app.now() - row.created_at;
  const isUnplanned = row.state === 'approved' && row.spend_id === null && row.problem !== null;
  if (isUnplanned && age > UNPLANNED_MAX_MS && chain.isCurrent && (await whyUnsigned(app, chain)) === null) {
    return app.store.write((tx) => retryPayment(app, tx, plan));
  }
  await waitFor(app, plan, !isSigned(row.state) && age > WAITS_MAX_MS ? row.problem : null);
}

/** The plan looks again at its next time, or at the next pass where it waits for its sum. */
async function nothingToSend(app: App, plan: ForwardPlanRow): Promise<void> {
  if (plan.every === 'reached' && plan.run_at === null && plan.cheap_since === null) return waitFor(app, plan, null);
  const { schedule, timeZone } = timesOf(app, plan);
  // the end of a run that was begun by hand leaves out no time
  const isAhead = app.now() < plan.next_at;
  const next_at = isAhead ? plan.next_at : nextDue(schedule, app.now(), timeZone);
  const left_out = isAhead ? plan.left_out : 0;
  await app.store.write((tx) => {
    const now = unchanged(tx, plan);
    if (!now) return;
    note(tx, now, { next_at, run_at: null, left_out, cheap_since: null });
    noteWaiting(app, tx, now.id, null);
  });
}

type Destined = Pick<ForwardPlanRow, 'business_id' | 'asset' | 'address' | 'key_index'>;

/** Why a plan cannot send what it would; null: it can. */
export function whyNot(app: App, { business_id, asset, address, key_index }: Destined, found: Forecast) {
  const { chain } = assetOf(asset);
  const isKnown = key_index !== null || app.store.get(addressInBook, { business_id, chain, address });
  if (!isKnown) return message('forward.address', { address });
  return lacking(found);
}

/** The limit, or the coin, that a run lacks; null: none. */
function lacking({ run, feeAsset, tank }: Forecast): Message | null {
  const coin = assetOf(feeAsset);
  const text = (units: bigint): string => formatUnits(units, coin);
  if (run.kind === 'short') {
    return message('gas.tank_short', { amount: text(run.missing), asset: coin.symbol, address: `${tank}` });
  }
  if (run.kind === 'gas') {
    return message('forward.gas', { given: text(run.fee), allowed: text(run.allowed), coin: coin.symbol });
  }
  if (run.kind !== 'dear') return null;
  return message('forward.dear', { fee_now: text(run.fee), fee_allowed: text(run.allowed), coin: coin.symbol });
}
