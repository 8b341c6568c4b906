/** Raises and closes the alert about a chain whose source is away, or whose coins cannot be offered, for a while. */

import { message, type Value } from '../../domain/messages.ts';
import { MS_PER_MINUTE } from '../../domain/time.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from './chains.ts';

const AWAY_ALERT_MS = 5 * 60_000;
const AWAY = 'chain.away';

/** To be called every minute. `since`: when each chain became unavailable; kept by the caller. */
export async function tellAway(app: App, since: Map<string, number>): Promise<void> {
  for (const chain of app.chains.all()) {
    if (chain.adapter.network === 'sandbox' || chain.dormant) continue;
    const why = whyAway(chain, app.now());
    if (why === null) await isBack(app, chain, since);
    else await isAway(app, chain, since, why);
  }
}

function whyAway(chain: ChainRuntime, now: number): Value | null {
  const { error } = chain.adapter.health();
  if (chain.withheld(now) === null) return null;
  return error ?? message('chain.behind');
}

async function isAway(app: App, chain: ChainRuntime, since: Map<string, number>, reason: Value): Promise<void> {
  const { key } = chain;
  const now = app.now();
  const from = Math.min(since.get(key) ?? now, now);
  since.set(key, from);
  if (now - from < AWAY_ALERT_MS) return;
  const minutes = Math.floor((now - from) / MS_PER_MINUTE);
  await raise(app, chain.adapter.network, AWAY, key, message('chain.away', { chain: key, minutes, reason }));
}

async function isBack(app: App, { key }: ChainRuntime, since: Map<string, number>): Promise<void> {
  since.delete(key);
  // also closes alerts of an earlier run of the service
  await end(app, AWAY, key);
}
