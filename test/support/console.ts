/** Builds that tests look at in a browser: the console that users get, and one that complains of mistakes. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { build } from 'vite';
import { inject } from 'vitest';
import { onceInRun } from './bundles.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Builds dist/ if it is missing or older than its sources, which is looked for once in a run. `npm test` has built it. */
export function buildConsole(): void {
  const looked = join(inject('bundles'), 'console.looked');
  if (existsSync(looked)) return;
  // vitest's own NODE_ENV would make it React's development build, which users never get
  const env = { ...process.env, NODE_ENV: 'production' };
  execFileSync(process.execPath, [join('daemon', 'launcher', 'prepare.mjs')], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 2, 2],
  });
  writeFileSync(looked, '');
}

/** The folder with what a configuration of the bundler builds. */
export const builtOnce = (name: string, configFile: string, mode = 'production'): Promise<string> =>
  onceInRun(name, async (outDir) => {
    await build({ configFile: join(ROOT, configFile), mode, logLevel: 'error', build: { outDir } });
  });

/** The console with React's development build, which says what is wrong: its files by their paths. */
export async function consoleFiles(): Promise<Map<string, Buffer>> {
  const folder = await builtOnce('console', join('renderer', 'vite.config.ts'));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [`/${relative(folder, path).replaceAll(sep, '/')}`, readFileSync(path)];
    }),
  );
}
