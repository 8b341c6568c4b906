/**
 * Sign-in links and sessions of the console. A session is the public key of a page, whose private key never leaves its browser.
 *
 * Invariant: no secret of a page is known here, let alone stored; a link works once. The service's own private key is in a file of
 * its owner alone. Who has it can pose as the service to a page, but not as a page to the service.
 */

import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConsoleSessionShape } from '../../contract/console.ts';
import { linkName, newPair, pageProof, publicText, randomText, serviceProof } from '../../contract/console-channel.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { NotDurable, writePrivately } from '../private-file.ts';

/** Crockford's base32 without I, L, O and U; 12 of them are 60 bits, which ten minutes are too short to try. */
const TYPED = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TYPED_CHARS = 12;
const LINK_MS = 600_000;
const LINKS_MAX = 10;
const SESSIONS_MAX = 50;
/** A session ends when it is not used for so long. */
const IDLE_MS = 30 * MS_PER_DAY;
/** How often the time of the last use is stored. */
const STORE_USE_MS = 3_600_000;
const NAME_CHARS_MAX = 200;
const CURVE = { name: 'ECDH', namedCurve: 'P-256' };

/** A key pair of the service as a JSON Web Key (RFC 7517). */
export const StoredKey = z.object({ kty: z.string(), crv: z.string(), x: z.string(), y: z.string(), d: z.string() });
type StoredKey = z.infer<typeof StoredKey>;

const Stored = z.object({
  last: z.int().min(0),
  service: StoredKey,
  sessions: z.array(
    z.object({
      id: z.int().min(1),
      /** The page's public key. */
      page: z.string(),
      name: z.string(),
      scope: ConsoleSessionShape.shape.scope,
      /** The counter's, if it is locked to one. */
      business: z.int().nullable(),
      /** A till's, made at its own listener: it works there alone, and no other session does. */
      till: z.boolean().default(false),
      createdAt: z.int(),
      usedAt: z.int(),
    }),
  ),
});
type Stored = z.infer<typeof Stored>;
export type ConsoleSession = Stored['sessions'][number];

/** `said`: the public key as messages name it. */
export type ServiceKey = { privateKey: CryptoKey; said: string; stored: StoredKey };

/** A page's request to sign in. */
export type SignIn = { link: string; origin: string; page: string; nonce: string; proof: string };

/** `stored`: null makes a new pair. Rejects for a damaged one. */
export async function serviceKey(stored: StoredKey | null): Promise<ServiceKey> {
  const { subtle } = crypto;
  if (stored) {
    const { kty, crv, x, y } = stored;
    const publicKey = await subtle.importKey('jwk', { kty, crv, x, y }, CURVE, true, []);
    const privateKey = await subtle.importKey('jwk', stored, CURVE, false, ['deriveBits']);
    return { privateKey, said: await publicText({ publicKey }), stored };
  }
  const pair = await newPair(true);
  const made = StoredKey.parse(await subtle.exportKey('jwk', pair.privateKey));
  return { privateKey: pair.privateKey, said: await publicText(pair), stored: made };
}

/** A code that somebody can type: "7K3MX9TQ2HVB". */
const typedCode = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(TYPED_CHARS)), (byte) => TYPED[byte % TYPED.length]).join('');

type Link = { code: string; endsAt: number; till: number | null };

/** In constant time. */
export const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

export class ConsoleSessions {
  readonly #file: string;
  readonly #now: () => number;
  /** The code of each link by its name, and the end of its validity. */
  readonly #links = new Map<string, Link>();
  readonly #key: Promise<ServiceKey>;
  #sessions: ConsoleSession[] = [];
  #last = 0;
  #writing: Promise<void> = Promise.resolve();

  /** `file`: where sessions are kept over a restart; a damaged one counts as empty. `now`: ms since 1970. */
  constructor(file: string, now: () => number) {
    this.#file = file;
    this.#now = now;
    let kept: StoredKey | null = null;
    try {
      const { sessions, last, service } = Stored.parse(JSON.parse(readFileSync(file, 'utf8')));
      [this.#sessions, this.#last, kept] = [sessions, last, service];
    } catch {
      // the operator signs in again
    }
    this.#key = serviceKey(kept).catch(() => {
      this.#sessions = [];
      return serviceKey(null);
    });
  }

  /** By which pages know the service. */
  key = (): Promise<ServiceKey> => this.#key;

  /** The code of a new link, and until when it works. The oldest of too many ends. `till`: the business whose till it pairs. */
  async link(till: number | null = null): Promise<{ code: string; endsAt: number }> {
    const code = till === null ? randomText() : typedCode();
    const endsAt = this.#now() + LINK_MS;
    this.#links.set(await linkName(code), { code, endsAt, till });
    const [oldest] = this.#links.keys();
    if (this.#links.size > LINKS_MAX && oldest !== undefined) this.#links.delete(oldest);
    return { code, endsAt };
  }

  /**
   * Makes a session of the page that has a link's code; returns the service's public key and the proof that the service knows the
   * code, too. Null if the link was used, is too old, is for the other listener, or never was one. `name`: of the browser. `atTill`:
   * whether it came to the till's listener.
   */
  async signIn(said: SignIn, name: string, atTill: boolean): Promise<{ service: string; proof: string } | null> {
    const link = this.#links.get(said.link);
    if (!link || !this.#isOpen(link) || (link.till !== null) !== atTill) return null;
    const isRight = same(said.proof, await pageProof(link.code, said));
    // another call may have used it meanwhile
    if (!isRight || !this.#links.delete(said.link)) return null;
    const now = this.#now();
    const session: ConsoleSession = {
      id: ++this.#last,
      page: said.page,
      name: name.slice(0, NAME_CHARS_MAX),
      scope: link.till === null ? 'all' : 'counter',
      business: link.till,
      till: link.till !== null,
      createdAt: now,
      usedAt: now,
    };
    this.#sessions = [...this.list(), session].slice(-SESSIONS_MAX);
    await this.#tryToStore();
    const { said: service } = await this.#key;
    return { service, proof: await serviceProof(link.code, said, service) };
  }

  /** Not one of a clock that was ahead. */
  #isOpen({ endsAt }: Link): boolean {
    const leftMs = endsAt - this.#now();
    return leftMs >= 0 && leftMs <= LINK_MS;
  }

  /** The session of a page by its public key; null if there is none at this listener. */
  find(page: string, atTill: boolean): ConsoleSession | null {
    return this.list().find((session) => session.page === page && session.till === atTill) ?? null;
  }

  /** Whether a till is paired, or could still be. */
  hasTills(): boolean {
    const isOpen = [...this.#links.values()].some((link) => link.till !== null && this.#isOpen(link));
    return isOpen || this.list().some(({ till }) => till);
  }

  /** Notes that a session is used; null if it has ended. */
  use(id: number): ConsoleSession | null {
    const found = this.list().find((session) => session.id === id);
    if (!found) return null;
    const now = this.#now();
    if (Math.abs(now - found.usedAt) > STORE_USE_MS) {
      found.usedAt = now;
      void this.#tryToStore();
    }
    return found;
  }

  list(): ConsoleSession[] {
    const since = this.#now() - IDLE_MS;
    return this.#sessions.filter(({ usedAt }) => usedAt >= since);
  }

  /**
   * Restricts a session to the counter of a business, for ever. Throws `Unavailable` if that cannot be stored: then it is not restricted,
   * but for `NotDurable`.
   */
  async lock(id: number, business: number): Promise<void> {
    const change = (to: Pick<ConsoleSession, 'scope' | 'business'>): void => {
      this.#sessions = this.#sessions.map((one) => (one.id === id ? { ...one, ...to } : one));
    };
    change({ scope: 'counter', business });
    await this.#store().catch((error: unknown) => {
      if (!(error instanceof NotDurable)) change({ scope: 'all', business: null });
      throw error;
    });
  }

  /**
   * Ends one session or all of them, and all links; returns how many sessions ended. Throws `Unavailable` if that cannot be stored: they have
   * ended, and are back after a restart, with `NotDurable` only after a power cut.
   */
  async end(id: number | null): Promise<number> {
    const before = this.#sessions.length;
    this.#sessions = id === null ? [] : this.#sessions.filter((one) => one.id !== id);
    if (id === null) this.#links.clear();
    await this.#store();
    return before - this.#sessions.length;
  }

  /** A full disk costs new sessions only at the next restart. */
  #tryToStore = (): Promise<void> => this.#store().catch(() => {});

  /** One write after the other. Throws as `writePrivately`. */
  #store(): Promise<void> {
    const next = async (): Promise<void> => {
      const { stored: service } = await this.#key;
      const text = JSON.stringify({ last: this.#last, service, sessions: this.#sessions });
      await writePrivately(this.#file, text);
    };
    const writing = this.#writing.then(next);
    this.#writing = writing.catch(() => {});
    return writing;
  }
}
