/**
 * Takes the chain of headers to where a server says that it is: fetches what is missing and lets the chain judge it.
 *
 * Invariant: one server is followed at a time. What a server sends is either taken by the chain, or shows that the server
 * is behind, or is the proof for which it is dropped.
 */
import { ConnectionLost, type Misbehaved } from './faults.ts';
import { HEADER_BYTES, previousOf, sha256d } from './header.ts';
import {
  HEADERS_PER_CALL_MAX,
  HEADERS_PER_REQUEST,
  type HeaderRange,
  HeaderRejected,
  type Headers,
} from './header-types.ts';
import type { Server, Tip } from './server.ts';

/** A server may name a tip and be reorganised before it is asked for the headers, but not every time. */
const EMPTY_HANDS_MAX = 5;
/** Rounds of fetching and connecting, for one tip: a million headers, or a branch looked for back to the checkpoint. */
const ROUNDS_MAX = 1_000;

export class Follower {
  readonly #headers: Headers;
  /** Called when a reorganisation took blocks off the chain, with the highest block that is left. */
  readonly #onReorg: (forkHeight: number) => void;
  readonly #emptyHands = new WeakMap<Server, number>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(headers: Headers, onReorg: (forkHeight: number) => void) {
    this.#headers = headers;
    this.#onReorg = onReorg;
  }

  /**
   * Blocks that a server is behind the chain; infinite when its tip is on another branch, that has less work. A tip that
   * is above the chain's was not looked at yet.
   */
  behind(server: Server): number {
    const { tip } = server;
    if (!tip) return Number.POSITIVE_INFINITY;
    if (tip.height > this.#headers.tip.height) return 0;
    if (this.#headers.hashAt(tip.height) !== tip.hash) return Number.POSITIVE_INFINITY;
    return this.#headers.tip.height - tip.height;
  }

  /** Whether a server's tip is on the chain. */
  isOnChain({ height, hash }: { height: number; hash: string }): boolean {
    return this.#headers.hashAt(height) === hash;
  }

  /** Follows a server to its tip. Throws `ConnectionLost` or `Misbehaved`. */
  follow(server: Server): Promise<void> {
    const done = this.#queue.then(() => this.#follow(server));
    this.#queue = done.catch(() => {});
    return done;
  }

  /** Fetches older headers down to a height. Throws as `follow` does. */
  reachDown(server: Server, height: number): Promise<void> {
    const done = this.#queue.then(() => this.#reachDown(server, height));
    this.#queue = done.catch(() => {});
    return done;
  }

  async #follow(server: Server): Promise<void> {
    const { tip } = server;
    if (!tip || this.isOnChain(tip)) return;
    // Below the checkpoint there is nothing that could be compared: the server has a long way to go.
    if (tip.height <= this.#headers.base.height) return;
    await this.#reachDown(server);
    try {
      await this.#climb(server, tip);
    } catch (error) {
      if (!(error instanceof HeaderRejected)) throw error;
      if (error.fault === 'future') {
        server.disconnect(`its newest block is of the future, or the clock of this machine is wrong`);
        throw new ConnectionLost(error.message);
      }
      throw server.caught(error.message);
    }
  }

  async #reachDown(server: Server, height?: number): Promise<void> {
    for (let want = this.#wanted(height); want; want = this.#wanted(height)) {
      const bytes = await this.#fetch(server, want.from, want.count);
      if (bytes.length !== want.count * HEADER_BYTES) throw this.#emptyHanded(server);
      try {
        await this.#headers.prepend(bytes, want.from);
      } catch (error) {
        throw error instanceof HeaderRejected ? server.caught(error.message) : error;
      }
    }
  }

  #wanted(height: number | undefined): HeaderRange | null {
    return height === undefined ? this.#headers.wantedBelow() : this.#headers.wantedBelow(height);
  }

  async #climb(server: Server, tip: Tip): Promise<void> {
    const headers = this.#headers;
    let from = Math.min(headers.tip.height + 1, tip.height);
    let run: Buffer = Buffer.alloc(0);
    let end = Math.min(tip.height, from + HEADERS_PER_REQUEST - 1);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const added = await this.#fetch(
        server,
        from + run.length / HEADER_BYTES,
        end - from + 1 - run.length / HEADER_BYTES,
      );
      if (added.length === 0) throw this.#emptyHanded(server);
      // Between two answers the server may have changed to another branch: from the beginning, with its next tip.
      if (run.length > 0 && !sha256d(run.subarray(-HEADER_BYTES)).equals(previousOf(added))) return;
      run = Buffer.concat([run, added]);
      const result = await headers.connect(run, from);
      if (result.kind === 'apart') {
        end = from + run.length / HEADER_BYTES - 1;
        from = result.retryFrom;
        run = Buffer.alloc(0);
        continue;
      }
      if (result.kind === 'extended' && result.orphaned.length > 0) {
        this.#onReorg((result.orphaned[0]?.height ?? 0) - 1);
      }
      if (result.kind !== 'weaker') {
        from += run.length / HEADER_BYTES;
        run = Buffer.alloc(0);
      }
      if (from + run.length / HEADER_BYTES > tip.height || run.length / HEADER_BYTES >= HEADERS_PER_CALL_MAX) break;
      end = Math.min(
        tip.height,
        from + run.length / HEADER_BYTES + HEADERS_PER_REQUEST - 1,
        from + HEADERS_PER_CALL_MAX - 1,
      );
    }
    this.#emptyHands.delete(server);
  }

  /** `count` headers from a height upwards; fewer when the server's chain ends before. A server may send less at once. */
  async #fetch(server: Server, from: number, count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let have = 0; have < count; ) {
      const bytes = await server.headers(from + have, Math.min(count - have, HEADERS_PER_REQUEST));
      if (bytes.length === 0) break;
      // a server that reorganises between two answers is no liar: what came before is all there is of its old branch
      const last = parts.at(-1)?.subarray(-HEADER_BYTES);
      if (last && !sha256d(last).equals(previousOf(bytes))) break;
      parts.push(bytes);
      have += bytes.length / HEADER_BYTES;
    }
    return Buffer.concat(parts);
  }

  #emptyHanded(server: Server): ConnectionLost | Misbehaved {
    const times = (this.#emptyHands.get(server) ?? 0) + 1;
    this.#emptyHands.set(server, times);
    if (times >= EMPTY_HANDS_MAX) return server.caught('it names a tip whose headers it does not have');
    return new ConnectionLost('it lacks headers of its own chain');
  }
}
