/**
 * How money leaves on Ethereum and BNB Smart Chain: transactions with a base fee (EIP-1559), each from one address to
 * one recipient. The size is the limit of gas, so rates are wei per 1,000 gas.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { recover } from 'tiny-secp256k1';
import { type AssetId, assetOf, type Network } from '../../../domain/assets.ts';
import { assert, Rejected } from '../../../domain/errors.ts';
import { type EvmChain, GAS_LIMIT_MAX, NATIVE_COIN } from '../../../domain/evm.ts';
import {
  type EvmTransaction,
  parseTransaction,
  transactionOf,
  transferData,
  transferOf,
  unsignedBytes,
} from '../../../domain/evm-transaction.ts';
import { formatUnits, maxOf, minOf } from '../../../domain/money.ts';
import {
  type Decoded,
  type DecodedOutput,
  type EvmPlan,
  type EvmUnsigned,
  nonceKey,
  nonceOf,
  type PlannedOutput,
  type SpendPlan,
} from '../../../domain/spend.ts';
import { chooseSender, MissingGas, type Sender } from '../../accounts.ts';
import {
  type AddressFunds,
  type Description,
  type Estimate,
  type EstimateRequest,
  type Holdings,
  OfSource,
  type OwnAddress,
  type OwnParts,
  type PaymentRequest,
  type Spending,
} from '../../spending.ts';
import { addressOfUncompressed, checksumAddress, scriptOf } from '../address.ts';
import { hexOfScript } from '../endpoint.ts';
import type { Token } from '../params.ts';
import { chooseBacked, fundsThere } from './backed.ts';
import { type EvmSource, TIP_PLAIN } from './source.ts';

/** The gas of a transfer to an address without a contract that the chain has already. */
const PLAIN_GAS = 21_000n;
/** The limit of one to an address that it does not have, where that costs 183,600 more (EIP-8037), with `GAS_HEADROOM_PERCENT`. */
const NEW_ADDRESS_GAS = 255_750n;
/**
 * No transfer of a token gets less, whatever endpoints tell: one that runs out of gas pays for nothing. USDT on Ethereum was measured
 * to use 63,221 where the recipient had none before, which is the dearest of the usual tokens. Unused gas is not paid.
 */
const TOKEN_GAS_MIN = 65_000n;
/** More than the transfers of usual tokens need, for an estimate without asking. */
const USUAL_TOKEN_GAS = 80_000n;
/** The same where a new balance costs 97,920 (EIP-8037) in place of 20,000. */
const USUAL_TOKEN_GAS_DEAR = 180_000n;
/** The gas that a contract needs may grow until a block includes the transaction. */
const GAS_HEADROOM_PERCENT = 125n;
/** Nodes accept a replacement that raises both fees by 10 %; a little more for rounding. */
const REPLACEMENT_PERCENT = 113n;
/** Addresses that a payment of a token is tried from: a token may block one of them. */
const SENDERS_TRIED_MAX = 3;
/** Open transactions of one address: far more than nodes keep of one. */
const NONCES_BEFORE_MAX = 1_000n;
/** While the source is away: 10 gwei, 1 gwei. */
const FALLBACK_RATE: Readonly<Record<EvmChain, bigint>> = { ETH: 10_000_000_000_000n, BSC: 1_000_000_000_000n };

/** `suspect`: called with an address of which blocks have a transaction that the books lack. */
type EvmNetwork = {
  chain: EvmChain;
  network: Network;
  tokens: readonly Token[];
  suspect?: (script: Uint8Array) => void;
};
type Limit = () => AbortSignal;
/** `units`: null for everything. `contract`: null for the coin. */
type Wanted = { units: bigint | null; contract: string | null; to: Uint8Array };
type Fees = Pick<EvmPlan, 'maxFeePerGas' | 'maxPriorityFeePerGas'>;

export class EvmSpending extends OfSource implements Spending {
  readonly feeAsset: AssetId;
  readonly replacement = 'nonce';
  readonly changeAddress = 'fixed';
  readonly isWhole = true;
  readonly fallbackRate: bigint;
  readonly #network: EvmNetwork;
  readonly #source: EvmSource;
  readonly #suspect: (script: Uint8Array) => void;

  constructor(network: EvmNetwork, source: EvmSource) {
    super(source);
    this.#network = network;
    this.#suspect = network.suspect ?? (() => {});
    this.#source = source;
    this.feeAsset = NATIVE_COIN[network.chain];
    this.fallbackRate = FALLBACK_RATE[network.chain];
  }

  replacementRate(replaced: readonly { fee: bigint; size: number }[]): bigint {
    return replaced.map(({ fee, size }) => (raised(fee) * 1_000n) / BigInt(Math.max(1, size)) + 1n).reduce(maxOf, 1n);
  }

  hasLowTip(plan: SpendPlan): boolean {
    const { maxFeePerGas, maxPriorityFeePerGas } = evmPlan(plan);
    return maxPriorityFeePerGas < minOf(TIP_PLAIN, maxFeePerGas / 2n);
  }

  sendable(_address: string, units: bigint): bigint {
    return maxOf(units, 1n);
  }

  pays({ script }: DecodedOutput, address: string): boolean {
    return Buffer.compare(script, needScript(address)) === 0;
  }

  usualFee(asset: AssetId, rate: bigint): bigint {
    const ofToken = this.#source.isNewStateDear ? USUAL_TOKEN_GAS_DEAR : USUAL_TOKEN_GAS;
    return ((asset === this.feeAsset ? PLAIN_GAS : ofToken) * rate) / 1_000n;
  }

  fundingFee(rate: bigint): bigint {
    return ((this.#source.isNewStateDear ? NEW_ADDRESS_GAS : PLAIN_GAS) * rate) / 1_000n;
  }

  /** The fee of a usual transfer. Only the chain knows the gas that this one needs. */
  estimate({ asset, feeRate }: EstimateRequest): Estimate {
    const fee = this.usualFee(asset, feeRate);
    if (asset !== this.feeAsset) return { fee, plan: null };
    // the recipient of a coin may be a contract, or an address that the chain does not have yet
    return { fee: maxOf((fee * GAS_HEADROOM_PERCENT) / 100n, this.fundingFee(feeRate)), plan: null };
  }

  async plan(request: PaymentRequest, limit: Limit): Promise<EvmPlan> {
    const { conflictKeys, payouts, feeMax, replaced = [] } = request;
    if (payouts.length > 1) {
      throw new Rejected('spend.one_payment', 'On this chain each payment is a transaction of its own');
    }
    const keys = conflictKeys.flatMap((key) => nonceOf(key) ?? []);
    const [reserved, ...others] = keys;
    assert(others.length === 0 && keys.length === conflictKeys.length, 'a transaction has one nonce');
    const fees = await this.#fees(request, replaced.filter(isEvmPlan), limit);
    const isCancel = payouts.length === 0 && reserved !== undefined;
    const from = reserved ? { script: needScript(reserved.address) } : request.from;
    const asked = { ...request, ...(from && { from }) };
    const { sender, output, contract, gasLimit } = isCancel
      ? this.#cancel(asked)
      : await this.#transfer(asked, fees, limit);
    const fee = gasLimit * fees.maxFeePerGas;
    if (fee > feeMax) {
      throw new Rejected('spend.fee_too_high', `The network fee would be ${this.#money(fee)}`);
    }
    if (isCancel) await this.#needFee(sender, fee, limit);
    const { address, branch, index } = sender;
    const isUsedOrReserved = (one: bigint): boolean => request.holdings.nextNonce(address, one) > one;
    const isExplained = (count: bigint): boolean => count === 0n || isUsedOrReserved(count - 1n);
    const lowestNonce = await this.#source.nonce(hexOfScript(sender.script), isExplained, limit());
    const nonce = reserved?.nonce ?? request.holdings.nextNonce(address, lowestNonce);
    if (nonce < lowestNonce) throw isUsed(address, nonce);
    if (nonce - lowestNonce > NONCES_BEFORE_MAX) throw tooFarAhead(address, nonce, lowestNonce);
    if (!reserved) {
      this.#needBooked(sender, lowestNonce, request.holdings);
      await this.#needNoOther(sender, nonce, limit);
    }
    return {
      kind: 'evm',
      network: this.#network.network,
      chain: this.#network.chain,
      accountNo: request.accountNo,
      asset: request.asset,
      contract,
      sender: { address, branch, index },
      nonce,
      lowestNonce,
      gasLimit,
      ...fees,
      outputs: [output],
      fee,
    };
  }

  /**
   * Throws `Rejected('spend.unknown')` while pools have a transaction of the address that the books do not have: another machine with these
   * words sent it, or this one before its data came back older. It may make the very payment that is planned.
   */
  async #needNoOther({ address, script }: AddressFunds, nonce: bigint, limit: Limit): Promise<void> {
    if ((await this.#source.nonceInPools(hexOfScript(script), limit())) > nonce) throw unknownOf(address, nonce);
  }

  /**
   * Throws `Rejected('spend.unknown')` while blocks have a transaction of the address that the books lack, for the same reason: none but a
   * balance shows that coins left, and addresses are compared by turns.
   */
  #needBooked(sender: AddressFunds, used: bigint, holdings: Holdings): void {
    if (!holdings.lacksSent?.(sender, used)) return;
    this.#suspect(sender.script);
    throw unbooked(sender.address, used);
  }

  /** A transfer of nothing: a token that blocks an address refuses that, too, whatever is there. */
  async whyRefused(
    asset: AssetId,
    { script }: OwnAddress,
    to: string | null,
    signal: AbortSignal,
  ): Promise<string | null> {
    const contract = this.#contractOf(asset);
    if (contract === null) return null;
    const data = transferData(to === null ? script : needScript(to), 0n);
    const call = {
      from: hexOfScript(script),
      to: contract,
      value: '0x0',
      data: `0x${Buffer.from(data).toString('hex')}`,
    };
    try {
      await this.#source.gas(call, signal);
      return null;
    } catch (error) {
      if (isRefusal(error)) return (error as Rejected).message;
      throw error;
    }
  }

  conflictKeys(plan: SpendPlan): string[] {
    const { sender, nonce } = evmPlan(plan);
    return [nonceKey(sender.address, nonce)];
  }

  keysBefore(plan: SpendPlan): string[] {
    const { sender, nonce, lowestNonce } = evmPlan(plan);
    const keys: string[] = [];
    for (let lower = lowestNonce; lower < nonce; lower++) keys.push(nonceKey(sender.address, lower));
    return keys;
  }

  preferredKey(plan: SpendPlan): string {
    const { sender, nonce } = evmPlan(plan);
    return nonceKey(sender.address, nonce);
  }

  sizeOf(plan: SpendPlan): number {
    return Number(evmPlan(plan).gasLimit);
  }

  describe(plan: SpendPlan): Description {
    const given = evmPlan(plan);
    const bytes = unsignedBytes(transactionOf(given));
    const { transaction } = parseTransaction(bytes);
    const output = this.#outputOf(transaction, given.asset);
    const [planned] = given.outputs;
    const isOwn = planned?.kind === 'change' && (planned.branch ?? 1) === 1;
    return {
      raw: `0x${Buffer.from(bytes).toString('hex')}`,
      conflictKeys: this.conflictKeys(plan),
      outputs: [{ ...output, changeIndex: isOwn ? planned.index : null }],
    };
  }

  async unsigned(plan: SpendPlan): Promise<EvmUnsigned> {
    return { plan: evmPlan(plan) };
  }

  decode(raw: string): Decoded {
    const { transaction, sender, txid } = read(raw);
    const key = nonceKey(checksumAddress(sender), transaction.nonce);
    return { txid, conflictKeys: [key], outputs: [this.#outputOf(transaction, this.feeAsset)] };
  }

  recover(raw: string, own: OwnParts): EvmPlan {
    const { transaction, sender } = read(raw);
    const at = own.positionOf({ script: sender });
    if (!at) throw new Rejected('spend.malformed', 'Its sender is no address of this wallet');
    const { address, script, asset, units } = this.#outputOf(transaction, this.feeAsset);
    const mine = own.positionOf({ script });
    const to = { address: address ?? '', script, units };
    const output: PlannedOutput = mine
      ? { kind: 'change', ...to, branch: mine.branch, index: mine.index }
      : { kind: 'payout', ...to };
    const { nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction;
    return {
      kind: 'evm',
      network: this.#network.network,
      chain: this.#network.chain,
      accountNo: own.accountNo,
      asset,
      contract: asset === this.feeAsset ? null : hexOfScript(transaction.to),
      sender: { address: checksumAddress(sender), branch: at.branch, index: at.index },
      nonce,
      lowestNonce: nonce,
      gasLimit,
      maxFeePerGas,
      maxPriorityFeePerGas,
      outputs: [output],
      fee: gasLimit * maxFeePerGas,
    };
  }

  /** Sends nothing to ourselves, so that the nonce is used. */
  #cancel({ holdings, from, change }: PaymentRequest) {
    assert(from, 'what is canceled has a sender');
    const output: PlannedOutput = { kind: 'change', ...change, units: 0n };
    return { sender: holdings.balance(from), output, contract: null, gasLimit: PLAIN_GAS };
  }

  async #needFee(sender: AddressFunds, fee: bigint, limit: Limit): Promise<void> {
    const assets = { asset: this.feeAsset, feeAsset: this.feeAsset, contract: null };
    const { units } = (await fundsThere(this.#source, sender, assets, limit)) ?? sender;
    const there = units[this.feeAsset] ?? 0n;
    if (there < fee) throw new MissingGas(this.feeAsset, fee - there, sender.address);
  }

  /** A payment, or a collection of everything at one address. The sender must have the amount and the gas for it. */
  async #transfer(request: PaymentRequest, { maxFeePerGas }: Fees, limit: Limit) {
    const { asset, payouts, change, from } = request;
    const [payout] = payouts;
    assert(payout || from, 'something is paid or collected');
    const to = payout ? needScript(payout.address) : change.script;
    const contract = this.#contractOf(asset);
    const units = payout?.units ?? null;
    const least = (request.replaced ?? [])
      .flatMap((plan) => (isEvmPlan(plan) && plan.contract === contract ? [plan.gasLimit] : []))
      .reduce(maxOf, PLAIN_GAS);
    const isOwn = payout === undefined || payout.own !== undefined;
    const wanted = { units, contract, to };
    const { holdings, gas } =
      contract === null && isOwn
        ? { ...request, gas: await this.#gasForOwn(request, wanted, limit) }
        : await this.#tried(request, wanted, limit, contract === null ? 1 : SENDERS_TRIED_MAX);
    const gasLimit = maxOf(gas, least);
    const paid = { units, fee: gasLimit * maxFeePerGas, feeAsset: this.feeAsset };
    const { sender, units: sent } = await chooseBacked(
      this.#source,
      { ...request, holdings },
      { ...paid, contract },
      limit,
    );
    const at = { address: checksumAddress(to), script: to, units: sent };
    const own = payout ? payout.own : { branch: 1 as const, index: change.index };
    const output: PlannedOutput = own ? { kind: 'change', ...at, ...own } : { kind: 'payout', ...at };
    if (output.kind === 'payout' && payout) output.address = payout.address;
    return { sender, output, contract, gasLimit };
  }

  /**
   * The holdings without addresses that the token refuses, and the limit of gas from the address that is chosen then.
   * Throws the first refusal if no other address can pay.
   */
  async #tried(
    request: PaymentRequest,
    wanted: Wanted,
    limit: Limit,
    tries: number,
  ): Promise<{ holdings: Holdings; gas: bigint }> {
    const { holdings, from } = request;
    // the simulation needs an address that has the amount, with or without the gas
    const first = chooseSender(request, { units: wanted.units, fee: 0n, feeAsset: this.feeAsset });
    try {
      return { holdings, gas: await this.#gasFor({ first, ...wanted }, limit) };
    } catch (refusal) {
      if (from || tries <= 1 || !isRefusal(refusal)) throw refusal;
      const others = () => holdings.balances().filter(({ address }) => address !== first.sender.address);
      const rest = { ...request, holdings: { ...holdings, balances: others } };
      return this.#tried(rest, wanted, limit, tries - 1).catch((error: unknown) => {
        throw error instanceof Rejected ? refusal : error;
      });
    }
  }

  /** The limit of gas for coin to an address of ours, which runs no contract: no more than a new address costs, whatever endpoints tell. */
  async #gasForOwn(request: PaymentRequest, { units, ...wanted }: Wanted, limit: Limit): Promise<bigint> {
    if (!this.#source.isNewStateDear) return PLAIN_GAS;
    const first = chooseSender(request, { units, fee: 0n, feeAsset: this.feeAsset });
    try {
      return minOf(await this.#gasFor({ first, ...wanted }, limit), NEW_ADDRESS_GAS);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return NEW_ADDRESS_GAS;
    }
  }

  /** The limit of gas for a transfer, with headroom where a contract runs. */
  async #gasFor(tried: { first: Sender; contract: string | null; to: Uint8Array }, limit: Limit): Promise<bigint> {
    const { first, contract, to } = tried;
    const from = hexOfScript(first.sender.script);
    const data = contract === null ? '0x' : `0x${Buffer.from(transferData(to, first.units)).toString('hex')}`;
    const value = contract === null ? first.units : 0n;
    const call = { from, to: contract ?? hexOfScript(to), value: `0x${value.toString(16)}`, data };
    const gas = await this.#source.gas(call, limit());
    const least = contract === null ? PLAIN_GAS : TOKEN_GAS_MIN;
    const limited = gas === PLAIN_GAS && contract === null ? gas : maxOf((gas * GAS_HEADROOM_PERCENT) / 100n, least);
    if (limited <= GAS_LIMIT_MAX) return limited;
    const whose = contract === null ? "The recipient's code" : 'The token';
    throw new Rejected('spend.refused', `${whose} wants ${gas} gas, more than a transfer may use`);
  }

  /**
   * A replacement raises both fees of every transaction that it replaces. It doubles their tip, or gives a plain one, as far as it
   * offers more than twice the base fee: the tip that an endpoint told was too low.
   */
  async #fees({ feeRate }: PaymentRequest, replaced: readonly EvmPlan[], limit: Limit): Promise<Fees> {
    const { base, tip } = await this.#source.gasPrice(limit());
    const least = replaced.map((plan) => raised(plan.maxFeePerGas) + 1n).reduce(maxOf, 1n);
    const maxFeePerGas = maxOf((feeRate + 999n) / 1_000n, least);
    const tips = replaced.map((plan) => plan.maxPriorityFeePerGas);
    const better = tips.length === 0 ? 0n : tips.map((one) => 2n * one).reduce(maxOf, TIP_PLAIN);
    const affordable = minOf(better, maxFeePerGas - 2n * base);
    const leastTip = tips.map((one) => raised(one) + 1n).reduce(maxOf, affordable);
    return { maxFeePerGas, maxPriorityFeePerGas: minOf(maxOf(tip, leastTip), maxFeePerGas) };
  }

  #contractOf(asset: AssetId): string | null {
    if (asset === this.feeAsset) return null;
    const token = this.#network.tokens.find((one) => one.asset === asset);
    if (!token) throw new Rejected('withdrawal.unsupported', `${asset} has no contract on this network`, 'crypto');
    return token.contract;
  }

  /** `paid`: the asset if nothing is transferred. */
  #outputOf({ to, value, data }: EvmTransaction, paid: AssetId): DecodedOutput {
    if (data.length === 0) {
      return { address: checksumAddress(to), script: to, asset: value === 0n ? paid : this.feeAsset, units: value };
    }
    const transfer = transferOf(data);
    const token = this.#network.tokens.find(({ contract }) => contract === hexOfScript(to));
    if (!transfer || !token || value !== 0n) {
      throw new Rejected('spend.malformed', 'It calls a contract for something that is no transfer of a known token');
    }
    const { to: recipient, units } = transfer;
    return { address: checksumAddress(recipient), script: recipient, asset: token.asset, units };
  }

  #money(units: bigint): string {
    return `${formatUnits(units, assetOf(this.feeAsset))} ${this.feeAsset}`;
  }
}

const isRefusal = (error: unknown): boolean => error instanceof Rejected && error.code === 'spend.refused';

const isUsed = (address: string, nonce: bigint): Rejected =>
  new Rejected('spend.nonce', `A block has transaction ${nonce} of ${address} already: nothing can take its place`);

const tooFarAhead = (address: string, nonce: bigint, lowest: bigint): Rejected =>
  new Rejected('spend.nonce', `It would be transaction ${nonce} of ${address}, and blocks have ${lowest} of them`);

const unknownOf = (address: string, nonce: bigint): Rejected =>
  new Rejected(
    'spend.unknown',
    `Transaction ${nonce} of ${address} waits for a block, and this machine did not make it: another one has the same words, or had them. ` +
      'Nothing is paid from there until a block has that transaction, or the network has dropped it',
  );

const unbooked = (address: string, used: bigint): Rejected =>
  new Rejected(
    'spend.unknown',
    `Blocks have ${used} transactions of ${address}, and the books fewer: another machine has the same words, or had them. Nothing is paid ` +
      'from there until the others were read. If they cannot be found, see that none of them makes a payment that waits here; then ' +
      '`countinghouse ledger` offers to take them as they are',
  );

const raised = (fee: bigint): bigint => (fee * REPLACEMENT_PERCENT) / 100n;

const isEvmPlan = (plan: SpendPlan): plan is EvmPlan => plan.kind === 'evm';

function evmPlan(plan: SpendPlan): EvmPlan {
  assert(isEvmPlan(plan), 'a plan of an account chain');
  return plan;
}

function needScript(address: string): Uint8Array {
  const script = scriptOf(address);
  if (script) return script;
  throw new Rejected('withdrawal.address', `${address} is no address of this chain`, 'address');
}

/** The content of signed bytes, and the sender (20 bytes) that the signature proves. */
function read(raw: string): { transaction: EvmTransaction; sender: Uint8Array; txid: string } {
  const malformed = new Rejected('spend.malformed', 'The bytes are no signed transaction');
  if (!/^0x(?:[0-9a-f]{2})+$/.test(raw)) throw malformed;
  const bytes = Uint8Array.from(Buffer.from(raw.slice(2), 'hex'));
  const { transaction, signature } = parseTransaction(bytes);
  if (!signature) throw malformed;
  const { r, s, yParity } = signature;
  const digest = keccak_256(unsignedBytes(transaction));
  const signer = recover(digest, Uint8Array.of(...r, ...s), yParity, false);
  if (!signer) throw malformed;
  return { transaction, sender: addressOfUncompressed(signer), txid: hexOfScript(keccak_256(bytes)) };
}
