/** The console's files for tests that are started without the build before them. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const BUILT = join(ROOT, 'dist', 'renderer');

export function buildConsole(): void {
  if (existsSync(join(BUILT, 'assets'))) return;
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  const args = ['build', '--config', join('renderer', 'vite.config.ts'), '--outDir', BUILT];
  execFileSync(process.execPath, [vite, ...args], { cwd: ROOT });
}
