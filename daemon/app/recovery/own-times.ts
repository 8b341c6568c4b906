/**
 * When this database was stamped, by the clock of then, and which times between were not compared with the backups yet. A backup that was
 * made in such a gap is of a database that went on: this one came back older.
 *
 * A gap comes before the time that a start finds, and before the one to which the clock was put forward: as on a machine whose memory
 * came back older, too, or that started while its clock was behind. A clock that was ahead leaves a span of its own behind, so that
 * the times before it can still be gaps.
 */
import { z } from 'zod';

/** Milliseconds since 1970. */
const Span = z.object({ from: z.number(), to: z.number() });
type Span = z.infer<typeof Span>;

export const Times = z.object({ stamped: z.array(Span), gaps: z.array(Span) });
export type Times = z.infer<typeof Times>;

/** A backup may be of so much later than the clock that a start finds, which can be behind. */
const AHEAD_MS = 10 * 60_000;
/** The database is stamped every minute. A backup tells the time at which it began. */
const LATE_MS_MAX = 3 * 60_000;
/** A clock that is being corrected goes faster or slower by less. */
const SLEWED = 1.01;
const SPANS_MAX = 16;

/** Where there are too many, the earliest two become one, with the time between. */
function capped(spans: readonly Span[]): readonly Span[] {
  const [first, second, ...others] = spans.toSorted((a, b) => a.from - b.from);
  if (spans.length <= SPANS_MAX || !first || !second) return spans;
  return [{ from: first.from, to: Math.max(first.to, second.to) }, ...others];
}

/** Whether a time, milliseconds since 1970, is in a span, which has its end and not its beginning. */
export const isIn = ({ from, to }: Span, at: number): boolean => at > from && at <= to;

export class OwnTimes {
  #stamped: readonly Span[];
  #gaps: readonly Span[];
  /** By the monotonic clock; null: not since this process began. */
  #notedMs: number | null = null;

  /** `until`: up to when a database of an earlier release was stamped, milliseconds since 1970. */
  constructor(known: Times | undefined, until: number) {
    this.#stamped = known?.stamped ?? [{ from: 0, to: until }];
    this.#gaps = known?.gaps ?? [];
  }

  get known(): Times {
    return { stamped: [...this.#stamped], gaps: [...this.#gaps] };
  }

  /** The times to be compared, the latest last. */
  get gaps(): readonly Span[] {
    return this.#gaps;
  }

  /** To be called when a process begins, and whenever it stamps the database. */
  note(now: number): void {
    const ms = performance.now();
    const ahead = this.#notedMs === null ? AHEAD_MS : 0;
    const passed = Math.ceil((ms - (this.#notedMs ?? ms)) * SLEWED);
    this.#notedMs = ms;
    const from = now - passed;
    const span = this.#stamped.find((one) => now >= one.from && from <= one.to + passed + LATE_MS_MAX);
    if (span) {
      this.#addGap({ from: span.to, to: from + ahead });
      span.to = Math.max(span.to, now);
      return;
    }
    const ends = this.#stamped.map(({ to }) => to).filter((to) => to < from);
    this.#addGap({ from: Math.max(...ends) + passed, to: from + ahead });
    this.#stamped = capped([...this.#stamped, { from, to: now }]);
  }

  /** One with those that it touches: the times at which it was stamped are none of theirs. */
  #addGap(gap: Span): void {
    if (gap.to <= gap.from) return;
    const apart = this.#gaps.filter(({ from, to }) => from > gap.to || gap.from > to);
    const touched = this.#gaps.filter((one) => !apart.includes(one));
    const whole = [...touched, gap];
    const from = Math.min(...whole.map((one) => one.from));
    const to = Math.max(...whole.map((one) => one.to));
    this.#gaps = [...apart, { from, to }].slice(-SPANS_MAX);
  }

  /** Whether the database was not stamped then, and nobody compared. */
  isForeign(at: number): boolean {
    const isOwn = this.#stamped.some(({ from, to }) => isIn({ from, to: to + LATE_MS_MAX }, at));
    return !isOwn && this.#gaps.some((gap) => isIn(gap, at));
  }

  /** These gaps were compared, but for one in which is the time of a backup that could not be read. */
  compared(gaps: readonly Span[], unread: readonly number[]): void {
    const isOpen = (gap: Span): boolean => unread.some((at) => isIn(gap, at) && this.isForeign(at));
    this.#gaps = this.#gaps.filter((gap) => !gaps.includes(gap) || isOpen(gap));
  }

  /** No time up to the latest one is compared any more. */
  forget(): void {
    this.#stamped = [{ from: 0, to: Math.max(...this.#stamped.map(({ to }) => to)) }];
    this.#gaps = [];
  }
}
