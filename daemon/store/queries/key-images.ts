/** Statements about key images: see `app/withdrawals/key-images.ts`. */
import type { AssetId } from '../../domain/assets.ts';
import { columnsBut, insert, matching, NO, sqlite, statement } from '../statement.ts';

export const saveKeyImage = insert('key_image', columnsBut('key_image'), 'ignore');

export const coinOfKeyImage = matching('key_image', ['key_image', 'chain_key'], {}, ['outpoint']);

export const dropKeyImages = statement((p: { from: string; to: string; chain_key: string }) =>
  sqlite
    .deleteFrom('key_image')
    .where('key_image', '>=', p.from)
    .where('key_image', '<', p.to)
    .where('chain_key', '=', p.chain_key),
);

/** Unspent coins of an account in blocks whose key images are not known. */
export const coinsWithoutImage = statement((p: { account_id: number; asset: AssetId; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .leftJoin('key_image', (on) =>
      on.onRef('key_image.outpoint', '=', 'credit.outpoint').onRef('key_image.chain_key', '=', 'credit.chain_key'),
    )
    .select(['credit.outpoint', 'credit.units', 'credit.block_height', 'target.branch', 'target.idx'])
    .where('credit.account_id', '=', p.account_id)
    .where('credit.asset', '=', p.asset)
    .where('credit.spent_txid', 'is', null)
    .where('credit.gone', '=', NO)
    .where('credit.locked', '=', NO)
    .where('credit.block_height', 'is not', null)
    .where('key_image.outpoint', 'is', null)
    .limit(p.limit),
);

/** The lowest block from which key images are to be searched, and when the newest of them was learned. */
export const unsearched = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('key_image')
    .select((eb) => [
      eb.fn.min<number | null>('from_height').as('from_height'),
      eb.fn.max<number | null>('learned_at').as('newest'),
    ])
    .where('chain_key', '=', p.chain_key)
    .where('searched', '=', NO),
);

/**
 * Notes a search, for the key images that were learned by `newest` and are to be searched from `below` at the latest. `next`: the
 * first block that was not searched. `searched`: none is left.
 */
export const setSearched = statement(
  (p: { chain_key: string; newest: number; below: number; next: number; searched: boolean }) =>
    sqlite
      .updateTable('key_image')
      .set((eb) => ({ searched: p.searched, from_height: eb.fn<number>('max', ['from_height', eb.val(p.next)]) }))
      .where('chain_key', '=', p.chain_key)
      .where('searched', '=', NO)
      .where('learned_at', '<=', p.newest)
      .where('from_height', '<=', p.below),
);
