/**
 * A view is unchecked while servers of one operator alone speak, where those of several are named: that one could leave a payment
 * out, and nobody would contradict it. A connection that is lost for a moment is nothing to tell: a view counts as unchecked after
 * ten minutes. An alert says so then, and ends when a second operator is back.
 */
import { message } from '../../domain/messages.ts';
import { MS_PER_MINUTE } from '../../domain/time.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from './chains.ts';

const UNCHECKED_MS = 10 * MS_PER_MINUTE;
const KIND = 'chain.unchecked';

/** Whether servers of one operator alone have spoken for so long that it is to be said. Of a chain that is away, `away.ts` tells. */
export const isUnchecked = (chain: ChainRuntime, now: number): boolean =>
  chain.uncheckedSince !== null && now - chain.uncheckedSince >= UNCHECKED_MS && chain.withheld(now) === null;

/** To be called every minute. */
export async function tellUnchecked(app: App): Promise<void> {
  for (const chain of app.chains.all()) if (chain.adapter.network !== 'sandbox') await look(app, chain);
}

async function look(app: App, chain: ChainRuntime): Promise<void> {
  const { key, adapter } = chain;
  const { named, speaking } = adapter.operators?.() ?? { named: 0, speaking: 0 };
  if (named < 2 || speaking >= 2 || chain.dormant) {
    chain.uncheckedSince = null;
    // also closes the alert of an earlier run of the service
    await end(app, KIND, key);
    return;
  }
  const now = app.now();
  chain.uncheckedSince = Math.min(chain.uncheckedSince ?? now, now);
  if (!isUnchecked(chain, now)) return;
  const minutes = Math.floor((now - chain.uncheckedSince) / MS_PER_MINUTE);
  await raise(app, adapter.network, KIND, key, message(KIND, { chain: key, minutes, named }));
}
