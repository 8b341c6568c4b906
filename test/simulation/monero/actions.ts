/** Payers, miners, operators, the liar and bad luck on Monero. Each action says in words what it did. */
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { balances } from '../../../daemon/app/books/balance.ts';
import { createInvoice, findInvoiceOf } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { estimateHighestFee, requestWithdrawal } from '../../../daemon/app/withdrawals/request.ts';
import type { Result } from '../../../daemon/contract/operator.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { textIn } from '../../../daemon/domain/messages.ts';
import { formatUnits } from '../../../daemon/domain/money.ts';
import { presentInvoice } from '../../../daemon/http/merchant/present.ts';
import { Review } from '../../../daemon/operator/review.ts';
import { authorized } from '../../../daemon/wallet/operator-keys.ts';
import { Crashed } from '../appliance.ts';
import { refused } from '../people.ts';
import { PASSPHRASE } from '../wallet.ts';
import { Fault } from '../world.ts';
import { paymentOf } from './chain.ts';
import { NODES } from './liar.ts';
import { ODDITIES, OddNode } from './oddities.ts';
import type { Invoice, MoneroWorld } from './world.ts';

export type MoneroAction = (world: MoneroWorld) => Promise<string> | string;
type Withdrawal = Result<'withdrawal.list'>['withdrawals'][number];

const MINUTE_MS = 60_000;
const ALL_MAX = 200;
const LAG_MAX = 20;
/** A payment counts, and a coin can be spent, in its tenth block. */
const DEPTH_MAX = 9;

export async function request(world: MoneroWorld): Promise<string> {
  const { appliance, business, random } = world;
  const { app } = appliance;
  const usd = random.pick([20, 55, 400, 3_000]) ?? 55;
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
        return requestPayment(app, business, findInvoiceOf(tx, business, slug), () => 'XMR', tx, waited);
      }),
    );
    const no = world.invoices.length;
    const { address } = row;
    if (world.invoices.some((one) => one.address === address)) throw new Fault(`${address} is given out twice`);
    world.invoices.push({ no, slug, address, units: row.quote_amount, usd, judged: false });
    return `invoice ${no} of ${usd} USD asks for ${row.quote_amount} piconero`;
  } catch (error) {
    return `no payment can be requested: ${refused(error)}`;
  }
}

/** Pays an invoice: in whole, in part or too much, with one output or several. */
export function pay(world: MoneroWorld): string {
  const { random, chain } = world;
  const invoice = random.pick(world.invoices.slice(-8));
  if (!invoice) return '';
  const percent = random.weighted([
    [10, 100n],
    [2, 50n],
    [1, 150n],
  ]);
  const units = (invoice.units * percent + 99n) / 100n;
  const script = world.script(invoice.address);
  const parts = random.chance(0.2) ? [units / 3n, units - units / 3n] : [units];
  const secret = world.secret();
  const image = secret.toString(16).padStart(64, 'e');
  const tx = paymentOf(
    parts.map((part) => ({ script, units: part })),
    image,
    secret,
  );
  const refusal = chain.submit(tx);
  if (refusal !== null) throw new Error(`a payment is refused: ${refusal}`);
  world.payments.push({ tx, address: invoice.address, units });
  return `pays ${percent} % of invoice ${invoice.no} with ${parts.length} outputs`;
}

export function mine(world: MoneroWorld): string {
  const count = world.random.weighted([
    [6, 1],
    [4, 4],
    [4, 12],
  ]);
  world.mine(count);
  return `${count} blocks: ${world.chain.tip.height}`;
}

export function reorganise(world: MoneroWorld): string {
  const depth = world.random.whole(1, 4);
  const drops = world.random.chance(0.3);
  world.chain.reorganise(depth, () => !drops || world.random.chance(0.5), world.time.truth);
  world.liar.mined(world.chain, 1, world.time.truth);
  return `${depth} blocks are replaced: ${world.chain.tip.height}`;
}

export async function wait(world: MoneroWorld): Promise<string> {
  const minutes = world.random.weighted([
    [8, 1],
    [4, 12],
    [2, 90],
  ]);
  await world.appliance.pass(minutes * MINUTE_MS);
  return `${minutes} minutes pass`;
}

export function lie(world: MoneroWorld): string {
  const { liar, random, chain, images, time } = world;
  if (liar.isLying && random.chance(0.4)) {
    liar.end();
    return 'every node tells the truth';
  }
  const scripts = world.invoices.slice(-4).map(({ address, units }) => ({ script: world.script(address), units }));
  // of coins that were spent already, a branch from before has others' spends
  return liar.begin(chain, { images, scripts, nobody: world.script(world.nobody) }, time.truth);
}

export function trouble(world: MoneroWorld): string {
  const { random } = world;
  const node = random.whole(0, NODES - 1);
  // of the honest ones, one at least is there
  const others = world.health.filter((health, at) => at !== node && at !== world.liar.node && health === 'well');
  const health =
    others.length > 0 && random.chance(0.5) ? (random.pick(['down', 'silent'] as const) ?? 'down') : 'well';
  world.health[node] = health;
  return `node ${node} is ${health}`;
}

export const balanceOf = ({ appliance, business }: MoneroWorld): bigint =>
  balances(appliance.app, business).find((one) => one.asset.symbol === 'XMR')?.units ?? 0n;

export async function withdrawals(world: MoneroWorld): Promise<Withdrawal[]> {
  return (await world.appliance.operator('withdrawal.list', { limit: ALL_MAX })).withdrawals;
}

async function inState(world: MoneroWorld, ...states: Withdrawal['state'][]): Promise<Withdrawal | undefined> {
  return world.random.pick((await withdrawals(world)).filter(({ state }) => states.includes(state)).slice(0, 6));
}

export async function withdraw(world: MoneroWorld): Promise<string> {
  const { appliance, business, random } = world;
  const { app } = appliance;
  const asset = assetOf('XMR');
  const units = (balanceOf(world) * BigInt(random.pick([10, 40, 70, 90]) ?? 10)) / 100n;
  const address = world.stranger();
  const wanted = { asset, units, address, origin: 'merchant' as const };
  world.wanted.set(address, { address, units });
  try {
    const rate = await appliance.ask(() => estimateHighestFee(app, business, () => wanted));
    const { id } = await appliance.ask(() =>
      app.store.write((tx) => requestWithdrawal(app, tx, business, wanted, rate)),
    );
    return `withdrawal ${id} of ${units} piconero is asked for`;
  } catch (error) {
    return `no withdrawal of ${units} piconero: ${refused(error)}`;
  }
}

export async function sweep(world: MoneroWorld): Promise<string> {
  const address = world.stranger();
  world.wanted.set(address, { address, units: null });
  try {
    const asked = { business: `${world.business.id}`, crypto: 'XMR', address, amount: null };
    const { withdrawal } = await world.appliance.operator('withdrawal.add', asked);
    return `a sweep, withdrawal ${withdrawal.id}, is asked for`;
  } catch (error) {
    return `no sweep: ${refused(error)}`;
  }
}

/** The operator approves what was asked for, as it is shown. */
export async function approve(world: MoneroWorld): Promise<string> {
  const found = await inState(world, 'requested');
  if (!found) return '';
  const wanted = world.wanted.get(found.address);
  if (!wanted) throw new Fault(`withdrawal ${found.id} to ${found.address} was asked for by nobody`);
  const amount = wanted.units === null ? {} : { amount: formatUnits(wanted.units, assetOf('XMR')) };
  const asked = { kind: 'approve' as const, expected: { to: found.address, ...amount } };
  return carryOut(world, { kind: 'pay', id: `${found.id}` }, asked, () => world.approved.add(wanted.address));
}

export const replace =
  (kind: 'speed-up' | 'cancel'): MoneroAction =>
  async (world) => {
    const found = await inState(world, 'signed', 'broadcast');
    return found ? carryOut(world, { kind, id: `${found.id}` }, { kind }, () => {}) : '';
  };

type Proposal = { kind: 'pay' | 'speed-up' | 'cancel'; id: string };

async function carryOut(
  world: MoneroWorld,
  proposal: Proposal,
  asked: Parameters<typeof Review.of>[1],
  approved: () => void,
): Promise<string> {
  const { appliance, time } = world;
  const what = `${proposal.kind} of withdrawal ${proposal.id}`;
  try {
    const { preview, why } = await appliance.operator('withdrawal.propose', proposal);
    if (!preview) return `${what} cannot be shown: ${textIn(why)}`;
    const review = Review.of(preview, asked, time.wall());
    if (!review) return `${what}: nothing to approve`;
    const signed = await appliance.ask(() =>
      time.outside(review.signed((terms) => authorized(appliance.walletFolder, PASSPHRASE, terms))),
    );
    // from here on it may be paid, even if nothing is answered
    approved();
    await appliance.operator('withdrawal.approve', { proposal, ...signed });
    return `${what} is approved`;
  } catch (error) {
    return `no ${what}: ${refused(error)}`;
  }
}

/** Cancels a withdrawal as an operator does, if that is possible. */
export const cancel = (world: MoneroWorld, id: string): Promise<string> =>
  carryOut(world, { kind: 'cancel', id }, { kind: 'cancel' }, () => {});

export async function reject(world: MoneroWorld): Promise<string> {
  const found = await inState(world, 'requested', 'approved');
  if (!found) return '';
  try {
    await world.appliance.operator('withdrawal.reject', { id: `${found.id}` });
    return `withdrawal ${found.id} is rejected`;
  } catch (error) {
    return `withdrawal ${found.id} is not rejected: ${refused(error)}`;
  }
}

export async function lockOrUnlock(world: MoneroWorld): Promise<string> {
  const { appliance, random } = world;
  if (random.chance(0.3)) {
    await appliance.ask(() => appliance.signer.lock());
    return 'the wallet is locked';
  }
  await appliance.unlock();
  return 'the wallet is unlocked';
}

export async function crash(world: MoneroWorld): Promise<string> {
  world.appliance.fuse = world.random.whole(1, 6);
  await world.appliance.pass(2_000).catch((error: unknown) => {
    if (!(error instanceof Crashed)) throw error;
  });
  return `the power will fail within ${world.appliance.fuse} commits`;
}

/** A node is odd from now on, or every node is as most are. */
export function oddNode(world: MoneroWorld): string {
  const { random, chain, odd } = world;
  const node = random.whole(0, NODES - 1);
  const oddity = random.pick(ODDITIES);
  if (!oddity || random.chance(0.4)) {
    odd.clear();
    return 'no node is odd';
  }
  odd.set(node, new OddNode(chain, oddity, random.whole(1, LAG_MAX)));
  return `node ${node} ${oddity}`;
}

/** A longer branch replaces almost as many blocks as a payment waits for. */
export function reorganiseDeep(world: MoneroWorld): string {
  const depth = world.random.whole(5, DEPTH_MAX);
  world.chain.reorganise(depth, () => world.random.chance(0.8), world.time.truth);
  world.liar.mined(world.chain, 1, world.time.truth);
  return `${depth} blocks are replaced: ${world.chain.tip.height}`;
}

/** An invoice as the merchant API shows it. */
export async function shownInvoice({ appliance, business }: MoneroWorld, invoice: Invoice) {
  const { app } = appliance;
  return presentInvoice(app, await appliance.ask(() => readInvoice(app, business, invoice.slug)));
}
