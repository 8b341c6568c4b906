/**
 * Applies a chain's facts: the single path by which money is seen, confirmed, reorganised, evicted, and found after an
 * outage.
 *
 * Invariants. An update is applied by compare-and-set on the checkpoint that it was made against. A credit in a block
 * is undone only by that block leaving the chain; an unconfirmed one disappears when a complete mempool view lacks it,
 * or when a present transaction spends one of its inputs.
 *
 * An update is one transaction with everything that follows from it, unless that would block the event loop for longer
 * than TURN_MS: then it continues in the next one. Meanwhile the checkpoint is below every block with stored facts, and
 * `chain_state.ahead` names those blocks. So after an interruption the next update from that checkpoint brings the
 * missing facts and undoes those of blocks that left the chain. Deadlines are checked after all facts are stored.
 */
import { tipOf } from '../../chains/adapter.ts';
import {
  BLOCK_TIME_AHEAD_MAX_MS,
  type BlockId,
  CHECKPOINT_BLOCKS_MAX,
  type ChainUpdate,
  type Checkpoint,
} from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import {
  type CreditRow,
  creditByOutpoint,
  creditsInBlock,
  creditsOfTransactionAfter,
  creditsSpentInBlock,
  creditsSpentUnconfirmed,
  unconfirmedCredits,
  unsettledCredits,
  unvaluedCredits,
} from '../../store/queries/credits.ts';
import { chainState, saveChainState } from '../../store/queries/effects.ts';
import { paymentsToCheck } from '../../store/queries/invoices.ts';
import { savePayingTx, stalePayingTx } from '../../store/queries/paying.ts';
import type { Tx } from '../../store/store.ts';
import { NOBODY } from '../addresses/skipped.ts';
import type { App } from '../app.ts';
import { Entries } from '../books/entries.ts';
import { settleInvoice } from '../invoices/settle.ts';
import { tellDepth } from '../notifications/news.ts';
import { noteView } from '../recovery/first-view.ts';
import { unknownAddresses, unknownSpends } from '../recovery/older.ts';
import { noteSearched } from '../spends/key-images.ts';
import { reopenSpends, settleSpends } from '../spends/settle.ts';
import type { ChainRuntime } from './chains.ts';
import { checkpointOf } from './checkpoint.ts';
import { CreditBook } from './credits.ts';
import { type Group, type Step, seeSpend, seeTransaction } from './facts.ts';
import { forgetVanished } from './garbage-collection.ts';
import { type Grouped, grouped } from './grouped.ts';
import { Reported } from './reported.ts';
import { tellStalled } from './stalled.ts';
import { noteUnknownTokens } from './unknown-tokens.ts';

/** The time after which a transaction of an update starts no further step. */
const TURN_MS = 8;
/** Rows per step: a few milliseconds with everything that follows from them. */
const PAGE = 32;
const DEADLINES_PER_UPDATE_MAX = 1_000;
/** The operator's stream keeps at most a thousand events; these many may be about confirmations. */
const DEPTHS_TOLD_PER_UPDATE_MAX = 200;
const UNVALUED_PER_UPDATE_MAX = 1_000;
/** Invoices whose facts are applied together before they are settled. */
const SETTLED_TOGETHER = 16;
/** Every deadline is after it, in milliseconds since 1970. */
const NO_DEADLINE = 0;
/** How often the sync time of an idle chain is stored; in between it is only in memory. */
const SYNC_TIME_WRITTEN_MS = 60_000;

/** Stores the first checkpoint of a chain, unless there is one. */
export async function beginChain(app: App, chain: ChainRuntime, checkpoint: Checkpoint): Promise<void> {
  await app.store.write((tx) => {
    if (tx.get(chainState, { chain_key: chain.key })) return;
    tx.run(saveChainState, {
      chain_key: chain.key,
      checkpoint: checkpoint.slice(-CHECKPOINT_BLOCKS_MAX),
      synced_at: app.now(),
      ahead: [],
    });
  });
}

/**
 * Applies an update. `beganAt`: when its sync began, milliseconds since 1970. `turnMs`: the time of one transaction.
 * False if the checkpoint has changed meanwhile: the caller syncs again from the new one.
 */
export async function ingest(
  app: App,
  chain: ChainRuntime,
  update: ChainUpdate,
  beganAt: number,
  turnMs = TURN_MS,
): Promise<boolean> {
  const ingestion = new Ingestion(app, chain, update, beganAt, await grouped(update));
  for (let place: Progress | null = START; place !== null; ) {
    const from: Progress = place;
    const next: Progress | null | 'refused' = await app.store.write((tx) => ingestion.turn(tx, from, turnMs));
    if (next === 'refused') return false;
    place = next;
  }
  return true;
}

/** Whether a source has more to report: it said so, or has come closer to its tip. */
export function hasMore({ more, since, checkpoint }: ChainUpdate): boolean {
  return more ?? tipOf(checkpoint).hash !== since.hash;
}

/** Applies blocks of the past. Only facts in blocks are used; the present comes only by `ingest`. */
export async function ingestPast(app: App, chain: ChainRuntime, update: ChainUpdate, turnMs = TURN_MS): Promise<void> {
  const present = checkpointOf(app.store, chain);
  assert(present, `${chain.key} has a checkpoint`);
  const { height } = tipOf(present);
  const settled = (fact: { block: BlockId | null }): boolean => fact.block !== null && fact.block.height <= height;
  const [credits, spends] = [update.credits.filter(settled), update.spends.filter(settled)];
  const past = { ...update, credits, spends, debits: update.debits?.filter(settled) ?? [] };
  const facts = new Facts(app, chain, past, await grouped(past));
  for (let place: Progress | null = START; place !== null; ) {
    const from: Progress = place;
    place = await app.store.write((tx) => {
      const next = facts.takeTurn(tx, from, facts.past(height), turnMs);
      if (next === null && update.searched) noteSearched(app, tx, chain.key, update.searched);
      return next;
    });
  }
}

/** How far an update was applied: the phase, and the position in it. */
type Progress = { phase: number; at: number; key: string };
const START: Progress = { phase: 0, at: 0, key: '' };

/** One bounded step of a phase from a place; null once the phase is over. */
export type Phase = (tx: Tx, at: number, key: string) => { at: number; key?: string } | null;

/** The phases that only read and write facts. */
class Facts {
  readonly app: App;
  readonly chain: ChainRuntime;
  readonly update: ChainUpdate;
  readonly facts: Grouped;
  readonly reported: Reported;
  /** The invoices that this turn affects and that are still to be settled. */
  readonly #touched = new Set<number>();
  /** The ledger entries that this turn affects. */
  #entries: Entries | null = null;

  constructor(app: App, chain: ChainRuntime, update: ChainUpdate, facts: Grouped) {
    this.app = app;
    this.chain = chain;
    this.update = update;
    this.facts = facts;
    this.reported = new Reported(chain.key, update, facts, () => this.entries);
  }

  /** Runs phases until they are over (null) or the time is, and settles the affected invoices. */
  takeTurn(tx: Tx, from: Progress, phases: readonly Phase[], turnMs: number): Progress | null {
    const began = performance.now();
    this.#touched.clear();
    this.#entries = new Entries(this.app, this.chain, tx, (hash) => this.facts.blocks.get(hash)?.time);
    let place = from;
    do {
      const next = phases[place.phase]?.(tx, place.at, place.key);
      place = next ? { ...place, key: '', ...next } : { phase: place.phase + 1, at: 0, key: '' };
      if (this.#touched.size >= SETTLED_TOGETHER) this.settleTouched(tx);
    } while (place.phase < phases.length && performance.now() - began < turnMs);
    this.settleTouched(tx);
    this.entries.flush();
    return place.phase < phases.length ? place : null;
  }

  protected get entries(): Entries {
    assert(this.#entries, 'a turn has begun');
    return this.#entries;
  }

  /**
   * Settles the touched invoices with the present facts and without deadlines: while other facts of the same update are missing, an
   * invoice would be canceled whose money stands in the same block. The phase of the deadlines looks at it again.
   */
  protected settleTouched(tx: Tx): void {
    for (const invoiceId of this.#touched) settleInvoice(this.app, tx, invoiceId, { deadlinesUntil: NO_DEADLINE });
    this.#touched.clear();
  }

  /** Blocks of the past, with the tip at a height. */
  past(tipHeight: number): Phase[] {
    return [
      ...unknownAddresses(this.app, this.chain, this.update),
      this.credits(tipHeight, 0),
      this.spends(tipHeight),
      ...this.reported.debits(true),
      ...unknownSpends(this.app, this.chain, this.update),
      this.asked(tipHeight),
    ];
  }

  /** `syncedAt`: when the last complete sync began, milliseconds since 1970; 0 before the first. */
  credits(tipHeight: number, syncedAt: number): Phase {
    return (tx, at) => {
      const group: Group | undefined = this.facts.groups[at];
      if (!group) return null;
      this.inBook(tx, tipHeight, (credits) => {
        const { app, chain } = this;
        const step: Step = { app, chain, tx, credits, syncedAt, medianTime: this.update.tipMedianTime };
        seeTransaction(step, group);
      });
      return { at: at + 1 };
    };
  }

  spends(tipHeight: number): Phase {
    return (tx, at) => {
      const page = this.update.spends.slice(at, this.#endOfPage(tx, at + PAGE));
      if (page.length === 0) return null;
      this.inBook(tx, tipHeight, (credits) => {
        for (const spend of page) seeSpend({ app: this.app, chain: this.chain, tx, credits }, spend);
      });
      return { at: at + page.length };
    };
  }

  /**
   * The end of a page of spends, at `least` or behind it: it parts no two coins of one address that a transaction spends. By the half
   * of them a source that is asked for addresses would take the transaction for stored (`chains/utxo/electrum/histories/reader.ts`).
   */
  #endOfPage(tx: Tx, least: number): number {
    const { spends } = this.update;
    const targetOf = (outpoint = ''): number | undefined =>
      tx.get(creditByOutpoint, { outpoint, chain_key: this.chain.key })?.target_id;
    const last = spends[least - 1];
    const target = targetOf(last?.outpoint);
    let end = least;
    if (target !== undefined)
      while (spends[end]?.txid === last?.txid && targetOf(spends[end]?.outpoint) === target) end++;
    return end;
  }

  /** Computes the required confirmations again for credits of transactions whose value changed after they were written. */
  asked(tipHeight: number): Phase {
    return (tx, at, key) => {
      const paying = tx.get(stalePayingTx, { chain_key: this.chain.key });
      if (!paying) return null;
      const after = key.startsWith(`${paying.txid}:`) ? key : `${paying.txid}:`;
      const range = { after, to: `${paying.txid};`, chain_key: this.chain.key, limit: PAGE };
      const page = tx.all(creditsOfTransactionAfter, range);
      const last = page.at(-1);
      if (!last) tx.run(savePayingTx, { ...paying, stale: false });
      this.inBook(tx, tipHeight, (credits) => {
        for (const row of page) credits.ask(row);
      });
      return { at: at + 1, key: last?.outpoint ?? '' };
    };
  }

  /** With a complete mempool view, removes credits that are neither in it nor in a block. */
  absentCredits(tipHeight: number): Phase {
    const { chain } = this;
    return (tx, after) => {
      const page = tx.all(unconfirmedCredits, { chain_key: chain.key, after, limit: PAGE });
      this.inBook(tx, tipHeight, (credits) => {
        for (const row of page) {
          if (this.speaksOf(row.target_id) && !this.facts.present.has(row.outpoint)) credits.lose(credits.edit(row));
        }
      });
      return nextPage(page);
    };
  }

  /** The same for spends of our coins. */
  absentSpends(tipHeight: number): Phase {
    const { chain } = this;
    return (tx, after) => {
      const page = tx.all(creditsSpentUnconfirmed, { chain_key: chain.key, after, limit: PAGE });
      this.inBook(tx, tipHeight, (credits) => {
        for (const row of page) {
          const isThere = this.facts.spent.has(`${row.outpoint} ${row.spent_txid}`);
          if (this.speaksOf(row.target_id) && !isThere) credits.edit(row).spent_txid = null;
        }
      });
      return nextPage(page);
    };
  }

  speaksOf(targetId: number): boolean {
    return this.facts.targets === null || this.facts.targets.has(targetId);
  }

  inBook(tx: Tx, tipHeight: number, edit: (credits: CreditBook) => void): void {
    const tip = { height: tipHeight, finalized: this.update.finalized ?? null };
    const credits = new CreditBook(this.app, this.chain, tip, tx, this.entries);
    edit(credits);
    for (const invoiceId of credits.flush()) this.#touched.add(invoiceId);
  }
}

const nextPage = (page: readonly { id: number }[]): { at: number } | null => {
  const last = page.at(-1);
  return last && page.length === PAGE ? { at: last.id } : null;
};

class Ingestion extends Facts {
  readonly #beganAt: number;
  /** Until when deadlines count once this update is applied. */
  readonly #deadlinesUntil: number;
  #depthsTold = 0;
  readonly #latestNow: number | null;
  readonly #complete: boolean;
  /** The checkpoint stored by the first turn. */
  #parked: Checkpoint | null = null;

  constructor(app: App, chain: ChainRuntime, update: ChainUpdate, beganAt: number, facts: Grouped) {
    super(app, chain, update, facts);
    this.#beganAt = beganAt;
    this.#complete = update.mempool === 'complete';
    this.#latestNow = update.tipMedianTime === undefined ? null : update.tipMedianTime + BLOCK_TIME_AHEAD_MAX_MS;
    const until = Math.min(beganAt, this.#latestNow ?? beganAt);
    this.#deadlinesUntil = this.#complete ? until : chain.deadlinesUntil;
  }

  /** Runs one transaction. Returns where to continue; null at the end, 'refused' if the checkpoint is another one. */
  turn(tx: Tx, from: Progress, turnMs: number): Progress | null | 'refused' {
    const { chain, update } = this;
    const state = tx.get(chainState, { chain_key: chain.key });
    assert(state, `${chain.key} has a checkpoint`);
    const stored = state.checkpoint;
    const known = tipOf(stored);
    const expected = from === START ? update.since : tipOf(this.#parked ?? stored);
    if (known.hash !== expected.hash || known.height !== expected.height) return 'refused';

    if (from === START) reopenSpends(tx, chain, update.orphaned);
    const tip = tipOf(update.checkpoint);
    const moved = tip.hash !== known.hash || chain.tipHeight !== tip.height;
    const undone = this.#undone(state.ahead);
    const next = this.takeTurn(tx, from, this.#phases(undone, moved, state.synced_at), turnMs);
    if (next === null) this.#finish(tx, state.synced_at, moved || state.ahead.length > 0);
    else this.#park(tx, stored, state, undone);
    return next;
  }

  /** The blocks to undo: those that left the chain, and those of an unfinished other update. */
  #undone(ahead: readonly string[]): string[] {
    const here = new Set([...this.update.checkpoint.map(({ hash }) => hash), ...this.facts.blocks.keys()]);
    const orphaned = this.update.orphaned.map(({ hash }) => hash);
    return [...new Set([...orphaned, ...ahead.filter((hash) => !here.has(hash))])];
  }

  #phases(undone: readonly string[], moved: boolean, storedSyncedAt: number): Phase[] {
    const { height } = tipOf(this.update.checkpoint);
    // absent facts first, so that nothing is counted beside its replacement
    const absent = this.#complete ? [this.absentCredits(height), this.absentSpends(height)] : [];
    return [
      this.#undo(undone, height),
      ...absent,
      ...this.reported.before(undone),
      ...unknownAddresses(this.app, this.chain, this.update),
      this.credits(height, this.chain.syncedAt || storedSyncedAt),
      this.spends(height),
      ...this.reported.debits(),
      ...unknownSpends(this.app, this.chain, this.update),
      noteUnknownTokens(this.app, this.chain.key, this.update.unknownTransfers ?? []),
      this.asked(height),
      this.#valued(height),
      ...(moved ? [this.#deeper(height)] : []),
      this.#due(),
      ...(this.#complete ? [(tx: Tx, at: number) => forgetVanished(this.app, tx, this.chain.key, at)] : []),
    ];
  }

  /**
   * Moves credits and spends of orphaned blocks back to the mempool, whether the update names them or not. The update
   * then places those that it names; meanwhile no credit may look as if it had disappeared.
   */
  #undo(blocks: readonly string[], tipHeight: number): Phase {
    const { present, spent } = this.facts;
    return (tx, at, key) => {
      const block_hash = blocks[at];
      if (block_hash === undefined) return null;
      const after = Number(key);
      const placed = tx.all(creditsInBlock, { block_hash, after, limit: PAGE });
      const spends = tx.all(creditsSpentInBlock, { spent_block_hash: block_hash, after: 0, limit: PAGE });
      const isGone = (row: CreditRow, isThere: boolean) => this.#complete && !isThere && this.speaksOf(row.target_id);
      this.inBook(tx, tipHeight, (credits) => {
        for (const stored of placed.filter(({ outpoint }) => !present.has(outpoint))) {
          const row = credits.edit(stored);
          credits.place(row, null);
          if (isGone(row, false)) credits.lose(row);
        }
        for (const stored of spends) {
          const row = credits.edit(stored);
          const isThere = spent.has(`${row.outpoint} ${row.spent_txid}`);
          Object.assign(row, { spent_block_hash: null, spent_block_height: null });
          if (isGone(row, isThere)) row.spent_txid = null;
        }
      });
      const last = placed.length === PAGE ? placed.at(-1)?.id : spends.length === PAGE ? after : undefined;
      return last === undefined ? { at: at + 1 } : { at, key: `${last}` };
    };
  }

  #valued(tipHeight: number): Phase {
    let read = 0;
    return (tx, after) => {
      const page = tx.all(unvaluedCredits, { chain_key: this.chain.key, after, limit: PAGE });
      this.inBook(tx, tipHeight, (credits) => {
        for (const row of page) credits.value(row);
      });
      read += page.length;
      return read < UNVALUED_PER_UPDATE_MAX ? nextPage(page) : null;
    };
  }

  /** A new tip changes the confirmations of all credits that wait for some. */
  #deeper(tipHeight: number): Phase {
    return (tx, after) => {
      const page = tx.all(unsettledCredits, { chain_key: this.chain.key, after, limit: PAGE });
      this.inBook(tx, tipHeight, (credits) => {
        for (const row of page) credits.edit(row);
      });
      const placed = page.flatMap((row) => (row.block_height === null ? [] : { row, height: row.block_height }));
      for (const { row, height } of placed.slice(0, DEPTHS_TOLD_PER_UPDATE_MAX - this.#depthsTold)) {
        tellDepth(this.app, tx, row, tipHeight - height + 1);
      }
      this.#depthsTold = Math.min(this.#depthsTold + placed.length, DEPTHS_TOLD_PER_UPDATE_MAX);
      // an open page shows the number of confirmations, which is not stored
      tx.afterCommit(() => {
        for (const row of page) this.app.invoiceSubscribers.changed(row.invoice_id ?? NOBODY);
      });
      return nextPage(page);
    };
  }

  #due(): Phase {
    const deadlinesUntil = this.#deadlinesUntil;
    return (tx, at) => {
      this.settleTouched(tx);
      const due = tx.all(paymentsToCheck, { chain_key: this.chain.key, synced_at: deadlinesUntil, limit: PAGE });
      for (const { invoice_id } of due) settleInvoice(this.app, tx, invoice_id, { deadlinesUntil });
      return due.length === PAGE && at + PAGE < DEADLINES_PER_UPDATE_MAX ? { at: at + PAGE } : null;
    };
  }

  /** Records that facts of some blocks are stored while others of the same update are not. */
  #park(tx: Tx, stored: Checkpoint, state: { ahead: string[]; synced_at: number }, undone: readonly string[]): void {
    if (this.#parked !== null) return;
    const left = new Set(this.update.orphaned.map(({ hash }) => hash));
    const kept = stored.filter(({ hash }) => !left.has(hash));
    const parked = kept.length > 0 ? kept : stored;
    const { height } = tipOf(parked);
    const above = [...this.facts.blocks].filter(([, block]) => block.height > height).map(([hash]) => hash);
    const ahead = [...new Set([...state.ahead, ...undone, ...above])];
    const { synced_at } = state;
    tx.run(saveChainState, { chain_key: this.chain.key, checkpoint: parked, synced_at, ahead });
    tx.afterCommit(() => {
      this.#parked = parked;
    });
  }

  #finish(tx: Tx, storedSyncedAt: number, moved: boolean): void {
    const { app, chain, update } = this;
    const { height } = tipOf(update.checkpoint);
    settleSpends(app, tx, chain, height);
    const finalized = update.finalized ?? null;
    tellStalled(app, tx, chain, { height, finalized });
    if (this.#complete) noteView(tx, chain.key, { height, finalized, at: app.now() });
    if (update.searched) noteSearched(app, tx, chain.key, update.searched);
    const syncedAt = this.#complete ? this.#beganAt : chain.syncedAt;
    const synced_at = this.#complete ? this.#beganAt : storedSyncedAt;
    if (moved || Math.abs(synced_at - storedSyncedAt) >= SYNC_TIME_WRITTEN_MS) {
      const checkpoint = update.checkpoint.slice(-CHECKPOINT_BLOCKS_MAX);
      tx.run(saveChainState, { chain_key: chain.key, checkpoint, synced_at, ahead: [] });
    }
    tx.afterCommit(() => {
      chain.syncedAt = syncedAt;
      chain.deadlinesUntil = this.#deadlinesUntil;
      if (this.#complete) {
        chain.latestNow = this.#latestNow;
        chain.away = false;
        chain.syncs++;
        if (chain.syncs === 1) app.wake.webhooks();
      }
      chain.tipHeight = height;
    });
  }
}
