/**
 * `npm run mutants`: how much of the code the tests hold. Stryker changes one operator, literal or block at a time and runs the tests
 * that reach it; a change that no test notices is a hole. Prints the score of each room and its files, and every hole.
 * `npm run mutants -- domain signer` measures some rooms. `npm run mutants -- --one-of 10 withdrawals` measures a tenth of a room's
 * functions. Not a part of `npm test`: a room takes minutes to hours.
 */
import { rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installForTests } from '../install.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const WORK = '.stryker-tmp';
const CONCURRENT = 2;
const ROOM_WIDTH = 12;

/**
 * `least`: the share of noticed mutants that a room aims at, percent. The tests of a room are those that run it in their own process:
 * a mutant is switched on there, and in no process that they start.
 */
const ROOMS = {
  domain: {
    least: 90,
    code: ['daemon/domain/**/*.ts'],
    // the one left out reads the sources as text
    tests: ['test/unit/domain/!(rejections).test.ts'],
  },
  signer: {
    least: 90,
    code: ['daemon/wallet/signer/**/*.ts'],
    tests: ['test/unit/wallet/signer-!(custody|killed|process|service|two-journals).test.ts'],
  },
  withdrawals: {
    least: 80,
    code: ['daemon/app/spends/*.ts', 'daemon/app/withdrawals/*.ts'],
    tests: [
      'test/unit/app/withdraw*.test.ts',
      'test/unit/app/grants.test.ts',
      'test/unit/app/refund-cover.test.ts',
      'test/unit/app/restores.test.ts',
    ],
  },
  facts: {
    least: 80,
    code: ['daemon/app/chains/*.ts'],
    tests: [
      'test/unit/app/ingest*.test.ts',
      'test/unit/app/unknown-*.test.ts',
      'test/unit/app/account-entries.test.ts',
      'test/unit/app/alarms.test.ts',
      'test/unit/app/clock.test.ts',
      'test/unit/app/deadline.test.ts',
      'test/unit/app/event-order.test.ts',
      'test/unit/app/finality.test.ts',
      'test/unit/app/holds.test.ts',
      'test/unit/app/rating.test.ts',
      'test/unit/app/rescan.test.ts',
      'test/unit/app/unvalued-quote.test.ts',
    ],
  },
  spend: {
    least: 80,
    code: ['daemon/chains/*/spend/*.ts'],
    tests: ['test/unit/chains/*.test.ts'],
  },
};

/** Detected means failed by a test, or hung; one that does not even compile or load is no mutant. */
const isDetected = ({ status }) => status === 'Killed' || status === 'Timeout';
const isCounted = (mutant) => isDetected(mutant) || mutant.status === 'Survived' || mutant.status === 'NoCoverage';

const score = (mutants) => {
  const counted = mutants.filter(isCounted);
  const detected = counted.filter(isDetected).length;
  const percent = counted.length === 0 ? 100 : (100 * detected) / counted.length;
  return { percent, text: `${percent.toFixed(1)} % of ${counted.length}` };
};

/** Returns whether the room reaches its aim. */
async function measure(name) {
  const { least, code, tests } = ROOMS[name];
  const { Stryker } = await import('@stryker-mutator/core');
  process.env.MUTANTS_TESTS = tests.join(',');
  const stryker = new Stryker({
    mutate: code,
    testRunner: 'vitest',
    // in processes: some tests set the time zone of theirs
    vitest: { configFile: 'test/mutants/vitest.config.ts', related: false, pool: 'forks' },
    plugins: ['@stryker-mutator/vitest-runner', join(here, 'sample.mjs')],
    ignorers: ['sample'],
    reporters: ['progress-append-only'],
    coverageAnalysis: 'perTest',
    ignoreStatic: true,
    concurrency: CONCURRENT,
    tempDirName: WORK,
    cleanTempDir: 'always',
    // the compiler of the project has no library that rewrites it
    tsconfigFile: 'none.json',
    ignorePatterns: [
      'dist',
      'resources',
      'renderer',
      'main',
      'test/nodes',
      'test/clients',
      'test/e2e',
      'test/mutants/node_modules',
    ],
  });
  const mutants = await stryker.runMutationTest();
  for (const { fileName, location, mutatorName, replacement } of mutants.filter(
    (one) => isCounted(one) && !isDetected(one),
  )) {
    const { line, column } = location.start;
    console.log(
      `  ${relative('.', fileName)}:${line}:${column} ${mutatorName}: ${replacement.replaceAll(/\s+/g, ' ')}`,
    );
  }
  for (const [file, of] of Object.entries(Object.groupBy(mutants, ({ fileName }) => fileName))) {
    console.log(`  ${relative('.', file)}: ${score(of).text}`);
  }
  const { percent, text } = score(mutants);
  console.log(`${name.padEnd(ROOM_WIDTH)} ${text} noticed; the aim is ${least} %`);
  return percent >= least;
}

async function main() {
  const { values, positionals: asked } = parseArgs({
    options: { 'one-of': { type: 'string', default: '1' } },
    allowPositionals: true,
  });
  const oneOf = values['one-of'];
  if (!/^[1-9]\d*$/u.test(oneOf)) throw new Error(`--one-of is ${oneOf}: it takes a whole number from 1 on`);
  process.env.MUTANTS_ONE_OF = oneOf;
  const unknown = asked.filter((name) => !(name in ROOMS));
  if (unknown.length > 0) throw new Error(`no room ${unknown.join(', ')}: there are ${Object.keys(ROOMS).join(', ')}`);
  process.chdir(join(here, '..', '..'));
  await installForTests(['mutants']);
  let isEnough = true;
  try {
    for (const name of asked.length > 0 ? asked : Object.keys(ROOMS)) isEnough = (await measure(name)) && isEnough;
  } finally {
    rmSync(WORK, { recursive: true, force: true });
  }
  process.exitCode = isEnough ? 0 : 1;
}

await main();
