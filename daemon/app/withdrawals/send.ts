/**
 * Sends stored bytes. Idempotent and at least once: a version is sent until the chain shows it, or shows another
 * version in a block. Bytes are always stored before they are sent.
 */

import { Rejected } from '../../domain/errors.ts';
import { decideSpend } from '../../domain/spend-state.ts';
import { stepWithdrawal } from '../../domain/withdrawal.ts';
import { openSpends, type VersionRow, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { deadline } from '../deadline.ts';
import { spendFacts } from './facts.ts';
import { isRefusalKnown, noteRefusal, noteSent } from './refusals.ts';
import { renew } from './renew.ts';
import { applyEvent, stateOf } from './rows.ts';
import { paidBy } from './sign.ts';

const BROADCAST_TIMEOUT_MS = 30_000;
/** The maximum number of versions whose refusal is remembered. */
const REFUSALS_MAX = 10_000;

/** The unsigned versions of open spends. */
export function unsignedVersions(reader: Reader, chain: ChainRuntime): VersionRow[] {
  return openVersions(reader, chain).flatMap((versions) => versions.filter(({ txid }) => txid === null));
}

/** The version of every open spend that is to be sent now. */
export function unseenVersions(reader: Reader, chain: ChainRuntime): VersionRow[] {
  const tipHeight = tipHeightOf(reader, chain);
  return reader.all(openSpends, { chain_key: chain.key }).flatMap((spend) => {
    const { versions, facts } = spendFacts(reader, chain, spend, tipHeight);
    const { send } = decideSpend(facts);
    return send === null ? [] : [versions[send]!.version];
  });
}

function openVersions(reader: Reader, chain: ChainRuntime): VersionRow[][] {
  return reader.all(openSpends, { chain_key: chain.key }).map(({ id }) => reader.all(versionsOf, { spend_id: id }));
}

/** Sends a version and records the result. Throws `Unavailable` if the result is unknown. */
export async function send(app: App, chain: ChainRuntime, version: VersionRow): Promise<void> {
  if (version.raw === null) throw new Error(`assertion failed: version ${version.id} is signed`);
  try {
    await chain.spending.broadcast(version.raw, deadline(BROADCAST_TIMEOUT_MS, chain.key));
  } catch (error) {
    if (!(error instanceof Rejected)) {
      // a node may have it
      chain.refusals.delete(version.id);
      throw error;
    }
    const isKnown = isStillUnseen(chain, version);
    await app.store.write((tx) => noteRefusal(app, tx, version, error.message, isKnown));
    if (!isKnown) app.wake.chain(chain.key);
    else if (error.code !== 'broadcast.disputed') await renew(app, chain, version);
    return;
  }
  chain.refusals.delete(version.id);
  await app.store.write((tx) => recordSent(app, tx, version));
  app.wake.chain(chain.key);
}

function isStillUnseen(chain: ChainRuntime, { id }: VersionRow): boolean {
  const { refusals, syncs } = chain;
  if (refusals.has(id)) return isRefusalKnown(chain, id);
  if (refusals.size >= REFUSALS_MAX) refusals.clear();
  refusals.set(id, syncs);
  return false;
}

function recordSent(app: App, tx: Tx, version: VersionRow): void {
  noteSent(app, tx, version);
  for (const row of paidBy(tx, version)) {
    if (stepWithdrawal(stateOf(row), 'send')) applyEvent(app, tx, row, 'send');
  }
}
