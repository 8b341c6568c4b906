/**
 * Sending stored bytes. Idempotent and at least once: a version is sent until the chain's own view shows what spends its
 * anchor, and whatever is sent was stored before.
 */

import { Rejected } from '../../domain/errors.ts';
import { stepWithdrawal } from '../../domain/withdrawal.ts';
import { insertAlert } from '../../store/queries/effects.ts';
import {
  openSpends,
  setVersionProblem,
  setVersionSent,
  type VersionRow,
  versionsOf,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains.ts';
import { deadline } from '../deadline.ts';
import { coinAt } from './coins.ts';
import { spendingOf } from './fees.ts';
import { applyEvent, stateOf } from './rows.ts';
import { paidBy } from './sign.ts';

const BROADCAST_TIMEOUT_MS = 30_000;

/** The versions that nobody has signed yet, of spends that are open. */
export function unsignedVersions(reader: Reader, chain: ChainRuntime): VersionRow[] {
  return openVersions(reader, chain).flatMap((versions) => versions.filter(({ txid }) => txid === null));
}

/** The newest signed version of every open spend that the chain does not show yet. */
export function unseenVersions(reader: Reader, chain: ChainRuntime): VersionRow[] {
  const found: VersionRow[] = [];
  for (const spend of reader.all(openSpends, { chain_key: chain.key })) {
    const versions = reader.all(versionsOf, { spend_id: spend.id });
    const newest = versions.findLast(({ txid }) => txid !== null);
    const coin = coinAt(reader, chain, spend.anchor);
    if (!newest || !coin || coin.spent_txid === newest.txid) continue;
    // one that was made before a restore may be known without its signatures
    const sendable = versions.findLast(({ raw }) => raw !== null);
    // what a block says is not argued with: the mempool of nobody takes it
    if (sendable && coin.spent_in_block === null) found.push(sendable);
  }
  return found;
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
    await app.store.write((tx) => recordRefusal(app, tx, version, error.message));
    return;
  }
  await app.store.write((tx) => recordSent(app, tx, version));
  app.wake.chain(chain.key);
}

function recordSent(app: App, tx: Tx, version: VersionRow): void {
  tx.run(setVersionSent, { id: version.id, sent_at: app.now() });
  for (const row of paidBy(tx, version)) {
    if (stepWithdrawal(stateOf(row), 'send')) applyEvent(app, tx, row, 'send');
  }
}

function recordRefusal(app: App, tx: Tx, version: VersionRow, reason: string): void {
  if (version.problem !== reason) tx.run(setVersionProblem, { id: version.id, problem: reason });
  // a long chain of our own change is taken once its beginning is confirmed
  if (reason.includes('too-long-mempool-chain')) return;
  const ids = paidBy(tx, version)
    .map(({ id }) => id)
    .join(', ');
  tx.run(insertAlert, {
    kind: 'withdrawal.not_sent',
    subject: version.txid ?? `${version.id}`,
    message: `The network's node does not take the transaction of withdrawal ${ids}: ${reason}. It is offered again.`,
    created_at: app.now(),
  });
}
