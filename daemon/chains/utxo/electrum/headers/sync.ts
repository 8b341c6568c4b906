/**
 * Header sync: takes the chain of headers to a server's tip. It fetches the missing headers and passes them to the
 * chain, which verifies them.
 *
 * Invariant: no server waits for another. Each reply is verified before the next request, and a server that adds too
 * few headers in its time is disconnected. Its headers are either added, or show that it is behind, or prove
 * misbehaviour.
 */
import { sha256d } from '../../../../kit/bytes.ts';
import { ConnectionLost, type Misbehaved, ServerRefusal } from '../servers/faults.ts';
import type { Server, Tip } from '../servers/server.ts';
import { HEADER_BYTES, previousOf } from './header.ts';
import { HEADERS_PER_CALL_MAX, HEADERS_PER_REQUEST, HeaderRejected, type Headers, UNVERIFIED } from './types.ts';

/** A server may be reorganised between its announcement and the request for headers, but not every time. */
const EMPTY_HANDS_MAX = 5;
/** Replies per tip. Some servers send few headers per reply; the next sync continues. */
const REPLIES_MAX = 1_000;
/** The time that a server has for its headers, and by how much each added header extends it. */
const CLIMB_MS_MAX = 20_000;
const MS_PER_HEADER = 30;
/** How long a new tip of a server that was on the chain counts as the best one before its headers arrive. */
const NEW_TIP_MS_MAX = 5_000;

const countOf = (headers: Buffer): number => headers.length / HEADER_BYTES;

export class HeaderSync {
  readonly #headers: Headers;
  /** Called with the highest block that remains when others may have left the chain. */
  readonly #onReorg: (forkHeight: number) => void;
  readonly #emptyHands = new WeakMap<Server, number>();
  /** The end of each server's running work. */
  readonly #queues = new WeakMap<Server, Promise<unknown>>();
  /** The work that starts after it. */
  readonly #waiting = new WeakMap<Server, Promise<void>>();
  /** Servers whose tip was once on the chain. */
  readonly #proven = new WeakSet<Server>();
  /** Since when each of those has announced tips that are not on the chain. */
  readonly #unverifiedSinceMs = new WeakMap<Server, number>();

  constructor(headers: Headers, onReorg: (forkHeight: number) => void) {
    this.#headers = headers;
    this.#onReorg = onReorg;
  }

  /**
   * How many blocks a server is behind the chain; infinite if its tip is on a branch with less work, or above the
   * chain's without headers to prove it.
   */
  behind(server: Server): number {
    const { tip } = server;
    if (!tip) return Number.POSITIVE_INFINITY;
    if (this.isOnChain(tip)) return this.#headers.tip.height - tip.height;
    if (tip.height <= this.#headers.tip.height) return Number.POSITIVE_INFINITY;
    const sinceMs = this.#unverifiedSinceMs.get(server) ?? Number.NEGATIVE_INFINITY;
    return performance.now() - sinceMs < NEW_TIP_MS_MAX ? 0 : Number.POSITIVE_INFINITY;
  }

  /** Whether a server's tip is on the chain. */
  isOnChain({ height, hash }: { height: number; hash: string }): boolean {
    return this.#headers.hashAt(height) === hash;
  }

  /** Syncs towards a server's tip, for a limited time. Throws `ConnectionLost` or `Misbehaved`. */
  sync(server: Server): Promise<void> {
    const isElsewhere = server.tip !== null && !this.isOnChain(server.tip);
    if (isElsewhere && this.#proven.has(server) && !this.#unverifiedSinceMs.has(server)) {
      this.#unverifiedSinceMs.set(server, performance.now());
    }
    const waiting = this.#waiting.get(server);
    if (waiting) return waiting;
    const done = this.#inTurn(server, () => {
      this.#waiting.delete(server);
      return this.#syncFrom(server);
    });
    this.#waiting.set(server, done);
    return done;
  }

  /** Fetches older headers down to a height. Throws as `sync` does. */
  reachDown(server: Server, height: number): Promise<void> {
    return this.#inTurn(server, () => this.#reachDown(server, height));
  }

  #inTurn(server: Server, work: () => Promise<void>): Promise<void> {
    const done = (this.#queues.get(server) ?? Promise.resolve()).then(work);
    this.#queues.set(
      server,
      done.catch(() => {}),
    );
    return done;
  }

  async #syncFrom(server: Server): Promise<void> {
    const { tip } = server;
    if (!tip) return;
    // below the checkpoint nothing can be compared: the server is far behind
    if (!this.isOnChain(tip) && tip.height > this.#headers.base.height) {
      await this.#reachDown(server);
      await this.#climb(server, tip);
    }
    if (!this.isOnChain(tip)) return;
    this.#proven.add(server);
    this.#unverifiedSinceMs.delete(server);
  }

  async #reachDown(server: Server, height?: number): Promise<void> {
    const headers = this.#headers;
    const limit = new TimeLimit(server);
    let most = HEADERS_PER_REQUEST;
    for (;;) {
      const want = height === undefined ? headers.wantedBelow() : headers.wantedBelow(height);
      if (!want) return;
      const count = Math.min(want.count, most);
      const from = want.from + want.count - count;
      const bytes = await ask(server, from, count);
      if (bytes.length === 0) throw this.#emptyHanded(server);
      limit.check();
      if (countOf(bytes) < count) {
        // it sends no more per request, and these headers follow no known block
        most = countOf(bytes);
        continue;
      }
      const { lowest } = headers;
      try {
        await headers.prepend(bytes, from);
      } catch (error) {
        throw error instanceof HeaderRejected ? server.caught(error.message) : error;
      }
      limit.prolong(lowest - headers.lowest);
    }
  }

  async #climb(server: Server, tip: Tip): Promise<void> {
    const headers = this.#headers;
    const limit = new TimeLimit(server);
    let from = Math.min(headers.tip.height + 1, tip.height);
    let end = tip.height;
    let run: Buffer = Buffer.alloc(0);
    let verified = UNVERIFIED;
    let walkedBack = false;
    for (let replies = 0; replies < REPLIES_MAX; replies++) {
      const next = from + countOf(run);
      const most = Math.min(HEADERS_PER_REQUEST, HEADERS_PER_CALL_MAX - countOf(run));
      const added = await ask(server, next, Math.min(end - next + 1, most));
      if (added.length === 0) throw this.#emptyHanded(server);
      limit.check();
      // the server may have switched branches between two answers: starts again with its next tip
      if (run.length > 0 && !sha256d(run.subarray(-HEADER_BYTES)).equals(previousOf(added))) return;
      run = Buffer.concat([run, added]);
      const result = await this.#connect(server, run, from, verified);
      verified = UNVERIFIED;
      if (result.kind === 'apart') {
        walkedBack = true;
        end = from + countOf(run) - 1;
        from = result.retryFrom;
        run = Buffer.alloc(0);
        continue;
      }
      end = tip.height;
      if (result.kind === 'weaker') {
        limit.prolong(countOf(added));
        run = run.subarray((result.forkHeight + 1 - from) * HEADER_BYTES);
        from = result.forkHeight + 1;
        verified = { count: countOf(run), work: result.work };
      } else {
        if (result.kind === 'extended') limit.prolong(result.added);
        from += countOf(run);
        run = Buffer.alloc(0);
        // another server was faster
        if (!walkedBack) from = Math.max(from, Math.min(headers.tip.height + 1, tip.height));
      }
      if (from + countOf(run) > tip.height || countOf(run) >= HEADERS_PER_CALL_MAX) break;
      if (run.length === 0 && this.isOnChain(tip)) break;
    }
    this.#emptyHands.delete(server);
  }

  async #connect(server: Server, run: Buffer, from: number, verified: typeof UNVERIFIED) {
    try {
      const result = await this.#headers.connect(run, from, verified);
      if (result.kind === 'extended' && result.orphaned.length > 0) {
        this.#onReorg((result.orphaned[0]?.height ?? 0) - 1);
      }
      return result;
    } catch (error) {
      if (!(error instanceof HeaderRejected)) {
        // The disk took none of them, but those in whose place they come may be cut off already.
        this.#onReorg(this.#headers.tip.height);
        throw error;
      }
      if (error.fault !== 'future') throw server.caught(error.message);
      server.disconnect('its newest block is of the future, or the clock of this machine is wrong');
      throw new ConnectionLost(error.message);
    }
  }

  #emptyHanded(server: Server): ConnectionLost | Misbehaved {
    const times = (this.#emptyHands.get(server) ?? 0) + 1;
    this.#emptyHands.set(server, times);
    if (times >= EMPTY_HANDS_MAX) return server.caught('it names a tip whose headers it does not have');
    return new ConnectionLost('it lacks headers of its own chain');
  }
}

/** Asks for headers. A server that refuses them is disconnected. Throws `ConnectionLost` or `Misbehaved`. */
async function ask(server: Server, from: number, count: number): Promise<Buffer> {
  try {
    return await server.headers(from, count);
  } catch (error) {
    if (!(error instanceof ServerRefusal)) throw error;
    const reason = `it refuses its headers: ${error.message}`;
    server.disconnect(reason);
    throw new ConnectionLost(reason);
  }
}

/** The time that a server has for its headers; each added header extends it. */
class TimeLimit {
  readonly #server: Server;
  #endsAtMs = performance.now() + CLIMB_MS_MAX;

  constructor(server: Server) {
    this.#server = server;
  }

  prolong(headers: number): void {
    this.#endsAtMs += headers * MS_PER_HEADER;
  }

  /** Throws `ConnectionLost` and ends the connection if the time is over. */
  check(): void {
    if (performance.now() < this.#endsAtMs) return;
    const reason = 'it takes too long over its headers';
    this.#server.disconnect(reason);
    throw new ConnectionLost(reason);
  }
}
