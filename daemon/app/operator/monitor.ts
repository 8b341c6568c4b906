/** Numbers for monitoring. Every count has a limit, so that reading them is cheap. */
import type { AssetId, Network } from '../../domain/assets.ts';
import { formatUnits } from '../../domain/money.ts';
import { deliveriesWaiting, spendsOpen, webhooksWaiting, withdrawalsWaiting } from '../../store/queries/monitoring.ts';
import { endpoints } from '../../store/queries/shop-events.ts';
import type { App } from '../app.ts';
import { balances } from '../books/balance.ts';
import { LANES } from '../notifications/webhooks.ts';
import { type ChainStatus, chainStatuses, openAlertsCount, poolStatuses, rateStatuses } from './status.ts';

/** The states of a withdrawal that waits for the operator or for the signer. */
const WAITING = ['requested', 'approved'] as const;

export type Monitor = {
  chains: (ChainStatus & { syncAgeMs: number | null; spendsOpen: number })[];
  rates: { network: Network; asset: AssetId; ageMs: number | null }[];
  pools: { businessId: number; chainKey: string; ready: number; wanted: number }[];
  webhooks: { lane: string; waiting: number }[];
  /** Signed events that no endpoint has accepted yet. */
  deliveries: number;
  withdrawals: { state: string; waiting: number }[];
  alerts: number;
  storage: { freeBytes: number | null; logBytes: number; fails: boolean };
  /** In coins; empty unless requested. */
  balances: { businessId: number; network: Network; asset: AssetId; amount: string }[];
};

export function monitor(app: App, withBalances: boolean): Monitor {
  const { store, directory } = app;
  const now = app.now();
  const businesses = directory.businesses();
  const { freeBytes, logBytes, trouble } = store.health();
  const sum = (counts: (number | undefined)[]): number => counts.reduce((all: number, one) => all + (one ?? 0), 0);
  return {
    chains: chainStatuses(app).map((chain) => ({
      ...chain,
      syncAgeMs: chain.syncedAt === 0 ? null : Math.max(0, now - chain.syncedAt),
      spendsOpen: store.get(spendsOpen, { chain_key: `${chain.network}:${chain.chain}` })?.rows ?? 0,
    })),
    rates: rateStatuses(app).map(({ network, asset, usd }) => ({ network, asset, ageMs: usd && now - usd.at })),
    pools: poolStatuses(app),
    webhooks: LANES.map((lane) => ({ lane, waiting: store.get(webhooksWaiting, { lane })?.rows ?? 0 })),
    deliveries: sum(store.all(endpoints, {}).map(({ id }) => store.get(deliveriesWaiting, { endpoint_id: id })?.rows)),
    withdrawals: WAITING.map((state) => ({
      state,
      waiting: store.get(withdrawalsWaiting, { state })?.rows ?? 0,
    })),
    alerts: openAlertsCount(app),
    storage: { freeBytes, logBytes, fails: trouble !== null },
    balances: !withBalances
      ? []
      : businesses.flatMap((business) =>
          balances(app, business)
            .filter(({ withheld }) => withheld === null)
            .map(({ asset, units }) => ({
              businessId: business.id,
              network: business.network,
              asset: asset.symbol,
              amount: formatUnits(units, asset),
            })),
        ),
  };
}
