/**
 * Ethereum and BNB Smart Chain derive the same addresses from the same keys, and payers confuse the two networks.
 *
 * Invariant: an address is given out on one of the two chains only. So a payment on the wrong one belongs to one invoice
 * without doubt, and never counts for another.
 */
import { type ChainKey, chainKey, networkOf } from '../../domain/chain.ts';
import { kinOf } from '../../domain/evm.ts';
import { assignTarget, type TargetRow, targetById, targetIdByScript } from '../../store/queries/credits.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { NOBODY } from './skipped.ts';

/** The same address on the other chain with the same keys; undefined if there is none. */
export function kinTarget(
  reader: Reader,
  { chain_key, script }: Pick<TargetRow, 'chain_key' | 'script'>,
): TargetRow | undefined {
  const kin = kinOf(chain_key.slice(chain_key.indexOf(':') + 1));
  if (kin === null) return undefined;
  const there: ChainKey = chainKey(networkOf(chain_key), kin);
  const id = reader.get(targetIdByScript, { script, chain_key: there })?.id;
  return id === undefined ? undefined : reader.get(targetById, { id });
}

/** Whether an address was given out, or retired. */
export const isTaken = (target: TargetRow | undefined): boolean => target !== undefined && target.invoice_id !== null;

/** Whether the other chain gave the address of this target out, or retired it. */
export function isGivenOutByKin(reader: Reader, targetId: number): boolean {
  const target = reader.get(targetById, { id: targetId });
  return target !== undefined && isTaken(kinTarget(reader, target));
}

/** Retires the same address on the other chain, because this one was given out. */
export function retireKin(tx: Tx, targetId: number): void {
  const target = tx.get(targetById, { id: targetId });
  const kin = target && kinTarget(tx, target);
  if (kin && !isTaken(kin)) tx.run(assignTarget, { id: kin.id, invoice_id: NOBODY });
}
