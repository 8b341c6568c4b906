/**
 * Litestream from npm, which copies a database as it changes. It lies in test/nodes/node_modules, which `test/run.mjs` installs.
 * Its replica is a folder of this machine.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { spawnBound } from '../support/bound-child.ts';

const PROGRAM = join(
  import.meta.dirname,
  'node_modules',
  '@flydotio',
  `litestream-${process.platform}-${process.arch}`,
  'litestream',
);

export const hasLitestream = existsSync(PROGRAM) || process.env.CI === 'true';
export const litestreamTitle = (what: string): string =>
  hasLitestream ? what : `${what} (skipped: npm ci --ignore-scripts --prefix test/nodes)`;

export class Litestream {
  readonly #config: string;
  readonly #database: string;
  #child: ChildProcess;

  private constructor(config: string, database: string, child: ChildProcess) {
    this.#config = config;
    this.#database = database;
    this.#child = child;
  }

  /** Begins to copy a database. Both folders must exist. */
  static start(database: string, folder: string): Litestream {
    const config = join(folder, 'litestream.yml');
    const replica = join(folder, 'replica');
    writeFileSync(config, `dbs:\n  - path: ${database}\n    replicas:\n      - type: file\n        path: ${replica}\n`);
    return new Litestream(config, database, run(config));
  }

  /** `kill -9`, as a power cut does. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  resume(): void {
    this.#child = run(this.#config);
  }

  /** Writes the newest state of the replica to a file. Rejects before there is one. */
  async restore(to: string): Promise<void> {
    await promisify(execFile)(PROGRAM, ['restore', '-config', this.#config, '-o', to, this.#database]);
  }
}

const run = (config: string): ChildProcess =>
  spawnBound(PROGRAM, ['replicate', '-config', config], { stdio: 'ignore' });
