/**
 * The light client of one chain: its servers, its headers, and the watched scripts with their histories. It answers with
 * the present facts; `electrum.ts` turns that into an adapter's updates.
 *
 * Invariant: a view is that of one server at one tip of the verified chain, either complete or marked as incomplete.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlockId } from '../../../domain/chain.ts';
import type { ScriptList } from '../../adapter.ts';
import type { MatchResult } from '../match.ts';
import type { UtxoChain } from '../params.ts';
import { HeaderSync } from './headers/sync.ts';
import type { Headers } from './headers/types.ts';
import { Absence } from './histories/absence.ts';
import { Agreement } from './histories/agreement.ts';
import { Auditor } from './histories/auditor.ts';
import { Lookup } from './histories/lookup.ts';
import { HistoryReader, type Outcome } from './histories/reader.ts';
import { Refusals } from './histories/refusals.ts';
import { Rotation } from './histories/rotation.ts';
import { type Script, Scripts } from './histories/scripts.ts';
import { SecondLook } from './histories/second-look.ts';
import { UnstoredTransactions } from './histories/unstored.ts';
import { Watching } from './histories/watching.ts';
import type { Listener } from './listener.ts';
import type { Timeouts } from './servers/connection.ts';
import type { Endpoint } from './servers/endpoint.ts';
import { Between, ConnectionLost, isCostly, isOfServer, isPassing, ServerRefusal } from './servers/faults.ts';
import type { Pins } from './servers/pins.ts';
import type { Server, Tip } from './servers/server.ts';
import { ServerSet } from './servers/server-set.ts';
import { spread } from './servers/spread.ts';

type ClientOptions = {
  chain: UtxoChain;
  endpoints: readonly Endpoint[];
  /** Whether the operator named the servers. */
  own: boolean;
  genesis: readonly string[];
  headers: Headers;
  list: ScriptList;
  proxy: string | null;
  proxyForAll: boolean;
  pins: Pins;
  timeouts: Timeouts;
  /** Whether a second server must show the block of a transaction with these credits. */
  needsAgreement: (credits: readonly { targetId: number; units: bigint }[]) => boolean;
  /** The maximum number of watched scripts; default: `SCRIPTS_MAX`. */
  watchedMax?: number;
  /** The file with the rotation's position. */
  rotationPath: string;
  listener: Listener;
};

/** One step takes seconds, not minutes; the next step continues. */
const READ_PER_STEP_MAX = 1_000;
const READ_STEP_MS = 3_000;
/** The interval at which the list is read again even without a sign of change. */
const REFRESH_MS = 60_000;
const STAMP_MS = 500;
/** The least pause before a history that was in the middle of a block is asked for again. */
const BETWEEN_MS = 1_000;
/** How long a look waits for the headers of a new tip. After that, another server may know more. */
const HEADERS_MS_MAX = 2_000;
/** Histories that a server may refuse and others give, before another server is asked instead of it. */
const REFUSED_ALONE_MAX = 20;

/** Why a history could not be read. `fault`: the server's, if that is told of it. */
type Unread = { reason: string; fault: string | null };
const UNREADABLE: Unread = {
  reason: 'what they announce of it does not hold',
  fault: 'it gave no history of an address that could be read',
};

/** Why the asked server's history of a script is looked for elsewhere. */
type Lack = { reason: string; isRefused: boolean };

/** `unsettled`: a server has not decided yet, so an immediate second look would find nothing new. */
type View = { complete: boolean; unsettled: boolean; found: MatchResult };

export class LightClient {
  readonly set: ServerSet;
  readonly headers: Headers;
  readonly headerSync: HeaderSync;
  readonly scripts: Scripts;
  readonly reader: HistoryReader;
  readonly agreement: Agreement;
  readonly absence: Absence;
  readonly rotation: Rotation;
  readonly lookup: Lookup;
  readonly #options: ClientOptions;
  readonly #unstored: UnstoredTransactions;
  /** Scripts with a block above the reported tip; read again when the tip moves. */
  readonly #early = new Set<Script>();
  readonly #auditor: Auditor;
  readonly #timer: NodeJS.Timeout;
  readonly watching: Watching;
  readonly #secondLook: SecondLook;
  readonly #refusals: Refusals;
  /** How many histories each server refused and another gave, since it was last disconnected for that. */
  readonly #refusedAlone = new WeakMap<Server, number>();
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  #lastTip: string | null = null;
  /** The server of the last view. Histories read before may be another server's. */
  #viewed: Server | null = null;

  constructor(options: ClientOptions) {
    const { chain, list, headers, listener } = options;
    this.#options = options;
    this.headers = headers;
    this.scripts = new Scripts(list, options.watchedMax);
    this.#refusals = new Refusals(this.scripts);
    this.#unstored = new UnstoredTransactions(chain, list);
    this.headerSync = new HeaderSync(headers, (forkHeight) => this.#reorganised(forkHeight));
    const { headerSync, scripts } = this;
    this.reader = new HistoryReader({
      chain,
      list,
      headers,
      headerSync,
      unstored: this.#unstored,
      scripts,
      listener,
    });
    this.set = this.#servers();
    this.agreement = new Agreement({
      set: this.set,
      headers,
      listener,
      isNeeded: ({ outputs }) => outputs.length > 0 && options.needsAgreement(outputs),
    });
    this.#auditor = new Auditor({ set: this.set, scripts, headerSync, reader: this.reader, listener });
    const { set, reader } = this;
    const auditor = this.#auditor;
    this.absence = new Absence({ set, scripts, headerSync, reader, auditor, listener });
    this.watching = new Watching({ set: this.set, scripts, listener });
    this.#secondLook = new SecondLook({ set: this.set, scripts, listener });
    this.rotation = this.#rotating();
    this.lookup = new Lookup({ set, headerSync, reader });
    this.set.start();
    // the list may grow without any news from a server
    this.#timer = setInterval(() => {
      if (this.scripts.isOutdated()) listener.wake();
    }, STAMP_MS);
    this.#timer.unref();
  }

  /** The connections, whose events lead here. */
  #servers(): ServerSet {
    const { endpoints, own, genesis, proxy, proxyForAll, pins, timeouts, listener } = this.#options;
    const onReady = (server: Server): void => {
      this.#refusals.connected(server);
      this.#whenSynced(server);
    };
    return new ServerSet({
      endpoints,
      own,
      genesis,
      proxy,
      proxyForAll,
      pins,
      timeouts,
      events: {
        onTip: (server) => this.#whenSynced(server),
        onReady,
        onStatus: (server, scriptHash) => this.#statusChanged(server, scriptHash),
        onGone: () => listener.wake(),
        onDropped: (server, reason) => listener.alert(server.name, reason),
        onPrimary: (server) => {
          if (server) this.scripts.compare(server);
          listener.wake();
        },
      },
      behind: (server) => this.headerSync.behind(server),
    });
  }

  /** The scripts beyond the watched ones, which take turns. */
  #rotating(): Rotation {
    const { list, rotationPath, listener } = this.#options;
    return new Rotation({
      set: this.set,
      scripts: this.scripts,
      list,
      path: rotationPath,
      listener,
      isWatched: (id) => this.#isWatched(id),
      hasExcess: () => this.#hasExcess(),
      isKnown: (listed, history) => this.reader.notStored(listed, history).length === 0,
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.agreement.close();
    this.#auditor.close();
    this.watching.close();
    this.#secondLook.close();
    this.set.close();
    await this.rotation.close();
    await this.headers.close();
  }

  /**
   * Asks a server for its tip and syncs the headers for a limited time. The caller checks whether the tip is then on
   * the chain. Everything that the server announced before has arrived. Throws `ConnectionLost` or `Misbehaved`.
   */
  async look(server: Server): Promise<Tip> {
    try {
      const tip = await server.askTip();
      await this.#soon(this.headerSync.sync(server));
      return tip;
    } catch (error) {
      if (!(error instanceof ServerRefusal)) throw error;
      server.disconnect(`it refuses to tell its tip: ${error.message}`);
      throw new ConnectionLost(error.message);
    }
  }

  /** Waits briefly for work that may take minutes. If it ends later, calls `wake`. */
  async #soon(syncing: Promise<void>): Promise<void> {
    const stop = new AbortController();
    const late = sleep(HEADERS_MS_MAX, 'late' as const, { ref: false, signal: stop.signal }).catch(
      () => 'late' as const,
    );
    try {
      if ((await Promise.race([syncing, late])) !== 'late') return;
      syncing.catch(() => {}).finally(() => this.#options.listener.wake());
    } finally {
      stop.abort();
    }
  }

  /** Watches the scripts with a fact in a block that left the chain. */
  watchBlock(hash: string): void {
    for (const listed of this.#options.list.inBlock(hash)) this.scripts.pin(listed);
  }

  /** Our credits and spends by a server at `tip`, which is on the chain. */
  async view(server: Server, tip: Tip): Promise<View> {
    if (this.#viewed !== server) this.scripts.compare(server);
    this.#viewed = server;
    this.#forgetStored();
    if (this.#lastTip !== tip.hash) {
      for (const script of this.#early) this.scripts.touch(script);
      this.#early.clear();
      this.#lastTip = tip.hash;
    }
    await this.#refresh();
    this.#refusals.retry(tip, this.#at(tip));
    const subscribed = await this.watching.advance(server);
    const read = await this.#read(server, tip);
    this.agreement.check(this.#unstored.all());
    const found: MatchResult = { credits: [], spends: [] };
    const isOnChain = ({ height, hash }: BlockId): boolean =>
      height <= tip.height && (height < this.headers.lowest || this.headers.hashAt(height) === hash);
    for (const held of this.#unstored.all()) this.#unstored.tell(held, isOnChain, found);
    // a server behind the best known chain has not reported everything
    const unchanged =
      server.tip?.hash === tip.hash && this.set.primary === server && this.headers.tip.hash === tip.hash;
    const isRestSeen = this.watching.hasSeenRest(server);
    const complete = subscribed && isRestSeen && read === 'whole' && unchanged && !this.#refusals.isWaiting;
    const lack = !subscribed ? 'watching' : isRestSeen ? 'reading' : 'rest';
    this.set.viewed(server, complete ? 'nothing' : lack);
    return { complete, unsettled: read === 'open', found };
  }

  /** Reads the histories that may have changed, as many as one step allows; `more`: some are left for the next step. */
  async #read(server: Server, tip: Tip): Promise<'whole' | 'open' | 'more'> {
    const dirty: Script[] = [];
    for (const script of this.scripts.dirty) {
      if (dirty.length >= READ_PER_STEP_MAX) break;
      dirty.push(script);
    }
    let open = 0;
    const take = async (script: Script): Promise<void> => {
      if (performance.now() < script.askAgainAtMs) {
        open++;
        return;
      }
      // another server announced it: the next step subscribes it on this one
      if (!server.statuses.has(script.hash)) {
        this.watching.promote(script);
        return;
      }
      try {
        let outcome = await this.reader.take(server, script, tip);
        if (script.top > tip.height) this.#early.add(script);
        if (outcome === 'open') outcome = await this.#unread(server, script, tip, UNREADABLE);
        else {
          this.#endUnread(script);
          this.#refusals.delete(script);
        }
        if (outcome !== 'whole') open++;
      } catch (error) {
        if (!(error instanceof ServerRefusal)) throw error;
        // asked again when the server is less busy
        if (error instanceof Between) script.askAgainAtMs = performance.now() + BETWEEN_MS * (1 + Math.random());
        const { message } = error;
        const outcome = isPassing(error)
          ? await this.#unread(server, script, tip, { reason: message, fault: null })
          : await this.#askOthers(server, script, tip, { reason: message, isRefused: true });
        if (outcome !== 'whole') open++;
      }
    };
    await spread([server], dirty, 'news', (_, script) => take(script), performance.now() + READ_STEP_MS);
    if (open > 0) return 'open';
    return this.scripts.dirty.size === 0 ? 'whole' : 'more';
  }

  /**
   * Handles a history that the server does not give to be read now. After a minute of this another server is asked for everything, or
   * the script is left out where none gives it: no view would be complete. `fault`: null where a server may be honest.
   */
  async #unread(server: Server, script: Script, tip: Tip, { reason, fault }: Unread): Promise<Outcome> {
    const isLong = server.unread.isLong(script.hash);
    if (!this.#refusals.isLeftOut(script)) {
      if (!isLong) return 'open';
      const mayGive = (other: Server): boolean => !other.unread.wasLong(script.hash);
      if (this.set.giveWay(server, mayGive, fault)) return 'open';
      if (!(await this.#givesOthers(server, script))) return 'open';
    }
    return this.#askOthers(server, script, tip, { reason, isRefused: false });
  }

  /** Whether a server gives the history of some other script. If not, it is too busy for all, and none is left out for that. */
  async #givesOthers(server: Server, script: Script): Promise<boolean> {
    for (const { hash } of this.scripts.all()) {
      if (server.unread.has(hash) || !server.statuses.has(hash)) continue;
      try {
        await server.history(hash);
        return true;
      } catch (error) {
        if (!(error instanceof ServerRefusal)) throw error;
        return !isCostly(error);
      }
    }
    return this.scripts.size === 1 && this.scripts.get(script.hash) === script;
  }

  /** The connected servers that are at a tip. */
  #at(tip: Tip): Server[] {
    return this.set.ready().filter((server) => server.tip?.hash === tip.hash);
  }

  /**
   * Handles a history that a server refuses, or does not give for long: another server may give it. If none does, the
   * script is left out and the operator is told, so that a payer of ten thousand transactions to one address cannot stop a shop. No server is dropped for a
   * refusal.
   */
  async #askOthers(server: Server, script: Script, tip: Tip, { reason, isRefused }: Lack): Promise<Outcome> {
    const isLeftOut = this.#refusals.isLeftOut(script);
    const { news } = script;
    const asked = [server];
    const others = this.set.others(server);
    let open = 0;
    for (const other of others) {
      if (other.tip?.hash !== tip.hash) continue;
      asked.push(other);
      try {
        if (!other.statuses.has(script.hash)) await other.subscribe(script.hash);
        const outcome = await this.reader.take(other, script, tip);
        if (outcome !== 'open') {
          this.#endUnread(script);
          this.#refusals.given(script, news);
          // a history that takes many looks counts once
          if (outcome === 'whole' && isRefused) this.#countRefused(server, reason);
          return outcome;
        }
      } catch (error) {
        if (!isOfServer(error)) throw error;
        if (!isPassing(error)) {
          other.unread.end(script.hash);
          continue;
        }
      }
      // it may give it when it is less busy or announces no other status meanwhile, but it is not waited for for ever
      if (!other.unread.isLong(script.hash) && !isLeftOut) open++;
    }
    if (open > 0) return 'open';
    if (this.#refusals.left(script, { news, tip, asked, isBehind: asked.length <= others.length })) {
      this.#options.listener.leftOut(
        script.id,
        `${server.name} and every other server connected ${isRefused ? 'refuse its history' : 'give no history of it'}: ${reason}`,
      );
    }
    if (isRefused) server.unread.end(script.hash);
    script.status = server.statuses.get(script.hash);
    this.scripts.dirty.delete(script);
    return 'whole';
  }

  /** A server has given its history. */
  #endUnread({ hash }: Script): void {
    for (const server of this.set.servers) server.unread.end(hash);
  }

  /** Disconnects a server that keeps refusing what others give. */
  #countRefused(server: Server, reason: string): void {
    const refused = (this.#refusedAlone.get(server) ?? 0) + 1;
    this.#refusedAlone.set(server, refused % REFUSED_ALONE_MAX);
    if (refused < REFUSED_ALONE_MAX) return;
    server.disconnect(`it refuses histories that another server gives: ${reason}`);
    throw new ConnectionLost(reason);
  }

  /** Whether a server announces news of the script with this id. */
  #isWatched(id: number): boolean {
    const script = this.scripts.byId(id);
    return script !== undefined && (this.#isOnItsWay(script) || this.watching.isWatched(script));
  }

  /** Whether the asked server is about to subscribe it. */
  #isOnItsWay({ rank }: Script): boolean {
    const { primary } = this.set;
    return primary === null || rank < this.watching.shareOf(primary);
  }

  #hasExcess(): boolean {
    const { primary } = this.set;
    if (!primary) return false;
    return this.scripts.overflown || this.watching.shareOf(primary) < this.scripts.size;
  }

  async #refresh(): Promise<void> {
    const now = performance.now();
    if (now - this.#refreshedAtMs < REFRESH_MS && !this.scripts.isOutdated()) return;
    this.#refreshedAtMs = now;
    const wasOverflown = this.scripts.overflown;
    const gone = await this.scripts.refresh();
    this.watching.end(gone);
    for (const script of gone) {
      this.#early.delete(script);
      for (const server of this.set.servers) server.endDoubts(script.hash);
    }
    if (this.scripts.overflown === wasOverflown) return;
    const { size } = this.scripts;
    this.#options.listener.log(
      `${wasOverflown ? 'no' : ''} more addresses are expecting money than the ${size} that are watched`,
    );
  }

  /** Forgets transactions that the store has in their final form. */
  #forgetStored(): void {
    for (const held of [...this.#unstored.all()]) {
      if (!held.place || !this.#unstored.isStored(held)) continue;
      for (const scriptHash of held.mentions) {
        const script = this.scripts.get(scriptHash);
        if (script) script.txids = script.txids.filter((txid) => txid !== held.txid);
      }
      this.#unstored.drop(held);
    }
  }

  #reorganised(forkHeight: number): void {
    this.scripts.markAbove(forkHeight);
    for (const held of this.#unstored.all()) {
      if (held.place && held.place.block.height > forkHeight) this.#unstored.unplace(held);
    }
  }

  /** Called when a server has a new tip or was just connected. */
  #whenSynced(server: Server): void {
    this.headerSync
      .sync(server)
      .then(() => this.set.elect())
      .catch((error: unknown) => {
        if (server.state === 'ready') server.disconnect(error instanceof Error ? error.message : String(error));
      })
      .finally(() => this.#options.listener.wake());
  }

  #statusChanged(server: Server, scriptHash: string): void {
    const script = this.scripts.get(scriptHash);
    if (!script) return;
    script.news++;
    if (script.status === server.statuses.get(scriptHash)) return;
    // another server's announcement is a reason to ask the asked one, which may be frozen
    if (server === this.set.primary) this.scripts.dirty.add(script);
    else if (!this.set.primary?.statuses.has(scriptHash)) this.watching.promote(script);
    this.#options.listener.wake();
  }
}
