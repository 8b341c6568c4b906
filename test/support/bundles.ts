/**
 * Programs of the tests and of the product, each bundled once in a run when the first test needs it: from its sources a
 * program takes several times the processor time to start, and a run starts hundreds. The bundle takes nothing from `dist`,
 * which may be older than the sources. `vitest.config.ts` names this file for the run's set-up.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { COMPILED, ENTRIES } from '../../daemon/kit/entries.ts';
import { until } from './until.ts';

declare module 'vitest' {
  interface ProvidedContext {
    bundles: string;
  }
}

const ROOT = join(import.meta.dirname, '..', '..');
const MAKE_MS_MAX = 300_000;
/** The module that names the files of the product's processes and threads, and those that the tests start as bundles. */
const PROGRAM = 'daemon/kit/program.ts';
const ENTRY_FILE = 'export const entryFile =';
const STARTED = Object.entries(ENTRIES)
  .filter(([name]) => name !== 'cli')
  .map(([name, source]) => ({ name, path: `daemon/${source}.ts` }));

// below node_modules, where the bundles find those libraries
const folderOf = (pid: number): string => join(ROOT, 'node_modules', '.cache', `countinghouse-tests-${pid}`);

export default function setup(project: TestProject): () => void {
  const folder = folderOf(process.pid);
  mkdirSync(folder, { recursive: true });
  project.provide('bundles', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}

/** The sources' places, where the modules look for their workers, processes and files. */
const ownPlaces: Plugin = {
  name: 'own-places',
  enforce: 'pre',
  transform(code, id) {
    if (!id.startsWith(ROOT) || id.includes('node_modules')) return null;
    const places: Record<string, string> = { dirname: dirname(id), filename: id, url: pathToFileURL(id).href };
    return code.replace(/(?<!['"])\bimport\.meta\.(dirname|filename|url)\b/g, (_, part: string) =>
      JSON.stringify(places[part]),
    );
  },
};

/** Programs whose modules are mostly the same, bundled together. */
const TOGETHER = [
  'daemon/cli.ts',
  'test/e2e/signer-host.ts',
  'test/scenario/runner.ts',
  'test/unit/wallet/killed-service.ts',
];

/** Bundles a program, a path from the project's root, and resolves to the file that Node can run. */
export async function bundled(program: string): Promise<string> {
  const bundles = inject('bundles');
  const programs = TOGETHER.includes(program) ? TOGETHER : [program];
  const folder = await bundle(bundles, basename(programs[0]!, '.ts'), programs, [startsThoseOf(bundles)]);
  return join(folder, builtName(program));
}

/** For the process that runs vitest: what the tests load starts the bundles of this run, so no later run may take it from a cache. */
export const startsBundles = (): Plugin => ({
  ...startsThoseOf(folderOf(process.pid)),
  configureVitest: (context) =>
    context.defineCacheKeyGenerator(({ id }) => (relative(ROOT, id) === PROGRAM ? false : null)),
});

/** Has processes and threads started from the folder of bundles. */
const startsThoseOf = (bundles: string): Plugin => ({
  name: 'starts-bundles',
  enforce: 'pre',
  async transform(code, id) {
    if (relative(ROOT, id) !== PROGRAM) return null;
    if (!code.includes(ENTRY_FILE)) throw new Error(`${PROGRAM} has no ${ENTRY_FILE}: see test/support/bundles.ts`);
    const folder = await bundle(
      bundles,
      'started',
      STARTED.map(({ path }) => path),
    );
    const files = Object.fromEntries(STARTED.map(({ name, path }) => [name, join(folder, builtName(path))]));
    return `${code.replace(ENTRY_FILE, 'const sourceFile =')}
const BUNDLES: Readonly<Record<string, string>> = ${JSON.stringify(files)};
export const entryFile = (name: keyof typeof ENTRIES): string => BUNDLES[name] ?? sourceFile(name);
`;
  },
});

/** The cost of a guess at a passphrase in the product, 0.3 s, which would be most of many tests, and theirs. */
const VAULT = 'daemon/wallet/vault.ts';
const COST = 'const SCRYPT: ScryptCost = { N: 2 ** 17, r: 8, p: 1 };';
const CHEAP = 'const SCRYPT: ScryptCost = { N: 2, r: 1, p: 1 };';

/** Makes wallets whose passphrase costs nothing to try, in the tests and in what they start. */
export const cheapGuesses: Plugin = {
  name: 'cheap-guesses',
  enforce: 'pre',
  transform(code, id) {
    if (relative(ROOT, id) !== VAULT) return null;
    if (!code.includes(COST)) throw new Error(`${VAULT} has no ${COST}: see test/support/bundles.ts`);
    return code.replace(COST, CHEAP);
  },
};

/** Below the folder of its bundle. It keeps the path, by which a test finds the processes of a program. */
const builtName = (program: string): string => program.replace(/\.ts$/, '.mjs');

/** Bundles programs into a folder of this name, and resolves to it. */
async function bundle(bundles: string, name: string, programs: string[], plugins: Plugin[] = []): Promise<string> {
  return madeOnce(join(bundles, name), async (outDir) => {
    await build({
      configFile: false,
      root: ROOT,
      logLevel: 'error',
      publicDir: false,
      build: {
        outDir,
        target: 'esnext',
        minify: false,
        ssr: true,
        rolldownOptions: {
          input: Object.fromEntries(programs.map((program) => [program.replace(/\.ts$/, ''), join(ROOT, program)])),
          output: { format: 'es', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
        },
      },
      ssr: { target: 'node', noExternal: true, external: COMPILED },
      plugins: [...plugins, cheapGuesses, ownPlaces],
    });
  });
}

/** Whether `vitest.config.ts` is that of this run. */
export const hasBundles = (): boolean => inject('bundles') !== undefined;

/** What several files need and is made once in a run, by whichever comes first: the folder of it. `make` makes that which it is given. */
export const onceInRun = (name: string, make: (folder: string) => Promise<void>): Promise<string> =>
  madeOnce(join(inject('bundles'), name), make);

async function madeOnce(folder: string, make: (folder: string) => Promise<void>): Promise<string> {
  try {
    mkdirSync(`${folder}.begun`);
  } catch {
    // somebody else is at it
    await until(`${folder} is made`, async () => existsSync(folder), MAKE_MS_MAX);
    return folder;
  }
  await make(`${folder}.new`);
  renameSync(`${folder}.new`, folder);
  return folder;
}
