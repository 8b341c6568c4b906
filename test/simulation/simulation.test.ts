/** Fixed seeds of the simulation, each in a process of its own: it takes the place of that process's clock. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { SEEDS } from './seeds.ts';

const RUN = join(import.meta.dirname, 'run.ts');
const ROW_MS = 120_000;

const run = promisify(execFile);

describe('the simulation', () => {
  it.each(SEEDS)('finds nothing wrong: seed $seed, $steps steps', { timeout: ROW_MS }, async (row) => {
    const { seed, steps, without = '', also = '', kind = 'any' } = row;
    const what = ['--seed', `${seed}`, '--steps', `${steps}`, '--without', without, '--also', also, '--kind', kind];
    const args = [RUN, ...what];
    const env = { ...process.env, UV_THREADPOOL_SIZE: '1' };
    const said = await run(process.execPath, args, { env }).catch((error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${error.stdout}${error.stderr}`);
    });
    expect(said.stdout).toContain('1 runs');
  });
});
