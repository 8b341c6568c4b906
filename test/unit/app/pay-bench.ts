/**
 * Withdrawals from the request to the block, on a database in memory: a chain that the test drives (`pay-chain.ts`), a
 * signer that signs whatever keeps the rule of "never twice", and passes of the worker that the test runs.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { App } from '../../../daemon/app/app.ts';
import { checkpointOf, ingest } from '../../../daemon/app/chains/ingest.ts';
import { approve, reject } from '../../../daemon/app/withdrawals/approve.ts';
import { availableUnits } from '../../../daemon/app/withdrawals/coins.ts';
import { passWithdrawals } from '../../../daemon/app/withdrawals/pass.ts';
import { previewReplacement, replace } from '../../../daemon/app/withdrawals/replace.ts';
import { requestByOperator } from '../../../daemon/app/withdrawals/request.ts';
import { decodeTransaction, unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import type { SignedSpend } from '../../../daemon/domain/spend.ts';
import { targetById, targetIdByScript } from '../../../daemon/store/queries/credits.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import {
  insertWithdrawal,
  type SpendRow,
  spendById,
  type VersionRow,
  versionsOf,
  type WithdrawalRow,
  withdrawalById,
} from '../../../daemon/store/queries/withdrawals.ts';
import type { Intent, Signer, SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { Bench } from './bench.ts';
import { ACCOUNT, PayChain, type PayTx } from './pay-chain.ts';

const DAY_MS = 24 * 3_600_000;
export const COIN = 100_000_000n;

/** Signs everything whose versions conflict in pairs, and remembers what it was shown. */
class PairSigner {
  state: 'locked' | 'unlocked' = 'unlocked';
  readonly orders: SignOrder[] = [];
  /** By withdrawal: the inputs of each transaction that it signed. */
  readonly signed = new Map<string, { txid: string; inputs: string[] }[]>();
  /** What it refuses, in words. */
  refuses: (order: SignOrder) => Rejected | null = () => null;

  readonly port: Signer = new Proxy({} as Signer, {
    get: (_, name) => {
      if (name === 'status') {
        return async () => ({ state: this.state, fingerprint: '', lockAt: null, retryAfterSeconds: 0 });
      }
      if (name === 'sign') return async (order: SignOrder) => this.#sign(order);
      return () => Promise.reject(new Error(`nothing here calls signer.${String(name)}`));
    },
  });

  #sign(order: SignOrder): SignedSpend {
    if (this.state === 'locked') throw new Rejected('signer.locked', 'the wallet is locked');
    const { plan, withdrawals, purpose } = order;
    if (plan.kind !== 'utxo') throw new Error('a plan of a real chain');
    const refusal = this.refuses(order);
    if (refusal) throw refusal;
    this.orders.push(order);
    const inputs = plan.inputs.map(({ outpoint }) => outpoint);
    const raw = unsignedTransaction(plan);
    const { txid } = decodeTransaction(raw, plan.chain as 'BTC', plan.network);
    for (const { intent } of withdrawals) {
      for (const earlier of this.signed.get(intent.uuid) ?? []) {
        if (earlier.txid === txid || earlier.inputs.some((one) => inputs.includes(one))) continue;
        throw new Rejected('signer.conflict', `${intent.uuid} could be paid by two transactions`);
      }
    }
    const paid = purpose === 'cancel' ? [] : withdrawals.filter(({ intent }) => intent.address !== 'self');
    for (const { intent } of paid) needPaid(plan.outputs, intent);
    for (const { intent } of withdrawals) {
      this.signed.set(intent.uuid, [...(this.signed.get(intent.uuid) ?? []), { txid, inputs }]);
    }
    return { txid, raw, fee: plan.fee, size: plan.vsize };
  }
}

function needPaid(outputs: readonly { address: string; units: bigint }[], { address, units, sweep }: Intent): void {
  const most = BigInt(units);
  const found = outputs.some((one) => one.address === address && (sweep ? one.units <= most : one.units === most));
  if (!found) throw new Error(`${address} is not paid ${units}`);
}

export class PayBench {
  readonly bench: Bench;
  readonly chain: PayChain;
  readonly signer: PairSigner;
  readonly progress = { after: 0, asked: new Map<string, number>() };
  #recipients = 0;

  private constructor(bench: Bench, chain: PayChain, signer: PairSigner) {
    this.bench = bench;
    this.chain = chain;
    this.signer = signer;
  }

  static async open(chainId: 'BTC' | 'LTC' | 'BCH' = 'BTC'): Promise<PayBench> {
    const chain = new PayChain(chainId);
    const signer = new PairSigner();
    const bench = await Bench.open(chainId, {}, { adapter: chain.adapter, signer: signer.port, key: ACCOUNT });
    const self = new PayBench(bench, chain, signer);
    const { store } = bench.app;
    chain.targetIdOf = (script) => store.get(targetIdByScript, { script, chain_key: bench.chain.key })?.id;
    await self.adopt();
    return self;
  }

  get app(): App {
    return this.bench.app;
  }

  /** The bench began with blocks of its own: from here on the chain's count. */
  private async adopt(): Promise<void> {
    const since = checkpointOf(this.app.store, this.bench.chain)!;
    const update = (await this.chain.adapter.sync(since, new AbortController().signal))!;
    await ingest(this.app, this.bench.chain, update, this.bench.at);
  }

  /** Tells the service what the chain and the node's mempool are now. */
  async sync(): Promise<void> {
    this.bench.advance(1_000);
    await this.adopt();
  }

  /** One pass of the worker; `due`: what was sent before is offered again. */
  async pass(due = true): Promise<void> {
    await passWithdrawals(this.app, this.bench.chain, this.progress, () => due);
  }

  /** Sync, pass, sync: what is to be sent is, and is seen. */
  async round(): Promise<void> {
    await this.sync();
    await this.pass();
    await this.sync();
  }

  /** A deposit at an address that nobody was given, in the mempool; not told yet. */
  deposit(units: bigint): PayTx {
    const target = this.app.store.get(targetById, { id: this.bench.unassigned() })!;
    const tx = this.chain.payment(target.script, units);
    this.chain.add(tx);
    return tx;
  }

  /** Deposits in a block of their own, so deep. */
  async deposits(units: readonly bigint[], depth = 1): Promise<PayTx[]> {
    const made: PayTx[] = [];
    for (const one of units) {
      made.push(this.deposit(one));
      await this.sync();
    }
    this.chain.mine(depth);
    await this.sync();
    return made;
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
    const amount = units === null ? null : `${units / COIN}.${(units % COIN).toString().padStart(8, '0')}`;
    return (await requestByOperator(app, business, { crypto: this.chain.chain, address, amount })).id;
  }

  approve(id: number, feeMax?: bigint): Promise<WithdrawalRow> {
    const { app } = this;
    const units = this.app.store.get(withdrawalById, { id })!.units;
    const given = { until: app.now() + DAY_MS, units, mac: 'mac' };
    return app.store.write((tx) => {
      const row = tx.get(withdrawalById, { id })!;
      const units = row.sweep ? row.units : null;
      return approve(app, tx, `${id}`, { ...given, units, feeMax: feeMax ?? row.fee_held });
    });
  }

  /** Replaces the transaction of a withdrawal as the operator does: shown, then approved. */
  async replace(id: number, kind: 'speed-up' | 'cancel', feeRate: bigint | null = null): Promise<void> {
    const wish = { id: `${id}`, kind, feeRate };
    const { intents, until } = await previewReplacement(this.app, wish);
    const approvals = intents.map(
      ({ uuid, feeMax, units }) => [uuid, { feeMax: BigInt(feeMax), units: BigInt(units), until, mac: 'mac' }] as const,
    );
    await replace(this.app, wish, new Map(approvals));
  }

  reject(id: number): Promise<WithdrawalRow> {
    return this.app.store.write((tx) => reject(this.app, tx, `${id}`, null));
  }

  /** What the chain's blocks hold for us that nothing spends. */
  unspent(): bigint {
    const { chain } = this;
    const txs = chain.blocks.flatMap((block) => block.txs);
    const spent = new Set(txs.flatMap(({ inputs }) => inputs));
    return txs
      .flatMap((tx) => tx.outputs.map((output, n) => ({ ...output, outpoint: `${tx.txid}:${n}` })))
      .filter(({ script, outpoint }) => !spent.has(outpoint) && chain.targetIdOf(Buffer.from(script, 'hex')))
      .reduce((sum, { units }) => sum + units, 0n);
  }

  /** A row as it could be, without the steps that lead there. */
  insert(over: Partial<WithdrawalRow>): Promise<number> {
    const { bench, app } = this;
    const row: Parameters<typeof insertWithdrawal.bind>[0] = {
      uuid: randomUUIDv7(),
      business_id: bench.businessId,
      account_id: bench.accountId,
      chain_key: bench.chain.key,
      asset: this.chain.chain,
      origin: 'merchant',
      units: COIN,
      sweep: false,
      fee_held: 10_000n,
      fee_asset: this.chain.chain,
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

  row(id: number): WithdrawalRow {
    return this.app.store.get(withdrawalById, { id })!;
  }

  spend(id: number): SpendRow {
    return this.app.store.get(spendById, { id: this.row(id).spend_id ?? 0 })!;
  }

  versions(id: number): VersionRow[] {
    return this.app.store.all(versionsOf, { spend_id: this.row(id).spend_id ?? 0 });
  }

  available(): bigint {
    return availableUnits(this.app.store, this.bench.accountId, this.chain.chain);
  }

  alerts(): { kind: string; subject: string; message: string }[] {
    return this.app.store
      .all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 100 })
      .map(({ kind, subject, message }) => ({ kind, subject, message }));
  }
}
