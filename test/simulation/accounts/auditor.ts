/** The auditors of an account chain. They read the network's truth, the APIs, and what people remember. */

import type { AssetId } from '../../../daemon/domain/assets.ts';
import { textIn } from '../../../daemon/domain/messages.ts';
import { refused } from '../people.ts';
import { Fault } from '../world.ts';
import { balanceOf, endFront, shownInvoice, withdrawals } from './actions.ts';
import { heed } from './older.ts';
import { type AccountWorld, ENDPOINTS, type Invoice, type Payment } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Of what is asked for, 1 % at most may lack (the product's default). */
const ENOUGH_PERCENT = 99n;
const ROUNDS_MAX = 40;
/** Blocks in which the balance of every address was asked for, after several restores. */
const LOOKS_MAX = 100;
const DEEP_BLOCKS = 16;
const CHECKED_EVERY = 5;
/** Blocks, its own included, that a payment waits for. No payment here is worth so much that it waits for a final block. */
const CONFIRMATIONS = { ETH: 12, BSC: 15 };

/** What may be checked at any time. */
export async function judge(world: AccountWorld): Promise<void> {
  await judgeRecipients(world);
  judgeFailures(world);
  if (world.step % CHECKED_EVERY === 0) for (const invoice of world.invoices) await judgePaid(world, invoice);
}

/** Nobody is paid without approval, twice, or another amount than was asked for. */
async function judgeRecipients(world: AccountWorld): Promise<void> {
  for (const { asset, address, units } of world.wanted.values()) {
    const there = await world.unitsAt(address, asset);
    if (there === 0n) continue;
    if (!world.approved.has(address)) throw new Fault(`${address} has ${there} ${asset}, which nobody approved`);
    if (units !== null && there !== units) throw new Fault(`${address} has ${there} ${asset}: ${units} were approved`);
    const paying = world.network.chain.flatMap(({ txs }) =>
      txs.filter(({ from, tx, logs }) => {
        if (from === world.network.payer) return false;
        const to = tx.to && Buffer.from(tx.to.bytes).toString('hex');
        return to === address.slice(2) || logs.some(({ topics }) => topics[2]?.endsWith(address.slice(2)));
      }),
    );
    if (paying.length > 1) throw new Fault(`${address} is paid ${paying.length} times: ${paying.map(({ id }) => id)}`);
  }
}

/** Transactions of ours that failed have paid for nothing. No token here refuses anybody, and no endpoint's estimate may make one fail. */
function judgeFailures(world: AccountWorld): void {
  const failed = world.network.chain.flatMap(({ txs }) =>
    txs.filter(({ from, receipt }) => from !== world.network.payer && receipt.status === 0),
  );
  if (failed.length > 0) {
    throw new Fault(`${failed.length} transactions of ours failed: ${failed.map(({ id }) => id).join(', ')}`);
  }
}

/** An invoice is paid only by money that the chain has, as deep as its chain asks for. */
async function judgePaid(world: AccountWorld, invoice: Invoice): Promise<void> {
  if (invoice.judged || invoice.isLost) return;
  const { status } = await shownInvoice(world, invoice);
  if (status !== 'paid') return;
  invoice.judged = true;
  const { network, payments, chain } = world;
  const depthOf = ({ id }: Payment): number => {
    const place = network.placeOf(id);
    return place ? network.tip.height - place.mined.height + 1 : 0;
  };
  const there = payments
    .filter(({ address, asset }) => address === invoice.address && asset === invoice.asset)
    .filter((one) => depthOf(one) >= CONFIRMATIONS[chain])
    .reduce((sum, { units }) => sum + units, 0n);
  if (there * 100n < invoice.units * ENOUGH_PERCENT) {
    const what = `${there} of ${invoice.units} ${invoice.asset} ${CONFIRMATIONS[chain]} blocks deep`;
    throw new Fault(`invoice ${invoice.no} is paid: the chain has ${what}`);
  }
}

/** The end of a run: everybody tells the truth and blocks go on. Then the books are the chain's. */
export async function judgeEnd(world: AccountWorld): Promise<void> {
  world.liar.end();
  for (const front of world.fronts) endFront(front);
  for (let at = 0; at < ENDPOINTS; at++) world.health[at] = 'well';
  world.network.baseFee = 1_000_000_000n;
  world.appliance.fuse = Number.POSITIVE_INFINITY;
  await world.appliance.unlock();
  await heed(world);
  await endEverything(world);
  await judge(world);
  for (const invoice of world.invoices) await judgePaid(world, invoice);
  await judgeWithdrawals(world);
  for (const asset of [world.coin, world.tether]) await judgeBalance(world, asset);
  await judgeProof(world);
}

async function goOn(world: AccountWorld): Promise<void> {
  await world.network.mine(DEEP_BLOCKS);
  for (let part = 0; part < 6; part++) await world.appliance.pass(10_000);
  await world.appliance.pass(11 * MINUTE_MS);
}

const isOver = (state: string): boolean => state === 'completed' || state === 'rejected' || state === 'failed';

async function endEverything(world: AccountWorld): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await goOn(world);
    // what endpoints hid until the end may tell only now that another machine had spent
    await heed(world);
    const open = (await withdrawals(world)).filter(({ state }) => !isOver(state));
    for (const { id, state } of open) {
      if (state !== 'requested' && !(state === 'approved' && round > 6)) continue;
      await world.appliance.operator('withdrawal.reject', { id: `${id}` }).catch(refused);
    }
    // a plan ends with its grant
    if (round === 8) await world.appliance.pass(DAY_MS);
    if (open.length === 0 && world.network.pool.size === 0 && round > 10) return;
  }
  const open = (await withdrawals(world)).filter(({ state }) => !isOver(state));
  const [one] = open;
  if (one) throw new Fault(`withdrawal ${one.id} never ends: ${one.state}, ${textIn(one.problem)}`);
  throw new Fault(`${world.network.pool.size} transactions wait for ever`);
}

/** Every withdrawal that is completed was paid what was shown, and no other was paid. */
async function judgeWithdrawals(world: AccountWorld): Promise<void> {
  for (const one of await withdrawals(world)) {
    const wanted = world.wanted.get(one.address.toLowerCase());
    if (!wanted) continue;
    const there = await world.unitsAt(wanted.address, wanted.asset);
    // a machine that is gone may have paid what this one has not completed
    if (world.uncertain.has(wanted.address) && there > 0n) continue;
    if ((one.state === 'completed') !== there > 0n) {
      throw new Fault(`withdrawal ${one.id} is ${one.state}, and the chain paid ${there}`);
    }
  }
}

/** The books have what the chain has at all addresses that were given out, and in the tank. */
async function judgeBalance(world: AccountWorld, asset: AssetId): Promise<void> {
  let there = 0n;
  const own = new Set([...world.invoices.map(({ address }) => address), ...world.own]);
  for (const address of own) there += await world.unitsAt(address, asset);
  // what came while an endpoint hid it is found when the turn comes to its address, so many addresses a block
  for (let look = 0; balanceOf(world, asset) !== there && look < LOOKS_MAX; look++) {
    // tokens at addresses that are not urgent are looked for when the proof of each night has seen them
    if (look === 0) await problemsOf(world);
    await world.network.mine(1);
    await world.appliance.pass(10_000);
  }
  const said = balanceOf(world, asset);
  if (said === there) return;
  const problems = (await problemsOf(world)).join('; ');
  throw new Fault(
    `the balance of ${asset} is ${said}, with nothing under way: the chain has ${there}; the proof: ${problems}`,
  );
}

async function problemsOf(world: AccountWorld): Promise<string[]> {
  const { chains } = await world.appliance.operator('ledger.prove', { chain: `regtest:${world.chain}` });
  return chains.flatMap((one) => [...(one.error === null ? [] : [one.error]), ...one.problems]);
}

async function judgeProof(world: AccountWorld): Promise<void> {
  const problems = await problemsOf(world);
  if (problems.length > 0) throw new Fault(`the books differ from the chain: ${problems.join('; ')}`);
}
