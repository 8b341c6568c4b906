/**
 * Sends stored bytes. Idempotent and at least once: a version is sent until the chain shows it, or shows another
 * version in a block. Bytes are always stored before they are sent.
 */

import { Rejected } from '../../domain/errors.ts';
import { decideSpend } from '../../domain/spend-state.ts';
import { paidBy, type SpendRow, type VersionRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { unsettledFacts } from './facts.ts';
import { noteRefusal, noteSent } from './refusals.ts';
import { allows, applyEvent } from './rows.ts';
import { ownOf } from './sign.ts';

const BROADCAST_TIMEOUT_MS = 30_000;

/** A signed version that no block and no mempool shows, and its spend. */
export type Unseen = { spend: SpendRow; version: VersionRow };

/** The version of every open spend that is to be sent now. */
export function unseenVersions(reader: Reader, chain: ChainRuntime): Unseen[] {
  const found: Unseen[] = [];
  for (const { spend, signed, facts } of unsettledFacts(reader, chain)) {
    const { send } = decideSpend(facts);
    if (spend.state === 'open' && send !== null) found.push({ spend, version: signed[send]!.version });
  }
  return found;
}

/**
 * Sends a version and records the result. Returns whether every node refuses it, in no block and for a reason that another signature may
 * end. Throws `Unavailable` if the result is unknown.
 */
export async function send(app: App, chain: ChainRuntime, { spend, version }: Unseen): Promise<boolean> {
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
    return isKnown && error.code !== 'broadcast.disputed';
  }
  chain.endRefusal(version.id);
  await app.store.write((tx) => {
    noteSent(app, tx, version);
    const paid = tx.all(paidBy, { version_id: version.id });
    for (const row of paid.filter((one) => allows(one, 'send'))) applyEvent(app, tx, row, 'send');
  });
  app.wake.chain(chain.key);
  return false;
}
