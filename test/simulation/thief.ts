/**
 * A daemon that was taken over: it asks the signer for what nobody approved, and keeps what it is given. What it alters is
 * asked for beside the honest order, so that a signer that refuses is as before.
 */
import { scriptOf } from '../../daemon/chains/utxo/address.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { Rejected } from '../../daemon/domain/errors.ts';
import type { SignedSpend, SpendPlan, UtxoPlan } from '../../daemon/domain/spend.ts';
import { feeLimit } from '../../daemon/wallet/signer/limits.ts';
import type { SignOrder } from '../../daemon/wallet/signer/port.ts';
import { judgeSigned } from './auditor.ts';
import type { World } from './world.ts';

type Sign = (order: SignOrder) => Promise<SignedSpend>;
type Alteration = (world: World, order: SignOrder) => SignOrder | null;

const isUtxo = (plan: SpendPlan): plan is UtxoPlan => plan.kind === 'utxo';

function altered(order: SignOrder, change: (plan: UtxoPlan) => boolean): SignOrder | null {
  const copy = structuredClone(order);
  return isUtxo(copy.plan) && change(copy.plan) ? copy : null;
}

const payTheThief: Alteration = (world, order) =>
  altered(order, ({ outputs, chain }) => {
    const paid = outputs.find(({ kind }) => kind === 'payout');
    if (!paid) return false;
    paid.address = world.stranger(chain as UtxoChain);
    paid.script = scriptOf(paid.address, chain as UtxoChain, 'regtest') as Uint8Array;
    return true;
  });

const keepTheChange: Alteration = (world, order) =>
  altered(order, ({ outputs, chain }) => {
    const change = outputs.find(({ kind }) => kind === 'change');
    if (!change) return false;
    change.address = world.stranger(chain as UtxoChain);
    change.script = scriptOf(change.address, chain as UtxoChain, 'regtest') as Uint8Array;
    return true;
  });

const payMore: Alteration = (_world, order) =>
  altered(order, ({ outputs }) => {
    const paid = outputs.find(({ kind }) => kind === 'payout');
    const change = outputs.find(({ kind }) => kind === 'change');
    if (!paid || !change || change.units < 2_000n) return false;
    paid.units += 1_000n;
    change.units -= 1_000n;
    return true;
  });

/** Every coin of the account goes to whom a part of it was approved for. */
const payEverything: Alteration = (world, order) =>
  altered(order, (plan) => {
    const paid = plan.outputs.find(({ kind }) => kind === 'payout');
    if (!paid || plan.outputs.length !== 1) return false;
    const { miner, txs } = world.network(plan.chain as UtxoChain);
    for (const [outpoint, spender] of miner.coins) {
      const [txid = '', n] = outpoint.split(':');
      const tx = txs.get(txid);
      const made = tx?.outputs[Number(n)];
      const place = made && world.wallet.placeOf(plan.chain as UtxoChain, made.script);
      if (spender !== null || !tx || !made || !place || plan.inputs.some((one) => one.outpoint === outpoint)) continue;
      const [branch, index] = place.split('/').map(Number);
      const script = Buffer.from(made.script, 'hex');
      const sequence = plan.inputs[0]?.sequence ?? 0xffff_ffff;
      plan.inputs.push({
        outpoint,
        units: made.units,
        script,
        branch: branch as 0 | 1,
        index: index ?? 0,
        confirmations: 1,
        sequence,
      });
      if ('previous' in order) order.previous[txid] = world.network(plan.chain as UtxoChain).base(tx);
      paid.units += made.units;
      if (plan.inputs.length > 20) break;
    }
    return plan.inputs.length > 1;
  });

/** An approval that was kept pays once more, out of coins that are at hand now. */
const payAgain: Alteration = (world, order) => {
  const all = world.kept.filter(({ plan }) => plan.chain === order.plan.chain);
  // one after the other, and no draw of the seed's
  const kept = all[world.signed.size % Math.max(all.length, 1)];
  if (!kept || order.withdrawals.some(({ intent }) => intent.uuid === kept.withdrawals[0]?.intent.uuid)) return null;
  const again = altered(order, (plan) => {
    const paid = kept.plan.outputs.find(({ kind }) => kind === 'payout');
    const change = plan.outputs.find(({ kind }) => kind === 'change');
    const left = plan.inputs.reduce((sum, { units }) => sum + units, 0n) - plan.fee - (paid?.units ?? 0n);
    if (!paid || !change || left < 2_000n) return false;
    plan.outputs = [{ ...paid }, { ...change, units: left }] as typeof plan.outputs;
    return true;
  });
  return again && { ...again, purpose: 'pay', withdrawals: kept.withdrawals };
};

function keep(world: World, order: SignOrder): void {
  const [one, more] = order.withdrawals;
  if (order.purpose !== 'pay' || !one || more || one.approval.by !== 'operator') return;
  if (one.intent.sweep || one.intent.coins !== null) return;
  world.kept.push(structuredClone(order));
  if (world.kept.length > KEPT_MAX) world.kept.shift();
}

const KEPT_MAX = 20;
const ALTERATIONS = [payAgain, payTheThief, keepTheChange, payMore, payEverything];

/** Lets a policy's payment burn more than was granted, as fees of later versions. */
function burn(order: SignOrder): { first: SignOrder; second: SignOrder } | null {
  if (order.purpose !== 'pay' || order.withdrawals.some(({ approval }) => approval.by !== 'policy')) return null;
  const first = structuredClone(order);
  const second = altered(order, (plan) => {
    const change = plan.outputs.find(({ kind }) => kind === 'change');
    if (!change || change.units < 40_000n) return false;
    // as much as the signer lets anybody pay
    const room = feeLimit(plan.chain as UtxoChain, plan, false) - plan.fee;
    const more = room < change.units / 2n ? room : change.units / 2n;
    if (more <= 0n) return false;
    change.units -= more;
    plan.fee += more;
    return true;
  });
  if (!second) return null;
  const feeMax = `${second.plan.fee}`;
  for (const one of [...first.withdrawals, ...second.withdrawals]) one.intent = { ...one.intent, feeMax };
  return { first, second };
}

const UNBATCHED_EVERY = 3;
const UNBATCHED = 4;
const UNBATCHED_UNITS = 20_000n;

/** Coins of the account that nobody has spent, by the chain. */
function coinsAtHand(world: World, plan: UtxoPlan): UtxoPlan['inputs'][number][] {
  const { miner, txs } = world.network(plan.chain as UtxoChain);
  const found: UtxoPlan['inputs'][number][] = [];
  for (const [outpoint, spender] of miner.coins) {
    const [txid = '', n] = outpoint.split(':');
    const made = txs.get(txid)?.outputs[Number(n)];
    const place = made && world.wallet.placeOf(plan.chain as UtxoChain, made.script);
    if (spender !== null || !made || !place || made.units < 100_000n) continue;
    const [branch = 0, index = 0] = place.split('/').map(Number);
    const script = Buffer.from(made.script, 'hex');
    const sequence = plan.inputs[0]?.sequence ?? 0xffff_ffff;
    found.push({ outpoint, units: made.units, script, branch: branch as 0 | 1, index, confirmations: 1, sequence });
    if (found.length === UNBATCHED) break;
  }
  return found;
}

/**
 * Payments that a policy lets go, invented by the thief: signed in one transaction, and then each alone. Those are no versions
 * of each other, so that all of them can be mined, each with its own fee.
 */
async function unbatch(world: World, order: SignOrder, sign: Sign): Promise<void> {
  const [given] = order.withdrawals;
  const { plan } = order;
  if (!isUtxo(plan) || !('previous' in order) || given?.approval.by !== 'policy') return;
  const chain = plan.chain as UtxoChain;
  const change = plan.outputs.find(({ kind }) => kind === 'change');
  const coins = coinsAtHand(world, plan);
  if (!change || coins.length < 2) return;
  const parts = coins.map((coin, i) => {
    const address = world.stranger(chain);
    const script = scriptOf(address, chain, 'regtest') as Uint8Array;
    const output = { kind: 'payout' as const, address, script, units: UNBATCHED_UNITS };
    const uuid = `${given.intent.uuid.slice(0, -4)}${(world.step % 256).toString(16).padStart(2, '0')}${i.toString(16).padStart(2, '0')}`;
    return { coin, output, uuid, address };
  });
  const orderOf = (some: typeof parts): SignOrder => {
    const inputs = some.map(({ coin }) => coin);
    const outputs = [...some.map(({ output }) => output), { ...change, units: 0n }];
    const total = inputs.reduce((sum, { units }) => sum + units, 0n) - UNBATCHED_UNITS * BigInt(some.length);
    // what may go in one payment is half of what may go in a day
    const granted = world.grants.findLast(({ coin }) => coin === chain)?.perDay ?? 0n;
    const limits = [feeLimit(chain, { inputs, outputs }, false), total / 2n, (granted * 2n) / 5n];
    const fee = limits.reduce((least, one) => (one < least ? one : least));
    const last = { ...change, units: total - fee };
    const previous: Record<string, string> = {};
    for (const { outpoint } of inputs) {
      const [txid = ''] = outpoint.split(':');
      const tx = world.network(chain).txs.get(txid);
      if (tx) previous[txid] = world.network(chain).base(tx);
    }
    return {
      ...structuredClone(order),
      purpose: 'pay',
      plan: { ...plan, inputs, outputs: [...some.map(({ output }) => output), last], fee },
      withdrawals: some.map(({ uuid, address }) => ({
        intent: {
          ...given.intent,
          uuid,
          address,
          units: `${UNBATCHED_UNITS}`,
          sweep: false,
          coins: null,
          feeMax: `${fee}`,
        },
        approval: { by: 'policy' as const },
      })),
      previous,
    } as SignOrder;
  };
  for (const some of [parts, ...parts.map((one) => [one])]) {
    const wanted = orderOf(some);
    const signed = await tried(() => sign(wanted));
    if (signed) judgeSigned(world, wanted, signed.raw, 'invented');
  }
}

/** What a thief in the daemon does with an order. Whatever is signed is judged at once. */
export async function steal(world: World, order: SignOrder, sign: Sign): Promise<SignedSpend> {
  // limits that the operator signed once are given to the wallet again
  const old = world.policyEnded ? world.keptGrants : [];
  for (const { grant, mac } of old) await tried(() => world.appliance.signer.grantPolicy(grant, mac));
  const burning = burn(order);
  const asked = burning?.first ?? order;
  for (const alter of ALTERATIONS) {
    const wanted = alter(world, asked);
    const signed = wanted && (await tried(() => sign(wanted)));
    if (signed) world.withheld.add(judgeSigned(world, wanted, signed.raw, 'altered'));
  }
  // no draw of its own: seeds go on as before
  if (world.step % UNBATCHED_EVERY > 0) await unbatch(world, asked, sign);
  const honest = await sign(asked);
  world.withheld.delete(judgeSigned(world, asked, honest.raw));
  keep(world, asked);
  const burned = burning && (await tried(() => sign(burning.second)));
  if (burned) world.withheld.add(judgeSigned(world, burning.second, burned.raw));
  return honest;
}

/** Null if it is refused. */
async function tried<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof Rejected) return null;
    throw error;
  }
}
