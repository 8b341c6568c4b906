/**
 * Sign-in links and sessions of the console. A session has two halves: a cookie, which no script can read, and a key in
 * the storage of the page's origin, which no other page and no service on another port of this machine is sent.
 *
 * Invariant: neither half is stored, only a hash of both; a code of a link works once.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import { ConsoleSessionShape } from '../../contract/console.ts';

const SECRET_BYTES = 32;
const LINK_MS = 600_000;
const LINKS_MAX = 10;
const SESSIONS_MAX = 50;
/** A session ends when it is not used for so long. */
const IDLE_MS = 30 * 86_400_000;
/** How often the time of the last use is stored. */
const STORE_USE_MS = 3_600_000;
const NAME_CHARS_MAX = 200;

const Stored = z.object({
  last: z.int().min(0),
  sessions: z.array(
    z.object({
      id: z.int().min(1),
      hash: z.string(),
      name: z.string(),
      scope: ConsoleSessionShape.shape.scope,
      createdAt: z.int(),
      usedAt: z.int(),
    }),
  ),
});
export type ConsoleSession = z.infer<typeof Stored>['sessions'][number];
type Halves = { cookie: string; key: string };

const secret = (): string => randomBytes(SECRET_BYTES).toString('base64url');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

export class ConsoleSessions {
  readonly #file: string;
  readonly #now: () => number;
  /** The hash of each link's code, and the end of its validity. */
  readonly #links = new Map<string, number>();
  #sessions: ConsoleSession[] = [];
  #last = 0;
  #writing: Promise<void> = Promise.resolve();

  /** `file`: where sessions are kept over a restart; a damaged one counts as empty. `now`: ms since 1970. */
  constructor(file: string, now: () => number) {
    this.#file = file;
    this.#now = now;
    try {
      const stored = Stored.parse(JSON.parse(readFileSync(file, 'utf8')));
      this.#sessions = stored.sessions;
      this.#last = stored.last;
    } catch {
      // the operator signs in again
    }
  }

  /** The code of a new link, and until when it works. The oldest of too many ends. */
  link(): { code: string; endsAt: number } {
    const code = secret();
    const endsAt = this.#now() + LINK_MS;
    this.#links.set(hashOf(code), endsAt);
    const [oldest] = this.#links.keys();
    if (this.#links.size > LINKS_MAX && oldest !== undefined) this.#links.delete(oldest);
    return { code, endsAt };
  }

  /** Exchanges the code of a link for a session; null if it was used, is too old, or never was one. */
  async signIn(code: string, name: string): Promise<Halves | null> {
    const hash = hashOf(code);
    const endsAt = this.#links.get(hash);
    this.#links.delete(hash);
    if (endsAt === undefined || endsAt < this.#now()) return null;
    const halves = { cookie: secret(), key: secret() };
    const now = this.#now();
    const session: ConsoleSession = {
      id: ++this.#last,
      hash: hashOf(`${halves.cookie}.${halves.key}`),
      name: name.slice(0, NAME_CHARS_MAX),
      scope: 'all',
      createdAt: now,
      usedAt: now,
    };
    this.#sessions = [...this.list(), session].slice(-SESSIONS_MAX);
    await this.#store();
    return halves;
  }

  /** The session of these halves; null if there is none. Notes that it is used. */
  find({ cookie, key }: Halves): ConsoleSession | null {
    const hash = hashOf(`${cookie}.${key}`);
    const found = this.list().find((session) => same(session.hash, hash));
    if (!found) return null;
    const now = this.#now();
    const isNews = now - found.usedAt > STORE_USE_MS;
    if (isNews) {
      found.usedAt = now;
      void this.#store();
    }
    return found;
  }

  list(): ConsoleSession[] {
    const since = this.#now() - IDLE_MS;
    return this.#sessions.filter(({ usedAt }) => usedAt >= since);
  }

  /** Restricts a session to the counter, for ever. */
  async lock(id: number): Promise<void> {
    this.#sessions = this.#sessions.map((one) => (one.id === id ? { ...one, scope: 'counter' } : one));
    await this.#store();
  }

  /** Ends one session or all of them, and all links; returns how many sessions ended. */
  async end(id: number | null): Promise<number> {
    const before = this.#sessions.length;
    this.#sessions = id === null ? [] : this.#sessions.filter((one) => one.id !== id);
    if (id === null) this.#links.clear();
    await this.#store();
    return before - this.#sessions.length;
  }

  /** Writes aside and renames, one write after the other. */
  #store(): Promise<void> {
    const next = async (): Promise<void> => {
      const text = JSON.stringify({ last: this.#last, sessions: this.#sessions });
      const aside = `${this.#file}.tmp`;
      await rm(aside, { force: true });
      const handle = await open(aside, 'wx', 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(aside, this.#file);
    };
    // a full disk costs the sessions only at the next restart
    this.#writing = this.#writing.then(next).catch(() => {});
    return this.#writing;
  }
}
