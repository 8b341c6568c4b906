/**
 * Learns the key images of coins. On some chains only key images show that a coin was spent, and only the signer can
 * compute them. So a spend by another copy of the words is seen from then on. If the wallet was locked meanwhile, or
 * was restored, the blocks since the coin came are searched for it.
 */
import { isWatchOnly, type Searched } from '../../domain/chain.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { accountsOfChain } from '../../store/queries/businesses.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import {
  coinOfKeyImage,
  coinsWithoutImage,
  dropKeyImages,
  saveKeyImage,
  setSearched,
  unsearched,
} from '../../store/queries/key-images.ts';
import { previousTx } from '../../store/queries/previous.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { ImagesRequest } from '../../wallet/signer/port.ts';
import { areSkippedWatched } from '../addresses/skipped.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { endUnknownSpends } from '../recovery/unknown-spends.ts';

/** Stands for the key image of a coin that was asked for and has none of its own. */
const NO_IMAGE = 'none:';
/** Above every text that begins with NO_IMAGE. */
const NO_IMAGE_END = 'none;';
const COINS_PER_REQUEST = 200;
const PREVIOUS_TIMEOUT_MS = 20_000;

/** Chains whose unknown coins are asked for again: once at each start, because another wallet may be open. */
const askedAgain = new WeakSet<ChainRuntime>();

/** Stores key images of coins in blocks. Those of unconfirmed coins are learned later. */
export function keepKeyImages(app: App, tx: Tx, chain_key: string, images: Readonly<Record<string, string>>): void {
  // later than all before, so that a search knows which ones it was for, whatever the clock says
  const { newest = null } = tx.get(unsearched, { chain_key }) ?? {};
  const learned_at = Math.max(app.now(), (newest ?? 0) + 1);
  for (const [outpoint, key_image] of Object.entries(images)) {
    const from_height = tx.get(creditByOutpoint, { outpoint, chain_key })?.block_height ?? null;
    if (from_height === null) continue;
    dropOfOther(tx, chain_key, key_image);
    tx.run(saveKeyImage, { key_image, chain_key, outpoint, from_height, learned_at, searched: false });
  }
}

/** Takes a key image from a coin that does not count: another one with its key is in a block, and is what the image spends. */
function dropOfOther(tx: Tx, chain_key: string, key_image: string): void {
  if (isOfCounted(tx, chain_key, key_image)) return;
  tx.run(dropKeyImages, { from: key_image, to: `${key_image};`, chain_key });
}

/** Whether a key image is kept for a coin that counts. Another one with its key may count instead of it. */
export function isOfCounted(reader: Reader, chain_key: string, key_image: string): boolean {
  const { outpoint } = reader.get(coinOfKeyImage, { key_image, chain_key }) ?? {};
  const owner = outpoint === undefined ? undefined : reader.get(creditByOutpoint, { outpoint, chain_key });
  // one whose block left the chain may be gone, and its row as well
  return owner !== undefined && !owner.locked && !owner.gone && owner.block_height !== null;
}

/** Notes coins without a key image of their own: the wallet does not know them, or another coin has the same one. */
function keepNone(
  app: App,
  tx: Tx,
  chain_key: string,
  coins: readonly CoinPlace[],
  images: Readonly<Record<string, string>>,
): void {
  for (const { outpoint } of coins) {
    const image = images[outpoint];
    const owner = image === undefined ? undefined : tx.get(coinOfKeyImage, { key_image: image, chain_key })?.outpoint;
    if (image !== undefined && (owner === undefined || owner === outpoint)) continue;
    const none = { chain_key, outpoint, from_height: 0, learned_at: app.now(), searched: true };
    tx.run(saveKeyImage, { ...none, key_image: `${NO_IMAGE}${outpoint}` });
  }
}

/** Notes how far blocks were searched for key images, in the transaction that stores the spends that were found. */
export function noteSearched(app: App, tx: Tx, chain_key: string, { to, newest, isWhole }: Searched): void {
  const below = isWhole ? Number.MAX_SAFE_INTEGER : to + 1;
  tx.run(setSearched, { chain_key, newest, below, next: to + 1, searched: isWhole });
  if (isWhole) tx.afterCommit(() => app.wake.withdrawals(chain_key));
}

/** One step. Returns whether more remain, because new coins may have come. */
export async function learnKeyImages(app: App, chain: ChainRuntime): Promise<boolean> {
  if (!chain.adapter.keyImages) return false;
  if (!askedAgain.has(chain)) {
    const range = { from: NO_IMAGE, to: NO_IMAGE_END, chain_key: chain.key };
    await app.store.write((tx) => tx.run(dropKeyImages, range));
  }
  askedAgain.add(chain);
  for (const { id, rescan, key } of app.store.all(accountsOfChain, { chain_key: chain.key })) {
    // the signer has no key of it
    if (isWatchOnly(key)) continue;
    // while a past is read, each new coin would begin another search of all blocks since
    if (rescan !== null) continue;
    const rows = withoutImage(app.store, chain, id, COINS_PER_REQUEST);
    if (rows.length === 0) continue;
    if ((await app.signer.status()).state !== 'unlocked') break;
    try {
      const images = await app.signer.keyImages(await requestOf(app, chain, id, rows));
      await app.store.write((tx) => {
        keepKeyImages(app, tx, chain.key, images);
        keepNone(app, tx, chain.key, rows, images);
        tx.afterCommit(() => {
          app.wake.chain(chain.key);
          app.wake.withdrawals(chain.key);
        });
      });
    } catch (error) {
      if (!(error instanceof Unavailable || error instanceof Rejected)) throw error;
      break;
    }
  }
  if (chain.isCurrent && areSkippedWatched(app)) await app.store.write((tx) => endUnknownSpends(tx, chain.key));
  return true;
}

/** Coins of an account in blocks whose key images are not known. */
const withoutImage = (reader: Reader, chain: ChainRuntime, account_id: number, limit: number) =>
  reader.all(coinsWithoutImage, { account_id, asset: chain.spending.feeAsset, limit });

type CoinPlace = { outpoint: string; units: bigint; branch: number; idx: number };

async function requestOf(
  app: App,
  chain: ChainRuntime,
  accountId: number,
  rows: readonly CoinPlace[],
): Promise<ImagesRequest> {
  const { network, accountNo } = app.directory.business(app.directory.businessOfAccount(accountId));
  const outputs: ImagesRequest['outputs'] = [];
  for (const { outpoint, units, branch, idx: index } of rows) {
    const txid = outpoint.slice(0, outpoint.indexOf(':'));
    const kept = app.store.get(previousTx, { txid, chain_key: chain.key })?.base;
    const previous = kept
      ? Buffer.from(kept).toString('hex')
      : await chain.spending.transaction(txid, null, chain.limit(PREVIOUS_TIMEOUT_MS));
    outputs.push({ outpoint, units, branch: branch === 1 ? 1 : 0, index, previous });
  }
  return { network, accountNo, outputs };
}
