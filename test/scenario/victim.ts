/**
 * A daemon in a child process that may die at any commit, and a client that does what a shop does when the service does
 * not answer: it starts the service again and repeats the request.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError, operatorClient } from '../../daemon/contract/client.ts';
import type { Call } from '../../daemon/contract/operator.ts';
import { spawnBound } from '../support/bound-child.ts';
import { bundled } from '../support/bundles.ts';
import { exchange } from '../support/exchange.ts';
import type { Shop } from './shop.ts';

const CACHE = join(tmpdir(), 'countinghouse-test-compile-cache');
const START_MS = 60_000;
const DEATH_MS = 90_000;
const STARTS_MAX = 5;
const TRIES_MAX = 10;
/** Commits that a life gets more after one in which nothing was done: on a slow machine a start and its watching take many. */
const LONGER = 2;

/** When to die: see `runner.ts`. `again`: each later life dies too, at that commit of its own, or later after lives in vain. */
export type Death = { moment: 'committed' | 'answered' | 'calling' | 'called'; commit: number; again?: number };

/** What a life begins with, instead of nothing: the data of an earlier one, and its key. */
export type Origin = { dataDir: string; key: string };

/** A connection broke: the service is dead, or about to be. */
class Died extends Error {}

export class Victim {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-crash-'));
  readonly shop: Shop;
  /** The commits of the first life. */
  commits = 0;
  /** The calls of the signer and of sources in the first life. */
  calls = 0;
  /** How often the process ended by itself. */
  deaths = 0;
  #death: Death | null;
  /** The lives since the last request that was answered. */
  #vain = 0;
  #child: ChildProcess | null = null;
  #isBorn = false;
  #url = '';
  #key = '';
  #noise = '';

  /** `tables`: of the configuration, besides the sandbox's. */
  constructor(shop: Shop, death: Death | null, origin?: Origin, tables = '') {
    this.shop = shop;
    this.#death = death;
    if (origin) {
      cpSync(origin.dataDir, this.dataDir, { recursive: true });
      this.#key = origin.key;
    }
    const config = [
      'port = 0',
      '[rates]\nsources = []',
      '[sandbox]\nblock_seconds = 0',
      '[payments]\naddress_pool = 20',
      `[webhook]\nallow_hosts = ["127.0.0.1:${shop.port}"]`,
      tables,
    ];
    writeFileSync(join(this.dataDir, 'countinghouse.toml'), `${config.join('\n')}\n`);
  }

  /** The key that its shop calls with. */
  get key(): string {
    return this.#key;
  }

  /** Calls the operator API; a connection that breaks is `Died`. */
  readonly operator: Call = async (method, params) => {
    try {
      return await operatorClient(this.dataDir)(method, params);
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw new Died(`${method} was not answered: ${(error as Error).message}`, { cause: error });
    }
  };

  /** Calls the merchant API; a connection that breaks is `Died`. */
  async call(method: string, path: string, body?: unknown, key?: string): Promise<{ status: number; text: string }> {
    try {
      const answer = await exchange(`${this.#url}/api/v1/merchant${path}`, {
        method,
        headers: {
          'mb-api-key': this.#key,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        agent: false,
      });
      return { status: answer.status, text: answer.body.toString() };
    } catch (error) {
      throw new Died(`${method} ${path} was not answered`, { cause: error });
    }
  }

  /** Does something over and over until the service lived long enough to answer. */
  async alive<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      if (!this.#child) await this.#start();
      try {
        const answer = await work();
        this.#vain = 0;
        return answer;
      } catch (error) {
        if (tries >= TRIES_MAX || !(error instanceof Died) || !(await this.#isDead())) throw this.#explain(error);
      }
    }
  }

  /** Ends it as an operator would; returns its exit code. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    this.#child = null;
    if (!child) return null;
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  }

  /** Lets it die at the commit of the next approval, before it can tell anybody. */
  doom(): void {
    this.#child?.kill('SIGUSR2');
  }

  /** Kills it now. */
  async kill(): Promise<void> {
    const child = this.#child;
    child?.kill('SIGKILL');
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }

  /** Starts it anew, for a life in which it does not die. */
  async spare(): Promise<void> {
    this.#death = null;
    await this.stop();
    await this.#start();
  }

  /** Ends it at once and removes its data. */
  async destroy(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  #explain(error: unknown): Error {
    const { message } = error as Error;
    return new Error(`${message}${this.#noise && `\nthe service said: ${this.#noise}`}`, { cause: error });
  }

  /** Starts it, again and again as long as it dies on its way. */
  async #start(): Promise<void> {
    for (let vain = 0; ; vain++) {
      if (vain >= STARTS_MAX) throw this.#explain(new Error(`started ${STARTS_MAX} times in vain`));
      const ready = await this.#spawn();
      if (!ready) continue;
      const { url, keys } = JSON.parse(ready) as { url: string; keys: { apiKey: string } | null };
      this.#url = url;
      // who died before telling its first key has lost it: the operator makes another
      if (keys) this.#key = keys.apiKey;
      else if (!this.#key) this.#key = await this.#newKey();
      if (this.#key) return;
    }
  }

  async #newKey(): Promise<string> {
    try {
      return (await this.operator('key.add', { business: '1', name: 'second key' })).key.key;
    } catch (error) {
      if (error instanceof Died && (await this.#isDead())) return '';
      throw error;
    }
  }

  /** Resolves to the line that says it is ready, or to null once it died before. */
  async #spawn(): Promise<string | null> {
    const death = this.#death;
    this.#death = death?.again ? { ...death, commit: death.again + LONGER * this.#vain } : null;
    this.#vain++;
    const first = !this.#isBorn;
    this.#isBorn = true;
    const args = death ? [death.moment, String(death.commit)] : [];
    const runner = await bundled('test/scenario/runner.ts');
    const child = spawnBound(process.execPath, [runner, this.dataDir, ...args], {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: CACHE, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      this.#noise = `${this.#noise}${chunk}`.slice(-2_000);
    });
    const { promise, resolve, reject } = Promise.withResolvers<string | null>();
    const late = setTimeout(() => reject(this.#explain(new Error(`not ready after ${START_MS} ms`))), START_MS);
    let rest = '';
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === 'commit') this.commits += first ? 1 : 0;
        else if (line === 'call') this.calls += first ? 1 : 0;
        else if (line.startsWith('{"url"')) resolve(line);
        else this.#noise = `${this.#noise}${line}\n`.slice(-2_000);
      }
    });
    child.once('close', (code, signal) => {
      if (this.#child === child) this.#child = null;
      if (signal === 'SIGKILL') this.deaths++;
      else if (code !== 0) reject(this.#explain(new Error(`it ended with ${code ?? signal}`)));
      resolve(null);
    });
    return promise.finally(() => clearTimeout(late));
  }

  /** Whether the process is gone, waiting for it since a broken connection says that it is going. */
  async #isDead(): Promise<boolean> {
    if (!this.#child) return true;
    try {
      await once(this.#child, 'close', { signal: AbortSignal.timeout(DEATH_MS) });
      return true;
    } catch {
      return false;
    }
  }
}
