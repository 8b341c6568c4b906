/**
 * Runs that every test run repeats. A seed that found a fault comes here, as `npm run simulate` prints it, when the fault is
 * mended. `without`: actions that are left out.
 */
export type Row = { seed: number; steps: number; without?: string };

export const SEEDS: readonly Row[] = [
  { seed: 3, steps: 150, without: 'trouble,words,clock,restore older,speed up,cancel' },
  { seed: 8, steps: 150, without: 'trouble,words,clock,restore older,speed up,cancel' },
  { seed: 13, steps: 150, without: 'trouble,words,clock,restore older,speed up,cancel' },
];
