/** Spending on the sandbox's ETH and BSC: each transaction is of one address, in the order of its nonces. */
import { chooseSender } from '../chains/accounts.ts';
import type { SpendingSource } from '../chains/adapter.ts';
import {
  type Description,
  type Estimate,
  type EstimateRequest,
  type OwnParts,
  type PaymentRequest,
  plannedOutput,
  type Spending,
} from '../chains/spending.ts';
import { withChange } from '../chains/utxo/spend/spending.ts';
import { type AssetId, assetOf, type ChainId } from '../domain/assets.ts';
import { assert, Rejected } from '../domain/errors.ts';
import { formatUnits, maxOf } from '../domain/money.ts';
import {
  type Decoded,
  nonceKey,
  nonceOf,
  type PlannedOutput,
  type SandboxAccountPlan,
  type SandboxUnsigned,
  type SpendPlan,
} from '../domain/spend.ts';
import { accountSpend, decodeAccount } from './simulated-accounts.ts';
import { SimulatedFamily } from './simulated-family.ts';

/** The transfer of a token needs about three times the gas of a coin's transfer (65,000 and 21,000). */
const TOKEN_GAS_FACTOR = 3n;

/** A source that knows how many transactions of an address are in blocks. */
type NonceSource = SpendingSource & { nonce(address: string, signal: AbortSignal): Promise<bigint> };

export class SimulatedAccountSpending extends SimulatedFamily implements Spending {
  readonly replacement = 'nonce';
  readonly #source: NonceSource;

  constructor(chain: ChainId, source: NonceSource) {
    super(chain, source);
    this.#source = source;
  }

  usualFee(asset: AssetId, rate: bigint): bigint {
    return this.#feeOf({ asset, feeRate: rate, feeMin: 0n });
  }

  estimate({ payout, asset, feeRate }: EstimateRequest): Estimate {
    this.scriptOf(payout.address);
    return { fee: this.usualFee(asset, feeRate), plan: null };
  }

  async plan(request: PaymentRequest, limit: () => AbortSignal): Promise<SandboxAccountPlan> {
    const { accountNo, asset, payouts, conflictKeys, feeMax, change, holdings } = request;
    if (payouts.length > 1) {
      throw new Rejected('spend.one_payment', 'On this chain each payment is a transaction of its own');
    }
    const [payout] = payouts;
    const [key] = conflictKeys.flatMap((one) => nonceOf(one) ?? []);
    const from = key ? { script: this.scriptOf(key.address) } : request.from;
    const isCancel = key !== undefined && !payout;
    const fee = this.#feeOf({ ...request, ...(isCancel && { asset: this.feeAsset }) });
    if (fee > feeMax) {
      const text = `The network fee would be ${formatUnits(fee, assetOf(this.feeAsset))} ${this.feeAsset}`;
      throw new Rejected('spend.fee_too_high', text);
    }
    assert(payout || from, 'something is paid, moved or canceled');
    const script = payout ? this.scriptOf(payout.address) : change.script;
    const wanted = { units: isCancel ? 0n : (payout?.units ?? null), fee, feeAsset: this.feeAsset };
    const asked = { ...request, ...(from && { from }), ...(isCancel && { asset: this.feeAsset }) };
    const { sender, units } = chooseSender(asked, wanted);
    const to = { address: payout?.address ?? change.address, script, units };
    const own = payout ? payout.own : { branch: 1 as const, index: change.index };
    const output: PlannedOutput = own ? { kind: 'change', ...to, ...own } : { kind: 'payout', ...to };
    const lowestNonce = await this.#source.nonce(sender.address, limit());
    return {
      kind: 'sandbox-account',
      network: 'sandbox',
      chain: this.chain,
      accountNo,
      asset,
      sender: sender.address,
      nonce: key?.nonce ?? holdings.nextNonce(sender.address, lowestNonce),
      lowestNonce,
      outputs: isCancel ? [] : [output],
      fee,
    };
  }

  conflictKeys(plan: SpendPlan): string[] {
    return [this.preferredKey(plan)];
  }

  preferredKey(plan: SpendPlan): string {
    const { sender, nonce } = accountPlan(plan);
    return nonceKey(sender, nonce);
  }

  keysBefore(plan: SpendPlan): string[] {
    const { sender, nonce, lowestNonce } = accountPlan(plan);
    const keys: string[] = [];
    for (let lower = lowestNonce; lower < nonce; lower++) keys.push(nonceKey(sender, lower));
    return keys;
  }

  describe(plan: SpendPlan): Description {
    const { conflictKeys, outputs } = this.decode(accountSpend(accountPlan(plan)).raw);
    return { raw: null, conflictKeys, outputs: withChange(outputs, plan.outputs) };
  }

  async unsigned(plan: SpendPlan): Promise<SandboxUnsigned> {
    return { plan: accountPlan(plan) };
  }

  decode(raw: string): Decoded {
    const { txid, from, nonce, transfer } = decodeAccount(this.chain, raw);
    return { txid, conflictKeys: [nonceKey(from, nonce)], outputs: transfer ? [transfer] : [] };
  }

  recover(raw: string, own: OwnParts): SandboxAccountPlan {
    const { from, nonce, transfer, fee } = decodeAccount(this.chain, raw);
    return {
      kind: 'sandbox-account',
      network: 'sandbox',
      chain: this.chain,
      accountNo: own.accountNo,
      asset: transfer?.asset ?? this.feeAsset,
      sender: from,
      nonce,
      lowestNonce: nonce,
      outputs: transfer ? [plannedOutput(transfer, own)] : [],
      fee,
    };
  }

  #feeOf({ asset, feeRate, feeMin }: Pick<PaymentRequest, 'asset' | 'feeRate' | 'feeMin'>): bigint {
    const gas = asset === this.feeAsset ? feeRate : feeRate * TOKEN_GAS_FACTOR;
    // a replacement pays a tenth more, rounded up
    return feeMin > 0n ? maxOf(gas, feeMin + feeMin / 10n + 1n) : gas;
  }
}

function accountPlan(plan: SpendPlan): SandboxAccountPlan {
  assert(plan.kind === 'sandbox-account', 'a plan of a simulated account chain');
  return plan;
}
