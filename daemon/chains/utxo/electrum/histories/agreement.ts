/**
 * Lets a large credit count as confirmed only when a second server, of another operator, shows the same block at its height
 * and the same transaction in its history. Proof of work and merkle proof only make a false block expensive. An attacker
 * who runs the merchant's only server may pay that price; a second server reveals the false block. A single configured
 * server is its owner's choice, and so are several of one operator: then nobody is asked.
 *
 * A credit without agreement is reported as unconfirmed. A credit that is stored in a block is never taken back.
 */
import { reversedHex, sha256d } from '../../../../kit/bytes.ts';
import type { Headers } from '../headers/types.ts';
import type { Listener } from '../listener.ts';
import { isOfServer } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import type { UnstoredTransaction } from './unstored.ts';

/** The interval between two questions about one transaction. */
const ASK_MS = 2_000;
const ASKED_AT_ONCE_MAX = 20;

export class Agreement {
  readonly #set: ServerSet;
  readonly #headers: Headers;
  readonly #isNeeded: (held: UnstoredTransaction) => boolean;
  readonly #listener: Pick<Listener, 'wake' | 'bug'>;
  /** The time of the last question about each transaction. The map is weak, so the number of held transactions bounds it. */
  readonly #askedAtMs = new WeakMap<UnstoredTransaction, number>();
  #asking = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(parts: {
    set: ServerSet;
    headers: Headers;
    isNeeded: (held: UnstoredTransaction) => boolean;
    listener: Pick<Listener, 'wake' | 'bug'>;
  }) {
    this.#set = parts.set;
    this.#headers = parts.headers;
    this.#isNeeded = parts.isNeeded;
    this.#listener = parts.listener;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  /**
   * Decides which transactions' blocks may be reported. About the others a second server is asked, which takes a while:
   * first about those that were never asked about, so that what nobody affirms keeps no other waiting.
   */
  check(all: Iterable<UnstoredTransaction>): void {
    const open = [...all].filter(({ place, agreed }) => place && !agreed);
    for (const held of open) held.agreed = this.#set.operators < 2 || !this.#isNeeded(held);
    const waiting = open.filter(({ agreed }) => !agreed);
    if (waiting.length === 0) return;
    this.#later();
    const now = performance.now();
    const due = waiting.filter((held) => now - this.#askedAt(held) >= ASK_MS);
    due.sort((a, b) => this.#askedAt(a) - this.#askedAt(b) || 0);
    for (const held of due.slice(0, Math.max(0, ASKED_AT_ONCE_MAX - this.#asking))) {
      this.#askedAtMs.set(held, now);
      this.#ask(held).catch((error: unknown) => this.#listener.bug(error));
    }
  }

  #askedAt(held: UnstoredTransaction): number {
    return this.#askedAtMs.get(held) ?? Number.NEGATIVE_INFINITY;
  }

  async #ask(held: UnstoredTransaction): Promise<void> {
    const { primary } = this.#set;
    const place = held.place;
    const [scriptHash] = held.mentions;
    if (!primary || !place || scriptHash === undefined) return;
    this.#asking++;
    try {
      // each in turn, so that one server alone cannot hold a payment up
      for (const other of this.#set.others(primary).filter(({ operator }) => operator !== primary.operator)) {
        const agrees = await this.#shows(other, scriptHash, held.txid, place.block);
        const still = held.place?.block.hash === place.block.hash;
        if (!still || this.#closed) return;
        if (!agrees) continue;
        held.agreed = true;
        this.#listener.wake();
        return;
      }
    } finally {
      this.#asking--;
    }
  }

  /** False also when the server does not answer. */
  async #shows(
    server: Server,
    scriptHash: string,
    txid: string,
    block: { height: number; hash: string },
  ): Promise<boolean> {
    const asked = Promise.all([server.header(block.height), server.history(scriptHash)]);
    const answer = await asked.catch((error: unknown) => {
      if (isOfServer(error)) return null;
      throw error;
    });
    if (!answer) return false;
    const [header, history] = answer;
    if (reversedHex(sha256d(header)) !== block.hash || this.#headers.hashAt(block.height) !== block.hash) return false;
    return history.some((entry) => entry.txid === txid && entry.height === block.height);
  }

  /** Schedules another look, which is needed even if no server has news. */
  #later(): void {
    if (this.#timer || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#listener.wake();
    }, ASK_MS);
    this.#timer.unref();
  }
}
