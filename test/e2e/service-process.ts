/** A program of ours as a process of a user's, and what it said. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../support/daemon.ts';
import { GROUP, isRoot } from '../support/users.ts';

export class ServiceProcess {
  said = '';
  readonly #child: ChildProcess;

  /** `program`: from `bundled`. `uid`: where the superuser runs the tests; otherwise it is who runs them. `more`: of its environment. */
  constructor(program: string, uid: number, args: string[], more: Record<string, string> = {}) {
    const env = { HOME: '/nonexistent', PATH: process.env.PATH, ...more };
    const user = isRoot ? { uid, gid: GROUP } : {};
    this.#child = spawn(process.execPath, [program, ...args], { ...user, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (part: Buffer) => {
        this.said += part;
      });
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async says(text: string): Promise<string> {
    return until(`it says ${text}`, async () => {
      if (!this.isRunning) throw new Error(`it ended: ${this.said}`);
      return this.said.includes(text) && this.said;
    });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }

  /** Waits for its end. Throws unless it ended well. */
  async done(): Promise<string> {
    if (this.isRunning) await once(this.#child, 'close');
    if (this.#child.exitCode !== 0) throw new Error(`it ended with ${this.#child.exitCode}: ${this.said}`);
    return this.said;
  }
}
