/** Drills of backups, one at a time, each in its own process (app/backup/drill-process.ts). */
import { type ChildProcess, spawn } from 'node:child_process';
import type { App } from '../app/app.ts';
import type { DrillLine } from '../app/backup/drill-process.ts';
import { noteDrill } from '../app/operator/doctor.ts';
import type { DrillState } from '../domain/drill.ts';
import { Rejected, Unavailable } from '../domain/errors.ts';
import type { RejectCode } from '../domain/rejections.ts';
import { entryFile } from '../kit/program.ts';
import type { Sealed } from '../wallet/signer/port.ts';

/** From the start of a drill until its passphrase, and until its end. */
const PASSPHRASE_MS_MAX = 120_000;
const DRILL_MS_MAX = 3_600_000;
const RETRY_SECONDS = 5;

type Current = { child: ChildProcess; file: string; lines: AsyncIterator<DrillLine>; timer: NodeJS.Timeout };

export class Drills {
  readonly #app: App;
  readonly #dataDir: string;
  #current: Current | null = null;
  #last: DrillState | null = null;

  constructor(app: App, dataDir: string) {
    this.#app = app;
    this.#dataDir = dataDir;
  }

  /** The last drill whose passphrase was right; null: none since the start. */
  get state(): DrillState | null {
    return this.#last;
  }

  /** Starts a process for a backup; returns the key (hex) to which the passphrase is to be sealed. */
  async begin(file: string): Promise<string> {
    if (this.#last?.running) throw new Unavailable('Another drill is running', RETRY_SECONDS);
    this.#end();
    const args = ['--disable-sigusr1', entryFile('drill-process'), JSON.stringify({ dataDir: this.#dataDir, file })];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
    child.on('error', () => {});
    child.stdin.on('error', () => {});
    const timer = setTimeout(() => child.kill('SIGKILL'), PASSPHRASE_MS_MAX);
    const current: Current = { child, file, lines: linesOf(child), timer };
    this.#current = current;
    const line = await next(current);
    if (!('seal_key' in line)) throw broken();
    return line.seal_key;
  }

  /**
   * Opens the wallet with the passphrase, sealed under SEAL_DRILL; then the drill runs by itself. Throws `Rejected`:
   * `seal` once the drill has ended, `vault.missing`, `vault.corrupted`, `vault.passphrase`; and `Unavailable` while
   * wrong passphrases are slowed down.
   */
  async open(sealed: Sealed): Promise<void> {
    const current = this.#current;
    if (!current || this.#last?.running) throw new Rejected('seal', 'This drill has ended: begin another one');
    current.child.stdin?.end(`${JSON.stringify(sealed)}\n`);
    const line = await next(current);
    if ('refused' in line) {
      this.#end();
      throw refusal(line.refused);
    }
    clearTimeout(current.timer);
    current.timer = setTimeout(() => current.child.kill('SIGKILL'), DRILL_MS_MAX);
    const { now } = this.#app;
    this.#last = { file: current.file, running: true, startedAt: now(), endedAt: null, report: null, error: null };
    void this.#finish(current, this.#last);
  }

  stop(): void {
    this.#end();
  }

  async #finish(current: Current, drill: DrillState): Promise<void> {
    const ended = { ...drill, running: false };
    try {
      const line = await next(current);
      if ('report' in line) ended.report = line.report;
      else ended.error = 'refused' in line ? line.refused.message : broken().message;
    } catch (error) {
      ended.error = (error as Error).message;
    }
    const endedAt = this.#app.now();
    ended.endedAt = endedAt;
    if (ended.report?.problems.length === 0) {
      await this.#app.store.write((tx) => noteDrill(tx, endedAt)).catch(() => undefined);
    }
    this.#last = ended;
    if (this.#current === current) this.#end();
  }

  #end(): void {
    if (!this.#current) return;
    clearTimeout(this.#current.timer);
    this.#current.child.kill('SIGKILL');
    this.#current = null;
  }
}

const broken = (): Unavailable => new Unavailable('The drill was broken off: begin another one', RETRY_SECONDS);

async function* linesOf({ stdout }: ChildProcess): AsyncGenerator<DrillLine> {
  let text = '';
  for await (const part of stdout ?? []) {
    text += String(part);
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      // a program of this release wrote it
      yield JSON.parse(text.slice(0, end)) as DrillLine;
      text = text.slice(end + 1);
    }
  }
}

async function next({ lines }: Current): Promise<DrillLine> {
  const { value, done } = await lines.next();
  if (done) throw broken();
  return value;
}

function refusal({ name, code, message, wait }: Extract<DrillLine, { refused: unknown }>['refused']): Error {
  if (name === 'Unavailable') return new Unavailable(message, wait ?? RETRY_SECONDS);
  return new Rejected((code ?? 'seal') as RejectCode, message);
}
