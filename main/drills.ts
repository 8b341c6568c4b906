/** Backups of a server are opened on this computer by the command line, with the wallet that is here: for drills, and for a new server. */
import { execFile } from 'node:child_process';
import { z } from 'zod';
import type { Result } from '../daemon/contract/operator.ts';
import { Rejected } from '../daemon/domain/errors.ts';
import type { PassedBackup } from '../daemon/operator/desktop.ts';
import { reasonOf } from './keychain.ts';

export type Drill = NonNullable<Result<'backup.drillStatus'>['drill']>;

/** Longer than any backup takes to be opened and compared. */
const DRILL_MS = 3_600_000;
const OUTPUT_BYTES_MAX = 16 * 1_048_576;
const FAILED = 'The backup could not be opened';

const Texts = z.array(z.string());
const Told = z.object({
  manifest: z.object({ made_at: z.string(), facts: z.object({ counts: z.record(z.string(), z.int()) }) }),
  addresses: z.int(),
  watch_only: Texts,
  problems: Texts,
  newer: Texts,
});
const Passed = Told.extend({ pass: z.string().nullable() });

export class Drills {
  readonly #command: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  /** The last one since the start; null: there was none. */
  last: Drill | null = null;

  /** `command`: the command line, with the server. */
  constructor(command: readonly string[], env: NodeJS.ProcessEnv) {
    this.#command = command;
    this.#env = env;
  }

  /** Begins, and does not wait for the end. */
  async begin(passphrase: string, file: string): Promise<void> {
    const begun: Drill = { file, running: true, started_at: now(), ended_at: null, report: null, error: null };
    this.last = begun;
    this.#run('verify', passphrase, file, (out, told) => {
      const report = reportIn(out);
      const error = report ? null : reasonOf(told, FAILED);
      if (this.last === begun) this.last = { ...begun, running: false, ended_at: now(), report, error };
    });
  }

  /** Makes the pass of a backup. Throws `Rejected('backup.pass')` where it cannot be opened, or gets none. */
  pass(passphrase: string, file: string): Promise<PassedBackup> {
    return new Promise((resolve, reject) => {
      this.#run('pass', passphrase, file, (out, told) => {
        const passed = readIn(Passed, out);
        if (!passed) return reject(new Rejected('backup.pass', reasonOf(told, FAILED)));
        const { pass, manifest, problems, watch_only } = passed;
        resolve({ pass, made_at: manifest.made_at, problems, watch_only });
      });
    });
  }

  /** A backup with problems ends the command with a failure, and its report is told all the same. `done`: gets what it printed. */
  #run(what: string, passphrase: string, file: string, done: (out: string, told: string) => void): void {
    const [program = '', ...first] = this.#command;
    const options = { env: this.#env, timeout: DRILL_MS, maxBuffer: OUTPUT_BYTES_MAX, windowsHide: true };
    const args = [...first, '--json', 'backup', what, file, '--passphrase-file', '-'];
    const child = execFile(program, args, options, (_, out, told) => done(out, told));
    // a command that failed at once does not read it
    child.stdin?.on('error', () => {}).end(passphrase);
  }
}

/** Null for what is no such output. */
function readIn<T>(shape: z.ZodType<T>, out: string): T | null {
  try {
    return shape.parse(JSON.parse(out));
  } catch {
    return null;
  }
}

function reportIn(out: string): Drill['report'] {
  const told = readIn(Told, out);
  if (!told) return null;
  const { manifest, addresses, watch_only, problems, newer } = told;
  const { invoices = 0, credits = 0 } = manifest.facts.counts;
  return { made_at: manifest.made_at, invoices, deposits: credits, addresses, watch_only, problems, newer };
}

const now = (): string => new Date().toISOString();
