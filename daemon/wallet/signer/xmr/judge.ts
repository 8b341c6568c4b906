/**
 * Judges an order of Monero against its approvals and against earlier signatures. Pure and complete: every input is an output
 * of ours in its own transaction, with its amount; every output is an approved payment or our own change; the rest is the fee.
 *
 * Invariant: the plan's own statements are not believed but derived again. `check.ts` judges the signed transaction a second time.
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import type { Network } from '../../../domain/assets.ts';
import type { AccountKey } from '../../../domain/chain.ts';
import { Malformed, Rejected } from '../../../domain/errors.ts';
import type { MoneroPlan, RingMember } from '../../../domain/spend.ts';
import { addressAt, positionOf, subaddressOffset } from '../../../monero/address.ts';
import { keyImageOf, Point, pointOf, scalarBytes, sharedSecret } from '../../../monero/curve.ts';
import { readKept } from '../../../monero/kept.ts';
import { type OpenedOutput, openOutput } from '../../../monero/output.ts';
import { type ImportedMonero, type MoneroSecret, moneroAccount, moneroSecretOf } from '../../accounts.ts';
import { judgePayments } from '../forward.ts';
import { differs, type Judged, needPaid } from '../judged.ts';
import { moneroFeeLimit } from '../limits.ts';
import type { Witness } from '../permission.ts';
import { ADDRESS_SELF, type MoneroOrder } from '../port.ts';
import { destinationOf } from './destination.ts';
import { CHANGE_INDEX, signMonero } from './sign.ts';

/** The ring size that all transactions have since 2022. */
const RING_MEMBERS = 16;
/** A transaction with more is too large for nodes to relay. */
const INPUTS_MAX = 150;
/** Consensus: 16 outputs, of which one is the change. */
const PAYOUTS_MAX = 15;
/** Nobody gave out an address with a higher index. */
const INDEX_MAX = 10_000_000;
const HASH_CHARS = 64;
const SPEND_KEY = { from: 1, to: 33 } as const;

/** The wallet's seed, and the keys that do not follow from it. */
type Keys = { seed: Uint8Array; imported: readonly ImportedMonero[] };

/** The keys of the account that pays. */
export type Owner = MoneroSecret & { account: AccountKey; network: Network };

/** An output of ours that is spent. `publicKey`: of its transaction, with which it was found. */
export type OwnOutput = OpenedOutput & {
  outpoint: string;
  publicKey: Uint8Array;
  /** Its one-time key, by which the ring has it. */
  own: string;
  keyImage: string;
  ring: RingMember[];
};

const badInput = (why: string): Rejected => new Rejected('signer.input', `Refused to sign: ${why}`);

/** Judges an order. The result can sign it. Throws `Rejected` (see `Signer.sign`) if a check fails. */
export function judgeMonero(order: MoneroOrder, keys: Keys, witness: Witness): Judged {
  const { plan } = order;
  const { network, accountNo, fee } = plan;
  const secret = moneroSecretOf(keys.seed, network, accountNo, keys.imported);
  const owner: Owner = { ...secret, account: moneroAccount(secret), network };
  const spent = judgeInputs(order, owner);
  judgeOutputs(order, owner);
  if (sum(spent) !== sum(plan.outputs) + fee) throw differs('inputs are not outputs plus fee');
  const limit = moneroFeeLimit(plan);
  if (fee > limit) throw feeTooHigh(fee, limit);
  const conflictKeys = spent.map(({ keyImage }) => keyImage);
  const moved = { network, chain: 'XMR' as const, accountNo, asset: 'XMR' as const, fee, feeAsset: 'XMR' as const };
  const verdict = judgePayments(order, { ...moved, conflictKeys }, witness);
  if (fee > verdict.feeMax) throw feeTooHigh(fee, verdict.feeMax);
  return { verdict, conflictKeys, sign: () => signMonero(plan, owner, spent) };
}

const feeTooHigh = (fee: bigint, max: bigint): Rejected =>
  new Rejected('signer.fee', `Refused to sign: a fee of ${fee} is above the limit of ${max}`);

/** The inputs as their transactions have them. Each must be ours, once, with its amount and a ring around it. */
function judgeInputs({ plan, previous, rings }: MoneroOrder, owner: Owner): OwnOutput[] {
  const { inputs } = plan;
  if (inputs.length > INPUTS_MAX || rings.length !== inputs.length) {
    throw new Rejected('signer.unsupported', `A transaction has 1 to ${INPUTS_MAX} inputs, and each a ring`);
  }
  const spent = inputs.map((input, at) => {
    const found = ownOutput(input, previous, owner);
    judgeRing(found, rings[at] ?? []);
    return { ...found, ring: rings[at] ?? [] };
  });
  if (new Set(spent.map(({ keyImage }) => keyImage)).size !== spent.length) throw badInput('an input is named twice');
  return spent;
}

type RinglessOutput = Omit<OwnOutput, 'ring'> & { commitment: string | null };

function ownOutput(
  { outpoint, units, branch, index }: MoneroPlan['inputs'][number],
  previous: MoneroOrder['previous'],
  owner: Owner,
): RinglessOutput {
  const [txid, n] = [outpoint.slice(0, HASH_CHARS), Number(outpoint.slice(HASH_CHARS + 1))];
  const raw = Object.hasOwn(previous, txid) ? previous[txid] : undefined;
  if (raw === undefined) throw badInput(`the transaction ${txid} was not given`);
  const transaction = keptTransaction(raw);
  const output = transaction.outputs[n];
  if (transaction.id !== txid || !output) throw badInput(`there is no output ${outpoint}`);
  if (index > INDEX_MAX) throw badInput(`the coin ${outpoint} has an address that nobody gave out`);
  const spendKey = addressAt(owner.account, branch, index, owner.network).script.slice(SPEND_KEY.from, SPEND_KEY.to);
  const own = transaction.outputKeys[n];
  for (const publicKey of own ? [...transaction.publicKeys, own] : transaction.publicKeys) {
    const secret = sharedSecret(publicKey, owner.view);
    const opened = secret && openOutput(output, n, secret);
    if (!opened || Buffer.compare(opened.spendKey, spendKey) !== 0) continue;
    if (opened.units !== units) throw badInput(`the coin ${outpoint} is not worth ${units}`);
    const { major, minor } = positionOf(branch, index);
    const offset = subaddressOffset(scalarBytes(owner.view), major, minor);
    const privateKey = Point.Fn.add(Point.Fn.add(opened.scalar, owner.spend), offset);
    const keyImage = bytesToHex(keyImageOf(privateKey));
    const commitment = output.commitment && bytesToHex(output.commitment);
    return { ...opened, outpoint, publicKey, keyImage, own: bytesToHex(output.key), commitment };
  }
  throw badInput(`the coin ${outpoint} is not ours`);
}

function keptTransaction(raw: string) {
  try {
    return readKept(Buffer.from(raw, 'hex')).transaction;
  } catch (error) {
    if (error instanceof Malformed) throw badInput('a previous transaction cannot be read');
    throw error;
  }
}

/** Sixteen different outputs, ascending, of which one is ours. The amount of a coinbase is in clear. */
function judgeRing({ own: key, commitment, outpoint }: RinglessOutput, ring: readonly RingMember[]): void {
  const isAscending = ring.every(({ index }, at) => at === 0 || index > (ring[at - 1] as RingMember).index);
  const own = ring.filter((member) => member.key === key);
  if (ring.length !== RING_MEMBERS || !isAscending) throw badInput(`the ring of ${outpoint} is not of sixteen outputs`);
  if (!ring.every((member) => isPoint(member.key) && isPoint(member.commitment))) {
    throw badInput(`the ring of ${outpoint} has what is no output of a chain`);
  }
  if (own.length !== 1 || (commitment !== null && own[0]?.commitment !== commitment)) {
    throw badInput(`the ring of ${outpoint} does not have it`);
  }
}

const isPoint = (hex: string): boolean => pointOf(Buffer.from(hex, 'hex')) !== null;

/** Checks that every output is one payment of the intents, or the only change. */
function judgeOutputs({ plan, purpose, withdrawals }: MoneroOrder, { account, network }: Owner): void {
  const payouts = plan.outputs.filter(({ kind }) => kind === 'payout');
  const changes = plan.outputs.filter((output) => output.kind === 'change');
  if (plan.outputs.some(({ units }) => units <= 0n)) throw differs('an output is worth nothing');
  if (payouts.length > PAYOUTS_MAX) throw differs(`it has more than ${PAYOUTS_MAX} payments`);
  if (changes.length > 1) throw differs('there is more than one change');
  for (const { address, script } of plan.outputs) {
    if (destinationOf(address, network) !== bytesToHex(script)) throw differs(`an output does not pay ${address}`);
  }
  for (const { index, script } of changes) {
    if (index !== CHANGE_INDEX) throw differs(`the change goes to address ${index}, where nobody looks for it`);
    const own = addressAt(account, 1, CHANGE_INDEX, network).script;
    if (bytesToHex(own) !== bytesToHex(script)) throw differs('the change is not ours');
  }
  const wanted = purpose === 'cancel' ? [] : withdrawals.map(({ intent }) => intent);
  const alone = wanted.length === 1 ? wanted[0] : undefined;
  if (wanted.some(({ sweep, coins, address }) => sweep || coins || address === ADDRESS_SELF) && !alone) {
    throw differs('what takes everything, names its coins, or pays only ourselves, stands alone');
  }
  if (alone?.coins) judgeCoins(plan, alone.coins);
  if (alone?.sweep && changes.length > 0) throw differs('what takes everything leaves no change');
  const integrated = payouts.filter(({ script }) => script.length > ADDRESS_BYTES);
  if (integrated.length > 0 && payouts.length > 1) throw differs('an integrated address stands alone');
  const paid = payouts.map(({ script, units }) => ({ to: bytesToHex(script), units }));
  const payees = wanted.filter(({ address }) => address !== ADDRESS_SELF);
  if (payees.length === 0 && changes.length !== 1) throw differs('it pays others than ourselves');
  needPaid(paid, payees, ({ address }) => {
    const to = destinationOf(address, network);
    if (to === null) throw differs(`${address} is no address of XMR on ${network}`);
    return to;
  });
}

/** The bytes of an address without a payment id. */
const ADDRESS_BYTES = 65;

/** Checks that exactly the approved coins are spent. */
function judgeCoins({ inputs }: MoneroPlan, coins: readonly string[]): void {
  const approved = new Set(coins);
  if (approved.size !== inputs.length || inputs.some(({ outpoint }) => !approved.has(outpoint))) {
    throw differs('it spends other coins than was approved');
  }
}

const sum = (amounts: readonly { units: bigint }[]): bigint => amounts.reduce((total, { units }) => total + units, 0n);

/** An output of the merchant's, to compute its key image. `previous`: its transaction, see `KeptTransaction`, in hex. */
type ImageRequest = { outpoint: string; units: bigint; branch: 0 | 1; index: number; previous: string };

/** The key images (hex) of outputs of an account, by outpoint, without those that are not its own. */
export function keyImagesOf(
  keys: Keys,
  network: Network,
  accountNo: number,
  outputs: readonly ImageRequest[],
): Record<string, string> {
  const secret = moneroSecretOf(keys.seed, network, accountNo, keys.imported);
  const owner: Owner = { ...secret, account: moneroAccount(secret), network };
  const images: Record<string, string> = {};
  for (const { previous, ...output } of outputs) {
    const txid = output.outpoint.slice(0, HASH_CHARS);
    const input = { ...output, script: new Uint8Array(), confirmations: 0, decoys: [] };
    try {
      images[output.outpoint] = ownOutput(input, { [txid]: previous }, owner).keyImage;
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
    }
  }
  return images;
}
