/**
 * The scripts whose history the asked server refuses or does not give for long, and when they are asked for again: every minute, because a server's
 * limit may be temporary; and at once when something is different from the last time: the tip, a server that has reached
 * it, or an announcement.
 */
import type { Server, Tip } from '../servers/server.ts';
import type { Script, Scripts } from './scripts.ts';

const RETRY_MS = 60_000;
/** Tips and announcements may come without end. Further ones of the same minute are left to its end. */
const EARLY_PER_SCRIPT_MAX = 10;
const EARLY_MAX = 1_000;
/** A block takes seconds from one server to the next. A server that is behind for longer is not waited for. */
const BEHIND_MS_MAX = 10_000;

type Refusal = {
  sinceMs: number;
  /** How often a server had announced news of the script. */
  news: number;
  /** Whether another server gave it. Then only an announcement is a reason to ask again. */
  given: boolean;
  tip: string;
  asked: readonly Server[];
  /** Whether a connected server was not asked, because it was not at the tip. */
  isBehind: boolean;
  told: boolean;
  /** How often it was asked for again early in this minute. */
  early: number;
};

const first = (): Refusal => ({
  sinceMs: performance.now(),
  news: 0,
  given: false,
  tip: '',
  asked: [],
  isBehind: false,
  told: false,
  early: 0,
});

export class Refusals {
  readonly #scripts: Scripts;
  readonly #byScript = new Map<Script, Refusal>();
  #minuteAtMs = Number.NEGATIVE_INFINITY;
  #early = 0;

  constructor(scripts: Scripts) {
    this.#scripts = scripts;
  }

  /** Touches the scripts that are to be asked for again. `able`: the servers that are at the tip. */
  retry(tip: Tip, able: readonly Server[]): void {
    const now = performance.now();
    const isMinute = now - this.#minuteAtMs >= RETRY_MS;
    if (isMinute) {
      this.#minuteAtMs = now;
      this.#early = 0;
    }
    for (const [script, refusal] of this.#byScript) {
      if (this.#scripts.get(script.hash) !== script) this.#byScript.delete(script);
      else if (isMinute) {
        refusal.early = 0;
        if (!refusal.given) this.#scripts.touch(script);
      } else if (this.#early < EARLY_MAX && refusal.early < EARLY_PER_SCRIPT_MAX && isDue(script, refusal, tip, able)) {
        this.#early++;
        refusal.early++;
        this.#scripts.touch(script);
      }
    }
  }

  /** Whether the operator was told that no server gives it, and none has since. */
  isLeftOut(script: Script): boolean {
    const refusal = this.#byScript.get(script);
    return refusal?.told === true && !refusal.given;
  }

  /** A server was connected. It may have another limit than before. */
  connected(server: Server): void {
    for (const refusal of this.#byScript.values()) refusal.asked = refusal.asked.filter((one) => one !== server);
  }

  /** The asked server gave it. */
  delete(script: Script): void {
    this.#byScript.delete(script);
  }

  /** Another server gave it, when servers had announced it `news` times. */
  given(script: Script, news: number): void {
    const { early } = this.#byScript.get(script) ?? first();
    this.#byScript.set(script, { ...first(), news, given: true, early });
  }

  /**
   * No server gave it. Returns whether the operator is to be told: once, and not yet if a server that is behind may
   * give it in a moment.
   */
  left(script: Script, by: { news: number; tip: Tip; asked: readonly Server[]; isBehind: boolean }): boolean {
    const last = this.#byScript.get(script);
    const { sinceMs, told, early } = last && !last.given ? last : { ...first(), early: last?.early ?? 0 };
    const isTold = !told && !(by.isBehind && isRecent(sinceMs));
    const tip = by.tip.hash;
    this.#byScript.set(script, { ...by, sinceMs, early, tip, given: false, told: told || isTold });
    return isTold;
  }

  /** Whether a server that is behind may give a history in a moment. */
  get isWaiting(): boolean {
    for (const { given, isBehind, sinceMs } of this.#byScript.values()) {
      if (!given && isBehind && isRecent(sinceMs)) return true;
    }
    return false;
  }
}

const isRecent = (sinceMs: number): boolean => performance.now() - sinceMs < BEHIND_MS_MAX;

function isDue(script: Script, { given, news, tip, asked }: Refusal, now: Tip, able: readonly Server[]): boolean {
  if (script.news !== news) return true;
  return !given && (tip !== now.hash || able.some((server) => !asked.includes(server)));
}
