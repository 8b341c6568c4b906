/** The corrections of the books. See `schema.ts` for the other tables. */
import type { AssetId } from '../domain/assets.ts';
import { int, made, maybe, only, text, time, units } from './columns.ts';

export const CORRECTION_TABLES = {
  /** A change of an account chain's entries that no block made. */
  correction: {
    id: made(int),
    chain_key: text,
    at: time,
    /** 'denied': an entry was taken out or changed. 'adopted': the books took the chain's balance over. */
    kind: text,
    account_id: int,
    target_id: int,
    asset: only<AssetId>(),
    /** The units that the address gains by it; below 0: loses. */
    units,
    /** The entry's `ref` or `outpoint`. */
    ref: text,
    /** The height of the entry's block. */
    block_height: maybe(int),
  },
};
