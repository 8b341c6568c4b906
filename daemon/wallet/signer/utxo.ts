/**
 * Judges an order of BTC, LTC or BCH against its approvals and against earlier signatures. Pure and complete: every
 * output is an approved payment or our own change, every input is a coin of ours with the amount in its own
 * transaction, and the rest is a fee within its limits.
 *
 * Invariant: the plan's own statements (kinds, addresses, fee) are not believed but derived again.
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import type { Branch } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import type { PlannedOutput, UtxoPlan } from '../../domain/spend.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { destination, dustLimit, ownScript } from './destination.ts';
import { judgePayments } from './forward.ts';
import { differs, type Judged, needPaid } from './judged.ts';
import { withAccountKeys } from './keys.ts';
import { feeLimit } from './limits.ts';
import type { Witness } from './permission.ts';
import { ADDRESS_SELF, type Intent, type UtxoOrder } from './port.ts';
import { type PreviousOutput, previousOutputs } from './previous.ts';
import { signPlan } from './sign.ts';
import { reachOf } from './signed-changes.ts';
import { isUtxo, type UtxoChain } from './wire.ts';

/** About the number that fits into a transaction that nodes relay: 100,000 virtual bytes. */
const INPUTS_MAX = 1_470;
/** The first change of an account may go this far: what another wallet of the same words used before is not known. */
const FIRST_CHANGE_MAX = 1_000_000;
const LOCK_TIME_IS_HEIGHT_BELOW = 500_000_000;
/** Sequences from here on have no relative lock time (BIP-68); this one signals replacement (BIP-125). */
const SEQUENCE_MIN = 0xfffffffd;
const SEQUENCE_MAX = 0xffffffff;

type Facts = Witness & {
  /** The script (hex) of our own address at branch/index of the plan's account. */
  ownScript(branch: Branch, index: number): string;
  /** The output at an outpoint, read from its own transaction. Throws `Rejected('signer.input')`. */
  output(outpoint: string): PreviousOutput;
};

const badInput = (why: string): Rejected => new Rejected('signer.input', `Refused to sign: ${why}`);

/** Judges an order. The result can sign it. Throws `Rejected` (see `Signer.sign`) if a check fails. */
export function judgeUtxo(order: UtxoOrder, seed: Uint8Array, witness: Witness): Judged {
  const { plan, chain } = utxoPlan(order);
  const { conflictKeys, verdict, change } = withAccountKeys(seed, chain, plan.network, plan.accountNo, (keys) =>
    judge(order, {
      ...witness,
      ownScript: (branch, index) => ownScript(keys.publicKey(branch, index), chain),
      output: outputsOf(order.previous),
    }),
  );
  return { verdict, conflictKeys, ...(change && { change }), sign: () => signPlan(seed, plan) };
}

function utxoPlan({ plan }: UtxoOrder): { plan: UtxoPlan; chain: UtxoChain } {
  if (!isUtxo(plan.chain)) throw new Rejected('signer.unsupported', `The wallet does not sign for ${plan.chain} yet`);
  if (plan.inputs.length === 0 || plan.inputs.length > INPUTS_MAX) {
    throw new Rejected('signer.unsupported', `A transaction has 1 to ${INPUTS_MAX} inputs`);
  }
  return { plan, chain: plan.chain };
}

function judge(order: UtxoOrder, facts: Facts): Omit<Judged, 'sign'> {
  const { plan, chain } = utxoPlan(order);
  judgeFrame(plan);
  const spent = judgeInputs(plan, facts);
  judgeOutputs(order, plan, chain, facts);
  const paid = sum(plan.outputs);
  if (plan.fee < 0n || spent !== paid + plan.fee) throw differs('inputs are not outputs plus fee');
  const limit = feeLimit(chain, plan, order.withdrawals.every(paysSelf));
  if (plan.fee > limit) throw feeTooHigh(plan.fee, limit);
  const { network, accountNo, fee } = plan;
  const conflictKeys = plan.inputs.map(({ outpoint }) => outpoint);
  const moved = { network, chain, accountNo, asset: chain, fee, feeAsset: chain, conflictKeys };
  const verdict = judgePayments(order, moved, facts);
  if (fee > verdict.feeMax) throw feeTooHigh(fee, verdict.feeMax);
  const change = plan.outputs.find((output) => output.kind === 'change');
  return { verdict, conflictKeys, ...(change && { change: { account: accountOf(plan), index: change.index } }) };
}

const accountOf = ({ network, chain, accountNo }: UtxoPlan): string => `${network}/${chain}/${accountNo}`;

/** The highest index to which change may go, so that a search by the words finds it. */
function changeMax({ plan, withdrawals }: UtxoOrder, { memory, now }: Facts): number {
  const uuids = withdrawals.map(({ intent }) => intent.uuid).filter((uuid) => memory.signed.has(uuid));
  const isForwarded = withdrawals.some(({ approval }) => approval.by === 'forward');
  const first = memory.isFresh ? { index: -1, epochs: 1 } : undefined;
  const since = isForwarded ? now - MS_PER_DAY : null;
  const last = memory.changes.furthest(accountOf(plan), { uuids, since }, first);
  return last ? reachOf(last, memory.epochs.length) : FIRST_CHANGE_MAX;
}

const feeTooHigh = (fee: bigint, max: bigint): Rejected =>
  new Rejected('signer.fee', `Refused to sign: a fee of ${fee} is above the limit of ${max}`);

function judgeFrame({ version, lockTime, inputs }: UtxoPlan): void {
  if (version !== 1 && version !== 2) throw differs('a transaction has version 1 or 2');
  if (lockTime < 0 || lockTime >= LOCK_TIME_IS_HEIGHT_BELOW) throw differs('the lock time is no height');
  if (inputs.some(({ sequence }) => sequence < SEQUENCE_MIN || sequence > SEQUENCE_MAX)) {
    throw differs('an input has a relative lock time');
  }
}

/** The sum of the inputs. Each must be ours, named once, and equal to the output of its transaction. */
function judgeInputs({ inputs }: UtxoPlan, { ownScript, output }: Facts): bigint {
  if (new Set(inputs.map(({ outpoint }) => outpoint)).size !== inputs.length) throw badInput('an input is named twice');
  for (const { outpoint, units, script, branch, index } of inputs) {
    const real = output(outpoint);
    if (real.units !== units) throw badInput(`the coin ${outpoint} is not worth ${units}`);
    if (real.script !== bytesToHex(script)) throw badInput(`the coin ${outpoint} has another script`);
    if (real.script !== ownScript(branch, index)) throw badInput(`the coin ${outpoint} is not ours`);
  }
  return sum(inputs);
}

/** Checks that every output is one payment of the intents, or the only change. */
function judgeOutputs(order: UtxoOrder, plan: UtxoPlan, chain: UtxoChain, facts: Facts): void {
  const { outputs, network } = plan;
  const payouts = outputs.filter((output) => output.kind === 'payout');
  const changes = outputs.filter((output) => output.kind === 'change');
  for (const { script, units, address } of outputs) {
    if (units < dustLimit(bytesToHex(script), chain)) throw differs('an output is dust');
    if (destination(address, chain, network) !== bytesToHex(script)) throw differs(`an output does not pay ${address}`);
  }
  for (const { index, script } of changes) {
    if (index > changeMax(order, facts)) {
      throw differs(`the change goes to address ${index}, which is further than a search by the words looks`);
    }
    if (bytesToHex(script) !== facts.ownScript(1, index)) throw differs('the change is not ours');
  }
  const wanted = order.purpose === 'cancel' ? [] : order.withdrawals.map(({ intent }) => intent);
  const alone = wanted.length === 1 ? wanted[0] : undefined;
  if (wanted.some(({ sweep, coins, address }) => sweep || coins || address === ADDRESS_SELF) && !alone) {
    throw differs('what takes everything, names its coins, or pays only ourselves, stands alone');
  }
  if (alone?.coins) judgeCoins(plan, alone.coins);
  const toSelf = order.purpose === 'cancel' || order.withdrawals.every(paysSelf);
  if (toSelf && (payouts.length > 0 || changes.length !== 1)) throw differs('it pays others than ourselves');
  if (alone?.sweep && changes.length > 0) throw differs('what takes everything leaves no change');
  if (changes.length > 1) throw differs('there is more than one change');
  if (toSelf) return;
  matchPayouts(plan, chain, payouts, wanted);
}

const paysSelf = ({ intent }: { intent: Intent }): boolean => intent.address === ADDRESS_SELF;

/** Checks that exactly the approved coins are spent. */
function judgeCoins({ inputs }: UtxoPlan, coins: readonly string[]): void {
  const approved = new Set(coins);
  if (approved.size !== inputs.length || inputs.some(({ outpoint }) => !approved.has(outpoint))) {
    throw differs('it spends other coins than was approved');
  }
}

/** Matches each payment by the script of its address. */
function matchPayouts(plan: UtxoPlan, chain: UtxoChain, payouts: PlannedOutput[], wanted: Intent[]): void {
  const paid = payouts.map(({ script, units }) => ({ to: bytesToHex(script), units }));
  needPaid(paid, wanted, ({ address }) => {
    const script = destination(address, chain, plan.network);
    if (script === null) throw differs(`${address} is no address of ${chain} on ${plan.network}`);
    return script;
  });
}

/** Reads and hashes each previous transaction once, even if several of its outputs are spent. */
function outputsOf(previous: UtxoOrder['previous']): (outpoint: string) => PreviousOutput {
  const known = new Map<string, PreviousOutput[]>();
  return (outpoint) => {
    const [txid = '', n] = outpoint.split(':');
    let outputs = known.get(txid);
    if (!outputs) {
      const raw = Object.hasOwn(previous, txid) ? previous[txid] : undefined;
      if (raw === undefined) throw new Rejected('signer.input', `The previous transaction ${txid} was not given`);
      outputs = previousOutputs(txid, raw);
      known.set(txid, outputs);
    }
    const output = outputs[Number(n)];
    if (!output) throw new Rejected('signer.input', `There is no output ${outpoint}`);
    return output;
  };
}

const sum = (amounts: readonly { units: bigint }[]): bigint => amounts.reduce((total, { units }) => total + units, 0n);
