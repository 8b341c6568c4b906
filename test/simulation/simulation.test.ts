/** Fixed seeds of the simulation, in processes of their own: it takes the place of its process's clock. */
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnBound } from '../support/bound-child.ts';
import { bundled } from '../support/bundles.ts';
import { hasMachine } from './accounts/machine.ts';
import { type Kind, ROW_OVER, type Row, SEEDS } from './seeds.ts';

/** What one process runs after another: so much together as takes about a third of the time. */
const PARTS: readonly (readonly Kind[])[] = [['any'], ['core', 'electrum', 'liars'], ['accounts', 'monero']];

const runs = ({ kind }: Row): boolean => kind !== 'accounts' || hasMachine;
const rowsOf = (kinds: readonly Kind[]): Row[] => SEEDS.filter((row) => kinds.includes(row.kind ?? 'any') && runs(row));

/** A process that runs rows, and what it says of each. */
class Part {
  readonly rows: readonly Row[];
  #child: ChildProcess | null = null;
  #said = '';
  #wrong = '';
  #isOver = false;
  #heard = (): void => {};

  constructor(rows: readonly Row[]) {
    this.rows = rows;
  }

  start(program: string): void {
    const env = { ...process.env, UV_THREADPOOL_SIZE: '1' };
    const child = spawnBound(process.execPath, [program, '--rows', JSON.stringify(this.rows)], { env });
    this.#child = child;
    child.stdout?.on('data', (part) => {
      this.#said += part;
      this.#heard();
    });
    child.stderr?.on('data', (part) => {
      this.#wrong += part;
    });
    child.once('close', () => {
      this.#isOver = true;
      this.#heard();
    });
  }

  stop(): void {
    this.#child?.kill();
  }

  /** The output of a row, which is nothing but its fault; null until it is over. */
  #outputOf(row: number): string | null {
    return this.#said.split(ROW_OVER).slice(0, -1)[row] ?? null;
  }

  /** The fault of a row once it is over; everything that was said if the process ends before. */
  async faultOf(row: number): Promise<string> {
    while (this.#outputOf(row) === null && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
    return this.#outputOf(row) ?? `${this.#said}${this.#wrong}`;
  }
}

describe('the simulation', () => {
  const parts = PARTS.map((kinds) => new Part(rowsOf(kinds)));

  beforeAll(async () => {
    const program = await bundled('test/simulation/run.ts');
    for (const part of parts) part.start(program);
  });
  afterAll(() => {
    for (const part of parts) part.stop();
  });

  it('runs each row in one of its processes', () => {
    const isIn = new Set(parts.flatMap(({ rows }) => rows));
    expect(SEEDS.filter((row) => runs(row) && !isIn.has(row))).toEqual([]);
  });

  const rows = parts.flatMap((part) => part.rows.map((row, i) => ({ ...row, part, i })));
  it.each(rows)('finds nothing wrong: seed $seed, $steps steps', async ({ part, i }) => {
    expect(await part.faultOf(i)).toBe('');
  });

  const skipped = SEEDS.filter((row) => !runs(row));
  it.skip.each(skipped)('seed $seed (skipped: npm ci --ignore-scripts --prefix test/nodes)', () => {});
});
