/**
 * A transaction that this machine signs after another machine of its wallet had: the bytes follow from plan and key (RFC 6979), so that a
 * payment that is asked for again may be the very one that the chain showed before and lost. It is stored once, with what it pays.
 */
import { assert } from '../../domain/errors.ts';
import { UNKNOWN } from '../../domain/spend-state.ts';
import { dropMatched } from '../../store/queries/match.ts';
import {
  dropKeys,
  dropPayouts,
  dropSpend,
  type SpendRow,
  type VersionRow,
  versionByTxid,
  versionsOf,
} from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { bookFee, countChange } from './match-spend.ts';
import { spendOf } from './rows.ts';
import { settleSpends } from './settle.ts';

/** Forgets the version that is the same transaction as one that is signed now. Returns whether there was one. */
export function forgetSame(tx: Tx, { id, spend_id, chain_key }: VersionRow, txid: string): boolean {
  const same = tx.get(versionByTxid, { txid, chain_key });
  if (!same || same.id === id) return false;
  const isFree = same.spend_id === spend_id || spendOf(tx, same.spend_id).purpose === UNKNOWN;
  assert(isFree, `${txid} was signed here for another payment, whose conflict keys are reserved`);
  tx.run(dropKeys, { version_id: same.id });
  tx.run(dropPayouts, { version_id: same.id });
  tx.run(dropMatched, { id: same.id });
  if (tx.all(versionsOf, { spend_id: same.spend_id }).length === 0) tx.run(dropSpend, { id: same.spend_id });
  return true;
}

/** Settles a version of a spend of this purpose that the chain may show already. */
export function settleSame(app: App, tx: Tx, chain: ChainRuntime, txid: string, purpose: SpendRow['purpose']): void {
  if (purpose === 'pay') countChange(tx, chain, txid);
  bookFee(app, tx, chain, txid);
  settleSpends(app, tx, chain, tipHeightOf(tx, chain));
}
