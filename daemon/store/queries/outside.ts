/** Statements about transactions that are signed in another wallet. */
import { update } from '../statement.ts';

/** Names a version that is handed out by the id that its transaction will have, as far as that is known. */
export const nameVersion = update('spend_version', ['txid'], 'id', { txid: null });

/** Stores what another wallet signed. `raw` null: the chain shows it, and its signatures are not known. */
export const storeOutside = update('spend_version', ['txid', 'raw', 'size', 'signed_at', { problem: null }], 'id');
