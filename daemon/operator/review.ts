/**
 * A request for approval, as the operator's own program reads it: from the intents under the MAC and from the
 * transaction's bytes, never from the service's description.
 *
 * Invariant: approvals are made only from a `Review`, which refuses intents that differ from the transaction, have no
 * end, or exceed the limits that the signer enforces too.
 */
import { z } from 'zod';
import { type AssetId, assetOf, type ChainId, type Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { GAS_LIMIT_MAX, isEvm } from '../domain/evm.ts';
import { formatUnits, parseDecimal } from '../domain/money.ts';
import { APPROVAL_MS, GAS_GRANT_MS_MAX, needTimely } from '../wallet/signer/limits.ts';
import {
  ADDRESS_SELF,
  type ApprovalPurpose,
  type Authorization,
  type GasGrant,
  type Intent,
  type Macs,
  type SignPurpose,
} from '../wallet/signer/port.ts';
import { IntentShape } from '../wallet/signer/wire.ts';
import { readingOf } from './families.ts';
import { gasGrantOf } from './gas.ts';
import { macAt } from './keyholder.ts';
import { type Bytes, differs, type Output, type Reading } from './reading.ts';

/** The service's request for approval. */
export type ReviewRequest = {
  purpose: SignPurpose;
  intents: unknown[];
  raw: string | null;
  outputs: { change_index: number | null }[];
  /** Milliseconds since 1970. */
  until: number;
};

/** The service's request to collect first. `fee_max`: smallest units of the chain's coin. `until`: milliseconds since 1970. */
export type GivenCollect = { fee_max: string; until: number };

/** The expected payment: `amount` is a decimal of the coin; for a sweep, its maximum. `crypto`: the coin's symbol. */
export type Expected = { to?: string; amount?: string; crypto?: string };
type Named = { to: string; amount: string };

/** The operator's request, or its known part. The approval must be of that kind. */
export type OperatorRequest =
  | { kind: 'approve'; expected?: Expected }
  | { kind: 'speed-up' | 'cancel' }
  /** A speed-up of payments that the wallet did not sign as far as it knows: each is approved as a first one. */
  | { kind: 'anew' }
  /** A cancellation of such payments: a payment to ourselves. */
  | { kind: 'reclaim' }
  /** `payments`: each of them, where the operator has named them. */
  | { kind: 'batch'; count: number; payments?: readonly Named[] }
  | { kind: 'bump'; outpoint: string };

/** `upTo`: the maximum of a sweep; `now`: its amount in this transaction. Smallest units. */
type Payment = { uuid: string; address: string; units: bigint; upTo: boolean; now: bigint };

/** In the form of the operator API. */
export type Approval = { uuid: string; fee_max: string; units?: string; until: number; mac: string | null };

/** Makes the MACs of an authorization (keyholder.ts). */
export type Authorize = (wanted: Authorization) => Promise<Macs>;

export class Review {
  readonly purpose: SignPurpose;
  readonly network: Network;
  readonly chain: ChainId;
  readonly asset: AssetId;
  /** The asset that the fee is paid in. */
  readonly feeAsset: AssetId;
  readonly accountNo: number;
  readonly payments: readonly Payment[];
  /** Further outputs: change (`back`), and recipients approved before. Smallest units. */
  readonly back: bigint | null;
  readonly before: readonly bigint[];
  /** The outpoints that it must spend, "txid:n"; null: the service chooses. */
  readonly coins: readonly string[] | null;
  /** The highest fee of all approvals together, smallest units. */
  readonly feeMax: bigint;
  readonly until: number;
  /** The grant under which the money is collected first; null: it is where it is needed. */
  readonly collect: GasGrant | null;
  /** The purpose under the MACs. An approval of a replacement cannot begin a payment. */
  readonly #approves: ApprovalPurpose;
  readonly #intents: readonly Intent[];
  readonly #reading: Reading;
  readonly #back: { to: string; index: number } | null;

  private constructor(
    { purpose, outputs, until, raw }: ReviewRequest,
    intents: readonly [Intent, ...Intent[]],
    reading: Reading,
    { replaces, collect }: { replaces: boolean; collect: GasGrant | null },
  ) {
    const bytes = collect && raw === null ? bytesOfIntent(intents[0], reading) : reading.bytes(raw);
    this.collect = collect;
    const { keys, outputs: paid } = bytes;
    const { network, chain, accountNo, coins } = intents[0];
    this.purpose = purpose;
    this.#approves = replaces && purpose === 'pay' ? 'raise' : purpose;
    this.network = network;
    this.chain = chain;
    this.asset = reading.asset;
    this.feeAsset = reading.feeAsset;
    this.#reading = reading;
    this.accountNo = accountNo;
    this.coins = coins;
    this.until = until;
    this.#intents = intents;
    this.feeMax = intents.reduce((sum, { feeMax }) => sum + BigInt(feeMax), 0n);
    if (coins && (coins.length !== keys.length || coins.some((one) => !keys.includes(one)))) {
      throw differs('it spends other coins than the approval names');
    }
    const left = [...paid];
    const payees = intents.filter(({ address }) => address !== ADDRESS_SELF);
    this.payments = purpose === 'cancel' ? payees.map(notPaid) : payees.map((intent) => taken(intent, left, reading));
    const changes = outputs.flatMap(({ change_index }, at) => (change_index === null ? [] : [{ change_index, at }]));
    const [change] = changes;
    const back = change && paid[change.at];
    if (changes.length > 1 || (change && (!back || !left.includes(back))))
      throw differs('the change is not its own output');
    this.#back = change && back ? { to: back.to, index: change.change_index } : null;
    this.back = back?.units ?? null;
    this.before = left.filter((output) => output !== back).map(({ units }) => units);
    this.#needShape(payees.length);
    this.#needFee(bytes);
  }

  /**
   * Reads a request for approval. Null if there is nothing to sign: on the sandbox, or if nothing is new. Throws
   * `Rejected`: `review.differs`, `review.unexpected`, and `signer.approval` for an `until` that is past or too far
   * ahead.
   */
  static of(
    given: ReviewRequest,
    asked: OperatorRequest,
    now: number,
    collect: GivenCollect | null = null,
  ): Review | null {
    const parsed = z.array(IntentShape).safeParse(given.intents);
    if (!parsed.success) throw differs('the approval names what no payment has');
    const intents: readonly Intent[] = parsed.data;
    const [first] = intents;
    if (asked.kind === 'approve') needExpected(asked.expected ?? {}, intents);
    if (asked.kind === 'batch' && asked.payments) needNamed(asked.payments, intents);
    if (!first || intents.every(({ network }) => network === 'sandbox')) return null;
    const reading = readingOf(first.chain, first.network, first.asset);
    for (const { network, chain, accountNo, asset, feeAsset = asset } of intents) {
      const same = network === first.network && chain === first.chain && accountNo === first.accountNo;
      const isRead = asset === reading.asset && feeAsset === reading.feeAsset;
      if (!same || !isRead || network === 'sandbox') throw differs('it is of several networks, accounts or coins');
    }
    if (new Set(intents.map(({ uuid }) => uuid)).size !== intents.length) throw differs('it names a payment twice');
    needAsked(given, asked, intents);
    needTimely(given.until, now);
    // at most seven days by the operator's own clock, even if the service asks for more
    const until = Math.min(given.until, now + APPROVAL_MS);
    const replaces = asked.kind === 'speed-up' || asked.kind === 'cancel';
    if (collect && asked.kind !== 'approve') throw differs('only a first payment is collected for');
    const grant = collect && grantOf(first, collect, now);
    const review = new Review({ ...given, until }, [first, ...intents.slice(1)], reading, { replaces, collect: grant });
    if (review.before.length > 0 && !replaces) throw differs('it pays somebody whom the approval does not name');
    return review;
  }

  /**
   * The approvals. `authorize` makes the MACs with the wallet's passphrase, and throws `Rejected`: `vault.missing`,
   * `vault.corrupted`, `vault.passphrase`, and `review.differs` if the change output is not ours.
   */
  async approvals(authorize: Authorize): Promise<Approval[]> {
    return (await this.signed(authorize)).approvals;
  }

  /** The approvals, and the grant of gas to collect first, all with one passphrase. */
  async signed(authorize: Authorize): Promise<{ approvals: Approval[]; gas: { grant: GasGrant; mac: string } | null }> {
    const { until, accountNo, collect } = this;
    const macs = await authorize({
      approvals: this.#intents.map((intent) => ({ purpose: this.#approves, intent, until })),
      change: this.#back && this.#reading.change(accountNo, this.#back),
      grants: collect ? [collect] : [],
    });
    return {
      approvals: this.#withMacs(macs.approvals),
      gas: collect && { grant: collect, mac: macAt(macs.grants, 0) },
    };
  }

  #withMacs(macs: readonly string[]): Approval[] {
    const { until } = this;
    return this.#intents.map(({ uuid, feeMax, units, sweep }, at) => ({
      uuid,
      fee_max: feeMax,
      ...(sweep ? { units } : {}),
      until,
      mac: macs[at] ?? null,
    }));
  }

  #needShape(payees: number): void {
    const { purpose, payments, before, back, network } = this;
    // a cancellation pays none of its intents; a sweep's amount is returned too
    const alone = purpose === 'cancel' ? undefined : this.#intents.find(({ sweep, coins }) => sweep || coins !== null);
    if (alone && this.#intents.length > 1) throw differs('what takes whole coins stands alone');
    if (alone?.sweep && (back !== null || before.length > 0)) throw differs('what takes everything leaves no change');
    const toSelf = purpose === 'cancel' || payees === 0;
    if (toSelf && (back === null || before.length > 0)) throw differs('it pays others than ourselves');
    if (payees === 0 && (this.coins === null || this.#intents.some(({ units }) => units !== '0'))) {
      throw differs('a payment to ourselves names its coins and no amount');
    }
    if (payments.some(({ address }) => this.#reading.destination(address) === null)) {
      throw differs(`it pays what is no address of ${this.chain} on ${network}`);
    }
  }

  #needFee(bytes: Bytes): void {
    if (bytes.fee !== undefined && bytes.fee > this.feeMax) throw differs('it costs more than the approval allows');
    const limit = this.#reading.feeLimit(bytes, this.payments.length === 0);
    if (this.feeMax > limit) throw differs(`it may cost a fee of ${this.feeMax}, above the limit of ${limit} units`);
  }
}

/**
 * The payment that an intent allows, where it can be planned only after a collection. The signer compares the
 * transaction with the same intent.
 */
function bytesOfIntent({ address, units, feeMax }: Intent, reading: Reading): Bytes {
  const to = reading.destination(address);
  if (to === null || BigInt(units) <= 0n) throw differs('it names no recipient and amount');
  return { keys: [], outputs: [{ to, units: BigInt(units) }], fee: BigInt(feeMax), gasLimit: GAS_LIMIT_MAX };
}

/** The grant is for the account that pays, whatever the service says of it. */
function grantOf({ chain, network, accountNo }: Intent, { fee_max, until }: GivenCollect, now: number): GasGrant {
  if (!isEvm(chain)) throw differs(`nothing is collected on ${chain}`);
  if (!/^\d{1,30}$/.test(fee_max) || until <= now || until > now + GAS_GRANT_MS_MAX)
    throw differs('its grant has no end');
  return gasGrantOf({ network, accountNo, chain, feeMax: BigInt(fee_max), until }, now);
}

const notPaid = ({ uuid, address, units, sweep }: Intent): Payment => ({
  uuid,
  address,
  units: BigInt(units),
  upTo: sweep,
  now: 0n,
});

/** Removes the output of an intent from the remaining ones. */
function taken(intent: Intent, left: Output[], reading: Reading): Payment {
  const { uuid, address, sweep } = intent;
  const units = BigInt(intent.units);
  const to = reading.destination(address);
  const at = left.findIndex((one) => one.to === to && (sweep ? one.units <= units : one.units === units));
  const [output] = at < 0 ? [] : left.splice(at, 1);
  if (!output) throw differs(`it does not pay ${address} what the approval allows`);
  return { uuid, address, units, upTo: sweep, now: output.units };
}

function needAsked({ purpose }: ReviewRequest, asked: OperatorRequest, intents: readonly Intent[]): void {
  const { kind } = asked;
  const isOwn = kind === 'bump' || kind === 'reclaim';
  if ((kind === 'approve' || isOwn) && intents.length !== 1) throw differs('it is more than one payment');
  if (kind === 'batch' && intents.length !== asked.count) throw differs(`it is not ${asked.count} payments`);
  if (purpose === 'cancel' && kind !== 'cancel' && kind !== 'speed-up') throw differs('it cancels something');
  const isSelf = intents.some(({ address }) => address === ADDRESS_SELF);
  if (isSelf !== isOwn) throw differs(isSelf ? 'it pays only ourselves' : 'it pays others than ourselves');
  if (kind === 'bump' && intents[0]?.coins?.join() !== asked.outpoint) throw differs('it spends another deposit');
}

/** Only the intents are compared with the expectation, because each intent was compared with its transaction before. */
function needExpected({ to, amount, crypto }: Expected, intents: readonly Intent[]): void {
  if (to === undefined && amount === undefined && crypto === undefined) return;
  const [intent] = intents;
  if (!intent || intents.length > 1) throw unexpected('it is not one payment');
  const { address, asset, chain, units, sweep } = intent;
  if (to !== undefined && !isSameAddress(to, intent)) throw unexpected(`it pays ${address}, and not ${to}`);
  if (crypto !== undefined && crypto !== asset) throw unexpected(`it pays ${asset}, and not ${crypto}`);
  if (amount === undefined) return;
  if (crypto === undefined && isEvm(chain))
    throw unexpected(`an address there takes several coins, and an amount alone says not which: it pays ${asset}`);
  const wanted = parseDecimal(amount, assetOf(asset).decimals);
  if (wanted === null) throw unexpected(`${amount} is no amount of ${asset}`);
  if (sweep ? BigInt(units) > wanted : BigInt(units) !== wanted) {
    const given = formatUnits(BigInt(units), assetOf(asset));
    throw unexpected(`it pays ${sweep ? 'up to ' : ''}${given} ${asset}, and not ${amount}`);
  }
}

/** Each payment of a batch is one of those that the operator named, and each of those is paid once. */
function needNamed(payments: readonly Named[], intents: readonly Intent[]): void {
  const left = [...payments];
  for (const intent of intents) {
    const { address, asset } = intent;
    const at = left.findIndex(({ to }) => isSameAddress(to, intent));
    const [named] = at < 0 ? [] : left.splice(at, 1);
    if (!named) throw unexpected(`it pays ${address}, which is not named`);
    if (intent.sweep) throw unexpected(`it pays all of ${asset} to ${address}`);
    needExpected(named, [intent]);
  }
  if (left[0]) throw unexpected(`it does not pay ${left[0].to}`);
}

/** Whether two texts are the same destination. The prefix of CashAddr is optional. */
function isSameAddress(expected: string, { address, chain, network, asset }: Intent): boolean {
  if (expected === address) return true;
  const reading = readingOf(chain, network, asset);
  const to = reading.destination(expected);
  return to !== null && to === reading.destination(address);
}

const unexpected = (why: string): Rejected =>
  new Rejected('review.unexpected', `Nothing was approved. It is not what you expect: ${why}`);
