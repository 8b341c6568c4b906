/**
 * Sends stored bytes. Idempotent and at least once: a version is sent until the chain shows it, or shows another
 * version in a block. Bytes are always stored before they are sent.
 */

import { Rejected, Unavailable } from '../../domain/errors.ts';
import { decideSpend } from '../../domain/spend-state.ts';
import {
  paidBy,
  type SpendRow,
  type VersionRow,
  versionsOf,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { unsettledFacts } from './facts.ts';
import { feeRateNow } from './fees.ts';
import { noteRefusal, noteSent } from './refusals.ts';
import { replace } from './replace.ts';
import { allows, applyEvent } from './rows.ts';
import { ownOf } from './sign.ts';

const BROADCAST_TIMEOUT_MS = 30_000;
/** Each ring tells more about which of its members is ours, so the operator decides about further ones. */
const RENEWALS_MAX = 2;
/** Between one and the next, because a node that lies may do so for a while. */
const RENEW_AFTER_MS = 3_600_000;

/** A signed version that no block and no mempool shows, and its spend. */
type Unseen = { spend: SpendRow; version: VersionRow };

/** The version of every open spend that is to be sent now. */
export function unseenVersions(reader: Reader, chain: ChainRuntime): Unseen[] {
  const found: Unseen[] = [];
  for (const { spend, signed, facts } of unsettledFacts(reader, chain)) {
    const { send } = decideSpend(facts);
    if (spend.state === 'open' && send !== null) found.push({ spend, version: signed[send]!.version });
  }
  return found;
}

/** Sends a version and records the result. Throws `Unavailable` if the result is unknown. */
export async function send(app: App, chain: ChainRuntime, { spend, version }: Unseen): Promise<void> {
  if (version.raw === null) throw new Error(`assertion failed: version ${version.id} is signed`);
  try {
    await chain.spending.broadcast(version.raw, chain.limit(BROADCAST_TIMEOUT_MS));
  } catch (error) {
    if (!(error instanceof Rejected)) {
      // a node may have it
      chain.endRefusal(version.id);
      throw error;
    }
    chain.noteRefusal(version.id);
    const isKnown = chain.isRefusalKnown(version.id);
    const isOwn = ownOf(version) !== null;
    await app.store.write((tx) => noteRefusal(app, tx, { spend, version, isOwn }, error.message, isKnown));
    if (!isKnown) app.wake.chain(chain.key);
    else if (error.code !== 'broadcast.disputed') await renew(app, chain, spend, version);
    return;
  }
  chain.endRefusal(version.id);
  await app.store.write((tx) => {
    noteSent(app, tx, version);
    const paid = tx.all(paidBy, { version_id: version.id });
    for (const row of paid.filter((one) => allows(one, 'send'))) applyEvent(app, tx, row, 'send');
  });
  app.wake.chain(chain.key);
}

/**
 * Has a payment signed anew that every node refuses, where another signature may be taken: a node told a false ring when it was
 * signed, or a deep reorganisation changed what the ring was made of. It is another version of the same spend, with the same keys and
 * within the approved fee. So nobody has to approve it, and at most one of them confirms. It stays as it is if nothing better can be
 * planned.
 */
async function renew(app: App, chain: ChainRuntime, spend: SpendRow, version: VersionRow): Promise<void> {
  // the wallet, which was restored, signs what takes coins back only as the operator approves it
  if (!chain.spending.signsAnew || ownOf(version)) return;
  const { id: spend_id, purpose } = spend;
  const versions = app.store.all(versionsOf, { spend_id });
  if (purpose !== 'pay' || versions.length > RENEWALS_MAX || versions.at(-1)?.id !== version.id) return;
  if (versions.length > 1 && app.now() - (version.signed_at ?? 0) < RENEW_AFTER_MS) return;
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
