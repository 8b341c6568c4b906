/**
 * The operator, and the shop where it asks for withdrawals. The operator approves what was asked for, as it is shown, and
 * remembers it; after a restore, what may have been paid is looked up on the chain before it is approved again.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { balances } from '../../daemon/app/books/balance.ts';
import { estimateHighestFee, requestWithdrawal } from '../../daemon/app/withdrawals/request.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { assetOf } from '../../daemon/domain/assets.ts';
import { INDICES_JUMPED, jumpAfter } from '../../daemon/domain/indices.ts';
import { textIn } from '../../daemon/domain/messages.ts';
import { parseDecimal } from '../../daemon/domain/money.ts';
import { Crashed, PRICES } from './appliance.ts';
import { approvalsOf, expectedOf, grantsOf } from './approving.ts';
import { endOrphan } from './orphan.ts';
import { type Action, forget, forgetUnshown, mend, refused } from './people.ts';
import { isPossible, judgeRequested, judgeWhole } from './reserved.ts';
import { takeBack } from './taking-back.ts';
import { type Ask, type Backup, Fault, START, type Wanted, type World } from './world.ts';

type Withdrawal = Result<'withdrawal.list'>['withdrawals'][number];

const ALL_MAX = 200;
const COIN = 100_000_000n;
const CONFIRM_TRIES = 40;
/** A distant server is asked about each of the skipped addresses, which takes hours. */
const ELECTRUM_CONFIRM_TRIES = 4_000;
const POLICY_USD = 400;
const DAY_MS = 86_400_000;

/** The spendable units of a coin, as the API says. */
export function balanceOf({ appliance, business }: World, coin: UtxoChain): bigint {
  return balances(appliance.app, business).find(({ asset }) => asset.symbol === coin)?.units ?? 0n;
}

export async function withdrawals(world: World): Promise<Withdrawal[]> {
  return (await world.appliance.operator('withdrawal.list', { limit: ALL_MAX })).withdrawals;
}

async function inState(world: World, ...states: Withdrawal['state'][]): Promise<Withdrawal | undefined> {
  const found = (await withdrawals(world)).filter(({ state }) => states.includes(state));
  return world.random.pick(found.slice(0, 8));
}

/** The shop asks for a withdrawal, by the merchant API. */
export async function withdraw(world: World): Promise<string> {
  const { appliance, business, random } = world;
  const { app } = appliance;
  const coin = world.anyCoin();
  const balance = balanceOf(world, coin);
  const part = (balance * BigInt(random.pick([5, 30, 60, 80, 95]) ?? 5)) / 100n;
  // small ones are what a policy lets go
  const few = (BigInt(random.whole(15, 350)) * COIN) / BigInt(PRICES[coin]);
  const units = random.chance(0.4) && few < balance ? few : part;
  const address = world.stranger(coin);
  world.wanted.set(address, { coin, address, units });
  const wanted = { asset: assetOf(coin), units, address, origin: 'merchant' as const };
  try {
    const rate = await appliance.ask(() => estimateHighestFee(app, business, () => wanted));
    const { id, taken } = await appliance.ask(() =>
      app.store.write((tx) => {
        // in one transaction nothing else changes the balance
        const before = balanceOf(world, coin);
        judgeWhole(before, () => requestWithdrawal(app, tx, business, { ...wanted, units: before }, rate));
        const row = requestWithdrawal(app, tx, business, wanted, rate);
        return { id: row.id, taken: before - balanceOf(world, coin) };
      }),
    );
    judgeRequested(id, units, taken);
    return `withdrawal ${id} of ${units} ${coin} to ${address} is asked for`;
  } catch (error) {
    return `no withdrawal of ${units} ${coin}: ${refused(error)}`;
  }
}

/** The operator sends everything. */
export async function sweep(world: World, coin = world.anyCoin()): Promise<string> {
  const address = world.stranger(coin);
  world.wanted.set(address, { coin, address, units: null });
  try {
    const asked = { business: `${world.business.id}`, crypto: coin, address, amount: null };
    const { withdrawal } = await world.appliance.operator('withdrawal.add', asked);
    return `a sweep of ${coin}, withdrawal ${withdrawal.id} to ${address}, is asked for`;
  } catch (error) {
    return `no sweep of ${coin}: ${refused(error)}`;
  }
}

/** Whether the operator can see a payment to this recipient anywhere. */
function seemsPaid(world: World, { crypto, address }: Withdrawal): boolean {
  return world.paymentsTo(crypto as UtxoChain, address).some(({ mined, waits }) => mined || waits);
}

export async function approve(world: World): Promise<string> {
  const found = await inState(world, 'requested');
  return found ? approveOne(world, found) : '';
}

/** What was written down of a withdrawal. Of a refund whose answer the power cut, the list tells the amount. */
function wantedFor(world: World, { id, address, amount }: Withdrawal): Wanted | undefined {
  const wanted = world.wanted.get(address);
  if (!wanted?.isUnanswered || wanted.units === null) return wanted;
  const units = parseDecimal(amount, assetOf(wanted.coin).decimals);
  if (units === null || units > wanted.units) throw new Fault(`withdrawal ${id} refunds more than was too much`);
  const read = { coin: wanted.coin, address, units };
  world.wanted.set(address, read);
  return read;
}

export async function approveOne(world: World, found: Withdrawal): Promise<string> {
  const wanted = wantedFor(world, found);
  if (!wanted) throw new Fault(`withdrawal ${found.id} to ${found.address} was asked for by nobody`);
  if (!world.isUnwarned && seemsPaid(world, found)) return reject(world, found);
  const id = `${found.id}`;
  try {
    const proposal = { kind: 'pay' as const, id };
    const { preview, why } = await world.appliance.operator('withdrawal.propose', proposal);
    if (!preview) return `withdrawal ${id} cannot be shown: ${textIn(why)}`;
    const [approval] = await approvalsOf(world, preview, expectedOf(wanted, found.address));
    if (!approval) throw new Fault(`the preview of withdrawal ${id} names no intent`);
    await world.appliance.operator('withdrawal.approve', { proposal, approvals: [approval] });
    // nobody has what was signed for it on a lost machine: no node does
    world.signedBefore.delete(approval.uuid);
    return `withdrawal ${id} is approved`;
  } catch (error) {
    return `withdrawal ${id} is not approved: ${refused(error)}`;
  }
}

export async function reject(world: World, given?: Withdrawal): Promise<string> {
  const found = given ?? (await inState(world, 'requested', 'approved'));
  if (!found) return '';
  try {
    await world.appliance.operator('withdrawal.reject', { id: `${found.id}` });
    world.rejected.add(found.uuid);
    return `withdrawal ${found.id} is rejected`;
  } catch (error) {
    return `withdrawal ${found.id} is not rejected: ${refused(error)}`;
  }
}

/** Speeds a transaction up, or cancels it. */
export const replace =
  (kind: 'speed-up' | 'cancel'): Action =>
  async (world) => {
    const found = await inState(world, 'signed', 'broadcast');
    if (!found) return '';
    const rate = world.random.pick([undefined, '10', '40', '120']);
    const proposal = { kind, id: `${found.id}`, ...(rate === undefined ? {} : { fee_rate: rate }) };
    try {
      const { preview } = await world.appliance.operator('withdrawal.propose', proposal);
      const approvals = await approvalsOf(world, preview!, { kind });
      await world.appliance.operator('withdrawal.approve', { proposal, approvals });
      return `${kind} of withdrawal ${found.id} at ${rate ?? 'any rate'}`;
    } catch (error) {
      const why = refused(error);
      if (/insufficient balance/i.test(why)) await judgeShortage(world, found, kind, rate, why);
      return `no ${kind} of withdrawal ${found.id}: ${why}`;
    }
  };

/** Pays what a lost machine sent and no node has any more: this wallet did not sign it, so it is approved as a first payment is. */
export async function approveAnew(world: World, { id }: Withdrawal): Promise<void> {
  const proposal = { kind: 'speed-up' as const, id: `${id}`, anew: true };
  try {
    const { preview } = await world.appliance.operator('withdrawal.propose', proposal);
    const approvals = await approvalsOf(world, preview!, { kind: 'anew' });
    await world.appliance.operator('withdrawal.approve', { proposal, approvals });
    world.note(`withdrawal ${id} is approved anew`);
  } catch (error) {
    world.note(`withdrawal ${id} is not approved anew: ${refused(error)}`);
  }
}

/**
 * Whether the balance does not cover the higher fee after all: what the transaction gives back may be promised to other
 * withdrawals, unless it is the cancellation itself, of everything that the transaction paid.
 */
async function judgeShortage(world: World, found: Withdrawal, kind: string, rate: string | undefined, why: string) {
  const coin = found.crypto as UtxoChain;
  const { withdrawal } = await world.appliance.operator('withdrawal.show', { id: `${found.id}` });
  const network = world.network(coin);
  const newest = withdrawal.versions.findLast(({ tx_id }) => tx_id !== null);
  const tx = newest?.tx_id ? network.txs.get(newest.tx_id) : undefined;
  // one that lost a coin gives nothing back, and another coin may be promised to a refund
  if (!tx || found.sweep || !isPossible(network.own, tx)) return;
  const change = tx.outputs
    .filter(({ script }) => world.wallet.placeOf(coin, script))
    .reduce((sum, { units }) => sum + units, 0n);
  // twice what it may take, with another coin spent
  const rates = [rate === undefined ? network.feeRate * 2 : Number(rate), Number(network.feeOf(tx)) / tx.vsize + 2];
  const needed = BigInt(Math.ceil(Math.max(...rates) * 2)) * BigInt(tx.vsize + 200);
  const paysNobody = tx.outputs.every(({ script }) => world.wallet.placeOf(coin, script) !== undefined);
  const canceling = kind === 'cancel' || (withdrawal.canceling && paysNobody);
  if (change < needed * 2n || (!canceling && balanceOf(world, coin) < needed * 2n)) return;
  throw new Fault(
    `${kind} of withdrawal ${found.id} is refused (${why}), though its change is ${change}, the balance ` +
      `${balanceOf(world, coin)}, and ${needed} are more than it costs`,
  );
}

export async function batch(world: World): Promise<string> {
  const coin = world.anyCoin();
  const open = (await withdrawals(world)).filter(
    (one) => (one.state === 'requested' || one.state === 'approved') && one.crypto === coin && !one.sweep,
  );
  const some = open.filter((one) => world.isUnwarned || !seemsPaid(world, one)).slice(0, world.random.whole(2, 5));
  if (some.length < 2) return '';
  for (const one of some) wantedFor(world, one);
  const ids = some.map(({ id }) => `${id}`);
  try {
    const proposal = { kind: 'batch' as const, ids };
    const { preview } = await world.appliance.operator('withdrawal.propose', proposal);
    const approvals = await approvalsOf(world, preview!, { kind: 'batch', count: ids.length });
    await world.appliance.operator('withdrawal.approve', { proposal, approvals });
    for (const { uuid } of approvals) world.signedBefore.delete(uuid);
    return `withdrawals ${ids} go in one transaction`;
  } catch (error) {
    return `no batch of ${ids}: ${refused(error)}`;
  }
}

/** Pays for a payer's transaction that is stuck. */
export async function bump(world: World): Promise<string> {
  const coin = world.anyCoin();
  const stuck = [...world.network(coin).own.mempool.values()].flatMap((tx) =>
    tx.outputs.flatMap(({ script }, n) =>
      world.wallet.placeOf(coin, script)?.startsWith('0/') ? [`${tx.txid}:${n}`] : [],
    ),
  );
  const outpoint = world.random.pick(stuck);
  if (!outpoint) return '';
  const proposal = { kind: 'bump' as const, business: `${world.business.id}`, crypto: coin, outpoint };
  try {
    const { preview } = await world.appliance.operator('withdrawal.propose', proposal);
    const approvals = await approvalsOf(world, preview!, { kind: 'bump', outpoint });
    if (approvals.length !== 1) throw new Fault('the preview of a bump names no intent');
    await world.appliance.operator('withdrawal.approve', { proposal, approvals });
    return `${outpoint.slice(0, 10)} is bumped`;
  } catch (error) {
    return `no bump of ${outpoint.slice(0, 10)}: ${refused(error)}`;
  }
}

/** Decides about a deposit that no invoice claims. */
export async function decideInbox(world: World): Promise<string> {
  const { items } = await world.appliance.operator('inbox.list', { limit: ALL_MAX });
  const item = world.random.pick(items.filter(({ state, gone }) => state === 'open' && !gone).slice(0, 10));
  if (!item) return '';
  const what = world.random.pick(['accept', 'refund', 'refund', 'keep'] as const);
  try {
    if (what !== 'refund') {
      await world.appliance.operator(what === 'accept' ? 'inbox.accept' : 'inbox.keep', { id: item.id });
      const invoice = world.invoices.find(({ slug }) => slug === item.invoice);
      if (invoice) invoice.decided = true;
      return `deposit ${item.id}: ${what}`;
    }
    const coin = item.crypto as UtxoChain;
    const address = world.stranger(coin);
    // what an invoice got too much is an amount, from any coin; all other deposits go as they are
    const units = item.reason === 'overpaid' ? parseDecimal(item.amount, assetOf(coin).decimals) : null;
    world.wanted.set(address, { coin, address, units, isUnanswered: true });
    const { withdrawal } = await world.appliance.operator('inbox.refund', { id: item.id, address });
    if (units !== null) {
      // less if a deposit of the invoice vanished, or a part went back before
      const given = parseDecimal(withdrawal.amount, assetOf(coin).decimals);
      if (given === null || given > units)
        throw new Fault(`withdrawal ${withdrawal.id} refunds more than was too much`);
      world.wanted.set(address, { coin, address, units: given });
    }
    return `deposit ${item.id} is to be refunded by withdrawal ${withdrawal.id} to ${address}`;
  } catch (error) {
    return `deposit ${item.id}: ${refused(error)}`;
  }
}

/** Lets withdrawals go by themselves within limits, or by hand again. */
export async function changePolicy(world: World): Promise<string> {
  const automatic = world.random.chance(0.6);
  // of a small limit, fees are a large part
  const usd = world.step % 3 > 0 ? POLICY_USD : POLICY_USD / 8;
  const policy = {
    business: `${world.business.id}`,
    mode: automatic ? ('automatic' as const) : ('manual' as const),
    per_withdrawal_usd: automatic ? `${usd}` : null,
    per_day_usd: automatic ? `${usd * 2}` : null,
  };
  try {
    // no draw of its own: seeds go on as before
    if (world.thief && !automatic && !world.orphan && world.step % 2 === 0) {
      await takeBack(world);
      return 'the policy is taken back from the wallet, and the service goes on with it';
    }
    world.policyEnded &&= !automatic;
    const { grants } = await world.appliance.operator('policy.grants', policy);
    const signed = await grantsOf(world, grants, policy);
    for (const grant of grants) {
      world.grants.push({ coin: grant.asset as UtxoChain, perDay: BigInt(grant.perDay), at: world.time.truth });
    }
    await world.appliance.operator('policy.set', { ...policy, grants: signed });
    return `the policy is ${policy.mode}`;
  } catch (error) {
    return `the policy stays: ${refused(error)}`;
  }
}

/** The most that a policy ever let go in a day, of all that was granted. */
export function granted(world: World, coin: UtxoChain): bigint {
  return world.grants.reduce((most, one) => (one.coin === coin && one.perDay > most ? one.perDay : most), 0n);
}

export async function lockOrUnlock(world: World): Promise<string> {
  const { appliance, random } = world;
  if (random.chance(0.35)) {
    await appliance.ask(() => appliance.signer.lock());
    return 'the wallet is locked';
  }
  await appliance.unlock();
  return 'the wallet is unlocked';
}

/** The connection to a signer at home ends at some byte of its next answer; at once there is another one. */
export async function cutLine(world: World): Promise<string> {
  world.appliance.signer.cut(world.random.fraction());
  return 'the connection to the signer will end within an answer';
}

export async function backup(world: World): Promise<string> {
  const file = join(world.folder, `backup-${world.step}`);
  await world.appliance.operator('backup.make', { file });
  world.backups.push({ file, at: world.time.truth, invoices: world.invoices.length });
  return 'a backup is made';
}

/** The machine is lost; another one begins from the last backup, often beside a node of its own. */
export async function restore(world: World): Promise<string> {
  const made = world.random.chance(0.7) ? world.backups.at(-1) : world.random.pick(world.backups);
  return made ? restoreFrom(world, made) : '';
}

/** The same from a backup that was made before an earlier restore. */
export async function restoreOlder(world: World): Promise<string> {
  const made = world.random.pick(world.olderBackups);
  return made ? restoreFrom(world, made) : '';
}

/** What was asked for at an address at a time; null: nothing yet. */
export function askedBy(ask: Ask | null, at: number): Ask | null {
  return ask && ask.at > at ? askedBy(ask.before, at) : ask;
}

async function restoreFrom(world: World, made: Backup): Promise<string> {
  // a distant server is asked about each of the skipped addresses: that takes longer than a run
  if (world.electrum) return '';
  await loseMachine(world);
  forgetSnapshots(world);
  const fresh = world.random.chance(0.6);
  for (const network of world.networks.values()) {
    mend(world, network);
    if (fresh) forget(network);
  }
  const folder = world.newFolder();
  const jump = jumpAfter(world.restoredAt.filter((at) => at >= made.at).length);
  const { manifest } = await restoreBackup(made.file, world.wallet.opened, folder, world.time.wall(), jump);
  world.jumps += jump / INDICES_JUMPED;
  world.restoredAt.push(world.time.truth);
  world.olderBackups.push(...world.backups.splice(0));
  for (const invoice of world.invoices.slice(made.invoices)) invoice.lost = true;
  for (const invoice of world.invoices) invoice.asks = invoice.asks.flatMap((ask) => askedBy(ask, made.at) ?? []);
  await world.startOn(folder);
  await confirm(world);
  if (world.random.chance(0.8)) await world.appliance.unlock();
  return `another machine is restored from ${manifest.made_at}${fresh ? ', its node has an empty mempool' : ''}`;
}

export async function confirm(world: World): Promise<void> {
  let why = '';
  const triesMax = world.electrum ? ELECTRUM_CONFIRM_TRIES : CONFIRM_TRIES;
  for (let tries = 0; tries < triesMax; tries++) {
    await world.appliance.pass(5_000);
    try {
      await world.appliance.operator('restore.confirm', { keep_keys: 'all' });
      return;
    } catch (error) {
      if (error instanceof Crashed) throw error;
      why = refused(error);
    }
  }
  throw new Fault(`a restored machine cannot take over: ${why}`);
}

export async function loseMachine(world: World): Promise<void> {
  await endOrphan(world);
  const dead = world.appliance;
  dead.crash();
  await world.time.settle();
  await dead.bury();
  rmSync(dead.folder, { recursive: true, force: true });
  if (dead.crashedInto) rmSync(dead.crashedInto, { recursive: true, force: true });
  world.replaceMachine();
}

/** A disk from before a restore comes back only by the operator's hand, who is told not to. */
function forgetSnapshots(world: World): void {
  for (const { folder } of world.snapshots.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Nothing is left but the words: accounts are looked for on a new machine, as `countinghouse restore words` does. */
export async function restoreWords(world: World): Promise<string> {
  if (world.electrum) return '';
  await loseMachine(world);
  forgetSnapshots(world);
  for (const invoice of world.invoices) Object.assign(invoice, { lost: true, byWords: true });
  for (const network of world.networks.values()) mend(world, network);
  forgetUnshown(world);
  world.backups.length = 0;
  world.olderBackups.length = 0;
  await world.startOn(world.newFolder());
  const birthday = START - 2 * DAY_MS;
  const accounts = Object.fromEntries(world.coins.map((coin) => [coin, [world.wallet.account(coin, 0)]]));
  await world.appliance.operator('wallet.discover', {
    network: 'regtest',
    birthday: new Date(birthday).toISOString(),
    gap: SCAN_GAP,
    // by default it looks behind more of them, which takes time
    restores: world.jumps,
    accounts,
  });
  await until(world, 'the search ends', async () => !(await world.appliance.operator('wallet.discovery', {})).running);
  const { error, used: found } = await world.appliance.operator('wallet.discovery', {});
  if (error !== null) throw new Fault(`the scan of the words' accounts ended: ${error}`);
  const used = Object.fromEntries(found.map(({ chain, receiving, change }) => [chain, { receiving, change }]));
  // it begins as far behind the last payment, which may vanish
  world.jumps++;
  await world.addBusiness({ birthday: new Date(birthday).toISOString(), gap: SCAN_GAP, used });
  await until(world, 'the past is read', async () => {
    return (await world.appliance.operator('wallet.discovery', {})).rescans.length === 0;
  });
  await world.appliance.unlock();
  return 'another machine begins from the words alone';
}

/** Fewer than a person would take, since each costs time here. */
const SCAN_GAP = 60;
const UNTIL_TRIES = 60;

async function until(world: World, what: string, look: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < UNTIL_TRIES; tries++) {
    await world.appliance.pass(3_000);
    if (await look()) return;
  }
  throw new Fault(`it was waited in vain until ${what}`);
}

/** The power fails, at once or some commits from now; the machine starts again. */
export async function crash(world: World): Promise<string> {
  world.appliance.fuse = world.random.whole(1, 6);
  await world.appliance.pass(2_000).catch((error: unknown) => {
    if (!(error instanceof Crashed)) throw error;
  });
  return `the power will fail within ${world.appliance.fuse} commits`;
}
