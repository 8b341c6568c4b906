/**
 * Stores unknown tokens that were sent to our addresses: a short list for the operator. They have no price and are in
 * no balance. Anybody can make such tokens, so their number is limited.
 */
import type { UnknownTransfer } from '../../domain/chain.ts';
import { targetById } from '../../store/queries/credits.ts';
import {
  addToUnknownToken,
  dropUnknownTokens,
  insertUnknownToken,
  unknownToken,
  unknownTokenAfter,
  unknownTokenBefore,
} from '../../store/queries/unknown-tokens.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Phase } from './ingest.ts';

const PAGE = 32;
const PER_ADDRESS_MAX = 10;
/** The maximum number stored; the oldest are removed. */
const KEPT_MAX = 1_000;
/** The largest stored sum: 2^256 - 1, like the largest amount of a token. */
const UNITS_MAX = 2n ** 256n - 1n;

export function noteUnknownTokens(app: App, chainKey: string, transfers: readonly UnknownTransfer[]): Phase {
  return (tx, at) => {
    const page = transfers.slice(at, at + PAGE);
    for (const transfer of page) note(app, tx, chainKey, transfer);
    const oldest = page.length > 0 && tx.get(unknownTokenBefore, { kept: KEPT_MAX });
    if (oldest) tx.run(dropUnknownTokens, { id: oldest.id });
    return page.length === 0 ? null : { at: at + PAGE };
  };
}

function note(app: App, tx: Tx, chain_key: string, transfer: UnknownTransfer): void {
  const { targetId: target_id, contract, txid, height: block_height, symbol, decimals, units } = transfer;
  if (tx.get(targetById, { id: target_id })?.chain_key !== chain_key) return;
  const now = app.now();
  const known = tx.get(unknownToken, { target_id, contract });
  const last = { txid, block_height, last_seen_at: now };
  if (!known) {
    if (tx.get(unknownTokenAfter, { target_id, above: PER_ADDRESS_MAX - 1 })) return;
    const fields = { chain_key, target_id, contract, symbol, decimals, units, transfers: 1, first_seen_at: now };
    tx.run(insertUnknownToken, { ...fields, ...last });
    tx.afterCommit(() => app.operatorEvents.tell('inbox', contract));
    return;
  }
  // a transfer of a block that was read before, or of the same transaction
  if (known.block_height > block_height || known.txid === txid) return;
  const sum = known.units + units;
  const total = { units: sum > UNITS_MAX ? UNITS_MAX : sum, transfers: known.transfers + 1 };
  tx.run(addToUnknownToken, { id: known.id, ...total, ...last });
}
