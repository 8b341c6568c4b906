/** Has payments signed anew that every node refuses, where another signature may be taken. */
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { paidBy, versionsOf, withdrawalsOfSpend } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { feeRateNow } from '../spends/fees.ts';
import type { Unseen } from '../spends/send.ts';
import { ownOf } from '../spends/sign.ts';
import { replace } from './replace.ts';

/** Each ring tells more about which of its members is ours, so the operator decides about further ones. */
const RENEWALS_MAX = 2;
/** Between one and the next, because a node that lies may do so for a while. */
const RENEW_AFTER_MS = 3_600_000;

/**
 * Has a refused payment signed anew: a node told a false ring when it was signed, or a deep reorganisation changed what the ring was made
 * of. It is another version of the same spend, with the same keys and
 * within the approved fee. So nobody has to approve it, and at most one of them confirms. It stays as it is if nothing better can be
 * planned.
 */
export async function renew(app: App, chain: ChainRuntime, { spend, version }: Unseen): Promise<void> {
  // the wallet, which was restored, signs what takes coins back only as the operator approves it
  if (!chain.spending.signsAnew || ownOf(version)) return;
  const { id: spend_id, purpose } = spend;
  const versions = app.store.all(versionsOf, { spend_id });
  if (purpose !== 'pay' || versions.length > RENEWALS_MAX || versions.at(-1)?.id !== version.id) return;
  // one of a time to come was signed while the clock was ahead
  if (versions.length > 1 && Math.abs(app.now() - (version.signed_at ?? 0)) < RENEW_AFTER_MS) return;
  const row =
    app.store.all(paidBy, { version_id: version.id })[0] ?? app.store.all(withdrawalsOfSpend, { spend_id })[0];
  if (!row) return;
  try {
    const feeRate = await feeRateNow(chain, row.speed);
    await replace(app, row, { kind: 'speed-up', feeRate }, new Map());
  } catch (error) {
    if (!(error instanceof Rejected) && !(error instanceof Unavailable)) throw error;
    app.log.warn({ withdrawal: row.id, error }, 'a refused payment could not be signed anew');
  }
}
