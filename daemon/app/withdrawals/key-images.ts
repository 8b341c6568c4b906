/**
 * Learns the key images of coins. On some chains only key images show that a coin was spent, and only the signer can
 * compute them. So a spend by another copy of the words is seen from then on. If the wallet was locked meanwhile, or
 * was restored, the blocks since the coin came are searched for it.
 */
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { accountsOfChain } from '../../store/queries/businesses.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import { coinsWithoutImage, saveKeyImage, setSearched, unsearchedFrom } from '../../store/queries/key-images.ts';
import { previousTx } from '../../store/queries/previous.ts';
import type { Tx } from '../../store/store.ts';
import type { ImagesRequest } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { deadline } from '../deadline.ts';
import { spendingOf } from './fees.ts';

const COINS_PER_REQUEST = 200;
const PREVIOUS_TIMEOUT_MS = 20_000;

/** When the search of each chain began; a search that was not finished begins again after a restart. */
const searches = new WeakMap<ChainRuntime, number>();

/** Stores key images of coins in blocks. Those of unconfirmed coins are learned later. */
export function keepKeyImages(app: App, tx: Tx, chain_key: string, images: Readonly<Record<string, string>>): void {
  for (const [outpoint, key_image] of Object.entries(images)) {
    const from_height = tx.get(creditByOutpoint, { outpoint, chain_key })?.block_height ?? null;
    if (from_height === null) continue;
    tx.run(saveKeyImage, { key_image, chain_key, outpoint, from_height, learned_at: app.now(), searched: false });
  }
}

/** One step. Returns whether more remain, because new coins may have come. */
export async function learnKeyImages(app: App, chain: ChainRuntime): Promise<boolean> {
  const search = chain.adapter.spendSearch;
  if (!search || chain.adapter.network === 'sandbox') return false;
  await searchOn(app, chain, search);
  const accounts = app.store.all(accountsOfChain, { chain_key: chain.key });
  for (const { id } of accounts) {
    const rows = app.store.all(coinsWithoutImage, {
      account_id: id,
      asset: spendingOf(chain).feeAsset,
      limit: COINS_PER_REQUEST,
    });
    if (rows.length === 0) continue;
    if ((await app.signer.status()).state !== 'unlocked') break;
    try {
      const images = await app.signer.keyImages(await requestOf(app, chain, id, rows));
      await app.store.write((tx) => keepKeyImages(app, tx, chain.key, images));
    } catch (error) {
      if (!(error instanceof Unavailable || error instanceof Rejected)) throw error;
      break;
    }
  }
  return true;
}

type Search = NonNullable<ChainRuntime['adapter']['spendSearch']>;

/** Begins a search, or notes the end of one. */
async function searchOn(app: App, chain: ChainRuntime, search: Search): Promise<void> {
  const begun = searches.get(chain);
  if (begun !== undefined) {
    if (search.isRunning) return;
    searches.delete(chain);
    await app.store.write((tx) => tx.run(setSearched, { chain_key: chain.key, until: begun }));
  }
  const from = app.store.get(unsearchedFrom, { chain_key: chain.key });
  if (!from) return;
  searches.set(chain, app.now());
  search.begin(from.from_height);
  app.wake.chain(chain.key);
}

type Wanted = { outpoint: string; units: bigint; branch: number; idx: number };

async function requestOf(
  app: App,
  chain: ChainRuntime,
  accountId: number,
  rows: readonly Wanted[],
): Promise<ImagesRequest> {
  const { network, accountNo } = app.directory.business(app.directory.businessOfAccount(accountId));
  const outputs: ImagesRequest['outputs'] = [];
  for (const { outpoint, units, branch, idx: index } of rows) {
    const txid = outpoint.slice(0, outpoint.indexOf(':'));
    const kept = app.store.get(previousTx, { txid, chain_key: chain.key })?.base;
    const previous = kept
      ? Buffer.from(kept).toString('hex')
      : await spendingOf(chain).transaction(txid, null, deadline(PREVIOUS_TIMEOUT_MS, chain.key));
    outputs.push({ outpoint, units, branch: branch === 1 ? 1 : 0, index, previous });
  }
  return { network, accountNo, outputs };
}
