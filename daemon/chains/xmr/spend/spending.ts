/**
 * Spending of Monero. The daemon knows an output by its outpoint, which has exactly one key image; an outpoint is therefore its
 * conflict key here, and its key image is that in the signer's journal. Outputs that share a one-time key never count as coins.
 */
import type { Network } from '../../../domain/assets.ts';
import type { BlockId } from '../../../domain/chain.ts';
import { assert, Malformed, Rejected, Unavailable } from '../../../domain/errors.ts';
import type {
  Coin,
  Decoded,
  DecodedOutput,
  MoneroPlan,
  MoneroUnsigned,
  RingMember,
  SpendPlan,
} from '../../../domain/spend.ts';
import { scriptOf } from '../../../monero/address.ts';
import { readKept } from '../../../monero/kept.ts';
import { writeStatement } from '../../../monero/statement.ts';
import { parseSigned, type Transaction } from '../../../monero/transaction.ts';
import type { ScriptList, SpendingSource } from '../../adapter.ts';
import {
  type Description,
  type DisplacedCoin,
  type Estimate,
  type EstimateRequest,
  estimateByPlan,
  type KeptTransactions,
  OfSource,
  type OwnParts,
  type PaymentRequest,
  planByTiers,
  plannedOutput,
  type Spending,
} from '../../spending.ts';
import type { Scanner } from '../scan.ts';
import { type Distribution, oldEnough, pickDecoys } from './decoys.ts';
import { type ChainOutput, isOwn, type OwnChainOutput } from './outputs.ts';
import { type MoneroRequest, planMonero, weighed } from './plan.ts';
import { type Around, DECOYS, fittingRings } from './rings.ts';
import { highestFee, RING_BYTES_MAX, ringBytes, weightOf } from './weight.ts';

/** The requested number is higher, because miners' rewards are locked for 60 blocks, and other outputs for ten. */
const DECOYS_CHOSEN = 74;
/** How often others are added to the decoys of one output. */
const ROUNDS_MAX = 3;
const RETRY_SECONDS = 60;
/** Nodes' normal rate on mainnet in 2024 and 2025, per 1,000 of weight. */
const FALLBACK_RATE = 80_000n * 1_000n;
const TXID_CHARS = 64;

/** A source that also returns outputs of the chain, for rings. */
export interface MoneroSource extends SpendingSource {
  /** `limit`: the time limit of one request; there are several. */
  distribution(limit: () => AbortSignal): Promise<Distribution>;
  /** The outputs with these numbers, of which one is ours. */
  outputs(indices: readonly number[], own: OwnChainOutput, signal: AbortSignal): Promise<ChainOutput[]>;
  /** A settled block, if the chain up to it has all outputs with these numbers, and none of them is ours; else null. */
  lacksOwn(indices: readonly number[], own: OwnChainOutput, limit: () => AbortSignal): Promise<BlockId | null>;
}

export class MoneroSpending extends OfSource implements Spending {
  readonly feeAsset = 'XMR';
  readonly replacement = 'none';
  readonly signsAnew = true;
  readonly changeAddress = 'fixed';
  readonly isWhole = false;
  readonly fallbackRate = FALLBACK_RATE;
  readonly #network: Network;
  readonly #source: MoneroSource;
  readonly #list: ScriptList;
  readonly #scanner: Scanner;

  constructor(network: Network, source: MoneroSource, list: ScriptList, scanner: Scanner) {
    super(source);
    this.#network = network;
    this.#source = source;
    this.#list = list;
    this.#scanner = scanner;
  }

  /** Nodes keep the first transaction that they saw. */
  replacementRate(): bigint {
    return 0n;
  }

  sendable(_address: string, units: bigint): bigint {
    return units;
  }

  /** True for an output to somebody else, whose address nobody can read: the caller compares amounts (`Decoded.hidden`). */
  pays({ script }: DecodedOutput, address: string): boolean {
    const wanted = this.#scriptOf(address);
    return script.length === 0 || Buffer.compare(script, wanted) === 0;
  }

  estimate(request: EstimateRequest): Estimate {
    const script = this.#scriptOf(request.payout.address);
    const usual = highestFee(2, [script], request.feeRate);
    return estimateByPlan(request, { script, usual }, (full) => this.#plan(full));
  }

  async plan(request: PaymentRequest, limit: () => AbortSignal): Promise<MoneroPlan> {
    const plan = this.#plan(request);
    const distribution = await this.#source.distribution(limit);
    const earlier = decoysKept(request.replaced ?? []);
    const inputs = plan.inputs.map((input) => {
      return { ...input, decoys: earlier.get(input.outpoint) ?? pickDecoys(distribution, DECOYS_CHOSEN) };
    });
    const around = inputs.map((input) => ({ own: likelyPlace(input, request, distribution), others: input.decoys }));
    const bytes = around.reduce((sum, { own, others }) => {
      const ring = [own, ...others.slice(0, DECOYS)].toSorted((a, b) => a - b);
      return sum + Math.min(RING_BYTES_MAX, ringBytes(ring));
    }, 0);
    return weighed({ ...plan, inputs }, this.#wanted(request), bytes);
  }

  #plan(request: PaymentRequest): MoneroPlan {
    const wanted = this.#wanted(request);
    return planByTiers(request, [], (coins) => planMonero({ ...wanted, coins }));
  }

  #wanted({ conflictKeys, payouts, holdings, inputsMax = null, ...request }: PaymentRequest): PaymentWish {
    const paid = payouts.map(({ address, units }) => ({ address, script: this.#scriptOf(address), units }));
    const spent = conflictKeys.map((key) => holdings.coin(key));
    return { ...request, network: this.#network, payouts: paid, spent, inputsMax };
  }

  conflictKeys(plan: SpendPlan): string[] {
    return moneroPlan(plan).inputs.map(({ outpoint }) => outpoint);
  }

  preferredKey(plan: SpendPlan): string {
    const [deepest] = moneroPlan(plan).inputs.toSorted((a, b) => b.confirmations - a.confirmations);
    assert(deepest, 'a transaction has an input');
    return deepest.outpoint;
  }

  sizeOf(plan: SpendPlan): number {
    return moneroPlan(plan).weight;
  }

  describe(plan: SpendPlan): Description {
    const { outputs } = moneroPlan(plan);
    return {
      raw: writeStatement(moneroPlan(plan)),
      conflictKeys: this.conflictKeys(plan),
      outputs: outputs.map((output) => ({
        address: output.address,
        script: output.script,
        asset: 'XMR',
        units: output.units,
        changeIndex: output.kind === 'change' ? output.index : null,
      })),
    };
  }

  async unsigned(plan: SpendPlan, kept: KeptTransactions): Promise<MoneroUnsigned> {
    const { inputs, outputs, fee, weight } = moneroPlan(plan);
    const previous: Record<string, string> = {};
    const found: Candidates[] = [];
    const distribution = await this.#source.distribution(kept.limit);
    for (const { outpoint, decoys } of inputs) {
      const txid = outpoint.slice(0, TXID_CHARS);
      const base = kept.base(txid);
      const ask = () => this.transaction(txid, kept.blockOf(outpoint), kept.limit());
      previous[txid] ??= base ? Buffer.from(base).toString('hex') : await ask();
      const n = Number(outpoint.slice(TXID_CHARS + 1));
      let there = await this.#candidates(ownOutput(previous[txid], n), { decoys, distribution }, kept.limit);
      if (there === null) {
        // a node told a wrong number once, or its block gave way to another one just now
        previous[txid] = await ask();
        there = await this.#candidates(ownOutput(previous[txid], n), { decoys, distribution }, kept.limit);
      }
      if (there === null) throw new Unavailable('The node has another output under the number of ours', RETRY_SECONDS);
      found.push(there);
    }
    const payouts = outputs.flatMap(({ kind, script }) => (kind === 'payout' ? [script] : []));
    const bytes = weight - Number(weightOf({ inputs: inputs.length, payouts, ringBytes: 0 }, fee));
    const rings = fittingRings(found, bytes).map((ring, at) =>
      ring.map((index) => (found[at] as Candidates).members.get(index) as RingMember),
    );
    return { plan: moneroPlan(plan), previous, rings };
  }

  /**
   * The decoys that can be spent, in their order. All are requested, including those that are not used. Others are added where these do
   * not suffice: the chain may have changed since they were chosen, or a node that lied then chose them. Null if another output has the
   * number of ours.
   */
  async #candidates(
    own: OwnChainOutput,
    { decoys, distribution }: DecoyChoice,
    limit: () => AbortSignal,
  ): Promise<Candidates | null> {
    // a node refuses a number that the chain does not have
    if (own.at >= (distribution.counts.at(-1) ?? 0)) return null;
    const isOther = (index: number): boolean => index !== own.at && index < oldEnough(distribution);
    const asked = new Set(decoys.filter(isOther));
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const isShort = round > 0 || asked.size < DECOYS;
      if (isShort) for (const index of pickDecoys(distribution, DECOYS_CHOSEN).filter(isOther)) asked.add(index);
      // those that were asked for before are among them, so that the node learns nothing by a comparison
      const numbers = [own.at, ...asked].toSorted((a, b) => a - b);
      const known = new Map<number, ChainOutput>();
      for (const output of await this.#source.outputs(numbers, own, limit())) known.set(output.index, output);
      if (!isOwn(known.get(own.at), own)) return null;
      const others = [...asked].filter((index) => known.get(index)?.unlocked);
      if (others.length < DECOYS) continue;
      const members = new Map([...known].map(([at, { index, key, commitment }]) => [at, { index, key, commitment }]));
      return { own: own.at, others, members };
    }
    throw new Unavailable('Too few outputs of the chain can be spent yet', RETRY_SECONDS);
  }

  /**
   * The payments of a transaction that our view key reveals: the amounts that return to us, and the rest of our coins,
   * less the fee, as one output without an address. Conflict keys that are no coins of ours are key images.
   */
  decode(raw: string): Decoded {
    const transaction = transactionOf(raw);
    const conflictKeys = transaction.keyImages.map((image) => this.#list.coinOfKeyImage?.(image) ?? image);
    const own = this.#scanner.own(transaction).map(({ script, units }): DecodedOutput => {
      return { address: null, script, asset: 'XMR', units };
    });
    const coins = conflictKeys.flatMap((key) => this.#list.coin(key) ?? []);
    const sum = (list: readonly { units: bigint }[]): bigint => list.reduce((total, { units }) => total + units, 0n);
    const rest = sum(coins) - sum(own) - transaction.fee;
    const hidden: DecodedOutput = { address: null, script: new Uint8Array(), asset: 'XMR', units: rest };
    const { id: txid } = transaction;
    if (rest <= 0n) return { txid, conflictKeys, outputs: own };
    return { txid, conflictKeys, outputs: [...own, hidden], hidden: transaction.outputs.length - own.length };
  }

  recover(raw: string, own: OwnParts): MoneroPlan {
    const { conflictKeys, outputs } = this.decode(raw);
    const inputs = conflictKeys.flatMap((key): Coin | Coin[] => own.coin(key) ?? []);
    return {
      kind: 'monero',
      network: this.#network,
      chain: 'XMR',
      accountNo: own.accountNo,
      inputs: inputs.map((coin) => ({ ...coin, decoys: [] })),
      outputs: outputs.map((output) => plannedOutput(output, own)),
      fee: own.fee,
      weight: Number(weightOf({ inputs: inputs.length, payouts: [], ringBytes: 0 }, own.fee)),
    };
  }

  /**
   * A ring names outputs by their numbers, and its signature is of their keys. A coin that left the chain gave its number to another
   * output: the signature is false from then on, even if the coin comes back, because it gets another number.
   */
  async displacedAt({ raw, key, base }: DisplacedCoin, limit: () => AbortSignal): Promise<BlockId | null> {
    if (base === null) return null;
    const { rings } = transactionOf(raw);
    const own = ownOutput(Buffer.from(base).toString('hex'), Number(key.slice(TXID_CHARS + 1)));
    // which ring is the coin's is not asked: one of them has it
    return this.#source.lacksOwn([...new Set(rings.flat().map(Number))], own, limit);
  }

  whyLocked(base: Uint8Array | null): string {
    if (base === null) return 'Its sender locked it. The block that has it will tell until when';
    const { unlockTime, version } = readKept(base).transaction;
    if (version === 1) return 'It is of the kind from before 2017. Another wallet with the 25 words can spend it';
    if (unlockTime === 0n) return 'An earlier output has the same one-time key, and only one of them can ever be spent';
    return `Its sender locked it until ${lockEnd(unlockTime)}. It can be spent after that, by another wallet with the 25 words`;
  }

  #scriptOf(address: string): Uint8Array {
    const script = scriptOf(address, this.#network);
    if (script) return script;
    throw new Rejected('withdrawal.address', `${address} is no address of XMR on this network`, 'address');
  }
}

/** The largest unlock time that is a height; others are seconds since 1970 (CRYPTONOTE_MAX_BLOCK_NUMBER). */
const LOCK_HEIGHT_MAX = 500_000_000n;
const DATE_SECONDS_MAX = 8_640_000_000_000n;

function lockEnd(unlockTime: bigint): string {
  if (unlockTime < LOCK_HEIGHT_MAX) return `block ${unlockTime}`;
  if (unlockTime > DATE_SECONDS_MAX) return 'a time that never comes';
  return new Date(Number(unlockTime) * 1_000).toISOString().slice(0, 10);
}

type PaymentWish = Omit<MoneroRequest, 'coins'>;
/** Outputs around one of ours, by their numbers. */
type Candidates = Around & { members: ReadonlyMap<number, RingMember> };

/** About where a coin is among all outputs. Its block has few, so that its ring mostly has as many bytes as it will have. */
function likelyPlace({ confirmations }: Coin, { tipHeight }: PaymentRequest, { counts }: Distribution): number {
  const height = tipHeight - confirmations + 1;
  const last = counts[height] ?? counts.at(-1) ?? 0;
  return Math.floor(((counts[height - 1] ?? last) + last) / 2);
}

/** The decoys of a plan, in their order, and the outputs that the chain has now. */
type DecoyChoice = { decoys: readonly number[]; distribution: Distribution };

/** Output `n` of a kept transaction (hex). */
function ownOutput(kept: string, n: number): OwnChainOutput {
  const { firstIndex, transaction } = readKept(Buffer.from(kept, 'hex'));
  const { key = [], commitment = null } = transaction.outputs[n] ?? {};
  const hex = (bytes: Iterable<number>): string => Buffer.from([...bytes]).toString('hex');
  return { at: firstIndex + n, key: hex(key), commitment: commitment && hex(commitment) };
}

/**
 * The decoys of the transaction that is signed anew, by outpoint: the real output is what two rings have in common. They are chosen anew
 * when a second one was refused, because one of them may be the reason.
 */
function decoysKept(replaced: readonly SpendPlan[]): Map<string, number[]> {
  const [first] = replaced;
  const inputs = first && replaced.length === 1 ? moneroPlan(first).inputs : [];
  return new Map(inputs.flatMap(({ outpoint, decoys }) => (decoys.length === 0 ? [] : [[outpoint, decoys]])));
}

function moneroPlan(plan: SpendPlan): MoneroPlan {
  assert(plan.kind === 'monero', 'a plan of Monero');
  return plan;
}

/** Parses signed bytes, or the stored form of a transaction. Throws `Rejected('spend.malformed')`. */
function transactionOf(raw: string): Transaction {
  const bytes = Buffer.from(raw, 'hex');
  for (const read of [() => parseSigned(bytes).transaction, () => readKept(bytes).transaction]) {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
    }
  }
  throw new Rejected('spend.malformed', 'These bytes are no transaction of Monero');
}
