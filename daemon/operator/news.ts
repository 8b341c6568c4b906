/** Follows the service's events, for the windows of a browser and for the desktop program. Runs in both. */
import type { Params, Result } from '../contract/operator.ts';
import { sleep } from '../kit/async.ts';

type Event = Result<'events.next'>['events'][number];
export type EventKind = Event['kind'];

/** `changed`: what events name; `missed`: events were lost, so everything is to be read again. Times: ms since 1970. */
export type News =
  | { type: 'changed'; kinds: EventKind[]; subjects: string[] }
  | { type: 'missed' }
  | { type: 'connected' }
  | { type: 'disconnected'; since: number; retryAt: number }
  | { type: 'signed-out' };

export type NewsBatch = { news: News; events: readonly Event[] };

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 15_000;
/** At least so long between two questions for events, so that many events a second are few answers. The first one is told at once. */
const GATHER_MS = 100;

type Follow = {
  ask(input: Params<'events.next'>): Promise<Result<'events.next'>>;
  tell(told: NewsBatch): void;
  signal: AbortSignal;
  /** Whether an error ends the session. */
  isOver?(error: unknown): boolean;
};

/** Until `signal` or the end of the session. Never throws. */
export async function followNews({ ask, tell, signal, isOver = () => false }: Follow): Promise<void> {
  let cursor: string | undefined;
  let lostAt: number | null = null;
  let retryMs = RETRY_MS_MIN;
  const say = (news: News, events: readonly Event[] = []): void => tell({ news, events });
  while (!signal.aborted) {
    try {
      const askedAt = performance.now();
      const page = await ask(cursor === undefined ? {} : { cursor });
      if (signal.aborted) return;
      if (lostAt !== null) say({ type: 'connected' });
      if (page.missed || lostAt !== null) say({ type: 'missed' });
      if (page.events.length > 0) say(changed(page.events), page.events);
      // a service with too many readers answers at once
      const leastMs = page.events.length > 0 ? GATHER_MS : cursor === undefined ? 0 : RETRY_MS_MIN;
      if (performance.now() - askedAt < leastMs) await sleep(leastMs, signal);
      ({ cursor } = page);
      lostAt = null;
      retryMs = RETRY_MS_MIN;
    } catch (error) {
      if (signal.aborted) return;
      if (isOver(error)) return say({ type: 'signed-out' });
      lostAt ??= Date.now();
      say({ type: 'disconnected', since: lostAt, retryAt: Date.now() + retryMs });
      await sleep(retryMs, signal).catch(() => undefined);
      retryMs = Math.min(2 * retryMs, RETRY_MS_MAX);
    }
  }
}

function changed(events: readonly Event[]): News {
  const kinds = [...new Set(events.map(({ kind }) => kind))];
  return { type: 'changed', kinds, subjects: [...new Set(events.map(({ subject }) => subject))] };
}
