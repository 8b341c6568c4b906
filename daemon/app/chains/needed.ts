/**
 * Whether a chain that only the defaults connect is needed. An unneeded one gets no connection, so that nothing of a
 * merchant who does not take its assets reaches public servers.
 */
import { isUtxo } from '../../chains/derive.ts';
import { kinOf } from '../../domain/evm.ts';
import { scriptsUsedLately } from '../../store/queries/watch.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from './chains.ts';

export function isNeeded(app: App, { dormant, key, adapter }: ChainRuntime): boolean {
  if (!dormant) return true;
  const { network, chain } = adapter;
  if (!app.directory.accounts().some(({ chainKey }) => chainKey === key)) return false;
  if (isUtxo(chain)) return true;
  // a payer may confuse a network with the other one that has the same addresses
  const chains: readonly string[] = [chain, ...[kinOf(chain)].filter((kin) => kin !== null)];
  const businesses = app.directory.businesses().filter((business) => business.network === network);
  if (businesses.some(({ enabled }) => enabled.some((asset) => chains.includes(asset.chain)))) return true;
  // an address that was given out is watched for ever
  return app.store.all(scriptsUsedLately, { chain_key: key, limit: 1 }).length > 0;
}
