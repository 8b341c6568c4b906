/**
 * Ethereum and BNB Smart Chain derive the same addresses from the same keys, and payers confuse the two networks.
 *
 * Invariant: an address is given out on one of the two chains only. So a payment on the wrong one belongs to one invoice
 * without doubt, and never counts for another.
 */
import { type ChainKey, chainKey, chainOf, networkOf } from '../../domain/chain.ts';
import { kinOf } from '../../domain/evm.ts';
import { assignTarget, type TargetRow, targetById, targetIdByScript } from '../../store/queries/credits.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { NOBODY } from './skipped.ts';

type Address = Pick<TargetRow, 'chain_key' | 'script'>;

/** The same address on the other chain with the same keys; undefined if there is none. */
export function kinTarget(reader: Reader, { chain_key, script }: Address): TargetRow | undefined {
  const kin = kinOf(chainOf(chain_key));
  if (kin === null) return undefined;
  const there: ChainKey = chainKey(networkOf(chain_key), kin);
  const id = reader.get(targetIdByScript, { script, chain_key: there })?.id;
  return id === undefined ? undefined : reader.get(targetById, { id });
}

/** Whether an address was given out, or retired. */
export const isTaken = (target: TargetRow | undefined): boolean => target !== undefined && target.invoice_id !== null;

/** Whether the other chain gave the address of this target out, or retired it. */
export const isGivenOutByKin = (reader: Reader, target: Address): boolean => isTaken(kinTarget(reader, target));

/**
 * Retires the same address on the other chain, because this one was given out. Returns the account that has one less; null if there is
 * none.
 */
export function retireKin(tx: Tx, target: Address): number | null {
  const kin = kinTarget(tx, target);
  if (!kin || isTaken(kin)) return null;
  tx.run(assignTarget, { id: kin.id, invoice_id: NOBODY });
  return kin.account_id;
}
