/**
 * Takes the key images that the wallet with the spend key of a view-only account exported. The blocks since each coin came are then
 * searched for them, as for those that this service's own signer computes.
 *
 * Invariant: an image is kept for a coin only if that coin's one-time key has signed it.
 */

import { inTurns, slices } from '../../chains/slices.ts';
import { type AccountKey, isWatchOnly } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import type { ImagesPart } from '../../domain/key-images.ts';
import { readKept } from '../../monero/kept.ts';
import {
  isImageOf,
  type OneTimeKey,
  oneTimeKey,
  readSignedImage,
  SIGNED_IMAGE_BYTES,
  type SignedImage,
} from '../../monero/key-image.ts';
import { HEAD_BYTES, keysInHead, openPart } from '../../monero/key-image-file.ts';
import { slowHash } from '../../monero/slow-hash/slow-hash.ts';
import { coinOfKeyImage, coinsWithoutImage } from '../../store/queries/key-images.ts';
import { previousTx } from '../../store/queries/previous.ts';
import type { App } from '../app.ts';
import { balances } from '../books/balance.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import type { Account, Business } from '../shops/directory.ts';
import { isOfCounted, keepKeyImages } from '../spends/key-images.ts';

/** `unproven`: smallest units that may have been spent still. */
export type ImportedImages = { learned: number; known: number; unmatched: number; unproven: bigint };

/** Coins that are compared with a part. */
const COINS_MAX = 20_000;
/** Both lists are in the order of the chain, so that an image is that of one of the next coins. */
const NEXT_COINS = 16;
/** Comparisons beyond that, of images that none of the next coins has; each takes about a millisecond. */
const COMPARED_MAX = 1_000;
const PREVIOUS_TIMEOUT_MS = 20_000;
const TXID_CHARS = 64;

/** One part. Throws `Rejected`: `key_images.account` (no view-only account), `.other` (of another wallet), `.damaged`. */
export async function importImages(app: App, business: Business, part: ImagesPart): Promise<ImportedImages> {
  const account = app.directory.account(business, 'XMR');
  const chain = account && app.chains.find(account.chainKey);
  if (!account || !isWatchOnly(account.key) || !chain) {
    throw new Rejected(
      'key_images.account',
      `${business.name} has no connected view-only account of Monero`,
      'business',
    );
  }
  const entries = 'signed' in part ? part.signed.map(entryOf) : await opened(account.key, part.sealed);
  const fresh: SignedImage[] = [];
  let [known, unmatched] = [0, 0];
  for (const entry of entries) {
    const image = readSignedImage(entry);
    if (!image) unmatched++;
    else if (isOfCounted(app.store, chain.key, hexOf(image.image))) known++;
    else fresh.push(image);
  }
  const found = await matched(fresh, new Coins(app, chain, account));
  const learned = new Set(found.values());
  const left = fresh.map(({ image }) => hexOf(image)).filter((key_image) => !learned.has(key_image));
  // kept for a coin that is gone, or locked, while no other one has its key
  const held = left.filter((key_image) => app.store.get(coinOfKeyImage, { key_image, chain_key: chain.key }));
  known += held.length;
  unmatched += left.length - held.length;
  await app.store.write((tx) => {
    keepKeyImages(app, tx, chain.key, Object.fromEntries(found));
    tx.afterCommit(() => app.wake.chain(chain.key));
  });
  const unproven = balances(app, business).find(({ asset }) => asset.symbol === 'XMR')?.unproven ?? 0n;
  return { learned: found.size, known, unmatched, unproven };
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const entryOf = (one: { key_image: string; signature: string }): Uint8Array =>
  Buffer.from(`${one.key_image}${one.signature}`, 'hex');

/** The key of an account's files takes a second, and each part needs it. */
const fileKeys = new WeakMap<AccountKey, Uint8Array>();

async function opened(
  account: AccountKey,
  { nonce, at, bytes }: Extract<ImagesPart, { sealed: unknown }>['sealed'],
): Promise<Uint8Array[]> {
  if (account.kind !== 'monero') return [];
  const { privateViewKey, publicSpendKey } = account;
  const key = fileKeys.get(account) ?? (await inTurns(slowHash(Buffer.from(privateViewKey, 'hex')), slices()));
  fileKeys.set(account, key);
  const sealed = { nonce: Buffer.from(nonce, 'hex'), at, bytes: Buffer.from(bytes, 'base64') };
  const list = openPart(sealed, key);
  const from = at === 0 ? HEAD_BYTES : 0;
  if (at === 0 && hexOf(keysInHead(list)).slice(0, publicSpendKey.length) !== publicSpendKey) {
    throw new Rejected('key_images.other', 'The file is of another wallet, or it was damaged');
  }
  if (list.length < from || (list.length - from) % SIGNED_IMAGE_BYTES !== 0) {
    throw new Rejected('key_images.damaged', 'The file is not whole: export the key images again');
  }
  const count = (list.length - from) / SIGNED_IMAGE_BYTES;
  return Array.from({ length: count }, (_, n) => {
    const begin = from + n * SIGNED_IMAGE_BYTES;
    return list.subarray(begin, begin + SIGNED_IMAGE_BYTES);
  });
}

type CoinPlace = { outpoint: string; block_height: number | null };

/** The coins of an account without a key image, in the order of the chain. Their one-time keys are read when they are needed. */
class Coins {
  readonly #app: App;
  readonly #chain: ChainRuntime;
  readonly #keys = new Map<string, OneTimeKey | null>();
  readonly left: string[];

  constructor(app: App, chain: ChainRuntime, account: Account) {
    this.#app = app;
    this.#chain = chain;
    const rows = app.store.all(coinsWithoutImage, { account_id: account.id, asset: 'XMR', limit: COINS_MAX });
    this.left = rows.toSorted(inOrder).map(({ outpoint }) => outpoint);
  }

  async key(outpoint: string): Promise<OneTimeKey | null> {
    const known = this.#keys.get(outpoint);
    if (known !== undefined) return known;
    const txid = outpoint.slice(0, TXID_CHARS);
    const chain = this.#chain;
    const kept = this.#app.store.get(previousTx, { txid, chain_key: chain.key })?.base;
    const bytes =
      kept ?? Buffer.from(await chain.spending.transaction(txid, null, chain.limit(PREVIOUS_TIMEOUT_MS)), 'hex');
    const { transaction } = readKept(bytes);
    const output = transaction.id === txid ? transaction.outputs[numberOf(outpoint)] : undefined;
    const key = output ? oneTimeKey(output.key) : null;
    this.#keys.set(outpoint, key);
    return key;
  }
}

const numberOf = (outpoint: string): number => Number(outpoint.slice(TXID_CHARS + 1));

const inOrder = (a: CoinPlace, b: CoinPlace): number =>
  (a.block_height ?? 0) - (b.block_height ?? 0) ||
  (a.outpoint.slice(0, TXID_CHARS) === b.outpoint.slice(0, TXID_CHARS)
    ? numberOf(a.outpoint) - numberOf(b.outpoint)
    : a.outpoint < b.outpoint
      ? -1
      : 1);

/** The images by the outpoints of their coins. */
async function matched(images: readonly SignedImage[], coins: Coins): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const pause = slices();
  let compared = 0;
  const find = async (image: SignedImage, count: number): Promise<boolean> => {
    for (const [at, outpoint] of coins.left.slice(0, count).entries()) {
      const key = await coins.key(outpoint);
      compared++;
      const isOwn = key !== null && isImageOf(image, key);
      const wait = pause();
      if (wait) await wait;
      if (!isOwn) continue;
      found.set(outpoint, hexOf(image.image));
      coins.left.splice(at, 1);
      return true;
    }
    return false;
  };
  const others: SignedImage[] = [];
  for (const image of images) if (!(await find(image, NEXT_COINS))) others.push(image);
  compared = 0;
  for (const image of others) {
    if (coins.left.length <= NEXT_COINS || compared >= COMPARED_MAX) break;
    await find(image, COMPARED_MAX);
  }
  return found;
}
