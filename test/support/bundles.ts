/**
 * Programs of the tests and of the product, each bundled once in a run when the first test asks for it: from its sources
 * a daemon takes twice the processor time to start, and the tests that kill it start it hundreds of times. The bundle takes
 * nothing from `dist`, which may be older than the sources. `vitest.config.ts` names this file for the run's set-up.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { until } from './daemon.ts';

declare module 'vitest' {
  interface ProvidedContext {
    bundles: string;
  }
}

const ROOT = join(import.meta.dirname, '..', '..');
const BUILD_MS_MAX = 60_000;
/** Libraries with compiled parts, which they look for beside themselves. */
const COMPILED = ['better-sqlite3', '@napi-rs/keyring', 'tiny-secp256k1', 'monero-ts'];

export default function setup(project: TestProject): () => void {
  // below node_modules, where the bundles find those libraries
  const folder = join(ROOT, 'node_modules', '.cache', `countinghouse-tests-${process.pid}`);
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
  const name = basename(program, '.ts');
  const folder = join(inject('bundles'), name);
  const file = join(folder, `${name}.mjs`);
  const begun = `${folder}.begun`;
  try {
    mkdirSync(begun);
  } catch {
    // another test file is at it
    await until(`${program} is bundled`, async () => existsSync(file), BUILD_MS_MAX);
    return file;
  }
  const outDir = `${folder}.new`;
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'warn',
    publicDir: false,
    build: {
      outDir,
      target: 'esnext',
      minify: false,
      ssr: join(ROOT, program),
      rolldownOptions: {
        output: { format: 'es', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
    ssr: { target: 'node', noExternal: true, external: COMPILED },
    plugins: [ownPlaces],
  });
  renameSync(outDir, folder);
  return file;
}
