/** Whether payments can be taken now, for external monitoring: without names and amounts. */
import { chainKey } from '../../domain/chain.ts';
import type { App } from '../app.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import type { Business } from '../shops/directory.ts';

type Health = {
  /** False if a business can take no payment at all. */
  serves: boolean;
  /** Problems, one sentence each; also while the service serves. */
  reasons: string[];
};

/** The coins of a business that cannot be taken now, with their reasons. */
function closedCoins(app: App, { network, enabled }: Business): string[] {
  const now = app.now();
  return enabled.flatMap((asset) => {
    const chain = app.chains.find(chainKey(network, asset.chain));
    const why = chain ? chain.withheld(now) : `${asset.chain} is not connected`;
    if (why !== null) return [`${network} ${asset.symbol}: ${why}`];
    const rate = app.rates.rate(network, asset.symbol, 'USD', now);
    return rate === null ? [`${network} ${asset.symbol}: there is no rate`] : [];
  });
}

/** Counts businesses with real money; if there are none, all. Reads memory and one row. */
export function healthOf(app: App): Health {
  const { trouble } = app.store.health();
  if (trouble !== null) return { serves: false, reasons: ['nothing can be stored'] };
  if (isQuarantined(app.store)) return { serves: false, reasons: ['restored, and not confirmed by the operator'] };
  const all = app.directory.businesses();
  const real = all.filter(({ network }) => network === 'mainnet');
  const counted = real.length > 0 ? real : all;
  const closed = counted.map((business) => closedCoins(app, business));
  const serves = counted.every(
    (business, n) => business.enabled.length === 0 || closed[n]!.length < business.enabled.length,
  );
  return { serves, reasons: [...new Set(closed.flat())] };
}
