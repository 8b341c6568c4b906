/**
 * The quarantine of an appliance whose data may be older than what really happened: after a restore, or after it was found out
 * (`older.ts`). Until the operator confirms, it syncs and shows data, but does not sign, notify, approve by policy or give out
 * addresses. Its next addresses jump ahead of every one that may have been given out after the backup, and the skipped ones are watched.
 */
import type { Checkpoint } from '../../domain/chain.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import type { Message } from '../../domain/messages.ts';
import { accountsToRescan } from '../../store/queries/businesses.ts';
import { newestInvoiceId } from '../../store/queries/operator.ts';
import { chainStates, doubtedWithdrawal, lastVersion } from '../../store/queries/restore.ts';
import { dropSetting, hasSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { areSkippedWatched } from '../addresses/skipped.ts';
import { endIn } from '../alerts.ts';
import type { App } from '../app.ts';

const QUARANTINE_SETTING = 'quarantine';
/** The alert that the data is older than what really happened. */
export const OLDER = 'data.older';
/** The record of the last ended quarantine. */
const RESTORED_SETTING = 'restored';

/**
 * `since`: milliseconds since 1970. `last_withdrawal`: the newest in the backup, 0 for none. `last_key`: the newest API key, 0 for none; absent
 * in records of earlier releases. `heights`: each chain's height in the backup. `policies`: the businesses whose policies were suspended.
 * `last_debit`: the newest debit in the backup, 0 for none. `stored`: the newest credit and debit that were stored when it began, 0 for none: what is stored later is news at
 * whatever height; absent in records of earlier releases. `backup_made_at`: null if no restore was announced; then `why` says how it was
 * found out. `read_again`: the chains whose blocks are read again with the skipped addresses. `read_from`: where each chain was when the data was of its
 * time. `jumps`: how often the indices jumped once more since. `ended`: the newest version of a payment and the newest invoice when it
 * ended, 0 for none, and the chains that were looked at; absent in records of earlier releases. `asked`: the chains whose
 * source was asked for addresses. `behind`: how often facts came behind the search for unknown spends, and by chain the height from
 * which on it begins since then. `approvals_ended`: the wallet has ended the approvals of before; a restore does that by itself.
 */
export type QuarantineRecord = {
  since: number;
  backup_made_at: string | null;
  last_withdrawal: number;
  last_key?: number;
  heights: Record<string, number>;
  last_debit?: number;
  stored?: { credit: number; debit: number };
  policies?: string[];
  why?: Message;
  read_again?: readonly string[];
  read_from?: Readonly<Record<string, Checkpoint>>;
  jumps?: number;
  ended?: { version: number; invoice: number; chains?: readonly string[] };
  asked?: readonly string[];
  behind?: { times: number; heights: Readonly<Record<string, number>> };
  approvals_ended?: true;
};

const RETRY_SECONDS = 300;

/** The record has hundreds of block headers, which most callers need not read. */
export const isQuarantined = (reader: Reader): boolean =>
  reader.get(hasSetting, { key: QUARANTINE_SETTING }) !== undefined;

/** Since when the appliance is quarantined, or null. */
export function quarantineOf(reader: Reader): QuarantineRecord | null {
  const row = reader.get(settingOf, { key: QUARANTINE_SETTING });
  return row ? (JSON.parse(row.value) as QuarantineRecord) : null;
}

export function saveQuarantine(tx: Tx, record: QuarantineRecord, now: number): void {
  tx.run(saveSetting, { key: QUARANTINE_SETTING, value: JSON.stringify(record), updated_at: now });
}

const saveRestored = (tx: Tx, record: QuarantineRecord, now: number): void => {
  tx.run(saveSetting, { key: RESTORED_SETTING, value: JSON.stringify(record), updated_at: now });
};

/** The record of the restored backup once its quarantine has ended; null if there was none. */
export function restoredFrom(reader: Reader): QuarantineRecord | null {
  const row = reader.get(settingOf, { key: RESTORED_SETTING });
  return row ? (JSON.parse(row.value) as QuarantineRecord) : null;
}

/**
 * The quarantine whose search for unknown spends is not over: the present one, or the last one while withdrawals wait that the machine
 * before it may have paid, or while spends that it left are not checked. Null: there is none.
 */
export function unendedSearch(reader: Reader): QuarantineRecord | null {
  const present = quarantineOf(reader);
  if (present) return present;
  const isUnended = reader
    .all(chainStates, {})
    .some(({ chain_key }) => reader.get(doubtedWithdrawal, { chain_key }) || leftOn(reader, chain_key) > 0);
  return isUnended ? restoredFrom(reader) : null;
}

const leftSetting = (chainKey: string): string => `spends_left:${chainKey}`;

/** How often unknown spends of a chain were left to the search since it last ended; 0: there are none. */
export const leftOn = (reader: Reader, chainKey: string): number =>
  Number(reader.get(settingOf, { key: leftSetting(chainKey) })?.value ?? 0);

/** Notes unknown spends that are to be checked without a quarantine, also once no withdrawal waits that they may have paid. */
export function noteLeft(tx: Tx, chainKey: string, now: number): void {
  if (!tx.get(settingOf, { key: RESTORED_SETTING })) return;
  tx.run(saveSetting, { key: leftSetting(chainKey), value: `${leftOn(tx, chainKey) + 1}`, updated_at: now });
}

/** Notes that all of them were checked. `times`: how often some had been left when the check began. */
export function noteChecked(tx: Tx, chainKey: string, times: number): void {
  if (leftOn(tx, chainKey) === times) tx.run(dropSetting, { key: leftSetting(chainKey) });
}

/** Where facts came: by chain the height below the first of them, and the ids below those of new rows. */
type Behind = { heights?: Readonly<Record<string, number>>; credit?: number; debit?: number };

/** Has the search for unknown spends begin again, below facts that came behind the place to which it has come. */
export function searchAgain(tx: Tx, place: Behind, now: number): void {
  const record = unendedSearch(tx);
  if (!record) return;
  const { times = 0, heights: before = {} } = record.behind ?? {};
  const lower = Object.entries(place.heights ?? {}).map(([key, height]) => [
    key,
    Math.min(height, before[key] ?? height),
  ]);
  const { credit = Number.MAX_SAFE_INTEGER, debit = Number.MAX_SAFE_INTEGER } = place;
  const { last_debit, stored } = record;
  const next: QuarantineRecord = {
    ...record,
    ...(last_debit !== undefined && { last_debit: Math.min(last_debit, debit) }),
    ...(stored && { stored: { credit: Math.min(stored.credit, credit), debit: Math.min(stored.debit, debit) } }),
    behind: { times: times + 1, heights: { ...before, ...Object.fromEntries(lower) } },
  };
  if (isQuarantined(tx)) saveQuarantine(tx, next, now);
  else saveRestored(tx, next, now);
}

/** Notes that every address of a chain was looked at that joined the configuration after the quarantine. */
export function noteLooked(tx: Tx, chain_key: string, now: number): void {
  const record = restoredFrom(tx);
  if (!record?.ended) return;
  const ended = { ...record.ended, chains: [...(record.ended.chains ?? []), chain_key] };
  saveRestored(tx, { ...record, ended }, now);
}

/** Names the last jump of a quarantine. */
export const jumpOf = ({ since, jumps = 0 }: QuarantineRecord): string => `${since} ${jumps}`;

/** Throws `Unavailable` during the quarantine. `what`: the request, as in "New payments wait …". */
export function refuseInQuarantine(reader: Reader, what: string): void {
  if (!isQuarantined(reader)) return;
  throw new Unavailable(`${what} wait until the operator has confirmed that this service takes over`, RETRY_SECONDS);
}

/** Whether a chain reads blocks again with the skipped addresses: until then coins of ours, and their spends, are missing. */
export const isReadAgain = (reader: Reader, { read_again = [] }: QuarantineRecord, chain_key: string): boolean =>
  read_again.includes(chain_key) && reader.all(accountsToRescan, { chain_key }).length > 0;

/** Why the addresses and blocks of a restored service are not all read yet, `restore.not_ready`; null: they are. */
export function whyUnread(app: App, reader: Reader, record: QuarantineRecord): Rejected | null {
  if (!areSkippedWatched(app)) {
    return new Rejected('restore.not_ready', 'The skipped addresses are still being derived');
  }
  const behind = app.chains.all().filter((chain) => chain.syncedAt === 0 && !chain.dormant);
  if (behind.length > 0) {
    const names = behind.map(({ key }) => key).join(', ');
    return new Rejected(
      'restore.not_ready',
      `Not caught up with its chain yet: ${names}. Wait, or take it out of the configuration`,
    );
  }
  const unread = (record.read_again ?? []).filter((key) => isReadAgain(reader, record, key));
  if (unread.length > 0) {
    return new Rejected('restore.not_ready', `Blocks are being read again: ${unread.join(', ')}. Try again later`);
  }
  return null;
}

/**
 * Has a wallet inside the service end what was approved before data was found to be older, once in a quarantine: another machine may
 * have paid it, so that a thief in the service could pay it once more. Throws `Unavailable`.
 */
export async function endApprovals({ store, signer, now }: App): Promise<void> {
  const begun = quarantineOf(store);
  if (!begun || begun.backup_made_at !== null || begun.approvals_ended) return;
  await signer.endApprovals();
  await store.write((tx) => {
    const record = quarantineOf(tx);
    if (record?.since !== begun.since) return;
    saveQuarantine(tx, { ...record, approvals_ended: true }, now());
  });
}

/** Ends the quarantine on the operator's confirmation. Throws `Rejected`: `restore.none`, `restore.not_ready`. */
export function endQuarantine(app: App, tx: Tx): void {
  const record = quarantineOf(tx);
  if (!record) throw new Rejected('restore.none', 'This service is not quarantined');
  const unread = whyUnread(app, tx, record);
  if (unread) throw unread;
  const chains = app.chains.all().flatMap(({ key, dormant }) => (dormant ? [] : [key]));
  const ended = { version: tx.get(lastVersion, {})?.id ?? 0, invoice: tx.get(newestInvoiceId, {})?.id ?? 0, chains };
  tx.run(dropSetting, { key: QUARANTINE_SETTING });
  for (const { chain_key } of tx.all(chainStates, {})) tx.run(dropSetting, { key: leftSetting(chain_key) });
  endIn(app, tx, OLDER, '');
  saveRestored(tx, { ...record, ended }, app.now());
  tx.afterCommit(() => {
    app.keys.clear();
    app.wake.pool();
    app.wake.webhooks();
    app.wake.allWithdrawals();
  });
}
