/**
 * Reads the history of a script from a server: the list of its transactions, their bytes, and the proofs of their
 * blocks.
 *
 * Invariant: a server is believed only that an unconfirmed transaction exists. Bytes must hash to the requested id, a
 * block counts only with a proof that leads to a header of our chain, and a server that fails either check is dropped.
 */
import { inParallel } from '../../../../kit/async.ts';
import { reversedHex, sha256d } from '../../../../kit/bytes.ts';
import type { ListedScript, ScriptList } from '../../../adapter.ts';
import { slices } from '../../../slices.ts';
import { type ParsedTransaction, ParseError, parseAnyTransaction, parseTransaction } from '../../block.ts';
import type { UtxoChain } from '../../params.ts';
import { BadProof, DepthNeeded, type MerkleClaim, treeDepth, verifyMerkle } from '../headers/merkle.ts';
import type { HeaderSync } from '../headers/sync.ts';
import type { Header, Headers } from '../headers/types.ts';
import type { Listener } from '../listener.ts';
import type { HistoryEntry } from '../servers/answers.ts';
import { isTooLong, ServerRefusal } from '../servers/faults.ts';
import type { Server, Tip } from '../servers/server.ts';
import { type Belongs, belongs } from './belonging.ts';
import type { Script, Scripts } from './scripts.ts';
import { SpendCheck } from './spends.ts';
import { statusOf, statusOfStored } from './status.ts';
import type { UnstoredTransaction, UnstoredTransactions } from './unstored.ts';

const FETCHED_AT_ONCE = 8;
/** The largest unconfirmed transaction that nodes relay, in bytes. A larger one is read once it is in a block. */
const UNCONFIRMED_BYTES_MAX = 400_000;
/** How long a server's history may contradict the status that it announced. */
const CONTRADICTED_MS_MAX = 10_000;
/** The id in an outpoint, in hex. */
const TXID_CHARS = 64;
/** How often a history that changes while it is read is read again at once. */
const ASKED_TIMES_MAX = 3;
/** For how long one look reads a history. Anybody can make one of thousands of transactions, and other payments would wait for all of it. */
const TAKE_MS = 2_000;

/** Fulcrum tells no history in place of one that is longer than its limit. */
export const WITHHELD = 'it tells no history of an address that a block pays, perhaps because that is too long';

/** `open`: a part of the history could not be verified now; it must be read again. `later`: a part is left, and for no fault of the server. */
export type Outcome = 'whole' | 'open' | 'later';

type Fetched = { transaction: ParsedTransaction; bytes: Buffer };

/** The heights of a history's transactions, by id. */
type Named = ReadonlyMap<string, number>;

/** `held`: ids of kept transactions. `judged`: by id, how many spends of our coins cannot be judged by their bytes. */
type Reading = { tip: Tip; named: Named; held: Set<string>; judged: Map<string, number> };

/** `lie`: what no server says whose node is busy; null: it does not show it now. */
type Failed = HistoryEntry & { lie: string | null };
type Standing = 'held' | 'left' | 'failed' | 'stray' | 'full' | 'later';

/** A history of which a look read a part, as the server told it. */
type Unfinished = { entries: HistoryEntry[]; status: string; script: Script; server: Server; touches: number };

export class HistoryReader {
  readonly #chain: UtxoChain;
  readonly #list: ScriptList;
  readonly #headers: Headers;
  readonly #headerSync: HeaderSync;
  readonly #unstored: UnstoredTransactions;
  readonly #spends: SpendCheck;
  readonly #scripts: Scripts;
  readonly #listener: Listener;
  #unfinished: Unfinished | null = null;

  constructor(parts: {
    chain: UtxoChain;
    list: ScriptList;
    headers: Headers;
    headerSync: HeaderSync;
    unstored: UnstoredTransactions;
    scripts: Scripts;
    listener: Listener;
  }) {
    this.#chain = parts.chain;
    this.#list = parts.list;
    this.#headers = parts.headers;
    this.#headerSync = parts.headerSync;
    this.#unstored = parts.unstored;
    this.#spends = new SpendCheck(parts);
    this.#scripts = parts.scripts;
    this.#listener = parts.listener;
  }

  /**
   * Reads one script's history from a server whose chain ends at `tip`, or as much of it as one look reads. The recorded status is computed from the
   * history that was read; if the server has announced another one since, the script stays dirty. Throws
   * `ConnectionLost`, `Misbehaved`, and `ServerRefusal` if the server does not give the history, or a transaction of it for its size.
   */
  async take(server: Server, script: Script, tip: Tip): Promise<Outcome> {
    const { touches } = script;
    const told = server.statuses.get(script.hash);
    if (told === undefined) return 'open';
    const stored = this.#storedHeights(script.id);
    if (told !== null && script.txids.length === 0 && told === (await statusOfStored(stored))) {
      this.#accept(script, [], Math.max(...stored.values()));
      this.#scripts.settle(script, server, told, touches);
      return 'whole';
    }
    const isPaid = hasAny(stored, tip);
    const isNone = told === null && !isPaid;
    const { entries, status } = isNone ? { entries: [], status: null } : await this.#ask(server, script);
    if (isPaid && entries.length === 0) throw new ServerRefusal(0, WITHHELD);
    const open = entries.filter(({ txid, height }) => stored.get(txid) !== height);
    const until = performance.now() + TAKE_MS;
    const failed: Failed[] = [];
    let isFull = false;
    let isLate = false;
    let begun = 0;
    const held = new Set<string>();
    const reading = { tip, held, named: namesOf(entries), judged: new Map<string, number>() };
    try {
      await inParallel(open, FETCHED_AT_ONCE, async (entry) => {
        const isOver = performance.now() >= until && begun >= FETCHED_AT_ONCE && !this.#isHeld(entry, tip);
        if (!isOver && !this.#isHeld(entry, tip)) begun++;
        const one = isOver ? this.#leave(script, entry, held) : await this.#hold(server, script, entry, reading);
        if (one === 'full') isFull = true;
        else if (one === 'later') isLate = true;
        else if (one === 'stray') failed.push({ ...entry, lie: 'has nothing to do with the address' });
        // its announcement is about to come, or it is false
        else if (entry.height > (server.tip?.height ?? 0)) failed.push({ ...entry, lie: 'is above its own tip' });
        else if (one === 'failed') failed.push({ ...entry, lie: null });
      });
      // a coin may be known only since a transaction was read that came after the one that spends it
      const pause = slices();
      for (const entry of open) {
        const rest = pause();
        if (rest) await rest;
        const one = held.has(entry.txid) && this.#unstored.get(entry.txid);
        if (one && !(await this.#checkSpends(server, one, claimedHeight(entry, tip), reading.judged, null)))
          failed.push({ ...entry, lie: null });
      }
    } catch (error) {
      // transactions of a history that was not accepted are not kept
      for (const txid of held) if (!script.txids.includes(txid)) this.#unstored.unmention(txid, script.hash);
      throw error;
    }
    const top = entries.reduce((highest, { height }) => Math.max(highest, height), 0);
    this.#accept(script, [...held], top);
    const isRead = !isFull && !isLate && status !== undefined;
    if (isLate && status) this.#unfinished = { entries, status, script, server, touches: script.touches };
    else if (this.#unfinished?.script === script) this.#unfinished = null;
    this.#scripts.settle(script, server, isRead && failed.length === 0 ? status : undefined, touches);
    // there is room again once the store has saved transactions; the server is not at fault
    const outcome = isFull ? 'later' : this.#judge(server, script, failed);
    if (isFull || isLate) return 'later';
    return isRead ? outcome : 'open';
  }

  /** Whether a transaction is known where an entry says, so that it takes no question. */
  #isHeld(entry: HistoryEntry, tip: Tip): boolean {
    const one = this.#unstored.get(entry.txid);
    const claimed = claimedHeight(entry, tip);
    return one !== undefined && (claimed === 0 || one.place?.block.height === claimed);
  }

  /** Leaves a transaction for the next look, as it is known. */
  #leave(script: Script, { txid }: HistoryEntry, held: Set<string>): 'later' {
    if (script.txids.includes(txid)) held.add(txid);
    return 'later';
  }

  /** A script's history and its status; undefined if the status cannot be determined. */
  async #ask(server: Server, script: Script): Promise<{ entries: HistoryEntry[]; status: string | null | undefined }> {
    const known = this.#unfinished;
    const isSame = known?.script === script && known.server === server && known.touches === script.touches;
    if (isSame && known.status === server.statuses.get(script.hash)) return known;
    for (let attempt = 1; ; attempt++) {
      const before = server.statuses.get(script.hash);
      const entries = await server.history(script.hash);
      const status = await statusOf(entries);
      const told = server.statuses.get(script.hash);
      if (status === told) {
        script.contradictedSinceMs = 0;
        return { entries, status };
      }
      // what other servers announce meanwhile says nothing about this answer
      const isChanged = told !== before;
      if (isChanged && attempt < ASKED_TIMES_MAX) continue;
      return { entries, status: isChanged ? undefined : this.#contradicted(server, script, entries) };
    }
  }

  /**
   * Handles a listed history that differs from the announced status without new announcements. Before protocol 1.6 a
   * server may list unconfirmed transactions in another order than it hashes them; or the announcement is about to
   * come, or was forgotten. The announced status is accepted if the order explains it, or once the time for an
   * announcement is over. The announcement of no history is never accepted: it is asked for again.
   */
  #contradicted(server: Server, script: Script, entries: readonly HistoryEntry[]): string | null | undefined {
    const told = server.statuses.get(script.hash);
    if (told === null) return undefined;
    if (entries.filter(({ height }) => height <= 0).length > 1 && !server.isOrdered) return told;
    const now = performance.now();
    script.contradictedSinceMs ||= now;
    if (now - script.contradictedSinceMs < CONTRADICTED_MS_MAX) return undefined;
    script.contradictedSinceMs = 0;
    return told;
  }

  /** The entries of a script's history that the store does not have in the block at their height. */
  notStored({ id }: ListedScript, history: readonly HistoryEntry[]): HistoryEntry[] {
    const stored = this.#storedHeights(id);
    return history.filter(({ txid, height }) => stored.get(txid) !== height);
  }

  /** Whether a history leaves out what the store has in a block of our chain. */
  leavesOut({ id }: ListedScript, history: readonly HistoryEntry[]): boolean {
    const named = namesOf(history);
    return [...this.#storedHeights(id)].some(([txid, height]) => named.get(txid) !== height);
  }

  /** Whether a script cannot have an empty history at a tip: the store has a transaction of it in a block up to there. */
  hasHistory({ id }: { id: number }, tip: Tip): boolean {
    return hasAny(this.#storedHeights(id), tip);
  }

  /**
   * The heights of a script's transactions that the store has in blocks of our chain, whole. One may be stored in part:
   * an update that was broken off placed some of its coins and spends, and not the others.
   */
  #storedHeights(id: number): Map<string, number> {
    const heights = new Map<string, number>();
    const partial = new Set<string>();
    const take = (txid: string | null, height: number | null, hash: string | null): void => {
      if (txid === null) return;
      if (height === null || hash === null || !this.#isOnChain(height, hash)) partial.add(txid);
      else heights.set(txid, height);
    };
    for (const coin of this.#list.coinsOf(id)) {
      take(coin.txid, coin.blockHeight, coin.blockHash);
      take(coin.spentTxid, coin.spentBlockHeight, coin.spentBlockHash);
    }
    for (const txid of heights.keys()) if (partial.has(txid) || this.#list.isPartial?.(txid)) heights.delete(txid);
    return heights;
  }

  /** Heights below the lowest held header cannot be reorganised any more. */
  #isOnChain(height: number, blockHash: string): boolean {
    return height < this.#headers.lowest || this.#headers.hashAt(height) === blockHash;
  }

  #accept(script: Script, txids: readonly string[], top: number): void {
    const kept = new Set(txids);
    for (const txid of script.txids) if (!kept.has(txid)) this.#unstored.unmention(txid, script.hash);
    script.txids = txids;
    script.top = top;
  }

  #judge(server: Server, script: Script, failed: readonly Failed[]): 'whole' | 'open' {
    if (failed.length === 0) {
      server.doubts.end(script.hash);
      return 'whole';
    }
    if (!server.doubts.isLong(script.hash)) return 'open';
    const { txid, height, lie } = failed.find((one) => one.lie !== null) ?? (failed[0] as Failed);
    const what = `transaction ${txid} (height ${height}), which`;
    throw lie === null ? server.leave(`it does not show ${what} it names`) : server.caught(`it names ${what} ${lie}`);
  }

  /** Keeps a transaction of a history, in the block that the server proves; then adds its id to `held`. */
  async #hold(
    server: Server,
    script: Script,
    entry: HistoryEntry,
    { tip, named, held, judged }: Reading,
  ): Promise<Standing> {
    const { txid } = entry;
    let one = this.#unstored.get(txid);
    const claimed = claimedHeight(entry, tip);
    let bytes: Buffer | null = null;
    if (!one || !this.#isKnownIn(one, script, named)) {
      if (!one && !this.#unstored.hasRoom(claimed > 0)) return 'full';
      const fetched = await this.#fetch(server, txid, claimed > 0 ? claimed : null);
      if (typeof fetched === 'string') return fetched;
      const belonging = await this.#belongs(server, script, fetched.transaction, named);
      if (belonging !== 'yes') return belonging === 'no' ? 'stray' : 'failed';
      ({ bytes } = fetched);
      one = this.#unstored.add(txid, fetched.transaction, fetched.bytes);
    } else if (one.raw && !one.mentions.has(script.hash)) {
      // the script may be one that was derived since
      one = this.#unstored.add(txid, parseTransaction(one.raw, this.#chain), one.raw);
    }
    one.mentions.add(script.hash);
    held.add(txid);
    if (claimed === 0) this.#unstored.unplace(one);
    else if (!(await this.#place(server, one, claimed))) {
      held.delete(txid);
      if (!script.txids.includes(txid)) this.#unstored.unmention(txid, script.hash);
      return 'failed';
    }
    return (await this.#checkSpends(server, one, claimed, judged, bytes)) ? 'held' : 'failed';
  }

  /** Looks at the spends of our coins. False if the server does not give the transaction's bytes again. */
  async #checkSpends(
    server: Server,
    held: UnstoredTransaction,
    height: number,
    judged: Map<string, number>,
    known: Buffer | null,
  ): Promise<boolean> {
    const open = this.#unstored.unchecked(held).length;
    if (open === 0 || open === judged.get(held.txid)) return true;
    // of bytes that another server gave, this one knows nothing
    const fetched = known ? { bytes: known } : await this.#fetch(server, held.txid, height > 0 ? height : null);
    if (typeof fetched === 'string') return fetched === 'left';
    await this.#spends.check(server, held, height > 0, fetched.bytes);
    judged.set(held.txid, this.#unstored.unchecked(held).length);
    return true;
  }

  /** Whether a kept transaction is known to pay or spend a script. */
  #isKnownIn({ mentions, outputs, inputs }: UnstoredTransaction, { id, hash }: Script, named: Named): boolean {
    if (mentions.has(hash) || outputs.some(({ targetId }) => targetId === id)) return true;
    return inputs.some((outpoint) => named.has(outpoint.slice(0, TXID_CHARS)) && this.#isCoinOf(id, outpoint));
  }

  #isCoinOf(id: number, outpoint: string): boolean {
    return this.#list.coin(outpoint)?.targetId === id || this.#unstored.coin(outpoint)?.targetId === id;
  }

  /** Whether a transaction belongs into a script's history with these transactions. */
  async #belongs(server: Server, { id }: Script, transaction: ParsedTransaction, named: Named): Promise<Belongs> {
    const [listed] = this.#list.page(id - 1, 1);
    if (!listed || listed.id !== id) return 'unknown';
    return belongs({
      transaction,
      script: listed.script,
      named,
      isCoin: (outpoint) => this.#isCoinOf(id, outpoint),
      read: async (txid) => {
        const height = named.get(txid) ?? 0;
        const fetched = await this.#fetch(server, txid, height > 0 ? height : null);
        return typeof fetched === 'string' ? null : fetched.transaction;
      },
    });
  }

  /**
   * `height`: of the block that must be proved; null if it is in none. Throws `ServerRefusal` where the server gives no
   * transaction of this size: a server that refuses a part of a history refuses the history.
   */
  async #fetch(server: Server, txid: string, height: number | null): Promise<Fetched | 'left' | 'failed'> {
    let bytes: Buffer;
    try {
      bytes = await server.transaction(txid);
    } catch (error) {
      // it was in the history a moment ago: it was replaced or evicted, or the server lies repeatedly
      if (error instanceof ServerRefusal && !isTooLong(error)) return 'failed';
      throw error;
    }
    // Parsing it takes long, so only a transaction in a block is parsed.
    if (bytes.length > UNCONFIRMED_BYTES_MAX) {
      if (height === null) return 'left';
      if (!(await this.#proved(server, txid, height, bytes))) return 'failed';
    }
    try {
      const transaction = await parseAnyTransaction(bytes, this.#chain, slices());
      if (transaction.txid() !== txid) throw server.caught(`it sent another transaction than ${txid}`);
      return { transaction, bytes };
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      if (reversedHex(sha256d(bytes)) !== txid)
        throw server.caught(`it sent no transaction for ${txid}: ${error.message}`);
      // an unknown form pays none of our addresses; it must not block the others
      this.#listener.log(`transaction ${txid} is left out: ${error.message}`);
      return 'left';
    }
  }

  /** Places a transaction in the block at a height, by a proof. False if that is not possible now. */
  async #place(server: Server, held: UnstoredTransaction, height: number): Promise<boolean> {
    const at = held.place?.block;
    if (at && at.height === height && this.#headers.hashAt(height) === at.hash) return true;
    this.#unstored.unplace(held);
    const header = await this.#proved(server, held.txid, height, held.raw);
    if (header) held.place = { block: { height, hash: header.hash }, blockTime: header.timeSeconds * 1000 };
    return header !== null;
  }

  /**
   * Whether a server can prove that a transaction of a script's history is in its block and belongs there. `stray`: it
   * has nothing to do with the script. Throws as `take` does.
   */
  async shows(
    server: Server,
    script: Script,
    entry: HistoryEntry,
    history: readonly HistoryEntry[],
  ): Promise<'shown' | 'stray' | 'unknown'> {
    const fetched = await this.#fetch(server, entry.txid, entry.height);
    if (typeof fetched === 'string') return 'unknown';
    const belonging = await this.#belongs(server, script, fetched.transaction, namesOf(history));
    if (belonging === 'no') return 'stray';
    return belonging === 'yes' && (await this.proves(server, entry)) ? 'shown' : 'unknown';
  }

  /**
   * Whether a server proves that a transaction of its history pays a script in the block that it names. An unconfirmed
   * one needs no proof but its bytes. Throws as `take` does.
   */
  async paysIn(server: Server, { script }: ListedScript, entry: HistoryEntry): Promise<'pays' | 'not' | 'unknown'> {
    const isInBlock = entry.height > 0;
    const fetched = await this.#fetch(server, entry.txid, isInBlock ? entry.height : null);
    if (fetched === 'left') return 'not';
    if (fetched === 'failed') return 'unknown';
    if (!fetched.transaction.outputs.some(({ units, script: paid }) => units > 0n && paid.equals(script))) return 'not';
    return !isInBlock || (await this.proves(server, entry)) ? 'pays' : 'unknown';
  }

  /** Whether a server can prove that a transaction is in the block at a height. Throws as `take` does. */
  async proves(server: Server, { txid, height }: HistoryEntry): Promise<boolean> {
    return (await this.#proved(server, txid, height, null)) !== null;
  }

  /** The header of the block in which a server proved a transaction to be; null if that is not possible now. */
  async #proved(server: Server, txid: string, height: number, known: Buffer | null): Promise<Header | null> {
    if (height < this.#headers.lowest) await this.#headerSync.reachDown(server, height);
    const header = this.#headers.at(height);
    if (!header) return null;
    try {
      const [proof, raw] = await Promise.all([server.merkle(txid, height), known ?? server.transaction(txid)]);
      const claim = { ...proof, chain: this.#chain, raw, txid, merkleRoot: header.merkleRoot };
      const fault = await this.#faultOf(server, claim, height);
      if (fault === null) return header;
      // the server may have switched branches: then its header differs, and the proof may be right there
      const theirs = reversedHex(sha256d(await server.header(height)));
      if (theirs !== header.hash || this.#headers.hashAt(height) !== header.hash) return null;
      throw server.caught(`it does not prove that transaction ${txid} is in block ${height}: ${fault}`);
    } catch (error) {
      if (error instanceof ServerRefusal) return null;
      throw error;
    }
  }

  /** The fault of a proof, or null. */
  async #faultOf(server: Server, claim: MerkleClaim, height: number): Promise<string | null> {
    try {
      try {
        await verifyMerkle(claim);
      } catch (error) {
        if (!(error instanceof DepthNeeded)) throw error;
        const first = await server.firstOf(height);
        const raw = await server.transaction(first.txid);
        const { chain, merkleRoot } = claim;
        await verifyMerkle({ ...claim, depth: await treeDepth({ ...first, chain, raw, merkleRoot }) });
      }
      return null;
    } catch (error) {
      if (error instanceof BadProof) return error.message;
      throw error;
    }
  }
}

/** The height at which an entry is to be proved. A block above the tip being reported counts as unconfirmed until it is the tip. */
const claimedHeight = ({ height }: HistoryEntry, tip: Tip): number => (height > 0 && height <= tip.height ? height : 0);

const namesOf = (history: readonly HistoryEntry[]): Named => new Map(history.map(({ txid, height }) => [txid, height]));

/** Whether some transaction is in a block up to a tip. */
const hasAny = (stored: ReadonlyMap<string, number>, tip: Tip): boolean =>
  [...stored.values()].some((height) => height <= tip.height);
