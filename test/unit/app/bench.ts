/**
 * The use cases on a database in memory, with one chain whose facts the test tells and a clock that the test moves.
 * Nothing runs by itself.
 */
import { derive, withAddress } from '../../../daemon/app/addresses/pool.ts';
import type { App } from '../../../daemon/app/app.ts';
import type { ChainRuntime } from '../../../daemon/app/chains/chains.ts';
import { checkpointOf } from '../../../daemon/app/chains/checkpoint.ts';
import { beginChain, ingest } from '../../../daemon/app/chains/ingest.ts';
import { createApp } from '../../../daemon/app/create-app.ts';
import { createInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { addBusiness } from '../../../daemon/app/shops/businesses.ts';
import { Wake } from '../../../daemon/app/wake.ts';
import type { ChainAdapter } from '../../../daemon/chains/adapter.ts';
import { loadConfig } from '../../../daemon/config/config.ts';
import { type AssetId, assetOf, type ChainId } from '../../../daemon/domain/assets.ts';
import {
  type AccountKey,
  type BlockId,
  type ChainUpdate,
  type Credit,
  chainKey,
  type Debit,
  type SpendSeen,
} from '../../../daemon/domain/chain.ts';
import type { Message } from '../../../daemon/domain/messages.ts';
import { createLog } from '../../../daemon/log.ts';
import { RateBook } from '../../../daemon/rates/book.ts';
import {
  balanceOf,
  type CreditRow,
  creditByOutpoint,
  creditsOfTarget,
  nextFreeTarget,
} from '../../../daemon/store/queries/credits.ts';
import { chainState, openAlerts, webhookOf } from '../../../daemon/store/queries/effects.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import { invoiceById, paymentOf } from '../../../daemon/store/queries/invoices.ts';
import { Store } from '../../../daemon/store/store.ts';
import type { Signer } from '../../../daemon/wallet/signer/port.ts';

export const HOUR = 3_600_000;

/** A message that is in no catalogue. */
export const said = (text: string): Message => ({ code: 'test', values: { text } });
/** 2026-01-01 at noon. */
const START = Date.UTC(2026, 0, 1, 12);
const BLOCK_MS = 600_000;
const FIRST_HEIGHT = 1_000;
const LAST_ID = 2 ** 31;

/** What these tests tell needs no signature. */
const NO_SIGNER = new Proxy({} as Signer, {
  get: (_, name) => () => Promise.reject(new Error(`nothing here calls signer.${String(name)}`)),
});

/** An invoice of 100 USD, or so, with its payment. `units`: what its quote asks for. */
export type Paid = { id: number; slug: string; targetId: number; units: bigint };

type Told = {
  /** Blocks that leave the chain, from the tip. */
  orphan?: number;
  /** Blocks that join it after that. */
  blocks?: number;
  /** Made once the new blocks are there. */
  credits?: () => Credit[];
  spends?: () => SpendSeen[];
  /** Only for a chain of accounts. */
  debits?: () => Debit[];
  mempool?: ChainUpdate['mempool'];
  finalized?: ChainUpdate['finalized'];
  unknownTransfers?: ChainUpdate['unknownTransfers'];
  searched?: ChainUpdate['searched'];
  targets?: ChainUpdate['targets'];
  since?: BlockId;
  beganAt?: number;
  /** The median time of the tip's blocks, for a chain that has one. */
  medianTime?: number;
  /** How long one transaction of the update goes on; 0: for one step. */
  turnMs?: number;
};

type CreditOf = { n?: number; txid?: string; inputs?: string[]; asset?: AssetId } & Partial<
  Pick<Credit, 'replaceable' | 'maturity' | 'locked'>
>;

/**
 * In place of an adapter that derives no real address, a signer that signs nothing, and a key that is none. `also`: further
 * chains on which the business has accounts.
 */
type Parts = {
  adapter?: (store: Store, now: () => number) => ChainAdapter;
  signer?: Signer;
  key?: AccountKey;
  also?: readonly ChainId[];
};

const NO_KEY: AccountKey = { kind: 'secp256k1', publicKey: '', chainCode: '' };

export class Bench {
  readonly app: App;
  readonly chain: ChainRuntime;
  readonly #clock: { at: number };
  /** The best chain, as far as it was told. */
  readonly blocks: (BlockId & { time: number })[] = [];
  readonly accountId: number;
  readonly businessId: number;
  #made = 0;

  private constructor(
    app: App,
    chain: ChainRuntime,
    ids: { businessId: number; accountId: number },
    clock: { at: number },
  ) {
    this.#clock = clock;
    this.app = app;
    this.chain = chain;
    this.businessId = ids.businessId;
    this.accountId = ids.accountId;
  }

  /** A mainnet business on one chain, synced to its tip, with rates of every coin on it and of the dollar alone. */
  static async open(chainId: ChainId = 'BTC', flags: Record<string, string> = {}, parts: Parts = {}): Promise<Bench> {
    const clock = { at: START };
    const { app, chain } = Bench.#compose(await Store.inMemory(), clock, chainId, flags, parts);
    for (const id of parts.also ?? []) app.chains.add(fakeAdapter(id));
    const businessId = await app.store.write((tx) =>
      addBusiness(
        app,
        {
          name: 'Shop',
          network: 'mainnet',
          timeZone: 'UTC',
          accountNo: 0,
          accounts: Object.fromEntries([chainId, ...(parts.also ?? [])].map((id) => [id, parts.key ?? NO_KEY])),
          birthday: null,
        },
        tx,
      ),
    );
    return Bench.#begin(app, chain, businessId, clock, parts.adapter !== undefined);
  }

  /** The same service after a crash: a new process on what an earlier one had committed. */
  static async revive(
    content: Buffer,
    at: number,
    chainId: ChainId,
    flags: Record<string, string>,
    parts: Parts,
  ): Promise<Bench> {
    const clock = { at };
    const { app, chain } = Bench.#compose(await Store.inMemory(content), clock, chainId, flags, parts);
    app.directory.load(app.store);
    const account = app.directory.accounts().find(({ chainKey }) => chainKey === chain.key)!;
    const bench = new Bench(app, chain, { businessId: account.businessId, accountId: account.id }, clock);
    bench.rate('60000');
    return bench;
  }

  static #compose(
    store: Store,
    clock: { at: number },
    chainId: ChainId,
    flags: Record<string, string>,
    parts: Parts,
  ): { app: App; chain: ChainRuntime } {
    const now = (): number => clock.at;
    const app = createApp({
      store,
      config: loadConfig({ dataDir: '/nonexistent', env: {}, flags }),
      rates: new RateBook({}),
      signer: parts.signer ?? NO_SIGNER,
      log: createLog({ level: 'silent', format: 'json' }),
      now,
      jump: 20,
      publicUrl: 'http://127.0.0.1',
      wake: new Wake(),
    });
    return { app, chain: app.chains.add(parts.adapter?.(store, now) ?? fakeAdapter(chainId)) };
  }

  /** `isReal`: the chain's adapter tells its facts itself. */
  static async #begin(
    app: App,
    chain: ChainRuntime,
    businessId: number,
    clock: { at: number },
    isReal = false,
  ): Promise<Bench> {
    const account = app.directory.accounts().find(({ chainKey }) => chainKey === chain.key)!;
    const bench = new Bench(app, chain, { businessId, accountId: account.id }, clock);
    await derive(app, account, 20);
    bench.rate('60000');
    if (isReal) await beginChain(app, chain, await chain.adapter.begin(null, new AbortController().signal));
    else {
      bench.#addBlocks(5);
      await beginChain(app, chain, bench.#checkpoint());
      await bench.tell();
    }
    return bench;
  }

  /** Another chain of the same service, one of `also`. */
  beside(chainId: ChainId): Promise<Bench> {
    const chain = this.app.chains.find(chainKey('mainnet', chainId));
    return Bench.#begin(this.app, chain!, this.businessId, this.#clock);
  }

  get at(): number {
    return this.#clock.at;
  }

  set at(ms: number) {
    this.#clock.at = ms;
  }

  /** All coins cost so many dollars from now on, or each its own; a rate holds 15 minutes. */
  rate(usd: string | Record<string, string>): void {
    const quotes = ['BTC', 'LTC', 'ETH', 'BNB', 'XMR', 'USDT'].map((code) => {
      const price = typeof usd === 'string' ? usd : (usd[code] ?? '1');
      return { code, scaled: BigInt(price) * 100_000_000n, quotedIn: 'USD' as const };
    });
    for (const name of ['one', 'two']) this.app.rates.record({ name, kind: 'coin' }, quotes, this.at);
    this.app.rates.snapshot(this.at);
  }

  get tip(): BlockId & { time: number } {
    return this.blocks.at(-1)!;
  }

  #addBlocks(count: number): void {
    for (let i = 0; i < count; i++) {
      const height = (this.blocks.at(-1)?.height ?? FIRST_HEIGHT - 1) + 1;
      this.blocks.push({ height, hash: `block ${height} no. ${++this.#made}`, time: this.at });
    }
  }

  #checkpoint(): BlockId[] {
    return this.blocks.map(({ height, hash }) => ({ height, hash }));
  }

  /** Applies an update that says this; by default a complete view with nothing in it. */
  tell(told: Told = {}): Promise<boolean> {
    const { height, hash } = this.tip;
    const orphaned = this.blocks
      .splice(this.blocks.length - (told.orphan ?? 0))
      .map((b) => ({ height: b.height, hash: b.hash }));
    this.#addBlocks(told.blocks ?? 0);
    const update: ChainUpdate = {
      since: told.since ?? { height, hash },
      checkpoint: this.#checkpoint(),
      orphaned,
      targets: told.targets ?? 'all',
      mempool: told.mempool ?? 'complete',
      ...(told.searched && { searched: told.searched }),
      credits: told.credits?.() ?? [],
      spends: told.spends?.() ?? [],
      ...(told.debits && { debits: told.debits() }),
      ...(told.finalized !== undefined && { finalized: told.finalized }),
      ...(told.unknownTransfers && { unknownTransfers: told.unknownTransfers }),
      ...(told.medianTime !== undefined && { tipMedianTime: told.medianTime }),
    };
    return ingest(this.app, this.chain, update, told.beganAt ?? this.at, told.turnMs);
  }

  /**
   * Tells an update again that was broken off: against the checkpoint that the store has now. `left`: blocks of it that
   * have left the chain since.
   */
  retell(told: Told, left: number): Promise<boolean> {
    if (told.orphan && left === 0) {
      this.blocks.splice(this.blocks.length - told.orphan);
      this.#addBlocks(told.blocks ?? 0);
    }
    const stored = checkpointOf(this.app.store, this.chain)!;
    const update: ChainUpdate = {
      since: stored.at(-1)!,
      checkpoint: this.#checkpoint(),
      orphaned: stored.filter(({ hash }) => !this.blocks.some((block) => block.hash === hash)),
      targets: told.targets ?? 'all',
      mempool: told.mempool ?? 'complete',
      credits: told.credits?.() ?? [],
      spends: told.spends?.() ?? [],
    };
    return ingest(this.app, this.chain, update, told.beganAt ?? this.at, told.turnMs);
  }

  /** A block's place in a fact: `back` blocks under the tip. */
  block(back = 0): BlockId {
    const { height, hash } = this.blocks.at(-1 - back)!;
    return { height, hash };
  }

  /** A deposit, unconfirmed or in a block. */
  credit(targetId: number, units: bigint, back: number | null = null, over: CreditOf = {}): Credit {
    const { n = 0, txid = `tx${targetId}`, asset = 'BTC', inputs = [`${txid}'s coin:0`], ...rest } = over;
    const block = back === null ? null : this.block(back);
    return {
      id: `${txid}:${n}`,
      txid,
      targetId,
      amount: {
        asset: this.chain.adapter.chain === 'BTC' ? asset : (over.asset ?? (this.chain.adapter.chain as AssetId)),
        units,
      },
      block,
      ...(block && { blockTime: this.blocks.at(-1 - back!)!.time }),
      inputs,
      ...rest,
    };
  }

  async invoice(over: { usd?: bigint; crypto?: AssetId; dueAt?: number; webhookUrl?: string } = {}): Promise<Paid> {
    const { usd = 100n, crypto = this.chain.adapter.chain as AssetId } = over;
    const business = this.app.directory.business(this.businessId);
    const wanted = {
      amount: usd * 100_000_000n,
      currency: 'USD',
      crypto: 'ALL',
      dueAt: over.dueAt ?? null,
      closeUrl: null,
      redirectUrl: null,
      webhookUrl: over.webhookUrl ?? 'https://shop.example/paid',
      automaticRedirect: false,
      origin: 'merchant',
    } as const;
    return withAddress(this.app, (tx) => {
      const invoice = createInvoice(this.app, business, wanted, tx);
      const payment = requestPayment(this.app, business, invoice, () => crypto, tx);
      return { id: invoice.id, slug: invoice.slug, targetId: payment.target_id, units: BigInt(payment.quote_amount) };
    });
  }

  /** An address that nobody was given yet. */
  unassigned(): number {
    return this.app.store.get(nextFreeTarget, { account_id: this.accountId })!.id;
  }

  row(outpoint: string): CreditRow {
    const row = this.app.store.get(creditByOutpoint, { outpoint, chain_key: this.chain.key });
    if (!row) throw new Error(`there is no credit ${outpoint}`);
    return row;
  }

  creditsOf(targetId: number): CreditRow[] {
    return this.app.store.all(creditsOfTarget, { target_id: targetId });
  }

  invoiceStatus(id: number): string {
    return this.app.store.get(invoiceById, { id })!.status;
  }

  payment(id: number) {
    return this.app.store.get(paymentOf, { invoice_id: id })!;
  }

  balance(asset: AssetId = assetOf(this.chain.adapter.chain as AssetId).symbol): bigint {
    return BigInt(this.app.store.get(balanceOf, { account_id: this.accountId, asset })?.units ?? '0');
  }

  inbox(): { reason: string; outpoint: string }[] {
    const rows = this.app.store.all(inboxBelow, { id: LAST_ID, limit: 100 });
    return rows.map(({ reason, outpoint }) => ({ reason, outpoint }));
  }

  alerts(): string[] {
    return this.app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 100 }).map(({ kind }) => kind);
  }

  webhook(id: number): string | undefined {
    return this.app.store.get(webhookOf, { invoice_id: id })?.state;
  }

  storedSyncedAt(): number {
    return this.app.store.get(chainState, { chain_key: this.chain.key })!.synced_at;
  }

  storedTip(): BlockId {
    return checkpointOf(this.app.store, this.chain)!.at(-1)!;
  }

  /** Moves the clock; what is not told to be older than that is of now. */
  advance(ms = BLOCK_MS): void {
    this.#clock.at += ms;
  }
}

function fakeAdapter(chain: ChainId): ChainAdapter {
  const unused = (): never => {
    throw new Error('the bench tells facts itself');
  };
  return {
    network: 'mainnet',
    chain,
    deriveAddress: async (_account, branch, index) => ({
      script: Buffer.from(`script ${branch} ${index}`),
      address: `address ${branch} ${index}`,
    }),
    isValidAddress: unused,
    begin: unused,
    sync: unused,
    onHint: unused,
    health: () => ({ source: 'bench', tip: null, tipAgeMs: null, lagging: false, error: null }),
    close: async () => {},
  };
}
