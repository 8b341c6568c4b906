/**
 * Withdrawals from the request to the block, on a database in memory: a chain that the test drives (`pay-network.ts`), a
 * signer that signs whatever keeps the rule of "never twice", and passes of the worker that the test runs.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { App } from '../../../daemon/app/app.ts';
import { checkpointOf } from '../../../daemon/app/chains/checkpoint.ts';
import { ingest } from '../../../daemon/app/chains/ingest.ts';
import { availableUnits } from '../../../daemon/app/spends/coins.ts';
import { approve, reject } from '../../../daemon/app/withdrawals/approve.ts';
import { previewReplacement, replace } from '../../../daemon/app/withdrawals/replace.ts';
import { requestByOperator } from '../../../daemon/app/withdrawals/request.ts';
import { tendWithdrawals } from '../../../daemon/app/withdrawals/tend.ts';
import type { Spending } from '../../../daemon/chains/spending.ts';
import { decodeTransaction, unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { textIn, textOf } from '../../../daemon/domain/messages.ts';
import { formatUnits } from '../../../daemon/domain/money.ts';
import type { SignedSpend, SpendPlan } from '../../../daemon/domain/spend.ts';
import { simulatedSpend } from '../../../daemon/sandbox/simulated.ts';
import { accountSpend } from '../../../daemon/sandbox/simulated-accounts.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import {
  insertWithdrawal,
  keysOf,
  type SpendRow,
  spendById,
  type VersionRow,
  versionsOf,
  type WithdrawalRow,
  withdrawalById,
} from '../../../daemon/store/queries/withdrawals.ts';
import type { Store } from '../../../daemon/store/store.ts';
import type { Intent, Signer, SignerStatus, SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { Bench } from './bench.ts';
import { PayChain, type PayTx } from './pay-chain.ts';
import type { Deposit, PayNetwork } from './pay-network.ts';

const DAY_MS = 24 * 3_600_000;
export const COIN = 100_000_000n;

/** Signs everything whose versions conflict in pairs, and remembers what it was shown. */
class PairSigner {
  state: 'locked' | 'unlocked' = 'unlocked';
  /** The signing machine at home while it is not connected. */
  away: SignerStatus['away'];
  readonly orders: SignOrder[] = [];
  /** By withdrawal: the conflict keys of each transaction that it signed. */
  readonly signed = new Map<string, { txid: string; keys: string[] }[]>();
  /** Why the wallet's files tell no status. */
  fault: Error | null = null;
  /** How often it ended every approval. */
  ended = 0;
  /** What it refuses, in words. */
  refuses: (order: SignOrder) => Rejected | null = () => null;

  /** Called once the bytes are made, before the service has them. */
  onSigned: () => void = () => {};
  /** The ways to a signer that is far away: what it waits for before an order is there, and its answer is back. */
  link: { there: (order: SignOrder) => Promise<void>; back: (order: SignOrder) => Promise<void> } = {
    there: async () => {},
    back: async () => {},
  };
  readonly #spending: () => Spending;

  constructor(spending: () => Spending) {
    this.#spending = spending;
  }

  readonly port: Signer = new Proxy({} as Signer, {
    get: (_, name) => {
      if (name === 'status') {
        return async () => {
          if (this.fault) throw this.fault;
          return {
            state: this.state,
            fingerprint: '',
            lockAt: null,
            retryAfterSeconds: 0,
            wordsUnproved: false,
            away: this.away,
          };
        };
      }
      if (name === 'sign') {
        return async (order: SignOrder) => {
          await this.link.there(order);
          const signed = this.#sign(order);
          await this.link.back(order);
          return signed;
        };
      }
      if (name === 'endApprovals') return async () => void this.ended++;
      return () => Promise.reject(new Error(`nothing here calls signer.${String(name)}`));
    },
  });

  #sign(order: SignOrder): SignedSpend {
    if (this.state === 'locked') throw new Rejected('signer.locked', 'the wallet is locked');
    const { plan, withdrawals, purpose } = order;
    const refusal = this.refuses(order);
    if (refusal) throw refusal;
    this.orders.push(order);
    const keys = this.#spending().conflictKeys(plan);
    const signed = signedAs(plan);
    const { txid } = signed;
    for (const { intent } of withdrawals) {
      for (const earlier of this.signed.get(intent.uuid) ?? []) {
        if (earlier.txid === txid || earlier.keys.some((one) => keys.includes(one))) continue;
        throw new Rejected('signer.conflict', `${intent.uuid} could be paid by two transactions`);
      }
    }
    const paid = purpose === 'cancel' ? [] : withdrawals.filter(({ intent }) => intent.address !== 'self');
    for (const { intent } of paid) needPaid(plan.outputs, intent);
    for (const { intent } of withdrawals) {
      this.signed.set(intent.uuid, [...(this.signed.get(intent.uuid) ?? []), { txid, keys }]);
    }
    this.onSigned();
    return signed;
  }
}

/** The transaction of a plan. Nobody here checks signatures, so that of a coin chain has none. */
function signedAs(plan: SpendPlan): SignedSpend {
  if (plan.kind === 'sandbox') return simulatedSpend(plan);
  if (plan.kind === 'sandbox-account') return accountSpend(plan);
  if (plan.kind !== 'utxo') throw new Error('a plan of a chain that tests drive');
  const raw = unsignedTransaction(plan);
  const { txid } = decodeTransaction(raw, plan.chain as 'BTC', plan.network);
  return { txid, raw, fee: plan.fee, size: plan.vsize };
}

function needPaid(outputs: readonly { address: string; units: bigint }[], { address, units, sweep }: Intent): void {
  const most = BigInt(units);
  const found = outputs.some((one) => one.address === address && (sweep ? one.units <= most : one.units === most));
  if (!found) throw new Error(`${address} is not paid ${units}`);
}

/** A row with its messages in English. */
type Spoken<Row> = Omit<Row, 'problem' | 'reason'> & { [name in keyof Row & ('problem' | 'reason')]: string | null };

/** How many addresses are paid again and again where a payment comes from one address. */
const REUSED_ADDRESSES = 2;

export class PayBench<D extends Deposit = Deposit, N extends PayNetwork<D> = PayNetwork<D>> {
  readonly bench: Bench;
  readonly chain: N;
  readonly signer: PairSigner;
  readonly progress = { after: 0, asked: new Map<string, number>() };
  readonly #reused: number[] = [];
  #deposits = 0;
  #recipients = 0;

  private constructor(bench: Bench, chain: N, signer: PairSigner) {
    this.bench = bench;
    this.chain = chain;
    this.signer = signer;
  }

  static open(chain: 'BTC' | 'LTC' | 'BCH' = 'BTC'): Promise<CoinBench> {
    return PayBench.on(new PayChain(chain));
  }

  static async on<D extends Deposit, N extends PayNetwork<D>>(chain: N & PayNetwork<D>): Promise<PayBench<D, N>> {
    const signer = new PairSigner(() => chain.adapter.spending!);
    const bench = await Bench.open(chain.chain, chain.flags ?? {}, {
      adapter: (store, now) => chain.connect(store, now),
      signer: signer.port,
      key: chain.account,
    });
    const self = new PayBench<D, N>(bench, chain, signer);
    await self.#update();
    return self;
  }

  /** The whole scene as a crash at this moment leaves it, to be revived any number of times. */
  moment(): () => Promise<PayBench<D, N>> {
    const content = this.app.store.content();
    const [chain, at] = [this.chain.copy(), this.bench.at];
    const signed = [...this.signer.signed];
    const [recipients, deposits, reused] = [this.#recipients, this.#deposits, [...this.#reused]];
    return async () => {
      const network = chain.copy() as N;
      const signer = new PairSigner(() => network.adapter.spending!);
      for (const [uuid, transactions] of signed) signer.signed.set(uuid, transactions);
      const adapter = (store: Store, now: () => number) => network.connect(store, now);
      const parts = { adapter, signer: signer.port, key: network.account };
      const revived = await Bench.revive(content, at, network.chain, network.flags ?? {}, parts);
      const bench = new PayBench<D, N>(revived, network, signer);
      bench.#recipients = recipients;
      bench.#deposits = deposits;
      bench.#reused.push(...reused);
      return bench;
    };
  }

  get app(): App {
    return this.bench.app;
  }

  async #update(): Promise<void> {
    const since = checkpointOf(this.app.store, this.bench.chain)!;
    const update = (await this.chain.adapter.sync(since, new AbortController().signal))!;
    await ingest(this.app, this.bench.chain, update, this.bench.at);
  }

  /** Tells the service what the chain and the node's mempool are now. */
  async sync(): Promise<void> {
    this.bench.advance(1_000);
    await this.#update();
  }

  /** One pass of the worker; `due`: what was sent before is offered again. Returns whether something must be tried again. */
  pass(due = true): Promise<boolean> {
    return tendWithdrawals(this.app, this.bench.chain, this.progress, () => due);
  }

  /** Sync, pass, sync: what is to be sent is, and is seen. */
  async round(): Promise<void> {
    await this.sync();
    await this.pass();
    await this.sync();
  }

  /** A deposit at an address that nobody was given, in the mempool; not told yet. */
  deposit(units: bigint): Promise<D> {
    const { script, address } = this.app.store.get(targetById, { id: this.#nextTarget() })!;
    return Promise.resolve(this.chain.deposit({ script, address }, units));
  }

  #nextTarget(): number {
    const at = this.#deposits++ % REUSED_ADDRESSES;
    if (!this.chain.reusesAddresses) return this.bench.unassigned();
    this.#reused[at] ??= this.bench.unassigned();
    return this.#reused[at];
  }

  /** Deposits in a block of their own, so deep. */
  async deposits(units: readonly bigint[], depth = 1): Promise<D[]> {
    const made: D[] = [];
    for (const one of units) {
      made.push(await this.deposit(one));
      await this.sync();
    }
    await this.chain.mine(depth);
    await this.sync();
    return made;
  }

  /** Smallest units of the fee's asset per 1,000 units of size. */
  feeRate(): Promise<bigint> {
    return this.chain.adapter.spending!.feeRate(6, new AbortController().signal);
  }

  recipient(): string {
    return this.chain.stranger(this.#recipients++);
  }

  /** Asks for a withdrawal (null: everything) and approves it. */
  async withdraw(units: bigint | null, address = this.recipient()): Promise<number> {
    const id = await this.request(units, address);
    await this.approve(id);
    return id;
  }

  async request(units: bigint | null, address = this.recipient()): Promise<number> {
    const { app, bench } = this;
    bench.rate('60000');
    const business = app.directory.business(bench.businessId);
    const { asset } = this.chain;
    const amount = units === null ? null : formatUnits(units, assetOf(asset));
    return (await requestByOperator(app, business, { crypto: asset, address, amount }, null)).id;
  }

  approve(id: number, feeMax?: bigint, holdsMs = DAY_MS): Promise<WithdrawalRow> {
    const { app } = this;
    const units = this.app.store.get(withdrawalById, { id })!.units;
    const given = { until: app.now() + holdsMs, units, mac: 'mac' };
    return app.store.write((tx) => {
      const row = tx.get(withdrawalById, { id })!;
      const units = row.sweep ? row.units : null;
      return approve(app, tx, `${id}`, { ...given, units, feeMax: feeMax ?? row.fee_held });
    });
  }

  /** Replaces the transaction of a withdrawal as the operator does: shown, then approved. `signs`: whose intents he approves. */
  async replace(
    id: number,
    kind: 'speed-up' | 'cancel',
    feeRate: bigint | null = null,
    { anew = false, signs = () => true }: { anew?: boolean; signs?: (intent: Intent) => boolean } = {},
  ): Promise<void> {
    const wish = { kind, feeRate, anew };
    const { intents, until } = await previewReplacement(this.app, this.stored(id), wish);
    const approvals = intents
      .filter(signs)
      .map(
        ({ uuid, feeMax, units }) =>
          [uuid, { feeMax: BigInt(feeMax), units: BigInt(units), until, mac: 'mac' }] as const,
      );
    await replace(this.app, this.stored(id), wish, new Map(approvals));
  }

  reject(id: number): Promise<WithdrawalRow> {
    return this.app.store.write((tx) => reject(this.app, tx, `${id}`, null));
  }

  /** A row as it could be, without the steps that lead there. */
  insert(over: Partial<WithdrawalRow>): Promise<number> {
    const { bench, app } = this;
    const row: Parameters<typeof insertWithdrawal.bind>[0] = {
      uuid: randomUUIDv7(),
      business_id: bench.businessId,
      account_id: bench.accountId,
      chain_key: bench.chain.key,
      asset: this.chain.asset,
      origin: 'merchant',
      units: this.chain.coin,
      sweep: false,
      fee_held: 10_000n,
      fee_asset: this.chain.adapter.spending!.feeAsset,
      address: this.recipient(),
      lookalike_key: 'some…body',
      outpoint: null,
      inbox_id: null,
      invoice_id: null,
      state: 'approved',
      held: true,
      reason: null,
      usd_value: null,
      approved_by: 'operator',
      approved_at: bench.at,
      approval: JSON.stringify({ until: bench.at + DAY_MS, mac: 'mac' }),
      deadline_at: bench.at + DAY_MS,
      spend_id: null,
      cancel: false,
      fee: null,
      txid: null,
      problem: null,
      created_at: bench.at,
      updated_at: bench.at,
      ...over,
    };
    return app.store.write((tx) => tx.run(insertWithdrawal, row).id);
  }

  stored(id: number): WithdrawalRow {
    return this.app.store.get(withdrawalById, { id })!;
  }

  /** A withdrawal with its messages in English. */
  row(id: number): Spoken<WithdrawalRow> {
    const row = this.stored(id);
    return { ...row, problem: textIn(row.problem), reason: textIn(row.reason) };
  }

  spend(id: number): SpendRow {
    return this.app.store.get(spendById, { id: this.row(id).spend_id ?? 0 })!;
  }

  versions(id: number): Spoken<VersionRow>[] {
    const rows = this.app.store.all(versionsOf, { spend_id: this.row(id).spend_id ?? 0 });
    return rows.map((row) => ({ ...row, problem: textIn(row.problem) }));
  }

  /** The conflict keys of a version. */
  keys(version_id: number): string[] {
    return this.app.store.all(keysOf, { version_id }).map(({ conflict_key }) => conflict_key);
  }

  available(): bigint {
    return availableUnits(this.app.store, this.bench.accountId, this.chain.asset);
  }

  alerts(): { kind: string; subject: string; message: string }[] {
    return this.app.store
      .all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 100 })
      .map(({ kind, subject, message }) => ({ kind, subject, message: textOf(message) }));
  }
}

/** A chain of coins whose bytes are real. */
export type CoinBench = PayBench<PayTx, PayChain>;
