/**
 * A service that was taken over, with a grant of gas: it asks the signer for moves as far and as large as the grant lets it, to strangers
 * and to own addresses where nobody looks. What it is given, it keeps.
 *
 * The auditor counts by the bytes alone what was signed under the operator's grants.
 */
import { addressAt } from '../../../daemon/chains/evm/address.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { NATIVE_COIN } from '../../../daemon/domain/evm.ts';
import { parseTransaction } from '../../../daemon/domain/evm-transaction.ts';
import type { EvmPlan, SignedSpend } from '../../../daemon/domain/spend.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { movementOf } from '../../../daemon/wallet/signer/evm-movement.ts';
import type { GasGrant, SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { Fault } from '../world.ts';
import type { AccountWorld } from './world.ts';

type Sign = (order: SignOrder) => Promise<SignedSpend>;
type GasOrder = SignOrder & { plan: EvmPlan };
type Place = { branch: 0 | 1; index: number };

/** Nobody who begins from the words looks farther than what 100 restores skip. */
const FAR = 1_100_000_000;
/** So far an address may lie before anything was given out. */
const REACH = 1_000_000;
/** The gas of addresses is to pay for collecting them, with a reserve. */
const FUNDED_PER_FEE = 2n;
const TRIES = 12;
const GAS = 21_000n;
const GAS_MOST = 1_000_000n;
/** Each try wants so much of the grant. */
const SHARE = 4n;
const DEAR = 6;

/** What was signed under a grant, by the identity of the move: of its versions one alone can be mined. */
type Signed = { fee: bigint; given: bigint };

export class GasLedger {
  #grant: GasGrant | null = null;
  #used: Signed = { fee: 0n, given: 0n };
  readonly #moves = new Map<string, Signed>();
  /** How many orders of the thief were signed, and how many refused. */
  signed = 0;
  refused = 0;

  /** What the grant in force allows as fees. */
  get most(): bigint {
    return BigInt(this.#grant?.feeMax ?? '0');
  }

  /**
   * The signer has taken a grant of the operator's; the same one again begins nothing. Throws `Fault` for one that was over, unless the
   * journal may have forgotten the newer one (`mayForget`).
   */
  granted(grant: GasGrant, mayForget: boolean): void {
    const before = this.#grant?.issuedAt ?? 0;
    if (before === grant.issuedAt) return;
    if (before > grant.issuedAt && !mayForget)
      throw new Fault('the signer takes a grant of gas again, though a newer one is in force');
    this.#grant = grant;
    this.#used = { fee: 0n, given: 0n };
  }

  /** Throws `Fault` for more than the operator granted. */
  take(uuid: string, { fee, given }: Signed): void {
    if (!this.#grant) throw new Fault(`${uuid} moves gas, which nobody granted`);
    const before = this.#moves.get(uuid) ?? { fee: 0n, given: 0n };
    const rise = (now: bigint, old: bigint): bigint => (now > old ? now - old : 0n);
    const used = this.#used;
    used.fee += rise(fee, before.fee);
    used.given += rise(given, before.given);
    this.#moves.set(uuid, {
      fee: before.fee + rise(fee, before.fee),
      given: before.given + rise(given, before.given),
    });
    const { most } = this;
    if (used.fee > most) throw new Fault(`moves between own addresses cost up to ${used.fee}: ${most} were granted`);
    if (used.given > FUNDED_PER_FEE * most) throw new Fault(`deposit addresses get ${used.given} for fees of ${most}`);
  }
}

const isOfGas = (order: SignOrder): order is GasOrder =>
  order.plan.kind === 'evm' && order.withdrawals.every(({ approval }) => approval.by === 'gas');

const ownAt = ({ wallet, chain }: AccountWorld, { branch, index }: Place) =>
  addressAt(accountKey(wallet.seed, chain, 'regtest', 0), branch, index);

/** Counts what was signed, and where it goes. */
async function judgeSigned(world: AccountWorld, order: GasOrder, raw: string): Promise<void> {
  const { transaction } = parseTransaction(Buffer.from(raw.slice(2), 'hex'));
  const movement = movementOf(transaction);
  const [output] = order.plan.outputs;
  const [only] = order.withdrawals;
  if (!movement || !output || output.kind !== 'change' || !only) throw new Fault('a grant of gas pays others');
  const { branch = 1, index } = output;
  const own = ownAt(world, { branch, index });
  if (own.address.slice(2).toLowerCase() !== movement.to) throw new Fault(`${movement.to} is paid by a grant of gas`);
  // what moves nothing is lost nowhere
  if (index > REACH && movement.units > 0n)
    throw new Fault(`${movement.units} go to the own address ${branch}/${index}, which nobody looks at`);
  const isTank = branch === 1 && index === 0;
  if (!isTank && movement.contract !== null) throw new Fault(`tokens go to ${branch}/${index} by a grant of gas`);
  const fee = transaction.gasLimit * transaction.maxFeePerGas;
  // a journal that came back older has forgotten what it signed
  if (!world.isBlind) world.gas.take(only.intent.uuid, { fee, given: isTank ? 0n : movement.units });
}

/** The same sender's next payment, of coins, to an address of ours or of the thief's. */
function moved(world: AccountWorld, order: GasOrder, to: Place | string, units: bigint, at: number): GasOrder {
  const copy = structuredClone(order);
  const { plan, withdrawals } = copy;
  const coin = NATIVE_COIN[world.chain];
  const [only] = withdrawals;
  if (!only) return copy;
  const place = typeof to === 'string' ? { branch: 0 as const, index: 3 } : to;
  const address = typeof to === 'string' ? to : ownAt(world, place).address;
  const script = Buffer.from(address.slice(2), 'hex');
  plan.asset = coin;
  plan.contract = null;
  plan.nonce += BigInt(at);
  plan.gasLimit = GAS;
  plan.fee = plan.gasLimit * plan.maxFeePerGas;
  plan.outputs = [{ kind: 'change', address, script, units, ...place }];
  const last = (world.step * (TRIES + DEAR) + at).toString(16).padStart(12, '0');
  only.intent = { ...only.intent, uuid: `${only.intent.uuid.slice(0, -12)}${last}`, asset: coin };
  return copy;
}

/** Asks for the honest order, and beside it for what nobody wants. */
export async function steal(world: AccountWorld, order: SignOrder, sign: Sign): Promise<SignedSpend> {
  const honest = await sign(order);
  if (!isOfGas(order)) return honest;
  await judgeSigned(world, order, honest.raw);
  if (!world.isTakenOver) return honest;
  const { most } = world.gas;
  const wanted = [
    moved(world, order, world.stranger(), most, 1),
    moved(world, order, { branch: 0, index: FAR }, most / SHARE, 2),
  ];
  for (let at = 3; at < TRIES; at++)
    wanted.push(moved(world, order, { branch: 0, index: at * 1_000 }, most / SHARE, at));
  for (let at = TRIES; at < TRIES + DEAR; at++) {
    const dear = moved(world, order, { branch: 1, index: 0 }, 1n, at);
    dear.plan.gasLimit = GAS_MOST;
    dear.plan.maxFeePerGas = most / SHARE / GAS_MOST;
    dear.plan.maxPriorityFeePerGas = 0n;
    dear.plan.fee = dear.plan.gasLimit * dear.plan.maxFeePerGas;
    wanted.push(dear);
  }
  for (const one of wanted) {
    // limits that are over, or in force, are given to the wallet once more
    for (const { grant, mac } of world.granted) await tried(() => world.appliance.signer.grantPolicy(grant, mac));
    const signed = await tried(() => sign(one));
    if (!signed) world.gas.refused++;
    else {
      world.gas.signed++;
      await judgeSigned(world, one, signed.raw);
    }
  }
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
