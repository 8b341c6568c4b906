/**
 * Ethereum and BNB Smart Chain derive the same addresses from the same keys, and payers confuse the two networks.
 *
 * Invariant: an address is given out on one of the two chains only. So a payment on the wrong one belongs to one invoice
 * without doubt, and never counts for another.
 */
import { type ChainKey, chainKey, chainOf, networkOf } from '../../domain/chain.ts';
import { kinOf } from '../../domain/evm.ts';
import {
  assignTarget,
  nextFreeTarget,
  type TargetRow,
  targetById,
  targetIdByScript,
} from '../../store/queries/credits.ts';
import { setReadyFrom } from '../../store/queries/given.ts';
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
 * Retires the same address on the other chain, because this one was given out. `isLately`: its own row will be entered later, and that
 * of its twin with it (`enter.ts`), unless others are ready before the twin. Returns the account that has one less; null if there is none.
 */
export function retireKin(tx: Tx, target: Address, isLately: boolean): number | null {
  const kin = kinTarget(tx, target);
  if (!kin || isTaken(kin)) return null;
  const { id, account_id, idx } = kin;
  if (isLately && tx.get(nextFreeTarget, { account_id })?.id === id) tx.run(setReadyFrom, { account_id, idx: idx + 1 });
  else tx.run(assignTarget, { id, invoice_id: NOBODY });
  return account_id;
}
