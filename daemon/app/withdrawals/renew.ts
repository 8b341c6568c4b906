/**
 * Has a payment signed anew that every node refuses, where another signature may be taken: a node told a false ring when it was
 * signed, or a deep reorganisation changed what the ring was made of.
 *
 * Invariant: it is another version of the same spend, with the same keys and within the approved fee. So nobody has to approve it,
 * and at most one of them confirms.
 */
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { type SpendRow, type VersionRow, versionsOf, withdrawalsOfSpend } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { feeRateNow } from './fees.ts';
import { replace } from './replace.ts';
import { paidBy } from './rows.ts';

/** Each ring tells more about which of its members is ours, so the operator decides about further ones. */
const RENEWALS_MAX = 2;
/** Between one and the next, because a node that lies may do so for a while. */
const RENEW_AFTER_MS = 3_600_000;

/** `version`: the newest one of its spend, whose refusal is known. It stays as it is if nothing better can be planned. */
export async function renew(app: App, chain: ChainRuntime, spend: SpendRow, version: VersionRow): Promise<void> {
  if (!chain.spending.signsAnew) return;
  const { id: spend_id, purpose } = spend;
  const versions = app.store.all(versionsOf, { spend_id });
  if (purpose !== 'pay' || versions.length > RENEWALS_MAX || versions.at(-1)?.id !== version.id) return;
  if (versions.length > 1 && app.now() - (version.signed_at ?? 0) < RENEW_AFTER_MS) return;
  const row = paidBy(app.store, version)[0] ?? app.store.all(withdrawalsOfSpend, { spend_id })[0];
  if (!row) return;
  try {
    const feeRate = await feeRateNow(chain, row.speed);
    await replace(app, row, { kind: 'speed-up', feeRate }, new Map());
  } catch (error) {
    if (!(error instanceof Rejected) && !(error instanceof Unavailable)) throw error;
    app.log.warn({ withdrawal: row.id, error }, 'a refused payment could not be signed anew');
  }
}
