/**
 * The auditors. They read the chains, what the APIs show, and what the people of the simulation remember; they throw a
 * `Fault` in words when the two do not agree.
 */

import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import type { Params } from '../../daemon/contract/operator.ts';
import { textIn } from '../../daemon/domain/messages.ts';
import type { SignOrder } from '../../daemon/wallet/signer/port.ts';
import { slowness } from '../bench/turns.ts';
import { endUnprovedLies } from './liars.ts';
import { MEDIAN_BLOCKS, type Network, type Tx } from './network.ts';
import { approveAnew, approveOne, balanceOf, granted, reject, sweep, withdrawals } from './operators.ts';
import { paidTo, partOf, type Shown, WHOLE } from './payable.ts';
import { mend, refused, shownInvoice, unitsOf } from './people.ts';
import { judgeUnshared, sameSpend } from './reserved.ts';
import { heed } from './rollback.ts';
import { Fault, type Invoice, type World } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Past the end of the month, and of grace, of what was made by a clock that was 40 days ahead. */
const LAST_DUE_MS = 80 * DAY_MS;
/** A coin below it costs more than it brings. */
const WORTH_SPENDING = 20_000n;
const ROUNDS_MAX = 30;
const PAGE = 200;
/** Before and after everything that happens. */
const BOOK_DAYS = { from: '2025-01-01', to: '2027-12-31' };
/** Transactions of one invoice that the API shows. */
const SHOWN_MAX = 100;
const COIN = 100_000_000n;
/** More than these take many transactions to send away: that is left out. */
const COINS_MAX = 450;
const PARTS_MAX = 3;
const WEIGHED_MAX = 18;
const SWEEP_ROUNDS_MAX = 8;
const TOO_MANY_COINS = 'it takes more than one transaction';
const BLOCKS_PER_ROUND = 4;
/** Processor time of what one turn writes to the store. The product aims at 50 ms; a busy machine takes three times as much. */
const WRITES_MS_MAX = 150;
/**
 * Processor time of one turn of the event loop. The product aims at 50 ms (`npm run bench -- --only large` measures it); here
 * the simulated nodes and servers, the operator's program and the signer work in the same turns.
 */
const TURN_MS_MAX = Number(process.env.SIMULATION_TURN_MS ?? 500);

const isOwn = ({ wallet }: World, coin: UtxoChain, script: string): boolean =>
  wallet.placeOf(coin, script) !== undefined;

/**
 * Judges what the signer signed, whether or not it was sent: whoever has the bytes may send them. `altered`, `invented`: the order was, by a
 * thief, who may take the coins of other payments; an invented one belongs to no payment. Returns the transaction's id.
 */
export function judgeSigned(world: World, order: SignOrder, raw: string, byThief?: 'altered' | 'invented'): string {
  const coin = order.plan.chain as UtxoChain;
  const network = world.network(coin);
  const tx = network.read(Buffer.from(raw, 'hex'));
  const byAddress = new Map<string, bigint>();
  for (const { script, units } of tx.outputs) {
    if (!isOwn(world, coin, script)) byAddress.set(script, (byAddress.get(script) ?? 0n) + units);
  }
  if (!byThief) judgeUnshared(world, network, new Set(order.withdrawals.map(({ intent }) => intent.uuid)), tx);
  let feeMax = 0n;
  for (const { intent, approval } of order.withdrawals) {
    const approved = world.approvals.get(intent.uuid);
    const script = intent.address === 'self' ? null : world.script(coin, intent.address);
    const paid = script === null ? 0n : (byAddress.get(script) ?? 0n);
    if (script !== null) byAddress.delete(script);
    if (byThief !== 'invented') judgeVersion(world, network, intent.uuid, tx);
    if (approval.by === 'policy' && !approved) continue;
    if (!approved) throw new Fault(`${tx.txid} is signed for ${intent.uuid}, which nobody approved`);
    feeMax += approved.feeMax;
    if (paid > approved.units || (!approved.whole && paid !== approved.units && order.purpose === 'pay')) {
      throw new Fault(`${tx.txid} pays ${paid} to ${approved.address}: ${approved.units} were shown and approved`);
    }
  }
  if (byAddress.size > 0) throw new Fault(`${tx.txid} pays ${[...byAddress.keys()]}, whom nobody approved`);
  const byPolicy = order.withdrawals.some(({ approval }) => approval.by === 'policy');
  // a database that came back older has lost approvals that the signer's journal remembers
  const wasApproved = order.withdrawals.every(({ intent }) => world.approvals.has(intent.uuid));
  const isWithin = network.feeOf(tx) <= feeMax;
  if (byPolicy && !(wasApproved && isWithin)) judgePolicy(world, network, order, tx);
  else if (!isWithin) {
    throw new Fault(`${tx.txid} pays a fee of ${network.feeOf(tx)}: ${feeMax} were approved`);
  }
  return tx.txid;
}

/** Each version shares a coin with each earlier one that may still be mined, so that one of them at most can be. */
function judgeVersion(world: World, network: Network, uuid: string, tx: Tx): void {
  const before = world.signed.get(uuid) ?? [];
  if (before.some(({ txid }) => txid === tx.txid)) return;
  for (const other of [...before, ...(world.signedBefore.get(uuid) ?? [])]) {
    const shared = tx.inputs.filter(({ outpoint }) => other.inputs.some((one) => one.outpoint === outpoint));
    if (shared.length === 0 && !isImpossible(network, other)) {
      throw new Fault(`${tx.txid} is signed for ${uuid}, for which ${other.txid} was signed: both can be mined`);
    }
  }
  world.signed.set(uuid, [...before, tx]);
}

/** Whether an input was spent by something else, deep in the chain. */
function isImpossible(network: Network, tx: Tx, depth = 6): boolean {
  const { miner } = network;
  return tx.inputs.some(({ outpoint }) => {
    const [parent = ''] = outpoint.split(':');
    const spender = miner.coins.get(outpoint);
    if (spender != null) {
      const block = miner.blockOf(spender);
      return spender !== tx.txid && block !== null && miner.tip.height - block.height + 1 >= depth;
    }
    const made = network.txs.get(parent);
    return (
      spender === undefined && made !== undefined && !miner.mempool.has(parent) && isImpossible(network, made, depth)
    );
  });
}

/**
 * What a policy lets go in any 24 hours is within what was granted: of all transactions that it signed, those that can be mined
 * beside each other, each with its whole fee. A copy of the machine has a journal of its own, and may let go as much again.
 */
function judgePolicy(world: World, network: Network, order: SignOrder, tx: Tx): void {
  const now = world.time.truth;
  const units = order.withdrawals.reduce((sum, { intent, approval }) => {
    return approval.by !== 'policy' || intent.units === 'all' ? sum : sum + BigInt(intent.units);
  }, network.feeOf(tx));
  if (world.policyEnded && !world.policySpends.has(tx.txid))
    throw new Fault(`a policy that was taken back let go ${units} ${network.name}, the fee included`);
  if (!world.policySpends.has(tx.txid)) world.policySpends.set(tx.txid, { coin: network.name, tx, units, at: now });
  const lately = [...world.policySpends.values()].filter((one) => one.coin === network.name && one.at > now - DAY_MS);
  const sum = mostTogether(lately);
  const copies = world.copies.filter(({ endedAt }) => endedAt === null || endedAt > now - DAY_MS);
  const most = BigInt(1 + copies.length) * granted(world, network.name);
  if (sum > most)
    throw new Fault(`the policy let go ${sum} ${network.name} in a day, fees included: ${most} were granted`);
}

type Weighed = { tx: Tx; units: bigint };

/** The highest sum of transactions of which no two spend the same coin; of very many, of the newest. */
function mostTogether(all: readonly Weighed[]): bigint {
  const [first, ...rest] = all.slice(-WEIGHED_MAX);
  if (!first) return 0n;
  const without = mostTogether(rest);
  const outpoints = new Set(first.tx.inputs.map(({ outpoint }) => outpoint));
  const beside = rest.filter(({ tx }) => !tx.inputs.some(({ outpoint }) => outpoints.has(outpoint)));
  // where nothing conflicts with it, it is a part of every highest sum
  const withIt = first.units + (beside.length === rest.length ? without : mostTogether(beside));
  return withIt > without ? withIt : without;
}

/** What may be checked at any time: nobody was paid what was not approved, or twice. */
export function judgeChains(world: World): void {
  for (const [address, { coin }] of world.wanted) judgeRecipient(world, coin, address);
  const { longestTurnMs, longestWritesMs } = world.time;
  if (isAbove(longestTurnMs, TURN_MS_MAX))
    throw new Fault(`a turn of the event loop took ${Math.round(longestTurnMs)} ms`);
  if (isAbove(longestWritesMs, WRITES_MS_MAX))
    throw new Fault(`the writes of one turn took ${Math.round(longestWritesMs)} ms`);
}

/** Measures the machine only when that can decide. */
const isAbove = (ms: number, msMax: number): boolean => ms > msMax && ms / slowness() > msMax;

function judgeRecipient(world: World, coin: UtxoChain, address: string): void {
  const there = world.paymentsTo(coin, address).filter(({ mined, waits }) => mined || waits);
  if (there.length > 1) {
    throw new Fault(`${address} is paid ${there.length} times: ${there.map(({ tx }) => tx.txid).join(', ')}`);
  }
}

/**
 * The end of a run: every node is well, the clock is right, payers stop and blocks go on. Operators end what waits. Then
 * every state has ended, balances are those of the chain, and every coin can be spent.
 */
export async function judgeEnd(world: World): Promise<void> {
  const { time } = world;
  time.offset = time.truth - time.monotonic;
  world.appliance.fuse = Number.POSITIVE_INFINITY;
  await world.appliance.unlock();
  for (const network of world.networks.values()) network.spendForgotten();
  endUnprovedLies(world);
  await endEverything(world);
  await judgeInvoices(world);
  await judgeWithdrawals(world);
  await judgeFees(world);
  await judgeShownFees(world);
  await judgeFailed(world);
  for (const coin of world.coins) await judgeBalance(world, coin);
  await judgeSpendable(world);
  judgeChains(world);
}

async function goOn(world: World, blocks = BLOCKS_PER_ROUND): Promise<void> {
  for (const network of world.networks.values()) {
    mend(world, network);
    network.mine(blocks);
  }
  // what needs many answers of a distant server needs time without a leap
  for (let part = 0; part < (world.electrum ? 10 : 0); part++) await world.appliance.pass(MINUTE_MS / 10);
  await world.appliance.pass(MINUTE_MS);
  await world.appliance.pass(10 * MINUTE_MS);
  // what an earlier machine sent may have come back
  await heed(world, true);
}

async function endEverything(world: World): Promise<void> {
  let open: Awaited<ReturnType<typeof withdrawals>> = [];
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await goOn(world);
    open = (await withdrawals(world)).filter(({ state }) => !isOver(state));
    for (const one of open) {
      if (one.state === 'requested' || (one.state === 'approved' && round > 4)) await reject(world, one);
      else if (round > ROUNDS_MAX / 2 && isOfLostMachine(world, one)) await approveAnew(world, one);
    }
    if (open.length === 0 && round > 4) return;
  }
  const [one] = open;
  if (!one) return;
  throw new Fault(`withdrawal ${one.id} never ends: ${await story(world, one.id)}`);
}

/** Whether only a machine that was lost has signed for it, and no node has what it signed: nobody can send that again. */
function isOfLostMachine(
  { networks, signed, signedBefore }: World,
  { uuid, crypto }: { uuid: string; crypto: string },
) {
  const network = networks.get(crypto as UtxoChain);
  const before = signedBefore.get(uuid) ?? [];
  const isGone = ({ txid }: Tx) => !network?.miner.mempool.has(txid) && !network?.own.mempool.has(txid);
  return !signed.has(uuid) && before.length > 0 && before.every(isGone);
}

/** How a withdrawal stands, in words. */
async function story(world: World, id: number): Promise<string> {
  const { withdrawal } = await world.appliance.operator('withdrawal.show', { id: `${id}` });
  const versions = withdrawal.versions.map(({ tx_id, problem }) => `${tx_id} (${textIn(problem)})`);
  return `${withdrawal.state}, ${textIn(withdrawal.problem)}, versions ${versions}`;
}

async function judgeInvoices(world: World): Promise<void> {
  const inbox = await inboxOf(world);
  for (const invoice of world.invoices) {
    if (invoice.lost) continue;
    const shown = await shownInvoice(world, invoice);
    judgePaid(world, invoice, shown.status);
    judgeTransactions(world, invoice, shown.payment as Shown, inbox);
  }
  await world.appliance.pass(LAST_DUE_MS);
  // deadlines count by the median time of eleven blocks
  for (let round = 0; round * BLOCKS_PER_ROUND < 2 * MEDIAN_BLOCKS; round++) await goOn(world);
  for (const invoice of world.invoices) {
    if (invoice.lost) continue;
    const { status } = await shownInvoice(world, invoice);
    if (status === 'unpaid') throw new Fault(`invoice ${invoice.no} is unpaid for ever`);
  }
}

/** What conversions between coins round. */
const ROUNDED = WHOLE / 1_000_000n;

/** An invoice whose money was in blocks in time, in whichever of its coins, is paid. */
function judgePaid(world: World, invoice: Invoice, status: string): void {
  const { mayEndAt } = invoice;
  const timely = paidTo(world, invoice).filter(({ tx, ask }) => {
    const block = world.network(ask.coin).miner.blockOf(tx.txid);
    // of very many small outputs only a hundred count
    if (tx.outputs.length > SHOWN_MAX) return false;
    return block !== null && mayEndAt !== null && block.seconds * 1_000 < mayEndAt - MINUTE_MS;
  });
  const part = timely.reduce((sum, one) => sum + partOf(one), 0n);
  if (part >= WHOLE && status === 'canceled' && !invoice.decided) {
    throw new Fault(`invoice ${invoice.no} is canceled, though ${part} of ${WHOLE} were in blocks in time`);
  }
}

/** What is shown as received is what the chains have, and what the invoice does not show is in the inbox. */
function judgeTransactions(world: World, invoice: Invoice, shown: Shown, inbox: ReadonlySet<string>): void {
  const there = paidTo(world, invoice).filter(({ tx, ask }) => {
    const { miner } = world.network(ask.coin);
    return miner.blockOf(tx.txid) || miner.mempool.has(tx.txid);
  });
  const said = new Set((shown.transactions ?? []).map(({ tx_id }) => tx_id));
  const outputs = there.reduce((count, { tx }) => count + tx.outputs.length, 0);
  let part = 0n;
  for (const one of there) {
    const { txid } = one.tx;
    if (said.delete(txid) || outputs > SHOWN_MAX) part += partOf(one);
    else if (!inbox.has(txid)) {
      throw new Fault(`${txid}, which pays invoice ${invoice.no}, is shown nowhere: ${JSON.stringify(shown)}`);
    }
  }
  if (said.size > 0) throw new Fault(`invoice ${invoice.no} shows ${[...said]}, which the chain does not have`);
  const ask = invoice.asks.find(({ coin }) => coin === shown.crypto);
  if (shown.received === undefined || !ask) return;
  // a whole unit of the coin is the finest that is shown
  if (partOf({ ask, units: unitsOf(shown.received) - 1n }) > part + ROUNDED) {
    throw new Fault(`invoice ${invoice.no} shows ${shown.received} as received: the chain has ${part} of ${WHOLE}`);
  }
}

/** The transactions of every deposit that nobody claims. */
async function inboxOf(world: World): Promise<Set<string>> {
  const found = new Set<string>();
  let before: number | undefined;
  for (;;) {
    const page = { limit: PAGE, ...(before === undefined ? {} : { before }) };
    const { items, next } = await world.appliance.operator('inbox.list', page);
    for (const { outpoint } of items) found.add(outpoint.split(':')[0] as string);
    if (next === null) return found;
    before = next;
  }
}

/** Every withdrawal that is completed was paid what was shown, and no other was paid. */
async function judgeWithdrawals(world: World): Promise<void> {
  for (const one of await withdrawals(world)) {
    const coin = one.crypto as UtxoChain;
    const mined = world.paymentsTo(coin, one.address).filter((paid) => paid.mined);
    const units = mined.reduce((sum, paid) => sum + paid.units, 0n);
    if (one.state === 'completed' && units !== unitsOf(one.amount)) {
      throw new Fault(`withdrawal ${one.id} of ${one.amount} is completed: the chain paid ${units} units`);
    }
    if (one.state !== 'completed' && units > 0n && !world.uncertain.has(one.address)) {
      throw new Fault(`withdrawal ${one.id} is ${one.state}, and the chain paid ${units} units`);
    }
  }
}

/** The blocks under which a transaction lies that makes a withdrawal fail, by the contract. */
const BURIED: Readonly<Record<UtxoChain, number>> = { BTC: 6, LTC: 12, BCH: 12 };

/** A withdrawal fails only when none of its transactions can be mined any more, which was certain at some time. */
export async function judgeFailed(world: World): Promise<void> {
  for (const { id, crypto, address, state } of await withdrawals(world)) {
    if (state !== 'failed' || world.uncertain.has(address)) continue;
    const coin = crypto as UtxoChain;
    for (const { tx } of world.paymentsTo(coin, address)) {
      if (wasImpossible(world.network(coin), tx, BURIED[coin])) continue;
      throw new Fault(`withdrawal ${id} is failed, and nothing ever excluded ${tx.txid} for ${BURIED[coin]} blocks`);
    }
  }
}

/** Whether one that excludes it, or a transaction before it, ever was so deep in some branch. */
function wasImpossible(network: Network, tx: Tx, depth: number): boolean {
  return tx.inputs.some(({ outpoint }) => {
    const others = [...network.txs.values()].filter(
      (one) => one !== tx && one.inputs.some((input) => input.outpoint === outpoint),
    );
    if (others.some(({ txid }) => network.placeOf(txid).some((block) => block.depth >= depth))) return true;
    const made = network.txs.get(outpoint.split(':')[0] as string);
    return made !== undefined && wasImpossible(network, made, depth);
  });
}

/** The books have the fee of every transaction that paid a withdrawal. */
async function judgeFees(world: World): Promise<void> {
  const booked = await feesInBooks(world);
  for (const { crypto, address, state } of await withdrawals(world)) {
    const coin = crypto as UtxoChain;
    const [paid] = world.paymentsTo(coin, address).filter(({ mined }) => mined);
    if (state !== 'completed' || !paid) continue;
    const { txid } = paid.tx;
    const fee = world.network(coin).feeOf(paid.tx);
    if (booked.get(txid) !== fee) {
      throw new Fault(`the books have a fee of ${booked.get(txid) ?? 0n} ${coin} for ${txid}: the chain has ${fee}`);
    }
  }
}

/** A withdrawal that has ended shows its part of the fee that the chain took: by its own payment, or by what ended it. */
async function judgeShownFees(world: World): Promise<void> {
  for (const { id, uuid, crypto, address, state, fee } of await withdrawals(world)) {
    if ((state !== 'completed' && state !== 'failed') || world.uncertain.has(address)) continue;
    const coin = crypto as UtxoChain;
    const spend = sameSpend(world, new Set([uuid]));
    const versions = [...spend].flatMap((one) => world.signed.get(one) ?? []);
    const ender = versions.find(({ txid }) => world.network(coin).miner.blockOf(txid) !== null);
    const part = ender ? partOfFee(world, coin, ender, { address, among: spend.size }) : 0n;
    if (fee !== null && unitsOf(fee) === part) continue;
    throw new Fault(`withdrawal ${id} is ${state} and shows a fee of ${fee}: its part of ${ender?.txid} is ${part}`);
  }
}

/** A withdrawal's part of the fee of a transaction, rounded up; nothing, if that pays other withdrawals alone. */
function partOfFee(
  world: World,
  coin: UtxoChain,
  tx: Tx,
  { address, among }: { address: string; among: number },
): bigint {
  const paid = tx.outputs.filter(({ script }) => !isOwn(world, coin, script)).map(({ script }) => script);
  if (paid.length > 0 && !paid.includes(world.script(coin, address))) return 0n;
  const parts = BigInt(paid.length || among);
  return (world.network(coin).feeOf(tx) + parts - 1n) / parts;
}

/** By transaction, as the export for accounting has them. */
async function feesInBooks(world: World): Promise<Map<string, bigint>> {
  const found = new Map<string, bigint>();
  let cursor: Params<'export.page'>['cursor'];
  for (;;) {
    const page = { ...BOOK_DAYS, ...(cursor && { cursor }) };
    const { rows, next } = await world.appliance.operator('export.page', page);
    for (const { kind, tx_id, amount } of rows) {
      if (kind === 'fee') found.set(tx_id, (found.get(tx_id) ?? 0n) + unitsOf(amount.replace('-', '')));
    }
    if (next === null) return found;
    cursor = next;
  }
}

/** The coins of the wallet that nothing spends, by the miner's chain. */
function coinsOf(world: World, coin: UtxoChain): { outpoint: string; units: bigint }[] {
  const network = world.network(coin);
  return [...network.miner.coins].flatMap(([outpoint, spender]) => {
    const made = network.coin(outpoint);
    return spender === null && made && isOwn(world, coin, made.script) ? [{ outpoint, units: made.units }] : [];
  });
}

async function judgeBalance(world: World, coin: UtxoChain): Promise<void> {
  const there = coinsOf(world, coin).reduce((sum, { units }) => sum + units, 0n);
  const said = balanceOf(world, coin);
  if (said === there) return;
  const places = coinsOf(world, coin).map(({ outpoint, units }) => {
    const script = world.network(coin).coin(outpoint)?.script ?? '';
    return `${units} at ${world.wallet.placeOf(coin, script)}`;
  });
  throw new Fault(`the balance of ${coin} is ${said}, with nothing under way: the chain has ${there} (${places})`);
}

/** Everything can be sent away. */
async function judgeSpendable(world: World): Promise<void> {
  for (const network of world.networks.values()) network.feeRate = 1;
  await world.appliance.pass(MINUTE_MS);
  for (const coin of world.coins) {
    const worth = coinsOf(world, coin).filter(({ units }) => units >= WORTH_SPENDING);
    if (worth.length === 0 || coinsOf(world, coin).length > COINS_MAX) continue;
    let said = '';
    for (let part = 0; part < PARTS_MAX; part++) {
      said = await sweepAll(world, coin);
      for (let round = 0; round < SWEEP_ROUNDS_MAX && (round < 3 || (await isOpen(world))); round++) await goOn(world);
      if (!said.includes(TOO_MANY_COINS)) break;
    }
    const left = coinsOf(world, coin).filter(({ units }) => units >= WORTH_SPENDING);
    if (left.length > 0) {
      const [newest] = await withdrawals(world);
      if (newest) said += `: ${await story(world, newest.id)}`;
      throw new Fault(
        `${left.length} of ${worth.length} coins of ${coin} cannot be spent (${left[0]?.outpoint}): ${said}`,
      );
    }
  }
}

const isOver = (state: string): boolean => state === 'completed' || state === 'rejected' || state === 'failed';
const isOpen = async (world: World): Promise<boolean> => (await withdrawals(world)).some(({ state }) => !isOver(state));

async function sweepAll(world: World, coin: UtxoChain): Promise<string> {
  const asked = await sweep(world, coin);
  // what a policy let go, the signer may give back
  await world.appliance.pass(MINUTE_MS);
  const [open] = (await withdrawals(world)).filter(({ state }) => state === 'requested');
  if (!open) return asked;
  const said = await approveOne(world, open);
  const most = /Withdraw up to ([\d.]+)/.exec(said)?.[1];
  if (most === undefined) return `${asked}; ${said}`;
  // more coins than one transaction may spend
  await reject(world, open);
  const address = world.stranger(coin);
  const units = (unitsOf(most) * 95n) / 100n;
  world.wanted.set(address, { coin, address, units });
  const amount = `${units / COIN}.${(units % COIN).toString().padStart(8, '0')}`;
  const part = { business: `${world.business.id}`, crypto: coin, address, amount };
  try {
    const { withdrawal } = await world.appliance.operator('withdrawal.add', part);
    return `${TOO_MANY_COINS}: ${await approveOne(world, withdrawal)}`;
  } catch (error) {
    return `no part of ${amount} ${coin}: ${refused(error)}`;
  }
}
