/**
 * How far a search for used accounts has come, stored now and then, so that the same search continues after an
 * interruption. It holds no keys: the search that it belongs to is named by a hash.
 */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CHAINS } from '../../domain/assets.ts';
import type { Branch } from '../../domain/chain.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { App } from '../app.ts';
import type { DiscoveryRequest } from './account-discovery.ts';

const SETTING = 'discovery';
/** After this time a search begins anew. */
const KEPT_MS = 7 * MS_PER_DAY;

const ChainRecord = z.object({
  /** The ranges of addresses in the order in which they were listed: account, branch, first index, index after the last one. */
  listed: z.array(z.tuple([z.int(), z.union([z.literal(0), z.literal(1)]), z.int(), z.int()])),
  /** In the order of accounts and branches: the highest used index, and how far this reading of the blocks is complete. */
  rows: z.array(z.object({ used: z.int(), ready: z.int() })),
  /** The last block that was read; null where addresses are asked for. */
  checkpoint: z.array(z.object({ height: z.int(), hash: z.string() })).nullable(),
  /** The listed addresses that were asked for. */
  asked: z.int(),
});
export type ChainRecord = z.infer<typeof ChainRecord>;
export type ListedRange = [account: number, branch: Branch, from: number, to: number];

const SearchRecord = z.object({
  search: z.string(),
  /** Of how many accounts it is. */
  accounts: z.int(),
  at: z.number(),
  chains: z.partialRecord(z.enum(CHAINS), ChainRecord),
});
export type SearchRecord = z.infer<typeof SearchRecord>['chains'];

/** Where a search keeps how far it has come. */
export type SearchMemory = {
  /** Of the same search, or of one over the first of the same accounts; null: there is none, or an old one. */
  read(): SearchRecord | null;
  write(chains: SearchRecord): Promise<void>;
};

const accountsOf = ({ accounts }: DiscoveryRequest): number =>
  Math.max(0, ...Object.values(accounts).map(({ length }) => length));

/** The same for two requests that search the same in the first accounts. */
export function searchOf(request: DiscoveryRequest, accounts = accountsOf(request)): string {
  const first = Object.entries(request.accounts).map(([chain, keys]) => [chain, keys.slice(0, accounts)]);
  const text = JSON.stringify({ ...request, accounts: Object.fromEntries(first) });
  return createHash('sha256').update(text).digest('hex');
}

function storedRecord({ store, now }: App): z.infer<typeof SearchRecord> | null {
  const row = store.get(settingOf, { key: SETTING });
  const stored = row ? SearchRecord.safeParse(JSON.parse(row.value)).data : undefined;
  return stored && Math.abs(now() - stored.at) <= KEPT_MS ? stored : null;
}

/** Of how many accounts the search is that can be continued; 0: none. */
export const accountsSearched = (app: App): number => storedRecord(app)?.accounts ?? 0;

export function storedSearch(app: App, request: DiscoveryRequest): SearchMemory {
  const [search, accounts] = [searchOf(request), accountsOf(request)];
  return {
    read() {
      const stored = storedRecord(app);
      if (!stored || stored.accounts > accounts) return null;
      return stored.search === searchOf(request, stored.accounts) ? stored.chains : null;
    },
    async write(chains) {
      const now = app.now();
      const value = JSON.stringify({ search, accounts, at: now, chains });
      await app.store.write((tx) => tx.run(saveSetting, { key: SETTING, value, updated_at: now }));
    },
  };
}
