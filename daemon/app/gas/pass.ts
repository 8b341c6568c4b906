/**
 * One pass over a chain's plans: funds deposit addresses with gas, and collects them into the tank. Every step is a payment
 * to ourselves that is stored before it is signed, and at most one is open for an address. So a pass after a crash continues
 * from the rows alone, and nothing is done twice.
 */
import { randomUUIDv7 } from 'node:crypto';
import { MissingGas } from '../../chains/accounts.ts';
import { networkOf } from '../../domain/chain.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { type Message, message, messageOf, reasonOf } from '../../domain/messages.ts';
import { formatUnits } from '../../domain/money.ts';
import { type GasPlanRow, gasPlanOf, openGasPlans, saveGasPlan } from '../../store/queries/gas.ts';
import { triedWithdrawalsAbove } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { ownTarget } from '../addresses/watch.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { Overtaken } from '../spends/claim.ts';
import { feeRateTold } from '../spends/fees.ts';
import { claimTransfer, type OwnTransfer, ownIntent, prepareOwn } from '../spends/own.ts';
import type { Holder } from '../spends/plan.ts';
import { failedLast, noteBegun, noteFailed } from '../spends/turns.ts';
import { type Desk, desksOf, type Find, findsOf, isWorth, withReserve } from './finds.ts';
import { neededFor, waitingAt } from './needed.ts';
import { endPlan, isHour, leftOf, notePlan, useOfPlan } from './plans.ts';
import { collectionsWithoutGas } from './refill.ts';
import { ownSpends, replaceStuck } from './stuck.ts';
import { type Blocked, movable, payersInstead, REFUSED, type Refusals, refusalsAt } from './tank-refusal.ts';

/** Addresses that one pass begins. */
const BEGUN_PER_PASS_MAX = 20;
const SANDBOX_PLAN_MS = 600_000;
/** The highest cost of a plan in the sandbox: a million worthless coins. */
const SANDBOX_FEE_MAX = 10n ** 24n;

/** Works on the plans of a chain. Returns whether one is open, so that another pass is needed later. Throws `Unavailable`. */
export async function passGas(app: App, chain: ChainRuntime): Promise<boolean> {
  if (!chain.adapter.accountBased || isQuarantined(app.store)) return false;
  await planInSandbox(app, chain);
  const plans = app.store.all(openGasPlans, { chain_key: chain.key });
  for (const plan of plans) {
    const why = await passPlan(app, chain, plan);
    await app.store.write((tx) => notePlan(tx, plan.account_id, why));
  }
  return plans.length > 0;
}

/** In the sandbox no plan needs an approval: a withdrawal that waits for collected money begins one. */
async function planInSandbox(app: App, { key: chain_key, adapter }: ChainRuntime): Promise<void> {
  if (adapter.network !== 'sandbox') return;
  const [waiting] = app.store.all(triedWithdrawalsAbove, { chain_key, id: 0, limit: 1 });
  const plan = waiting && app.store.get(gasPlanOf, { account_id: waiting.account_id });
  const now = app.now();
  if (!waiting || (plan?.state === 'open' && plan.ends_at > now)) return;
  const { account_id } = waiting;
  const limits = { min_usd: 0n, price_max: null, fee_max: SANDBOX_FEE_MAX, used: 0n };
  const any = { only_needed: false, day_from: null, day_to: null };
  const halts = { halted: false, halted_by: plan?.halted_by ?? 0 };
  const times = { begins_at: now, ends_at: now + SANDBOX_PLAN_MS, created_at: now };
  await app.store.write((tx) =>
    tx.run(saveGasPlan, { account_id, chain_key, ...limits, ...any, ...times, ...halts, state: 'open', problem: null }),
  );
}

/** Returns what it waits for, or null. */
async function passPlan(app: App, chain: ChainRuntime, plan: GasPlanRow): Promise<Message | null> {
  const now = app.now();
  if (now >= plan.ends_at) {
    await app.store.write((tx) => endPlan(tx, plan.account_id, 'done', null));
    return null;
  }
  if (!chain.isCurrent) return null;
  if (chain.adapter.network !== 'sandbox' && (await app.signer.status()).state !== 'unlocked') {
    return message('wait.locked');
  }
  const feeRate = await priceOf(chain);
  if (feeRate === null) return message('gas.no_price');
  const business = app.directory.business(app.directory.businessOfAccount(plan.account_id));
  const desk = (await desksOf(app, business)).find(({ account }) => account.id === plan.account_id);
  if (!desk) return null;
  let why = await hurry(app, desk, plan, feeRate);
  if (plan.halted) return why ?? message('gas.stopped');
  for (const { at, units } of collectionsWithoutGas(app, desk)) {
    const refill = { purpose: 'fund', at, units: withReserve(units), refills: true } as const;
    why = (await fund(app, desk, refill, feeRate)) ?? why;
  }
  const { finds, blocked } = await movable(desk, findsOf(app, desk, feeRate));
  await tellBlocked(app, desk, blocked);
  const waiting = waitingAt(app, desk);
  const refused = await refusalsAt(app, desk, finds, waiting.tried);
  await tellRefusals(app, desk, finds, refused);
  const payable = waiting.tried.filter(({ id }) => !refused.rows.has(id));
  const needed = new Set(neededFor(app, desk, finds, payable).finds);
  const isTime = !plan.only_needed && now >= plan.begins_at && isHour(plan, now, business.timeZone);
  const isDear = plan.price_max !== null && feeRate > plan.price_max;
  const isWanted = (find: Find): boolean =>
    !refused.assets.has(find.asset.symbol) &&
    (needed.has(find) || (isTime && !isDear && isWorth(find, plan.min_usd, desk.feeAsset)));
  const wanted = coinsLast(
    desk,
    finds.filter((find) => !find.isBusy && isWanted(find)),
  );
  const unpaid = waiting.tried.filter(({ id }) => refused.rows.has(id));
  for (const { at, fund: units, isBusy } of await payersInstead(desk, finds, unpaid)) {
    const target = units > 0n && !isBusy ? ownTarget(app.store, chain.key, at) : undefined;
    if (target) why = (await fund(app, desk, { purpose: 'fund', at: target, units }, feeRate)) ?? why;
  }
  const inTurn = failedLast(chain, ownGasFirst(wanted), placeOf);
  for (const find of inTurn.slice(0, BEGUN_PER_PASS_MAX)) why = (await begin(app, desk, find, feeRate)) ?? why;
  const isOver = waiting.tried.length + waiting.fresh.length + ofPlan(app, desk).length === 0;
  if (plan.only_needed && isOver) {
    await app.store.write((tx) => endPlan(tx, plan.account_id, 'done', null));
  }
  return why ?? (isTime && isDear && needed.size === 0 ? message('gas.dear') : null);
}

/** The coin of a former tank leaves after its tokens, for which it pays the gas. */
const coinsLast = ({ feeAsset }: Desk, finds: readonly Find[]): Find[] => {
  const isCoin = ({ at, asset }: Find): boolean => at.branch === 1 && asset === feeAsset;
  const tokensAt = new Set(finds.filter((find) => !isCoin(find)).map(({ at }) => at.address));
  return finds.filter((find) => !isCoin(find) || !tokensAt.has(find.at.address));
};

/** Before those that need gas from the tank, which may be empty until the coin of others comes there. */
const ownGasFirst = (finds: readonly Find[]): Find[] =>
  finds.toSorted((a, b) => Number(a.fund > 0n) - Number(b.fund > 0n));

/** Tells what stays at former tanks, because its token blocks them. */
async function tellBlocked(app: App, desk: Desk, blocked: readonly Blocked[]): Promise<void> {
  for (const { find, why } of blocked) {
    const { asset, at } = find;
    const text = message('gas.refused', { asset: asset.symbol, address: at.address, reason: why });
    await raise(app, networkOf(desk.chain.key), REFUSED, subjectOf(desk, find), text);
  }
}

/** Tells what is left at its addresses, because the tank's token keeps what comes there. */
async function tellRefusals(app: App, { chain, tank }: Desk, finds: readonly Find[], refused: Refusals): Promise<void> {
  for (const asset of new Set(finds.map((find) => find.asset.symbol))) {
    const subject = `${chain.key} ${asset} ${tank.address}`;
    const why = refused.assets.get(asset);
    if (!why) await end(app, REFUSED, subject);
    else {
      const text = message('gas.refused', { asset, address: tank.address, reason: reasonOf(why) });
      await raise(app, networkOf(chain.key), REFUSED, subject, text);
    }
  }
}

/** The price of gas; null while no endpoint tells it: what is sent for gas at a guess stays where it was sent. */
async function priceOf(chain: ChainRuntime): Promise<bigint | null> {
  try {
    return await feeRateTold(chain);
  } catch (error) {
    if (error instanceof Unavailable) return null;
    throw error;
  }
}

/** The open payments to ourselves that a gas plan pays for. */
const ofPlan = (app: App, desk: Desk) => ownSpends(app.store, desk).filter(({ forwards }) => forwards === null);

/** Replaces what is stuck. Returns why not, or null. */
async function hurry(app: App, desk: Desk, plan: GasPlanRow, feeRate: bigint): Promise<Message | null> {
  try {
    const { id } = desk.account;
    const use = (tx: Tx, more: bigint): void => useOfPlan(tx, id, more);
    await replaceStuck(app, desk, { spends: ofPlan(app, desk), feeMaxOf: (paid) => paid + leftOf(plan), use }, feeRate);
    return null;
  } catch (error) {
    if (error instanceof Overtaken) return null;
    if (!(error instanceof Rejected)) throw error;
    return whyNot(app, plan.account_id, error);
  }
}

const placeOf = ({ asset, at }: Find) => ({ asset: asset.symbol, address: at.address });

const subjectOf = ({ chain }: Desk, { asset, at }: Find): string => `${chain.key} ${asset.symbol} ${at.address}`;

/** Begins to collect an address, or to fund it. Returns why not, or null. */
async function begin(app: App, desk: Desk, find: Find, feeRate: bigint): Promise<Message | null> {
  const { chain, account } = desk;
  const at = ownTarget(app.store, chain.key, find.at);
  if (!at) return null;
  const subject = subjectOf(desk, find);
  try {
    await transfer(app, desk, { purpose: 'collect', at }, find.asset.symbol, feeRate);
    noteBegun(chain, placeOf(find));
    await end(app, REFUSED, subject);
    return null;
  } catch (error) {
    if (error instanceof Overtaken) return null;
    if (!(error instanceof Rejected)) throw error;
    if (error instanceof MissingGas && find.asset !== desk.feeAsset) {
      const why = await fund(app, desk, { purpose: 'fund', at, units: withReserve(error.missing) }, feeRate);
      if (why) noteFailed(chain, placeOf(find));
      return why;
    }
    noteFailed(chain, placeOf(find));
    if (error.code === 'spend.refused') {
      const what = { asset: find.asset.symbol, address: find.at.address, reason: reasonOf(error) };
      const text = message('gas.refused', what);
      await raise(app, networkOf(chain.key), REFUSED, subject, text);
      return null;
    }
    return whyNot(app, account.id, error);
  }
}

async function fund(app: App, desk: Desk, wanted: OwnTransfer, feeRate: bigint): Promise<Message | null> {
  const { feeAsset, tank, account } = desk;
  try {
    await transfer(app, desk, wanted, feeAsset.symbol, feeRate);
    return null;
  } catch (error) {
    if (error instanceof Overtaken) return null;
    if (!(error instanceof Rejected)) throw error;
    const units = wanted.purpose === 'fund' ? wanted.units : 0n;
    const isShort = error.code === 'spend.insufficient' || error.code === 'spend.gas';
    if (!isShort) return whyNot(app, account.id, error);
    return message('gas.tank_short', {
      amount: formatUnits(units, feeAsset),
      asset: feeAsset.symbol,
      address: tank.address,
    });
  }
}

/** Plans a payment to ourselves, and stores it together with its cost. */
async function transfer(
  app: App,
  { business, account, chain }: Desk,
  wanted: OwnTransfer,
  asset: Holder['asset'],
  feeRate: bigint,
): Promise<void> {
  const holder: Holder = { business, account, chain, asset };
  const plan = app.store.get(gasPlanOf, { account_id: account.id });
  if (!plan) return;
  const planned = await prepareOwn(app, holder, wanted, { feeRate, feeMax: leftOf(plan) });
  const { fee } = planned.plan;
  const intent = ownIntent(holder, { uuid: randomUUIDv7(), feeMax: fee.toString(), coins: null });
  await app.store.write((tx) => {
    useOfPlan(tx, account.id, fee);
    claimTransfer(app, tx, holder, { planned, transfer: wanted, approved: { intent, approval: { by: 'gas' } } });
  });
}

/** A plan with no cost left ends. */
async function whyNot(app: App, accountId: number, error: Rejected): Promise<Message | null> {
  if (error.code !== 'gas.used' && error.code !== 'spend.fee_too_high') return messageOf(reasonOf(error));
  await app.store.write((tx) => endPlan(tx, accountId, 'done', message('gas.cost_reached')));
  return null;
}
