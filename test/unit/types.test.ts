/** The compiler's check of every project, as `npm run check` makes it: the build does not look at the program's types. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const LIMIT_MS = 300_000;

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const checks = (scripts.check ?? '').split(' && ').filter((command) => command.startsWith('tsc '));

describe('types', () => {
  it('are checked in three projects', () => {
    expect(checks).toHaveLength(3);
  });

  it.each(checks)('%s', { timeout: LIMIT_MS }, async (command) => {
    const args = [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), ...command.split(' ').slice(1)];
    const compiler = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    compiler.stdout.on('data', (part) => {
      printed += String(part);
    });
    const [code] = await once(compiler, 'close');
    expect([code, printed]).toEqual([0, '']);
  });
});
