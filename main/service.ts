/**
 * The service that the shell shows: one that runs already, or a process that the shell starts, restarts and stops.
 *
 * Invariant: a service that the shell did not start is never stopped by it. "Alive" is the process; "answers" is what the
 * operator API says; the two are told apart.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, renameSync, statSync, type WriteStream } from 'node:fs';
import { ANSWER_MS, LOG_BYTES_MAX, LOOK_MS, RESTART_MS_MAX, RESTART_MS_MIN, STEADY_MS, STOP_MS } from './limits.ts';
import { shellText } from './texts.ts';

/** The log is English, as the service's own is. */
const logText = shellText(() => 'en');

/**
 * `attached`: it ran before. `starting`: its process lives and has not answered yet. `running`: it answers. `silent`: its
 * process lives, and it stopped answering. `waiting`: it ended, and is started again. `stopped`: by the shell.
 */
export type ServiceState =
  | { is: 'attached' | 'starting' | 'running' | 'silent' | 'stopped' }
  | { is: 'waiting'; retryAt: number; why: End; detail: string };

/** `failed`: no process could be started. `ended`: it did, by itself. */
type End = 'failed' | 'ended';

type ServiceOptions = {
  /** The program and its arguments. */
  command: readonly [program: string, ...args: string[]];
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Resolves if the service answers. */
  answers(): Promise<unknown>;
  changed(state: ServiceState): void;
  now?: () => number;
  /** How often it is asked whether it answers. */
  lookMs?: number;
};

export class Service {
  readonly #options: ServiceOptions;
  #state: ServiceState = { is: 'stopped' };
  #child: ChildProcess | null = null;
  #timer: NodeJS.Timeout | undefined;
  #restartMs = RESTART_MS_MIN;
  #startedAt = 0;
  #over = false;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  get state(): ServiceState {
    return this.#state;
  }

  /** Attaches to a service that answers, or starts one. */
  async open(): Promise<void> {
    if (await this.#answers()) this.#set({ is: 'attached' });
    else if (!this.#over) this.#start();
    this.#look();
  }

  /** Ends a process of ours, with time to finish what it does; leaves any other. */
  async close(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    this.#child = null;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(timer);
    }
    this.#set({ is: 'stopped' });
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }

  #set(state: ServiceState): void {
    const same = state.is === this.#state.is && state.is !== 'waiting';
    this.#state = state;
    if (!same) this.#options.changed(state);
  }

  async #answers(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ANSWER_MS);
    this.#options.answers().then(
      () => resolve(true),
      () => resolve(false),
    );
    return promise.finally(() => clearTimeout(timer));
  }

  #start(): void {
    const { command, env, logFile } = this.#options;
    const [program, ...args] = command;
    const log = openLog(logFile);
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    this.#child = child;
    this.#startedAt = this.#now();
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    const ended = (why: End, detail: string): void => {
      log.end(`${new Date(this.#now()).toISOString()} ${logText(why, { detail })}\n`);
      if (this.#child === child) this.#ended(why, detail);
    };
    child.once('error', (error) => ended('failed', error.message));
    child.once('exit', (code, signal) => ended('ended', signal ?? `code ${code}`));
    this.#set({ is: 'starting' });
  }

  /** Starts it again after a wait that doubles. */
  #ended(why: End, detail: string): void {
    this.#child = null;
    if (this.#over) return;
    if (this.#now() - this.#startedAt >= STEADY_MS) this.#restartMs = RESTART_MS_MIN;
    const wait = this.#restartMs;
    this.#restartMs = Math.min(2 * wait, RESTART_MS_MAX);
    this.#set({ is: 'waiting', retryAt: this.#now() + wait, why, detail });
  }

  /** Asks now and then whether it answers, and starts it when its time has come. */
  #look(): void {
    if (this.#over) return;
    this.#timer = setTimeout(() => {
      void this.#check().finally(() => this.#look());
    }, this.#options.lookMs ?? LOOK_MS);
  }

  async #check(): Promise<void> {
    if (this.#state.is === 'waiting') {
      if (this.#now() < this.#state.retryAt) return;
      // somebody may have started it meanwhile
      if (await this.#answers()) this.#set({ is: 'attached' });
      else if (!this.#over) this.#start();
      return;
    }
    const answers = await this.#answers();
    if (this.#over) return;
    if (this.#child) this.#set({ is: answers ? 'running' : this.#state.is === 'starting' ? 'starting' : 'silent' });
    else if (!answers && this.#state.is === 'attached') this.#start();
  }
}

/** Opens the log; a large one is kept as `.1` beside it. */
function openLog(file: string): WriteStream {
  try {
    if (statSync(file).size > LOG_BYTES_MAX) renameSync(file, `${file}.1`);
  } catch {
    // there is none yet
  }
  return createWriteStream(file, { flags: 'a', mode: 0o600 });
}
