/** Payers, miners and bad luck: what happens to the appliance from outside. Each action says in words what it did. */
import { withAddress } from '../../daemon/app/addresses/pool.ts';
import { createInvoice, findInvoiceOf } from '../../daemon/app/invoices/invoices.ts';
import { changeCoin as changeTo, requestPayment } from '../../daemon/app/invoices/payments.ts';
import { readInvoice } from '../../daemon/app/invoices/views.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import { presentInvoice } from '../../daemon/http/merchant/present.ts';
import type { PaymentRow } from '../../daemon/store/queries/invoices.ts';
import { toUnits } from '../scenario/auditor.ts';
import { type Health, type Network, type Output, PAYERS_COIN_UNITS, type Tx } from './network.ts';
import { judgeShown, type Shown } from './payable.ts';
import { JUMPED, USED_MAX } from './wallet.ts';
import { type Ask, Fault, type Invoice, type World } from './world.ts';

export type Action = (world: World) => Promise<string> | string;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const FEE_VSIZE = 400n;
const NOBODY = '6a';
const DUST = 600n;
/** A clock that is no further off counts as right. */
const SKEW_MS = MINUTE_MS;
const GRACE_MS = DAY_MS;
const MASS_OUTPUTS = 300;
const CRUMBS_MAX = 12;
/** Fewer than half of what the appliance has ready at any time: what it never derived is not its own yet. */
const PRANKED_MAX = 8;
/** An address whose payment vanished is the last choice for a day, counted from when that was noticed, by the blocks' time. */
const TOUCHED_MS = 25 * HOUR_MS;
/** How far the clock may be ahead of the median time of the newest blocks. */
const BLOCKS_AHEAD_MS = 2 * HOUR_MS;
const DECIMALS = 8;

/** What a caller of the API is answered that refuses, in words. */
export function refused(error: unknown): string {
  if (error instanceof Rejected || error instanceof Unavailable) return error.message;
  throw error;
}

export async function createAndRequest(world: World): Promise<string> {
  const { appliance, business, random, time } = world;
  const { app } = appliance;
  const coin = world.anyCoin();
  const usd = random.weighted([
    [6, 55],
    [4, 1_400],
    [1, 12_000],
    [3, 12],
  ]);
  const dueAt = random.chance(0.7) ? app.now() + random.whole(1, 20) * HOUR_MS : null;
  const wanted = {
    amount: BigInt(usd) * 100_000_000n,
    currency: 'USD',
    crypto: 'ALL',
    dueAt,
    closeUrl: null,
    redirectUrl: null,
    webhookUrl: null,
    automaticRedirect: false,
    origin: 'merchant' as const,
  };
  const skewed = Math.abs(time.wall() - time.truth) > SKEW_MS;
  try {
    const { slug } = await appliance.ask(() => app.store.write((tx) => createInvoice(app, business, wanted, tx)));
    const name = `invoice ${world.invoices.length} of ${usd} USD`;
    const row = await appliance.ask(() =>
      withAddress(app, (tx, waited) => {
        return requestPayment(app, business, findInvoiceOf(tx, business, slug), () => coin, tx, waited);
      }),
    );
    judgeAddress(world, coin, row.address);
    const ends = Math.max(row.deadline_at, dueAt ?? row.deadline_at) + GRACE_MS;
    world.invoices.push({
      no: world.invoices.length,
      slug,
      asks: [askOf(world, row)],
      mayEndAt: skewed ? null : ends,
      createdAt: time.truth,
      decided: false,
      lost: false,
      byWords: false,
    });
    return `${name} asks for ${row.quote_amount} ${coin} at ${row.address}`;
  } catch (error) {
    return `no payment can be requested: ${refused(error)}`;
  }
}

const askOf = (world: World, { asset, address, quote_amount }: PaymentRow): Ask => {
  const coin = asset as UtxoChain;
  return {
    coin,
    address,
    script: world.script(coin, address),
    units: quote_amount,
    at: world.time.truth,
    before: null,
  };
};

/** A payer chooses another coin on the payment page. */
export async function changeCoin(world: World): Promise<string> {
  const { appliance, business } = world;
  const { app } = appliance;
  const invoice = openInvoice(world);
  const coin = world.anyCoin();
  if (!invoice) return '';
  try {
    const row = await appliance.ask(() =>
      withAddress(app, (tx, waited) =>
        changeTo(app, business, findInvoiceOf(tx, business, invoice.slug), coin, tx, waited),
      ),
    );
    const ask = askOf(world, row);
    const known = invoice.asks.findIndex(({ address }) => address === ask.address);
    if (known < 0) judgeAddress(world, ask.coin, ask.address);
    else [ask.before = null] = invoice.asks.splice(known, 1);
    invoice.asks.push(ask);
    return `invoice ${invoice.no} asks for ${ask.units} ${coin} at ${ask.address}`;
  } catch (error) {
    return `invoice ${invoice.no} is not changed to ${coin}: ${refused(error)}`;
  }
}

/**
 * Addresses are given out in their order, but for those that somebody has paid: one that is left out for ever is lost to
 * whoever looks for the wallet's money by its words, as far as the gap limit.
 */
function judgeAddress(world: World, coin: UtxoChain, address: string): void {
  const network = world.network(coin);
  const script = world.script(coin, address);
  const index = Number(world.wallet.placeOf(coin, script)?.split('/')[1] ?? Number.NaN);
  if (Number.isNaN(index)) return;
  const ever = world.everGiven.get(coin) ?? new Set();
  world.everGiven.set(coin, ever);
  // of a whole folder that comes back older nothing but the chain tells what was given out since
  const isShown = (txid: string): boolean =>
    network.own.blockOf(txid) !== null ||
    network.own.mempool.has(txid) ||
    (world.vanished.get(txid) ?? world.olderSince) > world.olderSince;
  const paidBefore = world.payments.some((one) => one.coin === coin && one.script === script && isShown(one.txid));
  if (ever.has(index) && (paidBefore || !world.isBlind)) {
    throw new Fault(`${address} of ${coin}, index ${index}, was given out before`);
  }
  ever.add(index);
  const given = world.given.get(coin);
  if (!given) {
    world.given.set(coin, new Set([index]));
    return;
  }
  given.add(index);
  // what cannot be seen now is not expected to be known
  if (!seesAll(network) || world.electrum || world.clockWasWrong) return;
  // vanished payments are forgotten once a day
  const before = world.time.truth - DAY_MS;
  const medians = [...world.networks.values()].map((one) => one.medianSecondsAt(before) * 1_000);
  const now = Math.min(before, Math.max(...medians) + BLOCKS_AHEAD_MS);
  for (let other = Math.min(...given); other < index; other++) {
    if (given.has(other)) continue;
    const script = world.wallet.script(coin, 0, other);
    const paid = [...network.txs.values()].filter(({ outputs }) => outputs.some((one) => one.script === script));
    const isThere = paid.some(({ txid }) => network.placeOf(txid).length > 0 || network.own.mempool.has(txid));
    const isFresh = paid.some(
      ({ txid }) => network.miner.mempool.has(txid) || (world.vanished.get(txid) ?? 0) > now - TOUCHED_MS,
    );
    if (!isThere && !isFresh) throw new Fault(`address ${other} of ${coin} is never given out: its payment vanished`);
  }
}

/**
 * Of a jump in which no block pays the wallet, neither from payers nor as its change, the words alone tell nothing: what was given out there
 * may be given out again.
 */
export function forgetUnshown(world: World): void {
  for (const [coin, ever] of world.everGiven) {
    const { txs, own } = world.network(coin);
    const scripts = [...txs.values()].flatMap(({ txid, outputs }) => (own.blockOf(txid) ? outputs : []));
    const shown = scripts.map(({ script }) => Number(world.wallet.placeOf(coin, script)?.split('/')[1] ?? 0));
    const last = jumpOf(Math.max(0, ...shown));
    for (const index of ever) if (jumpOf(index) > last) ever.delete(index);
  }
}

const jumpOf = (index: number): number => Math.floor(index / JUMPED);

/** Whether the appliance's node has and tells everything. */
const seesAll = ({ health, catchesUp, loads }: Network): boolean => health === 'well' && !catchesUp && !loads;

export async function readOne(world: World): Promise<string> {
  const invoice = openInvoice(world);
  if (!invoice) return '';
  const shown = await shownInvoice(world, invoice);
  return `invoice ${invoice.no} is ${shown.status}`;
}

/** An invoice as the merchant API shows it, which is judged each time. */
export async function shownInvoice(world: World, invoice: Invoice) {
  const { appliance, business } = world;
  const { app } = appliance;
  const shown = presentInvoice(app, await appliance.ask(() => readInvoice(app, business, invoice.slug)));
  judgeShown(world, invoice, shown.status, shown.payment as Shown);
  return shown;
}

const openInvoice = (world: World): Invoice | undefined =>
  world.random.pick(world.invoices.slice(-12).filter(({ lost }) => !lost));

/** Payers know nothing of restores; of what only words were left of, addresses past the gap are lost. */
const payableInvoice = (world: World): Invoice | undefined =>
  world.random.pick(world.invoices.slice(-12).filter(({ byWords }) => !byWords));

function send(world: World, coin: UtxoChain, outputs: Output[], replaceable: boolean, rate = 10n): Tx {
  const network = world.network(coin);
  const total = outputs.reduce((sum, { units }) => sum + units, 0n);
  const fee = (FEE_VSIZE + BigInt(outputs.length) * 34n) * rate;
  const change = { units: PAYERS_COIN_UNITS - total - fee, script: NOBODY };
  const tx = network.write([network.payersCoin()], [...outputs, change], replaceable);
  network.submit(tx);
  for (const { script, units } of outputs) {
    if (script !== NOBODY) world.payments.push({ txid: tx.txid, coin, script, units, at: world.time.truth });
  }
  return tx;
}

/** Pays one of the last invoices: exactly, in part, too much, twice, dust, to many outputs. */
export function pay(world: World): string {
  const { random } = world;
  const invoice = payableInvoice(world);
  if (!invoice) return '';
  // who left a coin may have its page open still
  const ask = invoice.asks.length > 1 ? random.pick(invoice.asks) : invoice.asks[0];
  if (!ask) return '';
  const { coin, script, units } = ask;
  const percent = random.weighted([
    [10, 100n],
    [2, 50n],
    [1, 99n],
    [1, 150n],
    [1, 2n],
  ]);
  const amount = (units * percent + 99n) / 100n;
  const outputs: Output[] = [{ units: amount > DUST ? amount : DUST, script }];
  if (random.chance(0.1)) outputs.push({ units: DUST + 400n, script });
  if (random.chance(0.02)) {
    for (let i = 0; i < MASS_OUTPUTS; i++) outputs.push({ units: DUST, script });
  }
  const tx = send(world, coin, outputs, random.chance(0.4), BigInt(random.whole(3, 20)));
  return `pays ${percent} % of invoice ${invoice.no} with ${outputs.length} outputs of ${name(tx)}`;
}

export const name = ({ txid }: Tx): string => txid.slice(0, 10);

/** Somebody sends many crumbs to the address of an invoice, each by itself. */
export function crumbs(world: World): string {
  const invoice = payableInvoice(world);
  const ask = invoice?.asks[0];
  if (!ask) return '';
  const count = world.random.whole(2, CRUMBS_MAX);
  for (let i = 0; i < count; i++) send(world, ask.coin, [{ units: DUST, script: ask.script }], false);
  return `invoice ${invoice.no} gets ${count} crumbs of ${ask.coin}`;
}

/** Somebody takes an unconfirmed payment back, or pays the same again with a higher fee. */
export function doubleSpend(world: World): string {
  const { random } = world;
  const coin = world.anyCoin();
  const network = world.network(coin);
  const tx = random.pick([...network.miner.mempool.values()].filter((one) => isStrangers(world, coin, one)));
  if (!tx) return '';
  const fee = network.feeOf(tx) + BigInt(tx.vsize) * 20n;
  const keeps = random.chance(0.4);
  const [first, ...rest] = tx.outputs;
  if (!first || first.units <= fee + DUST) return '';
  const outputs = keeps
    ? [{ ...first, units: first.units - fee }, ...rest]
    : [{ units: first.units - fee, script: NOBODY }, ...rest.filter(({ script }) => script === NOBODY)];
  const twin = network.write(
    tx.inputs.map(({ outpoint }) => outpoint),
    outputs,
    random.chance(0.5),
  );
  // what a node does not take, a miner may
  const forced = random.chance(0.4);
  if (forced) network.miner.drop(tx.txid);
  const refusal = network.submit(twin);
  if (refusal === null) world.vanished.set(tx.txid, world.time.truth);
  if (refusal === null && keeps) {
    for (const { script, units } of outputs) {
      if (script !== NOBODY) world.payments.push({ txid: twin.txid, coin, script, units, at: world.time.truth });
    }
  }
  const what = keeps ? 'replaces' : 'double-spends';
  return `${what} ${name(tx)} by ${name(twin)}${forced ? ' at a miner' : ''}: ${refusal ?? 'taken'}`;
}

const isStrangers = (world: World, coin: UtxoChain, tx: Tx): boolean =>
  tx.inputs.every(({ outpoint }) => world.network(coin).isMinted(outpoint));

/** An unconfirmed transaction falls out of every mempool. */
export function evict(world: World): string {
  const network = world.network(world.anyCoin());
  const tx = world.random.pick([...network.miner.mempool.values()]);
  if (!tx) return '';
  network.miner.drop(tx.txid);
  network.own.drop(tx.txid);
  world.vanished.set(tx.txid, world.time.truth);
  return `${name(tx)} of ${network.name} is evicted`;
}

/** Somebody who knows the next addresses pays them unasked, and takes it back. */
export function prank(world: World): string {
  const { random, wallet } = world;
  const coin = world.anyCoin();
  const last = Math.max(-1, ...(world.given.get(coin) ?? []));
  if (last < 0 || last % JUMPED > USED_MAX - 2 * PRANKED_MAX || !seesAll(world.network(coin))) return '';
  const outputs = Array.from({ length: random.whole(1, PRANKED_MAX) }, (_, i) => {
    return { units: 2_000n, script: wallet.script(coin, 0, last + 1 + i) };
  });
  const tx = send(world, coin, outputs, true);
  world.pranks.push({ coin, tx });
  return `somebody pays the next ${outputs.length} addresses of ${coin} by ${name(tx)}`;
}

export function takeBackPrank(world: World): string {
  const found = world.pranks.pop();
  if (!found) return '';
  const network = world.network(found.coin);
  if (!network.miner.mempool.has(found.tx.txid)) return '';
  network.vanish(found.tx);
  world.vanished.set(found.tx.txid, world.time.truth);
  return `${name(found.tx)} is taken back`;
}

export function mine(world: World): string {
  const network = world.network(world.anyCoin());
  const count = world.random.weighted([
    [8, 1],
    [4, 2],
    [2, 4],
    [1, 13],
  ]);
  network.mine(count);
  return `${count} blocks of ${network.name}: ${network.miner.tip.height}`;
}

export function reorganise(world: World): string {
  const { random } = world;
  const network = world.network(world.anyCoin());
  const depth = random.weighted([
    [6, 1],
    [3, 2],
    [1, 5],
  ]);
  const drops = random.chance(0.6);
  const before = new Set(network.miner.chain.slice(-depth).flatMap(({ txs }) => txs));
  // no draw of its own: seeds go on as before
  const isEmpty = !drops && world.step % 2 === 0;
  network.reorganise(depth, () => drops && random.chance(0.7), isEmpty);
  const gone = [...before].filter(
    (tx) => !tx.coinbase && !network.miner.blockOf(tx.txid) && !network.miner.mempool.has(tx.txid),
  );
  for (const { txid } of gone) world.vanished.set(txid, world.time.truth);
  return `${depth} blocks of ${network.name} are replaced${isEmpty ? ' by empty ones' : ''}; for ever gone: ${gone.map(name).join(' ') || 'nothing'}`;
}

/** The appliance's node is down, slow, behind, without its mempool, or well again. */
export function trouble(world: World): string {
  const { random } = world;
  const network = world.network(world.anyCoin());
  const what = random.weighted([
    [6, 'well'],
    [2, 'down'],
    [1, 'silent'],
    [1, 'starting'],
    [3, 'behind'],
    [1, 'loads'],
    [2, 'forgets'],
    [1, 'refuses'],
  ] as const);
  if (what === 'well') mend(world, network);
  else if (what === 'behind') network.catchesUp = true;
  else if (what === 'loads') {
    network.loads = true;
    network.own.forgetMempool();
  } else if (what === 'forgets') forget(network);
  else if (what === 'refuses') network.refuses = true;
  else network.health = what satisfies Health;
  if (!seesAll(network) && !world.unseenSince.has(network.name)) world.unseenSince.set(network.name, world.time.truth);
  return `the node of ${network.name}: ${what}`;
}

/** Its mempool is lost, and nobody tells it again what was in it. */
export function forget(network: ReturnType<World['network']>): void {
  for (const txid of network.own.mempool.keys()) network.forgotten.add(txid);
  network.own.forgetMempool();
}

export function mend(world: World, network: ReturnType<World['network']>): void {
  // what vanished meanwhile is noticed now
  const since = world.unseenSince.get(network.name) ?? Number.POSITIVE_INFINITY;
  world.unseenSince.delete(network.name);
  for (const [txid, at] of world.vanished) {
    if (at >= since && network.txs.has(txid)) world.vanished.set(txid, world.time.truth);
  }
  network.health = 'well';
  network.catchesUp = false;
  network.downloads = false;
  network.relayRate = 1n;
  network.loads = false;
  network.refuses = false;
  world.servers.get(network.name)?.settle();
  network.forgotten.clear();
  network.relay();
}

export function fees(world: World): string {
  const network = world.network(world.anyCoin());
  network.feeRate = world.random.pick([1, 2, 5, 20, 60]) ?? 1;
  return `blocks of ${network.name} ask for ${network.feeRate}`;
}

export async function wait(world: World): Promise<string> {
  const minutes = world.random.weighted([
    [6, 1],
    [4, 12],
    [2, 70],
    [2, 600],
    [1, 3_000],
  ]);
  await world.appliance.pass(minutes * MINUTE_MS);
  return `${minutes} minutes pass`;
}

/** The machine's clock is set wrong, or right again. */
export async function clock(world: World): Promise<string> {
  const { random, time } = world;
  const right = time.truth - time.monotonic;
  if (time.offset !== right) time.offset = right;
  else {
    time.offset = right + (random.pick([-40 * DAY_MS, -2 * HOUR_MS, 3 * HOUR_MS, 40 * DAY_MS]) ?? 0);
    world.clockWasWrong = true;
  }
  await world.appliance.pass(5_000);
  return `the machine's clock is off by ${Math.round((time.offset - right) / HOUR_MS)} hours`;
}

/** Smallest units of a decimal. */
export const unitsOf = (text: string): bigint => toUnits(text, DECIMALS);
