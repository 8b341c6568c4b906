/**
 * API keys that sleep during a quarantine. A key that was revoked after the backup is valid again in older data, perhaps in the
 * hands of a thief. So none that asks for withdrawals or refunds does that before the operator has seen it and kept it.
 */
import type { Scope } from '../../domain/merchant.ts';
import { realKeys } from '../../store/queries/restore.ts';
import type { Reader } from '../../store/store.ts';
import { quarantineOf } from './quarantine.ts';

/** A sleeping key has these scopes no longer. */
export const SLEEPING_SCOPES: readonly Scope[] = ['withdraw', 'refund'];

/** The keys that sleep now. Those that the operator made since the quarantine began do not. */
export function sleepingKeys(reader: Reader) {
  const record = quarantineOf(reader);
  if (!record) return [];
  const isSleeping = ({ scopes }: { scopes: string }): boolean =>
    scopes.split(' ').some((scope) => (SLEEPING_SCOPES as readonly string[]).includes(scope));
  const { since, last_key } = record;
  // clocks may jump
  const isOfBefore = ({ id, created_at }: { id: number; created_at: number }): boolean =>
    last_key === undefined ? created_at <= since : id <= last_key;
  return reader.all(realKeys, {}).filter((row) => isOfBefore(row) && isSleeping(row));
}
