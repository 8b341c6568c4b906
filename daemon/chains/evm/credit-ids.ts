/**
 * The ids of credits: the transaction and a place in it, 0 for the coin and n + 1 for its event n; or the block and the target for what
 * contracts sent from inside.
 *
 * Invariant: an id always means the same amount of an asset at the same target, and whether it is a transfer of our own, because the books
 * never change these. An endpoint may have told it wrongly first, which waits there unaffirmed, and a transaction may move another amount
 * in another block. Then what follows has a number of its own. Exception: what the books have in a block is there once, although its sender
 * may be known to be our own only since then.
 */
import type { MeantCredit, ScriptList } from '../adapter.ts';

/** The place of a credit in its transaction. */
export const placeOf = (id: string): number => Number(id.split(':')[1]);

/** Its transaction and place, without a number of its own. */
export const originOf = (id: string): string => id.split(':').slice(0, 2).join(':');

/**
 * The id of a credit, from the one without a number: that under which the books have it, or the first that they do not have. `isTaken`:
 * ids that are not its own all the same.
 */
export function idFor(
  list: Pick<ScriptList, 'underId'>,
  credit: MeantCredit,
  isTaken = (_: string): boolean => false,
): string {
  const known = list.underId?.(credit.id) ?? [];
  const alike = known.filter((one) => isAlike(one, credit) && !isTaken(one.id));
  const own = alike.find((one) => isWith(one, credit)) ?? alike.find((one) => isMoved(one) === isMoved(credit));
  if (own) return own.id;
  const others = new Set(known.map(({ id }) => id));
  for (let part = 1; ; part++) {
    const id = part === 1 ? credit.id : `${credit.id}:${part}`;
    if (!others.has(id) && !isTaken(id)) return id;
  }
}

const isMoved = ({ moved = false }: MeantCredit): boolean => moved;

/** Whether both are in one block. */
const isWith = (one: MeantCredit, { block }: MeantCredit): boolean => block !== null && one.block?.hash === block.hash;

const isAlike = (one: MeantCredit, { targetId, amount: { asset, units } }: MeantCredit): boolean =>
  one.targetId === targetId && one.amount.asset === asset && one.amount.units === units;
