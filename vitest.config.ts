import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Real nodes, browsers and killed processes miss a time limit now and then on a machine that others use too. What
    // passed only when it was tried again is marked in the output.
    retry: process.env.CI === 'true' ? 2 : 0,
  },
});
