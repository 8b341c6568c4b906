/** Follows the service's events, for every window, the tray and the notifications. */
import type { Call, Result } from '../daemon/contract/operator.ts';

type Event = Result<'events.next'>['events'][number];

/** The same news as a browser's bridge has (renderer/bridge.ts). */
export type News =
  | { type: 'changed'; kinds: Event['kind'][]; subjects: string[] }
  | { type: 'missed' }
  | { type: 'connected' }
  | { type: 'disconnected'; since: number; retryAt: number };

export type Told = { news: News; events: readonly Event[] };

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 15_000;
/** At least so long between two questions for events, so that many events a second are few answers. */
const GATHER_MS = 100;

/** Until `signal` ends it. Never throws. */
export async function followNews(call: Call, tell: (told: Told) => void, signal: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  let lostAt: number | null = null;
  let retryMs = RETRY_MS_MIN;
  while (!signal.aborted) {
    try {
      const askedAt = performance.now();
      const page = await call('events.next', cursor === undefined ? {} : { cursor });
      if (signal.aborted) return;
      if (lostAt !== null) tell({ news: { type: 'connected' }, events: [] });
      if (page.missed || lostAt !== null) tell({ news: { type: 'missed' }, events: [] });
      if (page.events.length > 0) tell({ news: changed(page.events), events: page.events });
      // a service with too many readers answers at once
      const leastMs = page.events.length > 0 ? GATHER_MS : cursor === undefined ? 0 : RETRY_MS_MIN;
      if (performance.now() - askedAt < leastMs) await pause(leastMs, signal);
      ({ cursor } = page);
      lostAt = null;
      retryMs = RETRY_MS_MIN;
    } catch {
      if (signal.aborted) return;
      lostAt ??= Date.now();
      tell({ news: { type: 'disconnected', since: lostAt, retryAt: Date.now() + retryMs }, events: [] });
      await pause(retryMs, signal);
      retryMs = Math.min(2 * retryMs, RETRY_MS_MAX);
    }
  }
}

function changed(events: readonly Event[]): News {
  const subjects = [...new Set(events.map(({ subject }) => subject))];
  return { type: 'changed', kinds: [...new Set(events.map(({ kind }) => kind))], subjects };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    resolve();
  });
  return promise;
}
