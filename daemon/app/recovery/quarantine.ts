/**
 * A restored appliance may lie behind what really happened: until the operator confirms, it syncs and shows, but does not
 * sign, notify, approve by policy or give out addresses. Meanwhile its addresses jump ahead of every one that may have
 * been given out after the backup was made, and the skipped ones are watched.
 */
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { dropSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { areSkippedWatched } from '../addresses/skipped.ts';
import type { App } from '../app.ts';

export const QUARANTINE_SETTING = 'quarantine';
/** The record of the last quarantine that ended. */
const RESTORED_SETTING = 'restored';

/**
 * `since`: milliseconds since 1970. `last_withdrawal`: the newest that the backup knew, 0 for none. `heights`: how far it
 * knew each chain. `policies`: the businesses whose withdrawals went without asking, and wait since.
 */
export type QuarantineRecord = {
  since: number;
  backup_made_at: string;
  last_withdrawal: number;
  heights: Record<string, number>;
  policies?: string[];
};

const RETRY_SECONDS = 300;

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

/** The operator's word that this appliance takes over. Throws `Rejected`: `restore.none`, `restore.not_ready`. */
export function endQuarantine(app: App, tx: Tx): void {
  const record = quarantineOf(tx);
  if (!record) throw new Rejected('restore.none', 'This service is not quarantined');
  if (!areSkippedWatched(app)) {
    throw new Rejected('restore.not_ready', 'The skipped addresses are still being derived');
  }
  const behind = app.chains.all().filter((chain) => chain.syncedAt === 0 && !chain.dormant);
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
