/** Payers, miners, operators, liars and bad luck on an account chain. Each action says in words what it did. */
import type { Hex } from 'viem';
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { balances } from '../../../daemon/app/books/balance.ts';
import { createInvoice, findInvoiceOf } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { estimateHighestFee, requestWithdrawal } from '../../../daemon/app/withdrawals/request.ts';
import type { Result } from '../../../daemon/contract/operator.ts';
import { type AssetId, assetOf } from '../../../daemon/domain/assets.ts';
import { textIn } from '../../../daemon/domain/messages.ts';
import { formatUnits } from '../../../daemon/domain/money.ts';
import { presentInvoice } from '../../../daemon/http/merchant/present.ts';
import { gasGrantOf } from '../../../daemon/operator/gas.ts';
import { Review } from '../../../daemon/operator/review.ts';
import { authorized } from '../../../daemon/wallet/operator-keys.ts';
import { callOf } from '../../nodes/evm/anvil.ts';
import { Crashed } from '../appliance.ts';
import { refused } from '../people.ts';
import { PASSPHRASE } from '../wallet.ts';
import { Fault } from '../world.ts';
import type { Front } from './front.ts';
import { type AccountWorld, ENDPOINTS, type Invoice } from './world.ts';

export type AccountAction = (world: AccountWorld) => Promise<string> | string;
type Withdrawal = Result<'withdrawal.list'>['withdrawals'][number];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ALL_MAX = 200;
const TANK_UNITS = 10n ** 17n;
const PLAN_FEE_MAX = 5n * 10n ** 16n;
const GWEI = 10n ** 9n;

export async function request(world: AccountWorld): Promise<string> {
  const { appliance, business, random } = world;
  const { app } = appliance;
  const asset = world.anyAsset();
  const usd = random.pick([20, 55, 1_400, 3_000]) ?? 55;
  const wanted = {
    amount: BigInt(usd) * 100_000_000n,
    currency: 'USD',
    crypto: 'ALL',
    dueAt: null,
    closeUrl: null,
    redirectUrl: null,
    webhookUrl: null,
    automaticRedirect: false,
    origin: 'merchant' as const,
  };
  try {
    const { slug } = await appliance.ask(() => app.store.write((tx) => createInvoice(app, business, wanted, tx)));
    const row = await appliance.ask(() =>
      withAddress(app, (tx, waited) => {
        return requestPayment(app, business, findInvoiceOf(tx, business, slug), () => asset, tx, waited);
      }),
    );
    const no = world.invoices.length;
    const address = row.address.toLowerCase() as Hex;
    for (const one of world.invoices.filter((before) => before.address === address)) {
      const read = app.chains.all().find(({ key }) => key === `regtest:${world.chain}`)?.tipHeight ?? -1;
      const isRead = (id: Hex): boolean =>
        (world.network.placeOf(id)?.mined.height ?? Number.POSITIVE_INFINITY) <= read;
      const isPaid = world.payments.some(({ id, address: to }) => to === address && isRead(id));
      // nobody can know an address that no mark and no block that was read shows
      if (!one.isLost || !world.isBlind || isPaid) throw new Fault(`${address} is given out twice`);
    }
    world.invoices.push({ no, slug, asset, address, units: row.quote_amount, usd, judged: false, isLost: false });
    return `invoice ${no} of ${usd} USD asks for ${row.quote_amount} ${asset} at ${address}`;
  } catch (error) {
    return `no payment can be requested: ${refused(error)}`;
  }
}

/** Pays an invoice: in whole or in part, directly or, of the coin, from inside a contract. */
export function pay(world: AccountWorld): string {
  const { random } = world;
  const invoice = random.pick(world.invoices.slice(-8));
  if (!invoice) return '';
  const percent = random.weighted([
    [10, 100n],
    [2, 50n],
    [1, 150n],
  ]);
  const units = (invoice.units * percent + 99n) / 100n;
  const id = send(world, invoice, units);
  world.payments.push({ id, asset: invoice.asset, address: invoice.address, units });
  return `pays ${percent} % of invoice ${invoice.no} by ${id.slice(0, 12)}`;
}

function send({ network, token, coin }: AccountWorld, { asset, address }: Invoice, units: bigint): Hex {
  if (asset === coin) return network.pay(address, units);
  return network.pay(token, 0n, callOf('Standard', 'transfer', [address, units]));
}

export async function mine(world: AccountWorld): Promise<string> {
  const count = world.random.weighted([
    [6, 1],
    [4, 3],
    [3, 16],
  ]);
  await world.network.mine(count);
  return `${count} blocks: ${world.network.tip.height}`;
}

export async function reorganise(world: AccountWorld): Promise<string> {
  const depth = world.random.whole(1, 4);
  const drops = world.random.chance(0.4);
  await world.network.reorganise(depth, () => drops && world.random.chance(0.5));
  return `${depth} blocks are replaced: ${world.network.tip.height}`;
}

export async function wait(world: AccountWorld): Promise<string> {
  const minutes = world.random.weighted([
    [8, 1],
    [4, 12],
    [2, 90],
  ]);
  await world.appliance.pass(minutes * MINUTE_MS);
  return `${minutes} minutes pass`;
}

export function lie(world: AccountWorld): string {
  if (world.liar.lies.length > 0 && world.random.chance(0.4)) {
    world.liar.end();
    return 'every endpoint tells the truth';
  }
  return world.liar.begin(world.random, ENDPOINTS);
}

export function trouble(world: AccountWorld): string {
  const { random } = world;
  const endpoint = random.whole(0, ENDPOINTS - 1);
  // of the honest ones, one at least is there
  const others = world.health.filter(
    (health, at) => at !== endpoint && at !== world.liar.endpoint && health === 'well',
  );
  const health =
    others.length > 0 && random.chance(0.5) ? (random.pick(['down', 'silent'] as const) ?? 'down') : 'well';
  world.health[endpoint] = health;
  return `endpoint ${endpoint} is ${health}`;
}

/** An operator puts a balancer before nodes at different blocks, limits what is answered, or ends both. */
export function front({ random, fronts }: AccountWorld): string {
  const endpoint = random.whole(0, ENDPOINTS - 1);
  const before = fronts[endpoint];
  if (!before) return '';
  const what = random.weighted([
    [5, 'balance'],
    [2, 'limit'],
    [3, 'end'],
  ] as const);
  if (what === 'limit') return `endpoint ${endpoint} ${before.limit()}`;
  if (what === 'balance') before.balance();
  else endFront(before);
  return `endpoint ${endpoint} is ${before.isBalanced ? 'several nodes at different blocks' : 'one node without limits'}`;
}

export function endFront(front: Front): void {
  front.end();
  front.unlimit();
}

export function fees(world: AccountWorld): string {
  const gwei = BigInt(world.random.pick([1, 2, 5, 20]) ?? 2);
  world.network.baseFee = gwei * GWEI;
  return `gas costs ${gwei} gwei`;
}

export async function fillTank(world: AccountWorld): Promise<string> {
  const tank = await world.tank();
  const id = world.network.pay(tank, TANK_UNITS);
  world.payments.push({ id, asset: world.coin, address: tank, units: TANK_UNITS });
  return `the tank is filled by ${id.slice(0, 12)}`;
}

export const balanceOf = ({ appliance, business }: AccountWorld, asset: AssetId): bigint =>
  balances(appliance.app, business).find((one) => one.asset.symbol === asset)?.units ?? 0n;

export async function withdrawals(world: AccountWorld): Promise<Withdrawal[]> {
  return (await world.appliance.operator('withdrawal.list', { limit: ALL_MAX })).withdrawals;
}

async function inState(world: AccountWorld, ...states: Withdrawal['state'][]): Promise<Withdrawal | undefined> {
  return world.random.pick((await withdrawals(world)).filter(({ state }) => states.includes(state)).slice(0, 6));
}

export async function withdraw(world: AccountWorld): Promise<string> {
  const { appliance, business, random } = world;
  const { app } = appliance;
  const symbol = world.anyAsset();
  const asset = assetOf(symbol);
  const units = (balanceOf(world, symbol) * BigInt(random.pick([10, 40, 70, 90]) ?? 10)) / 100n;
  const address = world.stranger();
  const wanted = { asset, units, address, origin: 'merchant' as const };
  world.wanted.set(address.toLowerCase(), { asset: symbol, address: address.toLowerCase() as Hex, units });
  try {
    const rate = await appliance.ask(() => estimateHighestFee(app, business, () => wanted));
    const { id } = await appliance.ask(() =>
      app.store.write((tx) => requestWithdrawal(app, tx, business, wanted, rate)),
    );
    return `withdrawal ${id} of ${units} ${symbol} to ${address} is asked for`;
  } catch (error) {
    return `no withdrawal of ${units} ${symbol}: ${refused(error)}`;
  }
}

export async function sweep(world: AccountWorld): Promise<string> {
  const asset = world.anyAsset();
  const address = world.stranger();
  world.wanted.set(address.toLowerCase(), { asset, address: address.toLowerCase() as Hex, units: null });
  try {
    const asked = { business: `${world.business.id}`, crypto: asset, address, amount: null };
    const { withdrawal } = await world.appliance.operator('withdrawal.add', asked);
    return `a sweep of ${asset}, withdrawal ${withdrawal.id} to ${address}, is asked for`;
  } catch (error) {
    return `no sweep of ${asset}: ${refused(error)}`;
  }
}

/** The operator approves what was asked for, as it is shown, with the collection that it needs. */
export async function approve(world: AccountWorld): Promise<string> {
  const found = await inState(world, 'requested');
  if (!found) return '';
  const wanted = world.wanted.get(found.address.toLowerCase());
  if (!wanted) throw new Fault(`withdrawal ${found.id} to ${found.address} was asked for by nobody`);
  // whoever was warned looks whether it was paid by a machine that is gone
  if (
    !world.isUnwarned &&
    world.uncertain.has(wanted.address) &&
    (await world.unitsAt(wanted.address, wanted.asset)) > 0n
  ) {
    await world.appliance.operator('withdrawal.reject', { id: `${found.id}` });
    return `withdrawal ${found.id} was paid by another machine, and is rejected`;
  }
  const amount = wanted.units === null ? {} : { amount: formatUnits(wanted.units, assetOf(wanted.asset)) };
  const asked = { kind: 'approve' as const, expected: { to: found.address, crypto: wanted.asset, ...amount } };
  return carryOut(world, { kind: 'pay', id: `${found.id}` }, asked, () => world.approved.add(wanted.address));
}

export const replace =
  (kind: 'speed-up' | 'cancel'): AccountAction =>
  async (world) => {
    const found = await inState(world, 'signed', 'broadcast');
    return found ? carryOut(world, { kind, id: `${found.id}` }, { kind }, () => {}) : '';
  };

type Proposal = { kind: 'pay' | 'speed-up' | 'cancel'; id: string };

async function carryOut(
  world: AccountWorld,
  proposal: Proposal,
  asked: Parameters<typeof Review.of>[1],
  approved: () => void,
): Promise<string> {
  const { appliance, time } = world;
  const what = `${proposal.kind} of withdrawal ${proposal.id}`;
  try {
    const { preview, why, collect } = await appliance.operator('withdrawal.propose', proposal);
    if (!preview) return `${what} cannot be shown: ${textIn(why)}`;
    const review = Review.of(preview, asked, time.wall(), collect);
    if (!review) return `${what}: nothing to approve`;
    const signed = await appliance.ask(() =>
      time.outside(review.signed((terms) => authorized(appliance.walletFolder, PASSPHRASE, terms))),
    );
    // from here on it may be paid, even if nothing is answered
    approved();
    await appliance.operator('withdrawal.approve', { proposal, ...signed });
    return `${what} is approved${collect ? ', with a collection' : ''}`;
  } catch (error) {
    return `no ${what}: ${refused(error)}`;
  }
}

export async function reject(world: AccountWorld): Promise<string> {
  const found = await inState(world, 'requested', 'approved');
  if (!found) return '';
  try {
    await world.appliance.operator('withdrawal.reject', { id: `${found.id}` });
    return `withdrawal ${found.id} is rejected`;
  } catch (error) {
    return `withdrawal ${found.id} is not rejected: ${refused(error)}`;
  }
}

/** A plan to collect what deposit addresses have. */
export async function collect(world: AccountWorld): Promise<string> {
  const { appliance, business, time, chain } = world;
  const now = time.wall();
  const ends_at = now + 24 * HOUR_MS;
  const grant = gasGrantOf({ network: 'regtest', accountNo: 0, chain, feeMax: PLAN_FEE_MAX, until: ends_at }, now);
  try {
    const { grants } = await appliance.ask(() =>
      time.outside(authorized(appliance.walletFolder, PASSPHRASE, { approvals: [], change: null, grants: [grant] })),
    );
    const plan = { begins_at: now, ends_at, fee_max: `${PLAN_FEE_MAX}`, signed: { grant, mac: grants[0] ?? '' } };
    world.granted.push({ grant, mac: grants[0] ?? '' });
    await appliance.operator('gas.collect', { business: `${business.id}`, chain, ...plan });
    return 'a plan collects';
  } catch (error) {
    return `no plan: ${refused(error)}`;
  }
}

export function takeOver(world: AccountWorld): string {
  world.isTakenOver = !world.isTakenOver;
  const { signed, refused: kept } = world.gas;
  return world.isTakenOver ? 'a thief takes the service over' : `the thief is out: got ${signed}, was refused ${kept}`;
}

export async function lockOrUnlock(world: AccountWorld): Promise<string> {
  const { appliance, random } = world;
  if (random.chance(0.3)) {
    await appliance.ask(() => appliance.signer.lock());
    return 'the wallet is locked';
  }
  await appliance.unlock();
  return 'the wallet is unlocked';
}

export async function crash(world: AccountWorld): Promise<string> {
  world.appliance.fuse = world.random.whole(1, 6);
  await world.appliance.pass(2_000).catch((error: unknown) => {
    if (!(error instanceof Crashed)) throw error;
  });
  return `the power will fail within ${world.appliance.fuse} commits`;
}

/** An invoice as the merchant API shows it. */
export async function shownInvoice({ appliance, business }: AccountWorld, invoice: Invoice) {
  const { app } = appliance;
  return presentInvoice(app, await appliance.ask(() => readInvoice(app, business, invoice.slug)));
}
