/**
 * Sending stored bytes. Idempotent and at least once: a version is sent until the chain's own view shows it, or another one
 * in a block, and whatever is sent was stored before.
 */

import { Rejected } from '../../domain/errors.ts';
import { stepWithdrawal } from '../../domain/withdrawal.ts';
import { openSpends, setVersionSent, type VersionRow, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { deadline } from '../deadline.ts';
import { hasDescendant, tipHeightOf } from './coins.ts';
import { versionFacts } from './facts.ts';
import { spendingOf } from './fees.ts';
import { noteRefusal } from './refusals.ts';
import { applyEvent, stateOf } from './rows.ts';
import { seenOf } from './settle.ts';
import { paidBy } from './sign.ts';

const BROADCAST_TIMEOUT_MS = 30_000;
/** Versions whose refusal is remembered. */
const REFUSALS_MAX = 10_000;

/** The versions that nobody has signed yet, of spends that are open. */
export function unsignedVersions(reader: Reader, chain: ChainRuntime): VersionRow[] {
  return openVersions(reader, chain).flatMap((versions) => versions.filter(({ txid }) => txid === null));
}

/**
 * The newest version of every open spend that can be sent and that the chain does not show yet. What a block says is not
 * argued with, and what would push a descendant of ours out of the mempool is not sent.
 */
export function unseenVersions(reader: Reader, chain: ChainRuntime): VersionRow[] {
  const tipHeight = tipHeightOf(reader, chain);
  return reader.all(openSpends, { chain_key: chain.key }).flatMap((spend) => {
    const known = versionFacts(reader, spend, tipHeight);
    const seen = seenOf(known);
    // one that was made before a restore may be known without its signatures
    const newest = known.findLast(({ version, lack }) => version.raw !== null && lack === null);
    if (!newest || newest === seen || (seen?.depth ?? 0) > 0) return [];
    const isFinal = spendingOf(chain).replacement === 'none';
    const kept = seen && (isFinal || hasDescendant(reader, chain, seen.version.txid ?? ''));
    return kept ? [] : [newest.version];
  });
}

function openVersions(reader: Reader, chain: ChainRuntime): VersionRow[][] {
  return reader.all(openSpends, { chain_key: chain.key }).map(({ id }) => reader.all(versionsOf, { spend_id: id }));
}

/** Sends a version and records how that ended. Throws `Unavailable` when it is not known. */
export async function send(app: App, chain: ChainRuntime, version: VersionRow): Promise<void> {
  if (version.raw === null) throw new Error(`assertion failed: version ${version.id} is signed`);
  try {
    await spendingOf(chain).broadcast(version.raw, deadline(BROADCAST_TIMEOUT_MS, chain.key));
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const isKnown = isStillUnseen(chain, version);
    await app.store.write((tx) => noteRefusal(app, tx, version, error.message, isKnown));
    if (!isKnown) app.wake.chain(chain.key);
    return;
  }
  chain.refusals.delete(version.id);
  await app.store.write((tx) => recordSent(app, tx, version));
  app.wake.chain(chain.key);
}

/**
 * Whether a sync that began after the first refusal of a version has ended without showing it: a node also refuses what a
 * block has that is not read here yet.
 */
function isStillUnseen({ refusals, syncs }: ChainRuntime, { id }: VersionRow): boolean {
  const first = refusals.get(id);
  // one may have been under way when it was refused
  if (first !== undefined) return syncs >= first + 2;
  if (refusals.size >= REFUSALS_MAX) refusals.clear();
  refusals.set(id, syncs);
  return false;
}

function recordSent(app: App, tx: Tx, version: VersionRow): void {
  tx.run(setVersionSent, { id: version.id, sent_at: app.now() });
  for (const row of paidBy(tx, version)) {
    if (stepWithdrawal(stateOf(row), 'send')) applyEvent(app, tx, row, 'send');
  }
}
