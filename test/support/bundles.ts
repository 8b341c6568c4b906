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
import { until } from './until.ts';

declare module 'vitest' {
  interface ProvidedContext {
    bundles: string;
  }
}

const ROOT = join(import.meta.dirname, '..', '..');
const BUILD_MS_MAX = 300_000;
/** Libraries with compiled parts, which they look for beside themselves. */
const COMPILED = ['better-sqlite3', '@napi-rs/keyring', 'tiny-secp256k1', 'monero-ts'];
/** Modules of the product that start processes and threads, and what: by the path of its source, if they are no built file. */
const STARTERS: Readonly<Record<string, readonly string[]>> = {
  'daemon/chains/address-thread.ts': ['./derive-thread.ts'],
  'daemon/chains/xmr/reading.ts': ['./read-thread.ts'],
  'daemon/store/checkpoints.ts': ['./checkpoint-thread.ts'],
  'daemon/wallet/signer/spawn.ts': ['./process.ts', './helper.ts'],
  'daemon/workers/backup.ts': ['./backup-thread.ts'],
  'daemon/workers/drills.ts': ['../app/backup/drill-process.ts'],
};
const STARTED = Object.entries(STARTERS).flatMap(([starter, paths]) =>
  paths.map((path) => join(dirname(starter), path)),
);

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

/** Bundles a program, a path from the project's root, and resolves to the file that Node can run. */
export async function bundled(program: string): Promise<string> {
  const bundles = inject('bundles');
  return join(await bundle(bundles, basename(program, '.ts'), [program], [startsThoseOf(bundles)]), builtName(program));
}

/** For the process that runs vitest: what the tests load starts the bundles of this run, so no later run may take it from a cache. */
export const startsBundles = (): Plugin => ({
  ...startsThoseOf(folderOf(process.pid)),
  configureVitest: (context) =>
    context.defineCacheKeyGenerator(({ id }) => (relative(ROOT, id) in STARTERS ? false : null)),
});

/** Has the modules that start processes and threads start those of the folder of bundles. */
const startsThoseOf = (bundles: string): Plugin => ({
  name: 'starts-bundles',
  enforce: 'pre',
  async transform(code, id) {
    const starter = relative(ROOT, id);
    const paths = STARTERS[starter];
    if (!paths) return null;
    const folder = await bundle(bundles, 'started', STARTED);
    return paths.reduce((text, path) => {
      const name = `'${path}'`;
      if (!text.includes(name)) throw new Error(`${starter} does not start ${name}: see test/support/bundles.ts`);
      const file = join(folder, builtName(join(dirname(starter), path)));
      return text.replace(name, JSON.stringify(pathToFileURL(file).href));
    }, code);
  },
});

/** Below the folder of its bundle. It keeps the path, by which a test finds the processes of a program. */
const builtName = (program: string): string => program.replace(/\.ts$/, '.mjs');

/** Bundles programs into a folder of this name, and resolves to it. */
async function bundle(bundles: string, name: string, programs: string[], plugins: Plugin[] = []): Promise<string> {
  const folder = join(bundles, name);
  const begun = `${folder}.begun`;
  try {
    mkdirSync(begun);
  } catch {
    // somebody else is at it
    await until(`${name} is bundled`, async () => existsSync(folder), BUILD_MS_MAX);
    return folder;
  }
  const outDir = `${folder}.new`;
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
    plugins: [...plugins, ownPlaces],
  });
  renameSync(outDir, folder);
  return folder;
}
