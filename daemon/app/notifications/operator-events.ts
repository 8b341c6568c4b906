/**
 * The operator's stream of changes. An event only names what changed; the reader reads it again. The newest events are
 * kept in memory for readers that reconnect.
 *
 * Invariant: events come after the commit of the change. A reader whose cursor is too old, or of another start of the
 * service, is told to read everything again.
 */
import { randomUUID } from 'node:crypto';
import { textOf } from '../../domain/messages.ts';
import { newestAlert } from '../../store/queries/effects.ts';
import type { Reader } from '../../store/store.ts';

const EVENT_KINDS = ['withdrawal', 'invoice', 'inbox', 'alert'] as const;
type EventKind = (typeof EVENT_KINDS)[number];
/** `what`: the change, in words. */
type OperatorEvent = { kind: EventKind; subject: string; what: string; at: number };

const KEPT_MAX = 1_000;
/** How often waiting readers look for alerts, which are stored in many places. */
const LOOK_MS = 1_000;
const WAITING_MAX = 50;

/** `cursor`: where to continue. `missed`: events may have been lost, so everything must be read again. */
type EventPage = { events: OperatorEvent[]; cursor: string; missed: boolean };

export class OperatorEvents {
  readonly #now: () => number;
  /** Identifies this start of the service; numbers of another start have no meaning. */
  readonly #start = randomUUID();
  readonly #kept: (OperatorEvent & { n: number })[] = [];
  readonly #waiting = new Set<() => void>();
  #last = 0;
  #lastAlert = 0;
  #closed = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** To be called after the commit. */
  tell(kind: EventKind, subject: string, what = 'changed'): void {
    this.#kept.push({ n: ++this.#last, kind, subject, what, at: this.#now() });
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
    for (const wake of this.#waiting) wake();
  }

  /** The events after a cursor. Waits up to `waitMs` for the first one. Null: from now on. */
  async next(reader: Reader, cursor: string | null, waitMs: number): Promise<EventPage> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      this.#noticeAlerts(reader);
      const page = this.#after(cursor);
      const left = deadline - performance.now();
      if (cursor === null || page.missed || page.events.length > 0 || left <= 0 || this.#closed) return page;
      if (this.#waiting.size >= WAITING_MAX) return page;
      await this.#change(Math.min(left, LOOK_MS));
    }
  }

  close(): void {
    this.#closed = true;
    for (const wake of this.#waiting) wake();
  }

  #after(cursor: string | null): EventPage {
    const [start, number] = (cursor ?? `${this.#start} ${this.#last}`).split(' ');
    const after = Number(number);
    const oldest = this.#kept[0]?.n ?? this.#last + 1;
    const missed = start !== this.#start || !Number.isInteger(after) || after < oldest - 1;
    const events = missed ? [] : this.#kept.filter(({ n }) => n > after).map(({ n: _, ...event }) => event);
    return { events, cursor: `${this.#start} ${this.#last}`, missed };
  }

  #noticeAlerts(reader: Reader): void {
    const newest = reader.get(newestAlert, {});
    if (!newest || newest.id <= this.#lastAlert) return;
    this.#lastAlert = newest.id;
    this.tell('alert', `${newest.id}`, textOf(newest.message));
  }

  #change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
    });
  }
}
