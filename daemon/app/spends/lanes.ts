/**
 * Which orders are under way to the signer at the same time. It judges and signs one at a time; where it is a computer at home, each
 * order would otherwise wait for the way there and back of the one before it.
 *
 * Invariant: the orders of an address with nonces are begun one after the other, because each needs the signature of the nonce below. One
 * that the signer refuses would leave a gap below those that it had signed by then, which no block takes before somebody fills it.
 */
import type { Spending } from '../../chains/spending.ts';
import { nonceOf, type SpendPlan } from '../../domain/spend.ts';
import { inParallel } from '../../kit/async.ts';
import type { VersionRow } from '../../store/queries/withdrawals.ts';
import { readPlan } from './stored-plan.ts';

/** Of a chain. */
const AT_ONCE_MAX = 16;
/** An order brings the transactions of its coins, and payers choose how large these are: one of more coins goes alone. */
const COINS_MAX = 20;

/** Calls `sign` for each unsigned version, of the oldest first. */
export async function inLanes<T extends { version: Pick<VersionRow, 'plan'> }>(
  spending: Spending,
  unsigned: readonly T[],
  sign: (one: T) => Promise<void>,
): Promise<void> {
  const lanes: T[][] = [];
  const alone: T[] = [];
  const laneOf = new Map<string, T[]>();
  for (const one of unsigned) {
    const plan = readPlan(one.version.plan);
    const keys = spending.conflictKeys(plan);
    const address = nonceOf(keys[0]!)?.address;
    const lane = address === undefined ? undefined : laneOf.get(address);
    if (goesAlone(plan, keys)) alone.push(one);
    else if (lane) lane.push(one);
    else {
      const begun = [one];
      lanes.push(begun);
      if (address !== undefined) laneOf.set(address, begun);
    }
  }
  await inParallel(lanes, AT_ONCE_MAX, async (lane) => {
    for (const one of lane) await sign(one);
  });
  for (const one of alone) await sign(one);
}

/** Signing for Monero takes a second or more, so that others who ask the signer for its state would wait for all that are under way. */
function goesAlone(plan: SpendPlan, keys: readonly string[]): boolean {
  return plan.kind === 'monero' || keys.length > COINS_MAX;
}
