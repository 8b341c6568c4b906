/** The console's files for tests that are started without `npm test`, which builds them. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** Builds dist/ if it is missing or older than its sources. */
export function buildConsole(): void {
  execFileSync(process.execPath, [join('daemon', 'launcher', 'prepare.mjs')], { cwd: ROOT, stdio: ['ignore', 2, 2] });
}
