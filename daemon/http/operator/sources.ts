/** The methods about chain sources. */

import { reviewAll } from '../../app/books/review-place.ts';
import { chainStatuses } from '../../app/operator/status.ts';
import { readAgain, rescannedPart } from '../../app/recovery/rescan.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import type { SourceServer } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import { MS_PER_SECOND } from '../../domain/time.ts';
import type { Context } from './context.ts';

export const SOURCE_METHODS = { 'source.list': listSources, 'source.rescan': rescan };

function listSources({ app }: Context): Result<'source.list'> {
  const sources = chainStatuses(app).map((chain) => {
    const runtime = app.chains.find(`${chain.network}:${chain.chain}`);
    const servers = runtime?.adapter.servers?.() ?? [];
    const done = runtime ? rescannedPart(app, runtime) : null;
    return {
      network: chain.network,
      chain: chain.chain,
      source: chain.source,
      tip: chain.tip,
      tip_age_seconds: chain.tipAgeMs === null ? null : Math.floor(chain.tipAgeMs / MS_PER_SECOND),
      lagging: chain.lagging,
      error: chain.error,
      withheld: chain.withheld,
      unchecked: chain.unchecked,
      rescan_percent: done === null ? null : Math.floor(100 * done),
      agreeing:
        servers.length === 0 ? null : servers.filter(({ state, behind }) => state === 'ready' && behind === 0).length,
      servers: servers.map(serverJson),
    };
  });
  return { sources };
}

const serverJson = ({ latencyMs, ...rest }: SourceServer) => ({ ...rest, latency_ms: latencyMs });

async function rescan({ app }: Context, { network, chain }: Parsed<'source.rescan'>): Promise<Result<'source.rescan'>> {
  const runtime = app.chains.find(`${network}:${chain}`);
  if (!runtime || runtime.dormant)
    throw new Rejected('source.unknown', `${chain} is not connected on ${network}`, 'chain');
  if (runtime.adapter.rescan) runtime.adapter.rescan();
  else {
    await app.store.write((tx) => {
      readAgain(app, tx, runtime);
      reviewAll(tx, runtime.key);
    });
  }
  return { begun: true };
}
