/**
 * Seeds of the simulation, in processes of their own: it takes the place of its process's clock. A run repeats a sample of the rows that
 * found a fault, and looks for another fault with a seed of each kind that no run had (not with CI=true).
 */
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnBound } from '../support/bound-child.ts';
import { bundled } from '../support/bundles.ts';
import { REPEAT, sampleOf } from '../support/sample.ts';
import { hasMachine } from './accounts/machine.ts';
import { AWKWARD, KINDS, type Kind, ROW_OVER, type Row, SEEDS } from './seeds.ts';

/** What one process runs after another. */
const PARTS: readonly (readonly Kind[])[] = [['any'], ['core', 'electrum', 'liars'], ['accounts', 'monero']];

const ONE_OF = 12;
const NEW_SEED_MIN = 1_000_000;
/** Steps with a new seed. */
const NEW_STEPS: Record<Kind, number> = { any: 150, core: 150, electrum: 150, liars: 150, accounts: 100, monero: 60 };

const kindOf = ({ kind = 'any' }: Row): Kind => kind;
const runs = (row: Row): boolean => kindOf(row) !== 'accounts' || hasMachine;
/** With CI=true none is tried: a change is not to be refused for a fault that was there before it. */
const newOf = (kind: Kind): Row[] =>
  process.env.CI === 'true' ? [] : [{ seed: randomInt(NEW_SEED_MIN, 2 ** 31), steps: NEW_STEPS[kind], kind }];
/** A sample of the kind's rows, one of them at least, those of every run, and a new one. */
const tried = KINDS.flatMap((kind): Row[] => {
  const rows = SEEDS.filter((row) => kindOf(row) === kind);
  const always = AWKWARD.filter((row) => kindOf(row) === kind);
  return [...sampleOf(rows, Math.min(ONE_OF, rows.length)), ...always, ...newOf(kind)];
});
const rowsOf = (kinds: readonly Kind[]): Row[] => tried.filter((row) => kinds.includes(kindOf(row)) && runs(row));

/** How to run a row again: the next run of the tests has other new seeds. */
function repeatOf(row: Row): string {
  if (SEEDS.includes(row)) return REPEAT;
  const also = row.also === undefined ? '' : ` --also '${row.also}'`;
  return `the same again: npm run simulate -- --kind ${kindOf(row)} --seed ${row.seed} --steps ${row.steps}${also}`;
}

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
    expect(tried.filter((row) => runs(row) && !isIn.has(row))).toEqual([]);
  });

  const rows = parts.flatMap((part) =>
    part.rows.map((row, i) => ({ ...row, kind: kindOf(row), repeat: repeatOf(row), part, i })),
  );
  it.each(rows)('finds nothing wrong: seed $seed, $steps steps, $kind', async ({ part, i, repeat }) => {
    expect(await part.faultOf(i), repeat).toBe('');
  });

  const skipped = tried.filter((row) => !runs(row));
  it.skip.each(skipped)('seed $seed (skipped: npm ci --ignore-scripts --prefix test/nodes)', () => {});
});
