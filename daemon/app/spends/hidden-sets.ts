/** The sets of withdrawals that a transaction may have paid, of which the chain shows only how many they are and their sum. */
import type { Decoded } from '../../domain/spend.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';

/** Sets of withdrawals that are compared, and steps of the search for them: some milliseconds. */
const COMBINATIONS_MAX = 20;
const LOOKS_MAX = 50_000;

/** `isWhole`: false if there may be more, which were not looked at. */
type Sets = { found: WithdrawalRow[][]; isWhole: boolean };

/** To whom a set pays how much: two that are the same here differ in nothing that the recipients see. */
export const recipients = (rows: readonly WithdrawalRow[]): string =>
  rows
    .map(({ address, units }) => `${address} ${units}`)
    .sort()
    .join();

/** `count`: of its outputs to others, whose sum is its last output. */
export function setsOf(rows: readonly WithdrawalRow[], decoded: Decoded, count: number): Sets {
  return sweepOf(rows, decoded, count) ?? combinations(rows, count, decoded.outputs.at(-1)?.units ?? 0n);
}

/** Everything paid to one address leaves at most an output of nothing to ourselves. */
function sweepOf(rows: readonly WithdrawalRow[], { outputs }: Decoded, count: number): Sets | null {
  if (count !== 1 || outputs.slice(0, -1).some(({ units }) => units > 0n)) return null;
  const sweeps = rows.filter(({ sweep }) => sweep);
  return sweeps.length > 0 ? { found: sweeps.map((row) => [row]), isWhole: true } : null;
}

/** Sets of `count` withdrawals whose amounts add up. */
function combinations(rows: readonly WithdrawalRow[], count: number, units: bigint): Sets {
  const plain = rows.filter(({ sweep }) => !sweep);
  const found: WithdrawalRow[][] = [];
  let looks = 0;
  let isWhole = true;
  const look = (from: number, chosen: readonly WithdrawalRow[], left: bigint): void => {
    if (found.length >= COMBINATIONS_MAX || looks++ >= LOOKS_MAX) {
      isWhole = false;
      return;
    }
    if (chosen.length === count) {
      if (left === 0n) found.push([...chosen]);
      return;
    }
    for (let at = from; at < plain.length; at++) {
      const row = plain[at] as WithdrawalRow;
      if (row.units <= left) look(at + 1, [...chosen, row], left - row.units);
    }
  };
  look(0, [], units);
  return { found, isWhole };
}
