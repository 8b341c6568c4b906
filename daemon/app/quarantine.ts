/**
 * A restored appliance may lie behind what really happened: until the operator confirms, it syncs and shows, but does not
 * sign, notify, approve by policy or give out addresses. Meanwhile its addresses jump ahead of every one that may have
 * been given out after the backup was made, and the skipped ones are watched.
 */
import type { Branch, Target } from '../domain/chain.ts';
import { assert, Rejected, Unavailable } from '../domain/errors.ts';
import { insertTarget } from '../store/queries/credits.ts';
import { jumpsOf, stepChange, stepIndex } from '../store/queries/restore.ts';
import { dropSetting, saveSetting, settingOf } from '../store/queries/settings.ts';
import type { Reader, Tx } from '../store/store.ts';
import type { App } from './app.ts';
import type { ChainRuntime } from './chains.ts';
import type { Account } from './directory.ts';

export const QUARANTINE_SETTING = 'quarantine';
/** The record of the last quarantine that ended. */
const RESTORED_SETTING = 'restored';

/**
 * `since`: milliseconds since 1970. `last_withdrawal`: the newest that the backup knew, 0 for none. `heights`: how far it
 * knew each chain.
 */
export type QuarantineRecord = {
  since: number;
  backup_made_at: string;
  last_withdrawal: number;
  heights: Record<string, number>;
};

const RETRY_SECONDS = 300;
/** The invoice id of an address that nobody is given. */
const NOBODY = 0;
const SLICE_MS_MAX = 5;

/** Since when the appliance is quarantined, or null. */
export function quarantineOf(reader: Reader): QuarantineRecord | null {
  const row = reader.get(settingOf, { key: QUARANTINE_SETTING });
  return row ? (JSON.parse(row.value) as QuarantineRecord) : null;
}

/** What the backup knew that this service was restored from, once its quarantine has ended; null where there was none. */
export function restoredFrom(reader: Reader): QuarantineRecord | null {
  const row = reader.get(settingOf, { key: RESTORED_SETTING });
  return row ? (JSON.parse(row.value) as QuarantineRecord) : null;
}

/** Throws `Unavailable` while the appliance is quarantined. `what` was asked for, as in "New payments wait …". */
export function refuseInQuarantine(reader: Reader, what: string): void {
  if (!quarantineOf(reader)) return;
  throw new Unavailable(
    `${what} wait until the operator has confirmed that this restored service takes over`,
    RETRY_SECONDS,
  );
}

type Jump = { branch: Branch; from: number; to: number };

function jumpOf(app: App, account: Account): Jump | null {
  const row = app.store.get(jumpsOf, { account_id: account.id });
  assert(row, `account ${account.id} exists`);
  if (row.jump_to_index !== null && row.next_index < row.jump_to_index) {
    return { branch: 0, from: row.next_index, to: row.jump_to_index };
  }
  if (row.jump_to_change !== null && row.next_change < row.jump_to_change) {
    return { branch: 1, from: row.next_change, to: row.jump_to_change };
  }
  return null;
}

/** Whether every account's addresses are past those that may have been given out. */
export function hasJumped(app: App): boolean {
  return app.directory
    .accounts()
    .every((account) => !app.chains.find(account.chainKey) || jumpOf(app, account) === null);
}

/**
 * Derives and watches the skipped addresses of an account, a few milliseconds at a time, until told to stop. A restart
 * goes on where it was.
 */
export async function jumpAhead(app: App, account: Account, stopped: () => boolean): Promise<void> {
  const chain = app.chains.find(account.chainKey);
  if (!chain) return;
  for (let jump = jumpOf(app, account); jump && !stopped(); jump = jumpOf(app, account)) {
    const began = performance.now();
    const targets: Target[] = [];
    while (jump.from + targets.length < jump.to && performance.now() - began < SLICE_MS_MAX) {
      targets.push(await chain.adapter.deriveTarget(account.key, jump.branch, jump.from + targets.length));
    }
    const { branch, from } = jump;
    await app.store.write((tx) => storeSkipped(tx, account, branch, from, targets));
  }
}

/**
 * Does that for every account of a chain, before its blocks are read: what is not watched yet would be missed in them.
 * `begins` is called when there is something to do.
 */
export async function watchSkipped(
  app: App,
  chain: ChainRuntime,
  begins: () => void,
  stopped: () => boolean,
): Promise<void> {
  if (!quarantineOf(app.store)) return;
  for (const account of app.directory.accounts()) {
    if (account.chainKey !== chain.key || jumpOf(app, account) === null) continue;
    begins();
    await jumpAhead(app, account, stopped);
  }
}

function storeSkipped(tx: Tx, account: Account, branch: Branch, from: number, targets: readonly Target[]): void {
  const step = branch === 0 ? stepIndex : stepChange;
  if (tx.run(step, { account_id: account.id, from, to: from + targets.length }).changes !== 1) return;
  targets.forEach(({ script, address }, i) => {
    tx.run(insertTarget, {
      account_id: account.id,
      chain_key: account.chainKey,
      branch,
      idx: from + i,
      script,
      address,
      invoice_id: NOBODY,
    });
  });
}

/** The operator's word that this appliance takes over. Throws `Rejected`: `restore.none`, `restore.not_ready`. */
export function endQuarantine(app: App, tx: Tx): void {
  const record = quarantineOf(tx);
  if (!record) throw new Rejected('restore.none', 'This service is not quarantined');
  if (!hasJumped(app)) {
    throw new Rejected('restore.not_ready', 'The skipped addresses are still being derived');
  }
  const behind = app.chains.all().filter((chain) => chain.syncedAt === 0 && !chain.resting);
  if (behind.length > 0) {
    const names = behind.map(({ key }) => key).join(', ');
    throw new Rejected(
      'restore.not_ready',
      `Not caught up with its chain yet: ${names}. Wait, or take it out of the configuration`,
    );
  }
  tx.run(dropSetting, { key: QUARANTINE_SETTING });
  tx.run(saveSetting, { key: RESTORED_SETTING, value: JSON.stringify(record), updated_at: app.now() });
  tx.afterCommit(() => {
    app.wake.pool();
    app.wake.webhooks();
    for (const { key } of app.chains.all()) app.wake.withdrawals(key);
  });
}
