/**
 * The operator's own program: what is shown and approved comes from `daemon/operator/` alone. In the daemon that a thief has
 * taken over, requests for approval are altered, too: then nothing is approved, or what the operator had asked for.
 */
import { Transaction } from 'bitcoinjs-lib';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { assetOf } from '../../daemon/domain/assets.ts';
import { Rejected } from '../../daemon/domain/errors.ts';
import { formatUnits } from '../../daemon/domain/money.ts';
import { type AskedPolicy, GrantReview } from '../../daemon/operator/grants.ts';
import { type OperatorRequest, Review } from '../../daemon/operator/review.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import type { Intent } from '../../daemon/wallet/signer/port.ts';
import { PRICES } from './appliance.ts';
import { PASSPHRASE } from './wallet.ts';
import { Fault, type SignedGrant, type Wanted, type World } from './world.ts';

type Preview = NonNullable<Result<'withdrawal.propose'>['preview']>;
type Approval = Awaited<ReturnType<Review['approvals']>>[number];

const DEAREST = 1_000n;

/** The approvals of a request as it was shown; it is remembered. Throws what the operator's program refuses. */
export async function approvalsOf(world: World, preview: Preview, asked: OperatorRequest): Promise<Approval[]> {
  if (world.thief && world.random.chance(0.4)) await approveAltered(world, preview, asked);
  try {
    return (await approved(world, preview, asked)) ?? [];
  } catch (error) {
    if (error instanceof Rejected && error.code.startsWith('review.')) {
      throw new Fault(`the operator's program refuses what an honest service shows: ${error.message}`);
    }
    throw error;
  }
}

/** What is asked for one payment, as the operator wrote it down. */
export function expectedOf({ units, coin }: Wanted, to: string): OperatorRequest {
  const amount = units === null ? {} : { amount: formatUnits(units, assetOf(coin)) };
  return { kind: 'approve', expected: { to, ...amount } };
}

async function approved(world: World, preview: Preview, asked: OperatorRequest): Promise<Approval[] | null> {
  const review = Review.of(preview, asked, world.time.wall());
  if (!review) return null;
  for (const { address, units, upTo } of review.payments) {
    const wanted = world.wanted.get(address);
    const same = wanted?.coin === review.chain && (wanted.units === null ? upTo : !upTo && units === wanted.units);
    if (!same) throw new Rejected('review.unexpected', `${units} to ${address} are shown, which nobody asked for`);
  }
  const { appliance, time } = world;
  const approvals = await appliance.ask(() =>
    time.outside(review.approvals((wanted) => authorized(appliance.walletFolder, PASSPHRASE, wanted))),
  );
  for (const approval of approvals) remember(world, review, approval);
  return approvals;
}

function remember(world: World, review: Review, { uuid, fee_max }: Approval): void {
  const before = world.approvals.get(uuid);
  const payment = review.payments.find((one) => one.uuid === uuid);
  const address = payment?.address ?? 'self';
  if (before && before.address !== address) throw new Fault(`${uuid} is shown with another recipient than before`);
  const feeMax = BigInt(fee_max);
  world.approvals.set(uuid, {
    coin: review.chain as UtxoChain,
    address,
    whole: payment?.upTo ?? false,
    units: payment?.units ?? 0n,
    feeMax: before && before.feeMax > feeMax ? before.feeMax : feeMax,
  });
}

/** A request that a thief altered: what the operator approves of it is remembered, and the thief has the MACs. */
async function approveAltered(world: World, preview: Preview, asked: OperatorRequest): Promise<void> {
  const altered = alter(world, structuredClone(preview));
  if (!altered) return;
  try {
    await approved(world, altered, asked);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
  }
}

type Alteration = (world: World, preview: Preview, intent: Intent) => Preview | null;

const rewritten = (preview: Preview, change: (tx: Transaction) => boolean): Preview | null => {
  const tx = Transaction.fromHex(preview.raw ?? '');
  return change(tx) ? { ...preview, raw: tx.toHex() } : null;
};

const outputOf = (world: World, tx: Transaction, { chain, address }: Intent) =>
  tx.outs.find(({ script }) => Buffer.from(script).toString('hex') === world.script(chain as UtxoChain, address));

const ALTERATIONS: readonly Alteration[] = [
  // other intents than the bytes
  (world, preview, intent) => {
    intent.address = world.stranger(intent.chain as UtxoChain);
    return preview;
  },
  (_world, preview, intent) => {
    intent.units = `${BigInt(intent.units) + 1_000n}`;
    return preview;
  },
  (_world, preview, intent) => {
    intent.feeMax = `${BigInt(intent.feeMax) * DEAREST}`;
    return preview;
  },
  (_world, preview, intent) => {
    intent.sweep = !intent.sweep;
    return preview;
  },
  // both, to somebody else
  (world, preview, intent) =>
    rewritten(preview, (tx) => {
      const paid = outputOf(world, tx, intent);
      if (!paid) return false;
      intent.address = world.stranger(intent.chain as UtxoChain);
      paid.script = Buffer.from(world.script(intent.chain as UtxoChain, intent.address), 'hex');
      return true;
    }),
  // the change goes elsewhere
  (world, preview, intent) =>
    rewritten(preview, (tx) => {
      const change = tx.outs[preview.outputs.findIndex(({ change_index }) => change_index !== null)];
      if (!change) return false;
      const thief = world.stranger(intent.chain as UtxoChain);
      change.script = Buffer.from(world.script(intent.chain as UtxoChain, thief), 'hex');
      return true;
    }),
  // more than was asked for
  (world, preview, intent) =>
    rewritten(preview, (tx) => {
      const paid = outputOf(world, tx, intent);
      if (!paid) return false;
      paid.value += 5_000n;
      intent.units = `${BigInt(intent.units) + 5_000n}`;
      return true;
    }),
];

function alter(world: World, preview: Preview): Preview | null {
  const intent = world.random.pick(preview.intents) as Intent | undefined;
  const change = world.random.pick(ALTERATIONS);
  if (!intent || !change || preview.raw === null || intent.address === 'self') return null;
  return change(world, preview, intent);
}

/** The limits of a policy, granted as its review shows them. */
export async function grantsOf(world: World, grants: unknown, policy: AskedPolicy) {
  const rates = world.coins.map((crypto) => ({ network: 'regtest', crypto, usd: PRICES[crypto] }));
  const review = GrantReview.of(grants, policy, rates, world.time.wall());
  if (!review) return [];
  const { appliance, time } = world;
  const signed = await appliance.ask<SignedGrant[]>(() =>
    time.outside(review.signed((wanted) => authorized(appliance.walletFolder, PASSPHRASE, wanted))),
  );
  if (world.thief) world.keptGrants.push(...signed);
  return signed;
}
