/**
 * Reconciles the ledger with the chain: received, spent, fees and held must add up, and the coins held by the books
 * must be those of the source's own record. Each difference is named by its transaction.
 *
 * Invariant: both are compared as of one block that both have on their chain; only coins spent since may be missing in
 * the source's record. Rows are read in pages, so that requests are answered in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Balances, type HeldCoin, type Holdings, tipOf, type WatchedAccount } from '../../chains/adapter.ts';
import { type Pause, slices } from '../../chains/slices.ts';
import { type AssetId, nativeAsset } from '../../domain/assets.ts';
import { type BlockId, type Checkpoint, isWatchOnly } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { UNKNOWN } from '../../domain/spend-state.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { balancesOfAccount, type CreditRow } from '../../store/queries/credits.ts';
import { type DebitRow, debitsOfTransaction } from '../../store/queries/debits.ts';
import { creditsOfChain, debitsOfChain } from '../../store/queries/ledger.ts';
import { newestCredit } from '../../store/queries/operator.ts';
import { lastDebit } from '../../store/queries/restore.ts';
import { keysOf, spendById, type VersionRow, versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Statement } from '../../store/statement.ts';
import { end, raiseAs } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/checkpoint.ts';
import { inTotal } from '../chains/credits.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { keyState } from '../spends/facts.ts';
import { readPlan } from '../spends/stored-plan.ts';
import { adopt, type Difference, differencesAt, TARGETS_MAX } from './adopt.ts';
import { noteDifferences } from './differences.ts';
import { isAdopted } from './entries.ts';
import { BalanceCheck, inCoins } from './reconcile-balances.ts';
import { reviewTargets, reviewTonight } from './review.ts';

/** Some milliseconds to read; what is done with them ends its turn by time. */
const IDS_A_PAGE = 250;
const TRIES_MAX = 5;
const PROBLEMS_MAX = 100;
const MOVED_RETRY_SECONDS = 30;
/** How often, and how many times, to check whether the sync has reached the source. */
const LOOK_MS = 500;
const LOOKS_MAX = 120;

/** The source's own record: coins, balances, or neither on simulated chains. */
type SourceRecord = { held: Holdings | null; balances: Balances | null };

/** Smallest units, all confirmed. */
type ReconciledAsset = {
  asset: string;
  /** From others, and by payments to invoices of our own. Change is neither received nor paid. */
  received: bigint;
  paidOut: bigint;
  fees: bigint;
  /** The units that the chain was found to have less than the other entries say; below 0: more. */
  adopted: bigint;
  /** Received less paid out less fees less adopted. */
  held: bigint;
};
export type Reconciliation = {
  chain: string;
  tip: BlockId;
  lines: ReconciledAsset[];
  /** Whether the source's own record was compared; false on simulated chains. */
  compared: boolean;
  /** The differences, up to a limit. */
  problems: string[];
  /** How many there are. */
  differences: number;
  /** Whether the source holds a coin that the books do not know. */
  missed: boolean;
  /** Addresses of an account chain at which the books differ from the source. */
  differing: readonly number[];
  /** Those differences on whose balance two operators agree, so that it can be adopted. */
  offers: readonly Difference[];
};

/**
 * Reconciles one chain. An alert names what differs, for as long as it does. Throws `Unavailable` if the source does
 * not answer, is reorganised repeatedly, or cannot tell what is held.
 */
export async function reconcile(app: App, chain: ChainRuntime, signal: AbortSignal): Promise<Reconciliation> {
  let report = await comparison(app, chain, signal);
  // entries that nobody has on the chain go first
  if (report.differing.length > 0) {
    const differing = report.differing.slice(0, TARGETS_MAX);
    if ((await reviewTargets(app, chain, differing, signal)) > 0) report = await comparison(app, chain, signal);
  }
  const asked = [...new Set([...report.differing, ...chain.unbooked])];
  const offers = asked.length > 0 ? await differencesAt(app, chain, asked, signal) : [];
  const found = { ...report, offers };
  await noteDifferences(app, found);
  return found;
}

/** The books of an account chain take over what two operators say that it holds, wherever they differ. Throws `Unavailable`. */
export async function adoptBalances(app: App, chain: ChainRuntime, signal: AbortSignal): Promise<Reconciliation> {
  const { offers } = await reconcile(app, chain, signal);
  await adopt(app, chain, [...new Set(offers.map(({ target }) => target.id))], signal);
  return reconcile(app, chain, signal);
}

async function comparison(app: App, chain: ChainRuntime, signal: AbortSignal): Promise<Reconciliation> {
  for (let attempt = 1; attempt <= TRIES_MAX; attempt++) {
    const held = await chain.adapter.holdings?.coins(watchedAccounts(app, chain), signal);
    const balances = await chain.adapter.balances?.read(signal);
    const checkpoint = await readUpTo(app, chain, held?.until ?? balances?.tip ?? null, signal);
    const tip = held?.tip ?? balances?.tip ?? tipOf(checkpoint);
    if (!has(checkpoint, tip)) continue;
    const report = await compare(app, chain, tip, { held: held ?? null, balances: balances ?? null });
    // the rows were read while blocks left the chain
    if (!has(checkpointOf(app.store, chain), tip)) continue;
    return report;
  }
  throw new Unavailable(`${chain.key} was reorganised whenever it was to be proved`, MOVED_RETRY_SECONDS);
}

const has = (checkpoint: Checkpoint | null | undefined, { hash }: BlockId): boolean =>
  checkpoint?.some((block) => block.hash === hash) ?? false;

/** The stored checkpoint once it has reached the source's height, possibly on another branch. Throws `Unavailable`. */
async function readUpTo(
  app: App,
  chain: ChainRuntime,
  until: BlockId | null,
  signal: AbortSignal,
): Promise<Checkpoint> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const checkpoint = checkpointOf(app.store, chain);
    if (!checkpoint) throw new Unavailable(`${chain.key} has not been read yet`, MOVED_RETRY_SECONDS);
    if (!until || has(checkpoint, until) || tipOf(checkpoint).height > until.height) return checkpoint;
    app.wake.chain(chain.key);
    await sleep(LOOK_MS);
    signal.throwIfAborted();
  }
  throw new Unavailable(`${chain.key} is behind its source`, MOVED_RETRY_SECONDS);
}

/**
 * The scheduled reconciliation: one that is not possible is an alert, too. Returns whether it was done or not needed; a
 * chain that was not synced since the start is left for later. Throws only bugs.
 */
export async function proveByClock(app: App, chain: ChainRuntime, signal: AbortSignal): Promise<boolean> {
  if (chain.dormant) return true;
  if (chain.syncedAt === 0) return false;
  await reviewTonight(app, chain);
  try {
    await reconcile(app, chain, signal);
    await end(app, 'ledger.unproved', chain.key);
    return true;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    app.log.warn({ chain: chain.key, reason: error.message }, 'the ledger could not be proved');
    if (isQuarantined(app.store)) return false;
    await raiseAs(app, chain.adapter.network, 'ledger.unproved', chain.key, {
      chain: chain.key,
      reason: error.message,
    });
    return false;
  }
}

function watchedAccounts(app: App, chain: ChainRuntime): WatchedAccount[] {
  return accountsOf(app, chain).map(({ id, key }) => {
    const row = app.store.get(accountById, { id });
    return { key, receiving: row?.next_index ?? 0, change: row?.next_change ?? 0 };
  });
}

/** The sums and comparisons of one pass over a chain's entries. */
class Proof {
  readonly lines = new Map<string, ReconciledAsset>();
  readonly problems: string[] = [];
  differences = 0;
  readonly #app: App;
  readonly #chain: ChainRuntime;
  readonly #tip: BlockId;
  readonly #lessMempool: boolean;
  /** Targets whose coins the source did not report. */
  readonly #untold: ReadonlySet<number>;
  /** The source's coins that were not found in the books yet; null: it was not asked. */
  #unmatched: Map<string, HeldCoin> | null = null;
  readonly #balances: Balances | null;
  readonly #check = new BalanceCheck();
  /** By account and asset: its credits less its debits, unconfirmed ones included. */
  readonly #totals = new Map<string, bigint>();
  readonly #pastUntil: ReadonlyMap<number, number>;

  constructor(app: App, chain: ChainRuntime, tip: BlockId, { held, balances }: SourceRecord) {
    this.#app = app;
    this.#chain = chain;
    this.#tip = tip;
    this.#pastUntil = pasts(app, chain);
    this.#lessMempool = held?.lessMempool ?? false;
    this.#untold = new Set(held?.untold);
    this.#balances = balances;
  }

  /** Before the entries: takes the coins of the source's record, in turns of the event loop. */
  async begin(coins: readonly HeldCoin[], pause: Pause): Promise<void> {
    const unmatched = new Map<string, HeldCoin>();
    await eachInTurns(coins, pause, (coin) => unmatched.set(coin.outpoint, coin));
    this.#unmatched = unmatched;
  }

  line(asset: string): ReconciledAsset {
    let line = this.lines.get(asset);
    if (!line) {
      line = { asset, received: 0n, paidOut: 0n, fees: 0n, adopted: 0n, held: 0n };
      this.lines.set(asset, line);
    }
    return line;
  }

  /** Notes a difference. `say` words it, which only the first ones need: there may be very many. */
  problem(say: () => string): void {
    this.differences += 1;
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(say());
  }

  takeCredit(row: CreditRow): void {
    this.#total(row, inTotal(row));
    if (!row.gone && row.block_height === null) this.#check.skip(row.target_id);
    if (row.gone || !this.#isBelow(row.block_height)) return;
    const line = this.line(row.asset);
    const { units } = row;
    if (this.#balances) this.#check.add(row.target_id, row.asset, units);
    line.received += units;
    const spent = this.#isBelow(row.spent_block_height);
    if (!spent) line.held += units;
    this.#match(row, units, spent);
  }

  takeDebit(row: DebitRow): void {
    const { units } = row;
    this.#total(row, -units);
    if (!this.#isBelow(row.block_height)) return;
    const line = this.line(row.asset);
    // a coin that was already spent was not counted as held
    if (row.target_id !== null) {
      line.held -= units;
      if (this.#balances) this.#check.add(row.target_id, row.asset, -units);
    }
    if (isAdopted(row)) {
      line.adopted += units;
      return;
    }
    if (row.kind === 'moved') line.received -= units;
    else if (row.kind === 'fee') line.fees += units;
    else line.paidOut += units;
    this.#explain(row);
  }

  #isBelow(height: number | null): boolean {
    return height !== null && height <= this.#tip.height;
  }

  #total({ account_id, asset }: { account_id: number; asset: string }, units: bigint): void {
    const key = `${account_id} ${asset}`;
    this.#totals.set(key, (this.#totals.get(key) ?? 0n) + units);
  }

  #match(row: CreditRow, units: bigint, spent: boolean): void {
    if (!this.#unmatched || this.#untold.has(row.target_id)) return;
    const coin = this.#unmatched.get(row.outpoint);
    this.#unmatched.delete(row.outpoint);
    if (spent && coin)
      this.problem(() => `${row.outpoint}: our books say that ${row.spent_txid} spent it, the source holds it`);
    const isLeaving = this.#lessMempool && row.spent_txid !== null;
    if (!spent && !coin && !isLeaving)
      this.problem(() => `${row.outpoint}: our books hold ${inCoins(units, row.asset)}, the source does not`);
    if (!spent && coin && coin.units !== units) {
      this.problem(
        () =>
          `${row.outpoint}: our books say ${inCoins(units, row.asset)}, the source ${inCoins(coin.units, row.asset)}`,
      );
    }
  }

  get differing(): number[] {
    return [...this.#check.differing];
  }

  get missed(): boolean {
    return (this.#unmatched?.size ?? 0) > 0;
  }

  /** Reports the remaining differences after every entry was read. `isStill`: whether no entry changed meanwhile. */
  async finish(pause: Pause, isStill: () => boolean): Promise<void> {
    // a chain with coins that can be listed has one asset
    const { symbol } = nativeAsset(this.#chain.adapter.chain);
    for (const { outpoint, units } of this.#unmatched?.values() ?? []) {
      this.problem(() => `${outpoint}: the source holds ${inCoins(units, symbol)} that our books do not know`);
    }
    await eachInTurns(this.#balances?.held ?? [], pause, (one) => {
      const text = this.#check.problemOf(one);
      if (text !== null) this.problem(() => text);
    });
    for (const { asset, received, paidOut, fees, adopted, held } of this.lines.values()) {
      if (received - paidOut - fees - adopted !== held) {
        this.problem(() => `${asset}: what was received less what was paid out and the fees is not what is held`);
      }
    }
    if (isStill()) this.#checkBalances();
  }

  #checkBalances(): void {
    for (const { id } of accountsOf(this.#app, this.#chain)) {
      for (const { asset, units } of this.#app.store.all(balancesOfAccount, { account_id: id })) {
        const total = this.#totals.get(`${id} ${asset}`) ?? 0n;
        this.#totals.delete(`${id} ${asset}`);
        if (units !== total)
          this.problem(
            () => `${asset}: the balance is ${inCoins(units, asset)}, its entries make ${inCoins(total, asset)}`,
          );
      }
    }
    for (const [key, total] of this.#totals) {
      const [account, asset] = key.split(' ') as [string, AssetId];
      if (total === 0n) continue;
      this.problem(
        () => `account ${account}: there is no balance of ${asset}, its entries make ${inCoins(total, asset)}`,
      );
    }
  }

  #hasFailed({ id, chain_key }: VersionRow): boolean {
    const keys = this.#app.store.all(keysOf, { version_id: id });
    return keys.some(
      ({ conflict_key }) => keyState(this.#app.store, { key: chain_key }, conflict_key)?.failed === true,
    );
  }

  /** Explains a transaction that spent coins of ours, once: who made it, and whether it took the planned units. */
  #explain({ id, txid, chain_key, asset, account_id, block_height }: DebitRow): void {
    const all = this.#app.store.all(debitsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key });
    const debits = all.filter((row) => row.asset === asset);
    if (debits.some((row) => row.id < id)) return;
    const taken = debits.reduce((sum, { units }) => sum + units, 0n);
    const version = this.#app.store.get(versionByTxid, { txid, chain_key });
    if (!version) {
      // transactions of another wallet with these keys are not explained
      if (this.#isPast(block_height, account_id)) return;
      this.problem(() => `${txid}: spent ${inCoins(taken, asset)} of ours, and we did not make it`);
      return;
    }
    // so are transactions that the operator accepted by ending a quarantine
    if (version.kind === UNKNOWN && isQuarantined(this.#app.store)) {
      this.problem(() => `${txid}: spent ${inCoins(taken, asset)} of ours, and the backup knows nothing of it`);
    }
    const { spending } = this.#chain.adapter;
    const paid = this.#app.store.get(spendById, { id: version.spend_id })?.asset;
    const outputs = readPlan(version.plan)
      .outputs.filter((output) => ((output.kind === 'change' && output.asset) || paid) === asset)
      .reduce((sum, { units }) => sum + units, 0n);
    const feeMax = (spending?.feeAsset ?? paid) === asset ? version.fee : 0n;
    // An account chain charges what was needed of the highest fee, and a transaction that failed moves nothing. Of one that another machine
    // made only what a block charged is known, and another block may charge more.
    const isReported = debits.every(({ target_id }) => target_id !== null);
    const charged = debits.reduce((sum, { kind, units }) => sum + (kind === 'fee' ? units : 0n), 0n);
    const fee = isReported && (charged <= feeMax || version.raw === null) ? charged : feeMax;
    const hasFailed = isReported && taken === fee && this.#hasFailed(version);
    if (outputs + fee !== taken && !hasFailed) {
      const say = (units: bigint): string => inCoins(units, asset);
      this.problem(() => `${txid}: took ${say(taken)} and pays ${say(outputs)} with a fee of ${say(fee)}`);
    }
  }

  #isPast(height: number | null, accountId: number): boolean {
    return (height ?? 0) <= (this.#pastUntil.get(accountId) ?? -1);
  }
}

const accountsOf = (app: App, chain: ChainRuntime) =>
  app.directory.accounts().filter(({ chainKey }) => chainKey === chain.key);

/** The height up to which others than this service spent an account's coins: a past that was read, or always. */
function pasts(app: App, chain: ChainRuntime): Map<number, number> {
  return new Map(
    accountsOf(app, chain).flatMap(({ id, key }): [number, number][] => {
      if (isWatchOnly(key)) return [[id, Number.MAX_SAFE_INTEGER]];
      const height = app.store.get(accountById, { id })?.past_until ?? null;
      return height === null ? [] : [[id, height]];
    }),
  );
}

async function compare(app: App, chain: ChainRuntime, tip: BlockId, record: SourceRecord): Promise<Reconciliation> {
  const proof = new Proof(app, chain, tip, record);
  const pause = slices();
  if (record.held) await proof.begin(record.held.coins, pause);
  const { entriesMoved } = chain;
  const [credit, debit] = [app.store.get(newestCredit, {}), app.store.get(lastDebit, {})];
  await eachInTurns(pagesOf(app, chain, creditsOfChain, credit?.id ?? 0), pause, (row) => proof.takeCredit(row));
  await eachInTurns(pagesOf(app, chain, debitsOfChain, debit?.id ?? 0), pause, (row) => proof.takeDebit(row));
  await proof.finish(pause, () => chain.entriesMoved === entriesMoved);
  return {
    chain: chain.key,
    tip,
    lines: [...proof.lines.values()],
    compared: record.held !== null || record.balances !== null,
    problems: proof.problems,
    differences: proof.differences,
    missed: proof.missed,
    differing: proof.differing,
    offers: [],
  };
}

/** The entries of a chain up to an id, read in pages. Between pages without any, null. */
function* pagesOf<Row>(
  app: App,
  chain: ChainRuntime,
  statement: Statement<{ chain_key: string; above: number; to: number }, Row>,
  newest: number,
): Generator<Row | null> {
  for (let above = 0; above < newest; above += IDS_A_PAGE) {
    yield null;
    yield* app.store.all(statement, { chain_key: chain.key, above, to: above + IDS_A_PAGE });
  }
}

/** Gives everything but null to `take`, in as many turns of the event loop as that needs. */
async function eachInTurns<Item>(
  items: Iterable<Item | null>,
  pause: Pause,
  take: (item: Item) => void,
): Promise<void> {
  for (const item of items) {
    if (item !== null) take(item);
    const wait = pause();
    if (wait) await wait;
  }
}
