/** The desks of a business with their forecasts, and the operator's grants for them. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ChainId } from '../../../daemon/domain/assets.ts';
import { type EvmChain, isEvm } from '../../../daemon/domain/evm.ts';
import { type GasLimits, gasGrantOf } from '../../../daemon/operator/gas.ts';
import { macAt } from '../../../daemon/operator/keyholder.ts';
import type { Params, Result } from '../../bridge.ts';
import { useData } from '../../data.tsx';
import { useKeyholder } from '../../keyholder.ts';

export type Desk = Result<'gas.status'>['desks'][number] & { chain: EvmChain };
export type Forecast = Result<'gas.forecast'>;
export type DeskForecast = { desk: Desk; forecast: Forecast };
type Signature = Params<'gas.collect'>['signed'];

/** Addresses that hold less than this, in US dollars, are left alone. */
export const MIN_USD = '5';
const READ_EVERY_MS = 30_000;

export const isOpen = ({ plan }: Desk): boolean => plan?.state === 'open';

export function useDesks(business: string): UseQueryResult<DeskForecast[]> {
  const { bridge } = useData();
  return useQuery<DeskForecast[]>({
    queryKey: ['gas.desks', business],
    queryFn: async ({ signal }) => {
      const { desks } = await bridge.call('gas.status', { business }, signal);
      const known = desks.filter((desk): desk is Desk => isEvm(desk.chain as ChainId));
      return Promise.all(
        known.map(async (desk) => {
          const wanted = { business, chain: desk.chain, min_usd: MIN_USD };
          return { desk, forecast: await bridge.call('gas.forecast', wanted, signal) };
        }),
      );
    },
    refetchInterval: READ_EVERY_MS,
  });
}

/** Signs grants with one passphrase, and opens the wallet, which takes a grant only while it is open. Null on the sandbox. */
export function useSigning(): (passphrase: string, limits: readonly GasLimits[]) => Promise<Signature[]> {
  const { bridge } = useData();
  const keyholder = useKeyholder();
  return async (passphrase, limits) => {
    if (limits.every(({ network }) => network === 'sandbox')) return limits.map(() => null);
    const grants = limits.map((one) => gasGrantOf(one, Date.now()));
    const macs = await keyholder.authorize(passphrase, { approvals: [], change: null, grants });
    const { wallet } = await bridge.call('wallet.status', {});
    if (wallet.state === 'locked') await keyholder.unlock(passphrase);
    return grants.map((grant, at) => ({ grant, mac: macAt(macs.grants, at) }));
  };
}
