/** The state of the service: its chains, its rates, and its ready addresses. */
import { redact } from '../../config/config.ts';
import { configurationWarnings } from '../../config/warnings.ts';
import type { AssetId, ChainId, Network } from '../../domain/assets.ts';
import type { BlockId } from '../../domain/chain.ts';
import type { Message } from '../../domain/messages.ts';
import { openAlertCount } from '../../store/queries/operator.ts';
import { ready } from '../addresses/pool.ts';
import type { App } from '../app.ts';
import { isUnchecked } from '../chains/unchecked.ts';

export type ChainStatus = {
  network: Network;
  chain: ChainId;
  source: string;
  tip: BlockId | null;
  tipAgeMs: number | null;
  /** 0 before the first complete sync. */
  syncedAt: number;
  lagging: boolean;
  error: string | null;
  withheld: string | null;
  /** Whether servers of one operator alone have answered for minutes, where those of several are named. */
  unchecked: boolean;
};

export function chainStatuses(app: App): ChainStatus[] {
  const followed = app.chains.all().filter(({ dormant }) => !dormant);
  return followed.map((chain) => {
    const health = chain.adapter.health();
    return {
      network: chain.adapter.network,
      chain: chain.adapter.chain,
      ...health,
      syncedAt: chain.syncedAt,
      withheld: chain.withheld(app.now()),
      unchecked: isUnchecked(chain, app.now()),
    };
  });
}

type RateStatus = { network: Network; asset: AssetId; usd: { scaled: bigint; at: number } | null };

/** The dollar rate of every asset that a business takes. */
export function rateStatuses(app: App): RateStatus[] {
  const found = new Map<string, RateStatus>();
  for (const { network, enabled } of app.directory.businesses()) {
    for (const { symbol: asset } of enabled) {
      found.set(`${network} ${asset}`, { network, asset, usd: app.rates.rate(network, asset, 'USD', app.now()) });
    }
  }
  return [...found.values()];
}

/** The ready addresses of each account of a connected chain. */
export function poolStatuses(app: App): { businessId: number; chainKey: string; ready: number; wanted: number }[] {
  return app.directory
    .accounts()
    .filter(({ chainKey }) => app.chains.find(chainKey) !== undefined)
    .map((account) => ({
      businessId: account.businessId,
      chainKey: account.chainKey,
      ready: ready(app, account),
      wanted: app.config.payments.addressPool,
    }));
}

/** The configuration in force, without secrets. */
export function settingsOf(app: App): { key: string; value: string; origin: string }[] {
  return redact(app.config).map(({ key, shown, origin }) => ({ key, value: shown, origin }));
}

export function openAlertsCount(app: App): number {
  return (app.store.get(openAlertCount, {})?.open ?? 0) + app.unstored.all().length;
}

export const warningsOf = ({ config }: App): Message[] => configurationWarnings(config);
