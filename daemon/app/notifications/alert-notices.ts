/**
 * Chooses the messages about alerts for the operator's channels (e-mail and the like): each alert once for each cause, and
 * its end. A channel sends one message an hour for each kind and subject. Later news waits until that hour is over, and is sent if it
 * still holds.
 */

import type { Message } from '../../domain/messages.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import {
  alertsAbove,
  closedNotices,
  dropNotice,
  dropOldNotices,
  dropTold,
  insertNotice,
  newestAlertId,
  noticesOf,
  saveTold,
  toldAt,
} from '../../store/queries/alert-notices.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';

export type Notice = {
  id: number;
  kind: string;
  subject: string;
  message: Message;
  created_at: number;
  changed_at: number | null;
  seen_at: number | null;
  ended_at: number | null;
  network: string | null;
};

const BATCH_MAX = 50;
/** More than a message takes: those that have to wait must not keep the others from being sent. */
const LOOKED_AT_MAX = 1_000;
const INTAKE_MAX = 200;
const TOLD_KEPT_MAX = 500;

/** The alert about a channel that fails, which the other channels send. */
export const UNDELIVERED = 'alert.undelivered';

/** Kinds of alert that are sent during quiet hours too: money, or a service that has stopped. */
const URGENT: ReadonlySet<string> = new Set([
  'storage.damaged',
  'storage.full',
  'storage.failing',
  'storage.locked',
  'ledger.corrected',
  'ledger.differs',
  'invoice.undone',
  'withdrawal.conflict',
  'withdrawal.refused',
  'withdrawals.halted',
  'release.security',
  'restore.unknown_spend',
]);

export const isUrgent = (kind: string): boolean => URGENT.has(kind);

const cursorKey = (channel: string): string => `alerts.cursor.${channel}`;

/** Records the alerts that a channel has to send. Alerts from before the channel was set up are not sent. */
export async function takeInAlerts(app: App, channel: string): Promise<void> {
  const row = app.store.get(settingOf, { key: cursorKey(channel) });
  const newest = app.store.get(newestAlertId, {})?.id ?? 0;
  const from = row ? Math.min(Number(row.value), newest) : newest;
  const found = app.store.all(alertsAbove, { after: from, limit: INTAKE_MAX });
  const to = found.at(-1)?.id ?? from;
  if (row && Number(row.value) === to) return;
  await app.store.write((tx) => {
    for (const { id, kind, subject, seen_at } of found) {
      if (seen_at !== null || (kind === UNDELIVERED && subject === channel)) continue;
      tx.run(insertNotice, { channel, alert_id: id, state: 'new' });
    }
    tx.run(saveSetting, { key: cursorKey(channel), value: `${to}`, updated_at: app.now() });
  });
}

/** The messages that a channel has to send now. `passed`: ends that are not sent, because the alert was raised again. */
export type News = { raised: Notice[]; ended: Notice[]; passed: Notice[] };

/** `quiet`: only what is urgent. */
export function newsOf(app: App, channel: string, quiet: boolean): News {
  const now = app.now();
  const inHour = ({ kind, subject }: Notice): boolean => {
    const at = app.store.get(toldAt, { channel, kind, subject })?.at;
    return at !== undefined && Math.abs(now - at) < MS_PER_HOUR;
  };
  const due = (notice: Notice): boolean => (!quiet || isUrgent(notice.kind)) && !inHour(notice);
  const raised = app.store
    .all(noticesOf, { channel, state: 'new', limit: LOOKED_AT_MAX })
    .filter((notice) => notice.seen_at === null && due(notice))
    .slice(0, BATCH_MAX);
  const again = new Set(raised.map(({ kind, subject }) => `${kind} ${subject}`));
  const closed = app.store
    .all(closedNotices, { channel, state: 'told', limit: BATCH_MAX })
    .filter(({ ended_at }) => ended_at !== null);
  const { passed = [], left = [] } = Object.groupBy(closed, ({ kind, subject }) =>
    again.has(`${kind} ${subject}`) ? 'passed' : 'left',
  );
  return { raised, ended: left.filter(due), passed };
}

/** Deletes notices that are not sent any more: of alerts closed before they were sent, or sent and marked as seen. */
export async function dropSettled(app: App, channel: string): Promise<void> {
  const old = app.store.all(closedNotices, { channel, state: 'new', limit: INTAKE_MAX });
  const told = app.store.all(closedNotices, { channel, state: 'told', limit: BATCH_MAX });
  const seen = told.filter(({ ended_at }) => ended_at === null);
  if (old.length + seen.length === 0) return;
  await app.store.write((tx) => {
    for (const { id } of old) tx.run(dropNotice, { channel, alert_id: id, state: 'new' });
    for (const { id } of seen) tx.run(dropNotice, { channel, alert_id: id, state: 'told' });
  });
}

/** Records that a channel has sent these. */
export function recordTold(app: App, tx: Tx, channel: string, { raised, ended, passed }: News): void {
  const at = app.now();
  for (const { id, kind, subject } of raised) {
    tx.run(dropNotice, { channel, alert_id: id, state: 'new' });
    tx.run(insertNotice, { channel, alert_id: id, state: 'told' });
    tx.run(saveTold, { channel, kind, subject, at });
  }
  for (const { id } of [...ended, ...passed]) tx.run(dropNotice, { channel, alert_id: id, state: 'told' });
  for (const { kind, subject } of ended) tx.run(saveTold, { channel, kind, subject, at });
  tx.run(dropOldNotices, { channel, channel_again: channel, kept: TOLD_KEPT_MAX });
  tx.run(dropTold, { channel, before: at - 2 * MS_PER_HOUR });
}
