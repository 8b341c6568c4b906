/**
 * The ledger against the chain: every unit that our books say was received, spent, paid as fee and is held adds up, and
 * the coins that they say are held are those that the source's own books hold. Whatever differs is named by its
 * transaction.
 *
 * Invariant: the two are compared as of one block, which both have on their chain; only what was spent since may be missing
 * on the source's side. Rows are read in pages, so that requests are answered in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type HeldCoin, type Holdings, tipOf, type WatchedAccount } from '../../chains/adapter.ts';
import type { BlockId, Checkpoint } from '../../domain/chain.ts';
import { networkOf } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { accountById } from '../../store/queries/businesses.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { creditsAbove } from '../../store/queries/ledger.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/ingest.ts';
import { quarantineOf } from '../recovery/quarantine.ts';
import { UNKNOWN } from '../withdrawals/adopted.ts';
import { readPlan } from '../withdrawals/stored-plan.ts';
import { readSpent } from './spent.ts';

const PAGE = 1_000;
const TRIES_MAX = 5;
const PROBLEMS_MAX = 100;
const NAMED_IN_ALERT_MAX = 5;
const MOVED_RETRY_SECONDS = 30;
/** How often, and how many times, it is looked whether our own reading has come as far as the source. */
const LOOK_MS = 500;
const LOOKS_MAX = 120;

/** Smallest units, all of blocks. */
export type ReconciledAsset = {
  asset: string;
  /** From others, and by payments to invoices of our own: change is neither received nor paid. */
  received: bigint;
  paidOut: bigint;
  fees: bigint;
  /** What was received less what was paid out and the fees. */
  held: bigint;
};
export type Reconciliation = {
  chain: string;
  tip: BlockId;
  lines: ReconciledAsset[];
  /** Whether the source's own books were compared; not where the chain is simulated. */
  compared: boolean;
  problems: string[];
};

/**
 * Proves one chain, and raises an alert when something differs. Throws `Unavailable` when the source does not answer or
 * is reorganised again and again, and when it cannot say what is held.
 */
export async function reconcile(app: App, chain: ChainRuntime, signal: AbortSignal): Promise<Reconciliation> {
  for (let attempt = 1; attempt <= TRIES_MAX; attempt++) {
    const held = await chain.adapter.holdings?.coins(watchedAccounts(app, chain), signal);
    const checkpoint = await readUpTo(app, chain, held?.until ?? null, signal);
    const tip = held?.tip ?? tipOf(checkpoint);
    if (!has(checkpoint, tip)) continue;
    const report = await compare(app, chain, tip, held ?? null);
    // What was read while blocks left the chain is of two chains.
    if (!has(checkpointOf(app.store, chain), tip)) continue;
    if (report.problems.length > 0) await alertOf(app, report);
    return report;
  }
  throw new Unavailable(`${chain.key} was reorganised whenever it was to be proved`, MOVED_RETRY_SECONDS);
}

const has = (checkpoint: Checkpoint | null | undefined, { hash }: BlockId): boolean =>
  checkpoint?.some((block) => block.hash === hash) ?? false;

/** Our checkpoint, once it has come as far as the source had. It may be on another branch. Throws `Unavailable`. */
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
  throw new Unavailable(`${chain.key} is not read as far as its source has it`, MOVED_RETRY_SECONDS);
}

/**
 * The same by the clock: a proof that cannot be made is an alert, too. Returns whether it was made or nothing is to prove;
 * a chain that was not read yet since the start is left for later. Rethrows nothing but bugs.
 */
export async function proveByClock(app: App, chain: ChainRuntime, signal: AbortSignal): Promise<boolean> {
  if (chain.dormant) return true;
  if (chain.syncedAt === 0) return false;
  try {
    await reconcile(app, chain, signal);
    await end(app, 'ledger.unproved', chain.key);
    return true;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    app.log.warn({ chain: chain.key, reason: error.message }, 'the ledger could not be proved');
    if (quarantineOf(app.store)) return false;
    await raise(
      app,
      'ledger.unproved',
      chain.key,
      `The books of ${chain.key} could not be proved: ${error.message}`,
      chain.adapter.network,
    );
    return false;
  }
}

function watchedAccounts(app: App, chain: ChainRuntime): WatchedAccount[] {
  return app.directory
    .accounts()
    .filter(({ chainKey }) => chainKey === chain.key)
    .map(({ id, key }) => {
      const row = app.store.get(accountById, { id });
      return { key, receiving: row?.next_index ?? 0, change: row?.next_change ?? 0 };
    });
}

/** Sums and comparisons of one pass over a chain's credits. */
class Proof {
  readonly lines = new Map<string, ReconciledAsset>();
  readonly problems: string[] = [];
  readonly #tip: BlockId;
  readonly #lessMempool: boolean;
  /** Targets whose coins the source did not tell. */
  readonly #untold: ReadonlySet<number>;
  /** What the source holds and our books were not seen to hold yet; null: it was not asked. */
  readonly #unmatched: Map<string, HeldCoin> | null;
  /** Of each transaction that spent coins of ours: what it took, and whether that was before this service. */
  readonly #spenders = new Map<string, { asset: string; units: bigint; isOld: boolean }>();
  readonly #pastUntil: ReadonlyMap<number, number>;

  /** `pastUntil`: by account with a past, the height up to which others spent its coins. */
  constructor(tip: BlockId, held: Holdings | null, pastUntil: ReadonlyMap<number, number>) {
    this.#tip = tip;
    this.#pastUntil = pastUntil;
    this.#lessMempool = held?.lessMempool ?? false;
    this.#untold = new Set(held?.untold);
    this.#unmatched = held && new Map(held.coins.map((coin) => [coin.outpoint, coin]));
  }

  line(asset: string): ReconciledAsset {
    let line = this.lines.get(asset);
    if (!line) {
      line = { asset, received: 0n, paidOut: 0n, fees: 0n, held: 0n };
      this.lines.set(asset, line);
    }
    return line;
  }

  problem(text: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(text);
  }

  take(row: CreditRow): void {
    if (row.gone || row.block_height === null || row.block_height > this.#tip.height) return;
    const line = this.line(row.asset);
    const units = row.units;
    line.received += units;
    const spent = row.spent_block_height !== null && row.spent_block_height <= this.#tip.height;
    if (spent && row.spent_txid !== null) {
      const spender = this.#spenders.get(row.spent_txid) ?? { asset: row.asset, units: 0n, isOld: true };
      spender.units += units;
      spender.isOld &&= (row.spent_block_height ?? 0) <= (this.#pastUntil.get(row.account_id) ?? -1);
      this.#spenders.set(row.spent_txid, spender);
    } else {
      line.held += units;
    }
    this.#match(row, units, spent);
  }

  #match(row: CreditRow, units: bigint, spent: boolean): void {
    if (!this.#unmatched || this.#untold.has(row.target_id)) return;
    const coin = this.#unmatched.get(row.outpoint);
    this.#unmatched.delete(row.outpoint);
    if (spent && coin)
      this.problem(`${row.outpoint}: our books say that ${row.spent_txid} spent it, the source holds it`);
    const isLeaving = this.#lessMempool && row.spent_txid !== null;
    if (!spent && !coin && !isLeaving)
      this.problem(`${row.outpoint}: our books hold ${units} ${row.asset}, the source does not`);
    if (!spent && coin && coin.units !== units) {
      this.problem(`${row.outpoint}: our books say ${units} ${row.asset}, the source ${coin.units}`);
    }
  }

  /** What is left over, and where every unit that was spent went. */
  finish(app: App, chain: ChainRuntime): void {
    for (const { outpoint, units } of this.#unmatched?.values() ?? []) {
      this.problem(`${outpoint}: the source holds ${units} units that our books do not know`);
    }
    for (const [txid, spender] of this.#spenders) this.#account(app, chain, txid, spender);
    for (const { asset, received, paidOut, fees, held } of this.lines.values()) {
      if (received - paidOut - fees !== held) {
        this.problem(`${asset}: what was received less what was paid out and the fees is not what is held`);
      }
    }
  }

  #account(
    app: App,
    chain: ChainRuntime,
    txid: string,
    { asset, units: taken, isOld }: { asset: string; units: bigint; isOld: boolean },
  ): void {
    const line = this.line(asset);
    const { back, fee, paid, version } = readSpent(app.store, { txid, chain_key: chain.key, asset, taken });
    line.received -= back;
    line.paidOut += paid;
    line.fees += fee;
    if (!version) {
      // what a wallet did before it was brought here is nobody's fault
      if (!isOld) this.problem(`${txid}: spent ${taken} ${asset} of ours, and we did not make it`);
      return;
    }
    // the operator's word that this appliance takes over also explains it
    if (version.kind === UNKNOWN && quarantineOf(app.store)) {
      this.problem(`${txid}: spent ${taken} ${asset} of ours, and the backup knows nothing of it`);
    }
    const outputs = readPlan(version.plan).outputs.reduce((sum, { units }) => sum + units, 0n);
    if (outputs + fee !== taken) {
      this.problem(`${txid}: took ${taken} ${asset} and pays ${outputs} with a fee of ${fee}`);
    }
  }
}

/** By account with a past that was read: up to which height that reached. */
function pasts(app: App, chain: ChainRuntime): Map<number, number> {
  const accounts = app.directory.accounts().filter(({ chainKey }) => chainKey === chain.key);
  return new Map(
    accounts.flatMap(({ id }): [number, number][] => {
      const height = app.store.get(accountById, { id })?.past_until ?? null;
      return height === null ? [] : [[id, height]];
    }),
  );
}

async function compare(app: App, chain: ChainRuntime, tip: BlockId, held: Holdings | null): Promise<Reconciliation> {
  const proof = new Proof(tip, held, pasts(app, chain));
  for (let after = 0; ; ) {
    const rows = app.store.all(creditsAbove, { id: after, limit: PAGE });
    for (const row of rows) if (row.chain_key === chain.key) proof.take(row);
    const last = rows.at(-1);
    if (!last) break;
    after = last.id;
    await new Promise((resolve) => setImmediate(resolve));
  }
  proof.finish(app, chain);
  return {
    chain: chain.key,
    tip,
    lines: [...proof.lines.values()],
    compared: held !== null,
    problems: proof.problems,
  };
}

async function alertOf(app: App, { chain, tip, problems }: Reconciliation): Promise<void> {
  if (quarantineOf(app.store)) return;
  const named = problems.slice(0, NAMED_IN_ALERT_MAX).join('; ');
  const more = problems.length > NAMED_IN_ALERT_MAX ? ` and ${problems.length - NAMED_IN_ALERT_MAX} more` : '';
  await raise(app, 'ledger.differs', chain, `${chain} at block ${tip.height}: ${named}${more}`, networkOf(chain));
}
