/** Statements about key images: see `app/withdrawals/key-images.ts`. */
import type { AssetId } from '../../domain/assets.ts';
import { columnsBut, insert, NO, sqlite, statement, YES } from '../statement.ts';

export const saveKeyImage = insert('key_image', columnsBut('key_image'), 'ignore');

export const coinOfKeyImage = statement((p: { key_image: string; chain_key: string }) =>
  sqlite
    .selectFrom('key_image')
    .select('outpoint')
    .where('key_image', '=', p.key_image)
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

/** The lowest block from which a key image is to be searched. */
export const unsearchedFrom = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('key_image')
    .select('from_height')
    .where('chain_key', '=', p.chain_key)
    .where('searched', '=', NO)
    .orderBy('from_height')
    .limit(1),
);

/** Marks those as searched that were known when the search began. */
export const setSearched = statement((p: { chain_key: string; until: number }) =>
  sqlite
    .updateTable('key_image')
    .set({ searched: YES })
    .where('chain_key', '=', p.chain_key)
    .where('searched', '=', NO)
    .where('learned_at', '<=', p.until),
);
