/**
 * Sends stored bytes. Idempotent and at least once: a version is sent until the chain shows it, or shows another
 * version in a block. Bytes are always stored before they are sent.
 */

import { Rejected } from '../../domain/errors.ts';
import { decideSpend } from '../../domain/spend-state.ts';
import { openSpends, type VersionRow } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { deadline } from '../deadline.ts';
import { spendFacts } from './facts.ts';
import { noteRefusal, noteSent } from './refusals.ts';
import { renew } from './renew.ts';
import { allows, applyEvent, paidBy } from './rows.ts';

const BROADCAST_TIMEOUT_MS = 30_000;

/** The version of every open spend that is to be sent now. */
export function unseenVersions(reader: Reader, chain: ChainRuntime): VersionRow[] {
  const tipHeight = tipHeightOf(reader, chain);
  return reader.all(openSpends, { chain_key: chain.key }).flatMap((spend) => {
    const { versions, facts } = spendFacts(reader, chain, spend, tipHeight);
    const { send } = decideSpend(facts);
    return send === null ? [] : [versions[send]!.version];
  });
}

/** Sends a version and records the result. Throws `Unavailable` if the result is unknown. */
export async function send(app: App, chain: ChainRuntime, version: VersionRow): Promise<void> {
  if (version.raw === null) throw new Error(`assertion failed: version ${version.id} is signed`);
  try {
    await chain.spending.broadcast(version.raw, deadline(BROADCAST_TIMEOUT_MS, chain.key));
  } catch (error) {
    if (!(error instanceof Rejected)) {
      // a node may have it
      chain.endRefusal(version.id);
      throw error;
    }
    chain.noteRefusal(version.id);
    const isKnown = chain.isRefusalKnown(version.id);
    await app.store.write((tx) => noteRefusal(app, tx, version, error.message, isKnown));
    if (!isKnown) app.wake.chain(chain.key);
    else if (error.code !== 'broadcast.disputed') await renew(app, chain, version);
    return;
  }
  chain.endRefusal(version.id);
  await app.store.write((tx) => recordSent(app, tx, version));
  app.wake.chain(chain.key);
}

function recordSent(app: App, tx: Tx, version: VersionRow): void {
  noteSent(app, tx, version);
  for (const row of paidBy(tx, version)) {
    if (allows(row, 'send')) applyEvent(app, tx, row, 'send');
  }
}
