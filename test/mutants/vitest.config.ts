import { defineConfig } from 'vitest/config';

/** The tests of one room, as `run.mjs` names them. They run in one process, one after another. */
export default defineConfig({
  test: {
    include: (process.env.MUTANTS_TESTS ?? '').split(',').filter(Boolean),
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
