/**
 * Runs that every test run repeats. A seed that found a fault comes here, as `npm run simulate` prints it, when the fault is
 * mended. `without`: actions that are left out; `also`: actions that are added, with their weight.
 */
export type Row = { seed: number; steps: number; without?: string; also?: string };

const WITHOUT = 'restore older,speed up,cancel';

export const SEEDS: readonly Row[] = [
  ...[601, 602, 603, 604, 605, 606, 608, 609].map((seed) => ({ seed, steps: 160, without: WITHOUT })),
  // payers change the coin
  { seed: 12, steps: 200, without: 'restore older', also: 'change coin:8' },
  // another version of a refund than the newest is mined
  { seed: 303, steps: 200 },
  // the signer refuses the only version of a payment
  { seed: 721, steps: 160, without: 'restore older' },
];
