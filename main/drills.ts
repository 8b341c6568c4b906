/** Drills of a server's backups on this computer, by the command line: it opens a backup with the wallet that is here. */
import { execFile } from 'node:child_process';
import { z } from 'zod';
import type { Result } from '../daemon/contract/operator.ts';
import { reasonOf } from './keychain.ts';

export type Drill = NonNullable<Result<'backup.drillStatus'>['drill']>;

/** Longer than any backup takes to be opened and compared. */
const DRILL_MS = 3_600_000;
const OUTPUT_BYTES_MAX = 16 * 1_048_576;

const Texts = z.array(z.string());
const Told = z.object({
  manifest: z.object({ made_at: z.string(), facts: z.object({ counts: z.record(z.string(), z.int()) }) }),
  addresses: z.int(),
  watch_only: Texts,
  problems: Texts,
  newer: Texts,
});

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
    const [program = '', ...first] = this.#command;
    const options = { env: this.#env, timeout: DRILL_MS, maxBuffer: OUTPUT_BYTES_MAX, windowsHide: true };
    const args = [...first, '--json', 'backup', 'verify', file, '--passphrase-file', '-'];
    const child = execFile(program, args, options, (_, out, told) => {
      const report = reportIn(out);
      const error = report ? null : reasonOf(told, 'The backup could not be opened');
      if (this.last === begun) this.last = { ...begun, running: false, ended_at: now(), report, error };
    });
    // a command that failed at once does not read it
    child.stdin?.on('error', () => {}).end(passphrase);
  }
}

/** A backup with problems ends the command with a failure, and its report is told all the same. */
function reportIn(out: string): Drill['report'] {
  try {
    const { manifest, addresses, watch_only, problems, newer } = Told.parse(JSON.parse(out));
    const { invoices = 0, credits = 0 } = manifest.facts.counts;
    return { made_at: manifest.made_at, invoices, deposits: credits, addresses, watch_only, problems, newer };
  } catch {
    return null;
  }
}

const now = (): string => new Date().toISOString();
