/** The console's files for tests that are started without `npm test`, which builds them. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** Builds dist/ if it is missing or older than its sources. */
export function buildConsole(): void {
  // vitest's own NODE_ENV would make it React's development build, which users never get
  const env = { ...process.env, NODE_ENV: 'production' };
  execFileSync(process.execPath, [join('daemon', 'launcher', 'prepare.mjs')], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 2, 2],
  });
}
