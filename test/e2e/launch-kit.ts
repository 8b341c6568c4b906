/**
 * A fresh clone, a machine that has nothing but Node, npm and a shell, and the processes that a command started there.
 * Each command runs in a session of its own, so that whatever it leaves behind is found by that session's number.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = join(import.meta.dirname, '..', '..');
const POLL_MS = 20;
const REGISTRY_TIMEOUT_MS = 5_000;

/** What npm and its scripts call. No compiler, no make, no python3, no git. */
const PROGRAMS = ['node', 'npm', 'npx', 'sh', 'env', 'uname', 'sed', 'dirname', 'readlink', 'cat', 'ls', 'rm', 'mkdir'];
export const ABSENT = ['python3', 'python', 'make', 'cc', 'gcc', 'g++', 'clang', 'git'];

/** The project as a clone would have it: what is committed or would be, without node_modules and dist. */
export function copyProject(to: string): void {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' });
  for (const name of list.split('\0')) {
    // a file may be deleted and not yet committed as such; a bootstrap's own folders are nobody's sources
    if (name === '' || name.startsWith('.prepare-') || !existsSync(join(ROOT, name))) continue;
    mkdirSync(dirname(join(to, name)), { recursive: true });
    cpSync(join(ROOT, name), join(to, name));
  }
}

/** A folder of links to the few programs of a bare machine, with the system's own Node where there is one. */
export function bareMachine(folder: string): void {
  mkdirSync(folder);
  const all = (process.env.PATH ?? '').split(delimiter);
  const own = all.filter((entry) => !entry.includes('node_modules'));
  for (const program of PROGRAMS) {
    const home = [...own, ...all].find((entry) => existsSync(join(entry, program)));
    if (home) symlinkSync(join(home, program), join(folder, program));
  }
}

/** The environment of a fresh shell: nothing of the npm, the test runner or the settings that this test runs under. */
function cleanEnv(path: string): NodeJS.ProcessEnv {
  const strange =
    /^(?:npm_(?!config_)|npm_config_(?:local_prefix|loglevel)$|VITEST|COUNTINGHOUSE_|NODE)|^(?:CI|INIT_CWD|TEST|DEV|PROD|MODE|SSR|BASE_URL)$/;
  const kept = Object.entries(process.env).filter(([name]) => !strange.test(name));
  // npm's cache serves again what it already holds
  return { ...Object.fromEntries(kept), PATH: path, npm_config_prefer_offline: 'true' };
}

/** Whether the registry that npm is set up with answers anything at all. */
export async function registryAnswers(): Promise<boolean> {
  try {
    const registry = execFileSync('npm', ['config', 'get', 'registry'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    await fetch(registry, { method: 'HEAD', signal: AbortSignal.timeout(REGISTRY_TIMEOUT_MS) });
    return true;
  } catch {
    return false;
  }
}

/** The living processes of a session, with their command lines. */
export function processesOf(session: number): Map<number, string> {
  const found = new Map<number, string>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const [state, , , ownSession] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(ownSession) !== session || state === 'Z') continue;
      found.set(Number(entry), readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ').trim());
    } catch {
      // it ended while we looked
    }
  }
  return found;
}

/** Resolves to the first value of `look` that is not undefined; throws, naming `what`, after `limitMs`. */
export async function until<T>(what: () => string, limitMs: number, look: () => T | undefined): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = look();
    if (value !== undefined) return value;
    if (performance.now() > deadline) throw new Error(`within ${limitMs} ms not seen: ${what()}`);
    await sleep(POLL_MS);
  }
}

/** A command in a session of its own, and what it printed. */
export class Run {
  stdout = '';
  stderr = '';
  /** Its end: the exit code, or the signal that killed it. */
  ended: number | NodeJS.Signals | undefined;
  readonly pid: number;
  readonly #child: ChildProcess;

  constructor(cwd: string, path: string, [command, ...args]: [string, ...string[]]) {
    const env = cleanEnv(path);
    this.#child = spawn(join(path, command), args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.#child.once('exit', (code, signal) => {
      this.ended = code ?? signal ?? -1;
    });
    if (!this.#child.pid) throw new Error(`cannot start ${command}`);
    this.pid = this.#child.pid;
  }

  /** Whole lines of stdout that begin with `{`. */
  jsonLines(): string[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'));
  }

  /** The parsed line by which a program says that it is ready. Throws, with what was printed, when it ends instead. */
  async ready(limitMs: number): Promise<Record<string, string>> {
    const line = await until(
      () => `a line of JSON\n${this.stdout}${this.stderr}`,
      limitMs,
      () => {
        if (this.ended !== undefined) throw new Error(`ended with ${this.ended}\n${this.stdout}\n${this.stderr}`);
        return this.jsonLines()[0];
      },
    );
    return JSON.parse(line) as Record<string, string>;
  }

  /** Waits until neither the command nor anything it started is left. */
  async gone(limitMs: number): Promise<void> {
    const left = (): string => `the end of ${[...processesOf(this.pid).values()].join(' | ')}`;
    await until(left, limitMs, () => (this.ended !== undefined && processesOf(this.pid).size === 0 ? true : undefined));
  }

  /** Ends what is left, however it stands. */
  kill(): void {
    for (const pid of processesOf(this.pid).keys()) process.kill(pid, 'SIGKILL');
  }
}
