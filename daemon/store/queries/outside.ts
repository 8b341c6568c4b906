/** Statements about transactions that are signed in another wallet. */
import { sqlite, statement } from '../statement.ts';
import type { VersionRow } from './withdrawals.ts';

/** Names a version that is handed out by the id that its transaction will have, as far as that is known. */
export const nameVersion = statement((p: { id: number; txid: string }) =>
  sqlite.updateTable('spend_version').set({ txid: p.txid }).where('id', '=', p.id).where('txid', 'is', null),
);

/** Stores what another wallet signed. `raw` null: the chain shows it, and its signatures are not known. */
export const storeOutside = statement(
  (p: Pick<VersionRow, 'id' | 'raw' | 'size'> & { txid: string; signed_at: number }) =>
    sqlite
      .updateTable('spend_version')
      .set({ txid: p.txid, raw: p.raw, size: p.size, signed_at: p.signed_at, problem: null })
      .where('id', '=', p.id),
);
