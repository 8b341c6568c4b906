/** Fixed seeds of the simulation, in a process of their own: it takes the place of that process's clock. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnBound } from '../support/bound-child.ts';
import { hasMachine } from './accounts/machine.ts';
import { ROW_OVER, SEEDS } from './seeds.ts';

const RUN = join(import.meta.dirname, 'run.ts');
const runs = (kind: string | undefined): boolean => kind !== 'accounts' || hasMachine;
const ROWS = SEEDS.filter(({ kind }) => runs(kind));

describe('the simulation', () => {
  let child: ChildProcess;
  let said = '';
  let wrong = '';
  let heard = () => {};

  beforeAll(() => {
    const env = { ...process.env, UV_THREADPOOL_SIZE: '1' };
    child = spawnBound(process.execPath, [RUN, '--rows', JSON.stringify(ROWS)], { env });
    child.stdout?.on('data', (part) => {
      said += part;
      heard();
    });
    child.stderr?.on('data', (part) => {
      wrong += part;
    });
    child.once('close', () => heard());
  });
  afterAll(() => void child.kill());

  /** The output of a row, which is nothing but its fault; null until it is over. */
  const outputOf = (row: number): string | null => said.split(ROW_OVER).slice(0, -1)[row] ?? null;

  const rows = ROWS.map((row, i) => ({ ...row, i }));
  it.each(rows)('finds nothing wrong: seed $seed, $steps steps', async ({ i }) => {
    while (outputOf(i) === null && child.exitCode === null) {
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
    expect(outputOf(i) ?? `${said}${wrong}`).toBe('');
  });

  const skipped = SEEDS.filter(({ kind }) => !runs(kind));
  it.skip.each(skipped)('seed $seed (skipped: npm ci --ignore-scripts --prefix test/nodes)', () => {});
});
