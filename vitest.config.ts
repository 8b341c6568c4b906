import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { startsBundles } from './test/support/bundles.ts';

/** Those that last longest, in this order: begun last, they would go on alone at the end. */
const FIRST = [
  'simulation/',
  'e2e/launch',
  'adapters/monerod',
  'adapters/electrum-',
  'adapters/hostile',
  'scenario/',
  'e2e/',
  'unit/wallet/signer-',
  'unit/store/migrate',
  'unit/app/withdraw-',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = FIRST.findIndex((part) => moduleId.includes(`/test/${part}`));
      return found < 0 ? FIRST.length : found;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** Pictures of the console are made alone, and only when somebody wants them. */
const PICTURES = process.env.CONSOLE_PICTURES
  ? ['test/e2e/console-pictures.ts', 'test/e2e/console-approve.test.ts']
  : null;

/**
 * Files that share their processes and the modules loaded there, which is faster. They change nothing for each other, replace
 * no module, and measure no turn of the event loop.
 */
const ROOMS = ['config', 'domain', 'http', 'operator', 'payment-page', 'rates', 'store', 'web', 'workers'];
const SHARING = [
  'test/api/!(rates-sources).test.ts',
  'test/unit/app/!(ingest-hostile|maintenance|withdraw-reworded).test.ts',
  ...ROOMS.map((room) => `test/unit/${room}/*.test.ts`),
];

export default defineConfig({
  plugins: [startsBundles()],
  test: {
    globalSetup: 'test/support/bundles.ts',
    projects: [
      { extends: true, test: { name: 'sharing', include: PICTURES ? [] : SHARING, isolate: false } },
      {
        extends: true,
        test: {
          name: 'alone',
          include: PICTURES ?? ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...SHARING],
        },
      },
    ],
    pool: 'forks',
    // More than the two cores that a small machine has: most tests wait for nodes, browsers and time limits.
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    // Only against a test that hangs: on a machine that others use too, everything takes several times as long.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // What passed only when it was tried again is marked in the output: its cause is to be found.
    retry: process.env.CI === 'true' ? 1 : 0,
  },
});
