/**
 * The channels of the console's pages (contract/console-channel.ts).
 *
 * Invariants: they live in memory alone, so none outlives the service. Each number of a channel is taken once, so a request that
 * somebody recorded does nothing. A channel that no page has used yet makes room before one in use.
 */
import { LRUCache } from 'lru-cache';
import {
  boxText,
  Channel,
  HELLO_PATH,
  jsonBytes,
  newPair,
  publicText,
  randomText,
} from '../../contract/console-channel.ts';
import type { Answer } from '../operator/answer.ts';
import type { ConsoleSession, ConsoleSessions } from './sessions.ts';

const CHANNELS_MAX = 500;
/** Opened by a greeting, which anybody on this machine can send. */
const UNUSED_MAX = 100;
const NAME_BYTES = 16;
/** Requests overtake each other by so much at most. */
const WINDOW = 512;
const PLACE = /^([\w-]{22})\.([1-9]\d{0,14})$/;

type Greeting = { page: string; nonce: string; before: string | null };
/** `atTill`: it came to the till's listener. */
type From = { origin: string; atTill: boolean };
type ChannelRecord = { session: number; channel: Channel; seen: Set<number>; highest: number };

/** A request that came through a channel. `seal`: the box of its one answer. */
export type Opened = {
  session: ConsoleSession;
  plain: Uint8Array<ArrayBuffer>;
  seal(answer: Answer): Promise<Uint8Array<ArrayBuffer>>;
};

export class Channels {
  readonly #sessions: ConsoleSessions;
  readonly #used = new LRUCache<string, ChannelRecord>({ max: CHANNELS_MAX });
  readonly #unused = new LRUCache<string, ChannelRecord>({ max: UNUSED_MAX });

  constructor(sessions: ConsoleSessions) {
    this.#sessions = sessions;
  }

  /**
   * Opens a channel for a page, and proves to it that this is its service. `before`: the page's last channel. The box says the
   * channel's name, or that the session has ended. Throws for a public key that is none.
   */
  async greet({ page, nonce, before }: Greeting, { origin, atTill }: From): Promise<{ key: string; box: string }> {
    const [{ privateKey, said: service }, pair] = await Promise.all([this.#sessions.key(), newPair(false)]);
    const ephemeral = await publicText(pair);
    const hello = { origin, page, service, ephemeral, nonce };
    const channel = await Channel.ofService({ service: privateKey, ephemeral: pair.privateKey }, hello);
    const session = this.#sessions.find(page, atTill);
    const name = session && randomText(NAME_BYTES);
    if (session && name !== null) {
      this.#unused.set(name, { session: session.id, channel, seen: new Set(), highest: 0 });
    }
    const known = before !== null && this.#find(before) !== undefined;
    return { key: ephemeral, box: boxText(await channel.seal(HELLO_PATH, 0, jsonBytes({ name, known }))) };
  }

  /**
   * The request in a box. `place`: its header. Null: no such channel is open, or nothing of the page's is in the box; `repeated`:
   * this number was taken before.
   */
  async open(place: string, path: string, box: Uint8Array<ArrayBuffer>): Promise<Opened | 'repeated' | null> {
    const [, name = '', text] = PLACE.exec(place) ?? [];
    const kept = this.#find(name);
    const session = kept && this.#sessions.use(kept.session);
    if (!kept || !session) return null;
    const number = Number(text);
    const plain = await kept.channel.open(path, number, box);
    if (plain === null) return null;
    if (!take(kept, number)) return 'repeated';
    this.#unused.delete(name);
    this.#used.set(name, kept);
    const seal = ({ status, body }: Answer) => kept.channel.seal(path, number, jsonBytes({ status, body }));
    return { session, plain, seal };
  }

  #find(name: string): ChannelRecord | undefined {
    return this.#used.get(name) ?? this.#unused.get(name);
  }
}

/** Takes a number; false if it was taken, or is so old that this is not known any more. */
function take(kept: ChannelRecord, number: number): boolean {
  if (kept.seen.has(number) || number <= kept.highest - WINDOW) return false;
  kept.seen.add(number);
  kept.highest = Math.max(kept.highest, number);
  // numbers are taken nearly in order, so the oldest is the first
  for (const old of kept.seen) {
    if (old > kept.highest - WINDOW) break;
    kept.seen.delete(old);
  }
  return true;
}
