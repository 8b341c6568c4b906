/** Spending of BTC, LTC and BCH, with any source. */
import type { AssetId, Network } from '../../../domain/assets.ts';
import { CHECKPOINT_BLOCKS_MAX } from '../../../domain/chain.ts';
import { assert, Rejected } from '../../../domain/errors.ts';
import { maxOf, minOf } from '../../../domain/money.ts';
import type {
  Coin,
  Decoded,
  DecodedOutput,
  PlannedOutput,
  SpendPlan,
  SpendRequest,
  UtxoPlan,
  UtxoUnsigned,
} from '../../../domain/spend.ts';
import type { CoinSource } from '../../adapter.ts';
import {
  type Ancestors,
  type Description,
  type Estimate,
  type EstimateRequest,
  estimateByPlan,
  type KeptTransactions,
  OfSource,
  type OutsideSigning,
  type OwnParts,
  type PaymentRequest,
  planByTiers,
  plannedOutput,
  type Spending,
  type VanishedKey,
} from '../../spending.ts';
import { scriptOf } from '../address.ts';
import type { UtxoChain } from '../params.ts';
import { FEE_TERMS, feeOf, replacementRate } from './fees.ts';
import { isOfPlan, judgeSigned } from './judge.ts';
import { planUtxo } from './plan.ts';
import { makePsbt } from './psbt.ts';
import { dustOf, highestDust, vsizeOf, weightOf } from './sizes.ts';
import { decodeTransaction, unsignedTransaction, withoutWitnesses } from './transaction.ts';

/** BIP-431: what spends such an unconfirmed transaction must have this version, too; ours have version 2. */
const TRUC_VERSION = 3;
/** A transaction begins with its version. */
const VERSION_HEX = 8;

/** The virtual size assumed while there is no plan: two coins, two outputs. */
const USUAL_VSIZE = 250;

export class UtxoSpending extends OfSource implements Spending, CoinSource {
  readonly feeAsset: AssetId;
  readonly replacement: 'fee' | 'none';
  readonly changeAddress = 'new';
  readonly isWhole: boolean;
  readonly fallbackRate: bigint;
  readonly ancestorsOf?: (txid: string, signal: AbortSignal) => Promise<Ancestors | null>;
  readonly outside?: OutsideSigning;
  readonly #source: CoinSource;
  readonly #chain: UtxoChain;
  readonly #network: Network;

  constructor(chain: UtxoChain, network: Network, source: CoinSource) {
    super(source);
    this.#source = source;
    this.#chain = chain;
    this.#network = network;
    this.feeAsset = chain;
    // BCH's nodes accept the first transaction they see, and consider each by itself
    this.replacement = chain === 'BCH' ? 'none' : 'fee';
    if (chain !== 'BCH') {
      this.ancestorsOf = (txid, signal) => this.#ancestorsOf(txid, signal);
      this.outside = outsideOf(chain, network);
    }
    // without its witnesses it could not be broadcast again
    this.isWhole = chain === 'BCH';
    this.fallbackRate = FEE_TERMS[chain].fallback;
  }

  unconfirmed(txid: string, signal: AbortSignal) {
    return this.#source.unconfirmed(txid, signal);
  }

  conflict(txid: string, inputs: readonly string[], fromHeight: number, signal: AbortSignal) {
    return this.#source.conflict(txid, inputs, fromHeight, signal);
  }

  async #ancestorsOf(txid: string, signal: AbortSignal): Promise<Ancestors | null> {
    const found = await this.unconfirmed(txid, signal);
    if (!found) return null;
    const version = Buffer.from((await this.transaction(txid, null, signal)).slice(0, VERSION_HEX), 'hex');
    if (version.readUInt32LE() === TRUC_VERSION) {
      const text =
        'Its payer made it a transaction of version 3, for which nodes take no child of another version: ask the payer to raise its fee';
      throw new Rejected('bump.unsupported', text, 'outpoint');
    }
    return { fee: found.fee, size: found.vsize };
  }

  override highestRate(rate: bigint): bigint {
    return minOf(super.highestRate(rate), FEE_TERMS[this.#chain].ceiling);
  }

  replacementRate(replaced: readonly { fee: bigint; size: number }[]): bigint {
    return replacementRate(
      this.#chain,
      replaced.map(({ fee, size }) => ({ fee, vsize: size })),
    );
  }

  /** Only outputs with a CashToken are reported as locked. */
  whyLocked(): string {
    return 'It carries a CashToken, which would be lost. A wallet that knows such tokens, with the same words, can move it';
  }

  sendable(address: string, units: bigint): bigint {
    // decoding an address takes as long as a statement
    return units < highestDust(this.#chain) ? maxOf(units, dustOf(this.#chain, this.#scriptOf(address))) : units;
  }

  pays({ script }: DecodedOutput, address: string): boolean {
    return Buffer.compare(script, this.#scriptOf(address)) === 0;
  }

  estimate(request: EstimateRequest): Estimate {
    const script = this.#scriptOf(request.payout.address);
    return estimateByPlan(request, { script, usual: feeOf(USUAL_VSIZE, request.feeRate) }, (full) => this.#plan(full));
  }

  async plan(request: PaymentRequest): Promise<UtxoPlan> {
    return this.#plan(request);
  }

  #plan({ conflictKeys, payouts, parents, ...request }: PaymentRequest): UtxoPlan {
    const base: Omit<SpendRequest, 'coins'> = {
      ...request,
      network: this.#network,
      chain: this.#chain,
      payouts: payouts.map(({ address, units }) => ({ address, script: this.#scriptOf(address), units })),
      requiredInputs: conflictKeys,
      ...(parents && { parents: { fee: parents.fee, vsize: parents.size } }),
    };
    const spent = conflictKeys.map((key) => request.holdings.coin(key));
    return planByTiers(request, spent, (coins) => planUtxo({ ...base, coins }, this.#chain));
  }

  conflictKeys(plan: SpendPlan): string[] {
    return utxoPlan(plan).inputs.map(({ outpoint }) => outpoint);
  }

  preferredKey(plan: SpendPlan): string {
    return deepestOf(utxoPlan(plan).inputs);
  }

  sizeOf(plan: SpendPlan): number {
    return utxoPlan(plan).vsize;
  }

  describe(plan: SpendPlan): Description {
    const raw = unsignedTransaction(utxoPlan(plan));
    const { conflictKeys, outputs } = this.decode(raw);
    return { raw, conflictKeys, outputs: withChange(outputs, plan.outputs) };
  }

  async unsigned(plan: SpendPlan, kept: KeptTransactions): Promise<UtxoUnsigned> {
    const { inputs, network } = utxoPlan(plan);
    const previous: Record<string, string> = {};
    for (const { outpoint } of network === 'sandbox' ? [] : inputs) {
      const txid = outpoint.slice(0, outpoint.indexOf(':'));
      if (previous[txid] !== undefined) continue;
      const own = kept.signed(txid);
      const base = own === null ? kept.base(txid) : withoutWitnesses(own, txid, this.#chain);
      const known = base instanceof Uint8Array ? Buffer.from(base).toString('hex') : base;
      previous[txid] = known ?? (await this.transaction(txid, kept.blockOf(outpoint), kept.limit()));
    }
    return { plan: utxoPlan(plan), previous };
  }

  decode(raw: string): Decoded {
    const { txid, inputs, outputs } = decodeTransaction(raw, this.#chain, this.#network);
    return { txid, conflictKeys: inputs.map(({ outpoint }) => outpoint), outputs };
  }

  recover(raw: string, own: OwnParts): UtxoPlan {
    const decoded = decodeTransaction(raw, this.#chain, this.#network);
    const inputs = decoded.inputs.flatMap(({ outpoint, sequence }) => {
      const coin = own.coin(outpoint);
      return coin ? [{ ...coin, sequence }] : [];
    });
    const outputs = decoded.outputs.map((output) => plannedOutput(output, own));
    const scripts = outputs.map(({ script }) => script);
    return {
      kind: 'utxo',
      network: this.#network,
      chain: this.#chain,
      accountNo: own.accountNo,
      version: 2,
      lockTime: decoded.lockTime,
      inputs,
      outputs,
      fee: own.fee,
      vsize: vsizeOf(weightOf(this.#chain, inputs.length, scripts, inputs[0]?.script)),
    };
  }

  excludedBy({ plan, key, txid, base }: VanishedKey, signal: AbortSignal) {
    const { inputs, lockTime } = utxoPlan(plan);
    const depth = inputs.find(({ outpoint }) => outpoint === key)?.confirmations ?? 0;
    const spent = base === null ? [] : this.decode(Buffer.from(base).toString('hex')).conflictKeys;
    // the coin's block when it was spent, less the deepest reorganisation; the lock time is the tip of that time
    const fromHeight = Math.max(0, lockTime - depth - CHECKPOINT_BLOCKS_MAX);
    return this.conflict(txid, spent, fromHeight, signal);
  }

  #scriptOf(address: string): Uint8Array {
    const script = scriptOf(address, this.#chain, this.#network);
    if (script) return script;
    const text = `${address} is no address of ${this.#chain} on this network`;
    throw new Rejected('withdrawal.address', text, 'address');
  }
}

/** Other wallets sign a PSBT (BIP-174). */
function outsideOf(chain: UtxoChain, network: Network): OutsideSigning {
  return {
    handOut(unsigned, account) {
      assert('previous' in unsigned && unsigned.plan.kind === 'utxo', 'a plan of coins with their transactions');
      return makePsbt({ plan: unsigned.plan, previous: unsigned.previous }, account);
    },
    takeBack: (plan, given) => judgeSigned(utxoPlan(plan), given, chain, network),
    isOf: (plan, raw) => isOfPlan(utxoPlan(plan), raw),
  };
}

function utxoPlan(plan: SpendPlan): UtxoPlan {
  assert(plan.kind === 'utxo', 'a plan of coins');
  return plan;
}

/** The outpoint of the coin with the most confirmations, which a reorganisation reaches last. */
export function deepestOf(coins: readonly Coin[]): string {
  const [deepest] = [...coins].sort((a, b) => b.confirmations - a.confirmations);
  assert(deepest, 'a transaction has an input');
  return deepest.outpoint;
}

/** Outputs with the indices of our change by the plan. */
export function withChange(outputs: DecodedOutput[], planned: readonly PlannedOutput[]): Description['outputs'] {
  return outputs.map((output) => {
    const own = planned.find(({ kind, script }) => kind === 'change' && Buffer.compare(script, output.script) === 0);
    return { ...output, changeIndex: own?.kind === 'change' ? own.index : null };
  });
}
