/** The auditors of Monero. They read the chain's truth, the APIs, and what people remember. */
import { textIn } from '../../../daemon/domain/messages.ts';
import { refused } from '../people.ts';
import { Fault } from '../world.ts';
import { balanceOf, cancel, shownInvoice, withdrawals } from './actions.ts';
import type { Tx } from './chain.ts';
import { NODES } from './liar.ts';
import { AGREE_USD, type Invoice, type MoneroWorld } from './world.ts';

const MINUTE_MS = 60_000;
/** Of what is asked for, 1 % at most may lack (the product's default). */
const ENOUGH_PERCENT = 99n;
const ROUNDS_MAX = 40;
const DEEP_BLOCKS = 12;
const CHECKED_EVERY = 5;

/** Transactions of the chain that pay a stranger's address, with the amount. */
function payingTo(world: MoneroWorld, address: string): { tx: Tx; units: bigint }[] {
  const key = world.spendKeyOf(address);
  return world.chain.transactions().flatMap((tx) => {
    if (!world.signed.has(tx.id)) return [];
    const units = world.receivedIn(tx, false).filter(({ to }) => to === key);
    return units.length === 0 ? [] : [{ tx, units: units.reduce((sum, one) => sum + one.units, 0n) }];
  });
}

/** What may be checked at any time. */
export async function judge(world: MoneroWorld): Promise<void> {
  judgeRecipients(world);
  if (world.step % CHECKED_EVERY !== 0) return;
  await judgeFailed(world);
  for (const invoice of world.invoices) await judgePaid(world, invoice);
}

/** Nobody is paid without approval, twice, or another amount than was asked for. */
function judgeRecipients(world: MoneroWorld): void {
  for (const { address, units } of world.wanted.values()) {
    const paying = payingTo(world, address);
    const there = paying.reduce((sum, one) => sum + one.units, 0n);
    if (paying.length === 0) continue;
    if (!world.approved.has(address)) throw new Fault(`a recipient has ${there} piconero, which nobody approved`);
    if (units !== null && there !== units) throw new Fault(`a recipient has ${there} piconero: ${units} were approved`);
    if (paying.length > 1) throw new Fault(`a recipient is paid ${paying.length} times`);
  }
}

/** A withdrawal that is called failed or rejected is never paid: the shop would pay it again. */
async function judgeFailed(world: MoneroWorld): Promise<void> {
  for (const { id, address, state } of await withdrawals(world)) {
    if (state !== 'failed' && state !== 'rejected') continue;
    if (payingTo(world, address).length > 0) throw new Fault(`withdrawal ${id} is ${state}, and the chain paid it`);
  }
}

/** A large invoice is paid only by money that the chain has. One node's word is enough for a small one. */
async function judgePaid(world: MoneroWorld, invoice: Invoice): Promise<void> {
  if (invoice.judged || invoice.usd < AGREE_USD) return;
  const { status } = await shownInvoice(world, invoice);
  if (status !== 'paid') return;
  invoice.judged = true;
  const there = world.payments
    .filter(({ address, tx }) => address === invoice.address && world.chain.blockOf(tx.id) !== undefined)
    .reduce((sum, { units }) => sum + units, 0n);
  if (there * 100n < invoice.units * ENOUGH_PERCENT) {
    throw new Fault(`invoice ${invoice.no} is paid: the chain has ${there} of ${invoice.units} piconero`);
  }
}

/** The end of a run: everybody tells the truth and blocks go on. Then the books are the chain's. */
export async function judgeEnd(world: MoneroWorld): Promise<void> {
  world.liar.end();
  world.odd.clear();
  for (let at = 0; at < NODES; at++) world.health[at] = 'well';
  world.appliance.fuse = Number.POSITIVE_INFINITY;
  await world.appliance.unlock();
  await endEverything(world);
  judgeRecipients(world);
  await judgeFailed(world);
  for (const invoice of world.invoices) await judgePaid(world, invoice);
  for (const { id, address, state } of await withdrawals(world)) {
    const isPaid = payingTo(world, address).length > 0;
    if ((state === 'completed') !== isPaid) {
      throw new Fault(`withdrawal ${id} is ${state}, and the chain ${isPaid ? 'paid it' : 'did not pay it'}`);
    }
  }
  judgeBalance(world);
}

const isOver = (state: string): boolean => state === 'completed' || state === 'rejected' || state === 'failed';

async function endEverything(world: MoneroWorld): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    world.mine(DEEP_BLOCKS);
    for (let part = 0; part < 6; part++) await world.appliance.pass(10_000);
    await world.appliance.pass(11 * MINUTE_MS);
    const open = (await withdrawals(world)).filter(({ state }) => !isOver(state));
    for (const { id, state } of open) {
      if (state !== 'requested' && !(state === 'approved' && round > 6)) continue;
      await world.appliance.operator('withdrawal.reject', { id: `${id}` }).catch(refused);
    }
    if (open.length === 0 && world.chain.pool.size === 0 && round > 2) return;
    // what every node refused twice waits for the operator
    if (round > 8) for (const { id } of open) await cancel(world, `${id}`);
  }
  const [one] = (await withdrawals(world)).filter(({ state }) => !isOver(state));
  if (one) throw new Fault(`withdrawal ${one.id} never ends: ${one.state}, ${textIn(one.problem)}`);
  throw new Fault(`${world.chain.pool.size} transactions wait for ever`);
}

/** The books have what the chain paid to us, less the coins that transactions of ours spent. */
function judgeBalance(world: MoneroWorld): void {
  const txs = world.chain.transactions();
  const spent = new Set(txs.flatMap(({ id }) => world.signed.get(id) ?? []));
  const there = txs
    .flatMap((tx) => world.receivedIn(tx, true).map(({ n, units }) => ({ coin: `${tx.id}:${n}`, units })))
    .reduce((sum, { coin, units }) => (spent.has(coin) ? sum : sum + units), 0n);
  const said = balanceOf(world);
  if (said !== there) throw new Fault(`the balance is ${said}, with nothing under way: the chain has ${there}`);
}
