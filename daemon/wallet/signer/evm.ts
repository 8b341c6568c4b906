/**
 * Judges an order of Ethereum or BNB Smart Chain: encodes its transaction, reads the bytes again, and compares what they
 * do with the approvals. The bytes that were judged are signed.
 *
 * Invariants. A transaction sends the native coin without call data, or calls `transfer` of a token's contract from the
 * registry. Its sender is an address of ours, derived here. Everything else is refused.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { recover } from 'tiny-secp256k1';
import type { Network } from '../../domain/assets.ts';
import { assert, Rejected } from '../../domain/errors.ts';
import { chainIdOf, type EvmChain, GAS_LIMIT_MAX, NATIVE_COIN, TANKS_MAX } from '../../domain/evm.ts';
import {
  type EvmTransaction,
  parseTransaction,
  signedBytes,
  transactionOf,
  unsignedBytes,
} from '../../domain/evm-transaction.ts';
import { type EvmPlan, nonceKey, type SignedSpend } from '../../domain/spend.ts';
import { addressOf, checksummed, evmDestination } from './evm-address.ts';
import { isContractOf, type Movement, movementOf } from './evm-movement.ts';
import { judgePayments } from './forward.ts';
import { judgeForwardGas } from './forward-gas.ts';
import { gasSubjectOf, judgeGas, needWithinReach } from './gas.ts';
import { differs, type Judged, needPaid } from './judged.ts';
import { type AccountKeys, withAccountKeys } from './keys.ts';
import { gasFeeLimit } from './limits.ts';
import type { Funded, Moved, Verdict, Witness } from './permission.ts';
import { ADDRESS_SELF, type Approval, type EvmOrder, type Intent } from './port.ts';

/** The gas of the cheapest transaction. */
const GAS_LIMIT_MIN = 21_000n;
/** A deposit address gets gas for so many of the dearest transactions at most. */
const GAS_FUNDED_MAX = 2n;

/** Judges an order. The result can sign it. Throws `Rejected` (see `Signer.sign`) if a check fails. */
export function judgeEvm(order: EvmOrder, seed: Uint8Array, witness: Witness): Judged {
  const { plan } = order;
  const bytes = unsignedBytes(transactionOf(plan));
  return withAccountKeys(seed, plan.chain, plan.network, plan.accountNo, (keys) => {
    const { transaction, signature } = parseTransaction(bytes);
    assert(signature === null, 'it is not signed yet');
    const { verdict, conflictKeys } = judge(order, transaction, keys, witness);
    return { verdict, conflictKeys, sign: () => signPlan(seed, plan, bytes) };
  });
}

function judge(order: EvmOrder, transaction: EvmTransaction, keys: AccountKeys, witness: Witness) {
  const { plan, purpose, withdrawals } = order;
  const { network, chain, accountNo } = plan;
  if (transaction.chainId !== BigInt(chainIdOf(network, chain))) throw differs('it is of another chain');
  const sender = checksummed(addressOf(keys.publicKey(plan.sender.branch, plan.sender.index)));
  if (plan.sender.address !== sender) throw differs('the sender is not ours');
  const fee = feeOf(plan, transaction);
  const movement = movementOf(transaction);
  if (!movement) throw differs('it calls a contract for something that is no transfer');
  const [only, ...others] = withdrawals;
  if (!only || others.length > 0) throw differs('a transaction of this chain is one payment');
  const { intent, approval } = only;
  const isCancel = purpose === 'cancel';
  const toSelf = isCancel || intent.address === ADDRESS_SELF;
  const tank = witness.memory.tanks.get(gasSubjectOf({ network, chain, accountNo })) ?? 0;
  const funded = toSelf ? fundedBy(plan, movement, keys, tank) : null;
  if (funded) needWithinReach({ network, chain, accountNo }, funded.index, witness);
  if (isCancel) {
    if (movement.contract !== null || movement.units !== 0n) throw differs('a cancellation moves nothing');
  } else if (!isContractOf(intent.asset, plan, movement.contract)) {
    throw differs(`it does not move ${intent.asset}`);
  }
  if (!toSelf) needPaid([movement], [intent], ({ address }) => needDestination(address, chain, network));
  const conflictKeys = [nonceKey(sender, plan.nonce)];
  const moved: Moved = {
    network,
    chain,
    accountNo,
    asset: plan.asset,
    fee,
    feeAsset: NATIVE_COIN[chain],
    conflictKeys,
  };
  const verdict = judgeApproved(order, { approval, intent, moved, funded, toSelf }, witness);
  if (fee > verdict.feeMax) throw feeTooHigh(fee, verdict.feeMax);
  return { verdict, conflictKeys };
}

type Move = { approval: Approval; intent: Intent; moved: Moved; funded: Funded | null; toSelf: boolean };

/** Judges by the approval of the one payment: gas has rules of its own. */
function judgeApproved(order: EvmOrder, { approval, intent, ...move }: Move, witness: Witness): Verdict {
  const { purpose } = order;
  if (approval.by === 'gas') return judgeGas(intent, { purpose, ...move }, witness);
  const forwarded = approval.by === 'forward' ? approval.asset : undefined;
  if (forwarded === undefined) return judgePayments(order, move.moved, witness);
  return judgeForwardGas(intent, { purpose, ...move, forwarded }, witness);
}

/** The highest fee of a transaction, wei. */
function feeOf(plan: EvmPlan, { gasLimit, maxFeePerGas, maxPriorityFeePerGas }: EvmTransaction): bigint {
  if (gasLimit < GAS_LIMIT_MIN || gasLimit > GAS_LIMIT_MAX) throw differs(`a limit of ${gasLimit} gas`);
  if (maxPriorityFeePerGas > maxFeePerGas) throw differs('the tip is above the whole fee');
  const fee = gasLimit * maxFeePerGas;
  if (plan.fee !== fee) throw differs('its fee is not what is stated');
  const limit = gasFeeLimit(plan.chain, gasLimit);
  if (fee > limit) throw feeTooHigh(fee, limit);
  return fee;
}

const feeTooHigh = (fee: bigint, max: bigint): Rejected =>
  new Rejected('signer.fee', `Refused to sign: a fee of ${fee} is above the limit of ${max}`);

/**
 * Checks that it pays the tank that the operator named, or gas to a deposit address or a former tank. A search by the words would not
 * find money at an address that was never given out. The result is the gas that such an address gets.
 */
function fundedBy(
  { outputs, chain }: EvmPlan,
  { to, contract, units }: Movement,
  keys: AccountKeys,
  tank: number,
): Funded | null {
  const [output] = outputs;
  if (output?.kind !== 'change') throw differs('it pays others than ourselves');
  const { branch = 1, index } = output;
  if (to !== addressOf(keys.publicKey(branch, index))) throw differs('its recipient is not ours');
  // what cancels a transaction moves nothing, and may name the tank of then
  const isNothing = contract === null && units === 0n && index < TANKS_MAX;
  const isTank = branch === 1 && (index === tank || isNothing);
  const isDeposit = branch === 0 || index < tank;
  const isGas = isDeposit && contract === null && units <= GAS_FUNDED_MAX * gasFeeLimit(chain, GAS_LIMIT_MAX);
  if (!isTank && !isGas) throw differs('it is neither collected into the tank nor gas for a deposit address');
  return isTank || units === 0n ? null : { index, units };
}

function needDestination(address: string, chain: EvmChain, network: Network): string {
  const to = evmDestination(address);
  if (to === null) throw differs(`${address} is no address of ${chain} on ${network}`);
  return to;
}

/** Signs judged bytes: deterministic (RFC 6979) with a low S. The signature is verified with another library. */
function signPlan(seed: Uint8Array, plan: EvmPlan, bytes: Uint8Array): SignedSpend {
  const { chain, network, accountNo, sender, gasLimit, fee } = plan;
  const digest = keccak_256(bytes);
  const made = withAccountKeys(seed, chain, network, accountNo, (keys) =>
    keys.withKey(sender.branch, sender.index, ({ privateKey }) =>
      secp256k1.sign(digest, privateKey, { prehash: false, lowS: true, format: 'recovered' }),
    ),
  );
  const [yParity, r, s] = [made[0], made.slice(1, 33), made.slice(33, 65)];
  assert(yParity === 0 || yParity === 1, 'a signature has a parity');
  const signer = recover(digest, made.slice(1), yParity, true);
  assert(signer && checksummed(addressOf(signer)) === sender.address, 'a signature that was just made is right');
  const signed = signedBytes(parseTransaction(bytes).transaction, { yParity, r, s });
  return { txid: `0x${bytesToHex(keccak_256(signed))}`, raw: `0x${bytesToHex(signed)}`, fee, size: Number(gasLimit) };
}
