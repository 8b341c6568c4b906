/**
 * The time of a simulated machine, and the order in which things happen to it. Clocks stand still between steps and timers
 * fire when the simulation moves them; answers from outside wait in a queue and are delivered one after the other. So a
 * run depends on its seed alone, and a day takes milliseconds.
 *
 * Whatever runs on real threads (files) is awaited before anything else is delivered; with one thread for it
 * (`UV_THREADPOOL_SIZE=1`), it also ends in its order.
 */
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { Random } from './random.ts';

type Timer = { id: number; at: number; every: number | null; run: () => void };

/** Turns without work after which the machine counts as idle. */
const IDLE_TURNS = 5;
/** Another stream of numbers than the run's own. */
const CHANCE = 0x51ed_270b;
/** Turns after which it is a fault that it still works. */
const TURNS_MAX = 20_000;
/** What one look at the monotonic clock costs, so that loops that work in slices end their slices. */
const LOOK_MS = 0.01;

const realPerformanceNow = performance.now.bind(performance);
const realSetTimeout = globalThis.setTimeout;

export class Busy extends Error {}

/** Processor time of this thread, milliseconds. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
let elsewhereMs = 0;

/** Work that the product leaves to a helper or to another process: its processor time is no part of a turn. */
export function elsewhere<T>(work: () => T): T {
  const before = cpuMs();
  try {
    return work();
  } finally {
    elsewhereMs += cpuMs() - before;
  }
}

export class Time {
  /** Milliseconds since the start, which never go back. */
  monotonic = 0;
  /** What has to be added for the machine's clock. */
  offset: number;
  /** The longest turn of the event loop since it was last asked for, in milliseconds of processor time. */
  longestTurnMs = 0;
  /** The longest that the writes of one turn to the store took, in milliseconds of processor time. */
  longestWritesMs = 0;
  /** Timers that a stretch of time fires apart. */
  stepsMax = 8;
  readonly #start: number;
  #timers = new Map<number, Timer>();
  #nextTimer = 1;
  #queue: (() => void)[] = [];
  #outside = 0;
  #looks = 0;
  #writesMs = 0;

  constructor(start: number) {
    this.#start = start;
    this.offset = start;
  }

  /** What everybody else's clock shows, milliseconds since 1970. */
  get truth(): number {
    return this.#start + this.monotonic;
  }

  /** What the machine's own clock shows. */
  readonly wall = (): number => Math.floor(this.offset + this.monotonic);

  /** Takes the place of the process's clocks and timers. There is no way back: a simulation has its own process. */
  install(): void {
    Date.now = this.wall;
    performance.now = () => this.monotonic + ++this.#looks * LOOK_MS;
    const start = (run: (...given: unknown[]) => void, ms: number | undefined, every: boolean, given: unknown[]) => {
      const id = this.#nextTimer++;
      const delay = Math.max(1, Number(ms) || 0);
      const call = (): void => run(...given);
      this.#timers.set(id, { id, at: this.monotonic + delay, every: every ? delay : null, run: call });
      const handle = { id, unref: () => handle, ref: () => handle, hasRef: () => true, [Symbol.toPrimitive]: () => id };
      return handle;
    };
    const stop = (handle: unknown): void => {
      const id = typeof handle === 'number' ? handle : (handle as { id?: number } | undefined)?.id;
      if (id !== undefined) this.#timers.delete(id);
    };
    const patched = {
      setTimeout: (run: () => void, ms?: number, ...given: unknown[]) => start(run, ms, false, given),
      setInterval: (run: () => void, ms?: number, ...given: unknown[]) => start(run, ms, true, given),
      clearTimeout: stop,
      clearInterval: stop,
    };
    Object.assign(globalThis, patched);
    const sleep = (ms?: number, value?: unknown, options?: { signal?: AbortSignal }): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const handle = start(() => resolve(value), ms, false, []);
        const abort = (): void => {
          stop(handle);
          reject(options?.signal?.reason);
        };
        if (options?.signal?.aborted) abort();
        else options?.signal?.addEventListener('abort', abort, { once: true });
      });
    Object.assign(timersPromises, { setTimeout: sleep });
    AbortSignal.timeout = (ms) => {
      const controller = new AbortController();
      start(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms, false, []);
      return controller.signal;
    };
    // files answer within the turn: how long a disk takes is nobody's chance
    const { readFileSync, writeFileSync, renameSync, mkdirSync, rmSync } = fs;
    const { writeFile } = fsPromises;
    const now =
      <Given extends unknown[], T>(work: (...given: Given) => T) =>
      async (...given: Given): Promise<T> =>
        work(...given);
    Object.assign(fsPromises, {
      readFile: now(readFileSync),
      // streams are of what runs under `outside`
      writeFile: (...given: Parameters<typeof writeFile>) =>
        typeof given[1] === 'string' || given[1] instanceof Uint8Array
          ? now(writeFileSync)(...(given as Parameters<typeof writeFileSync>))
          : writeFile(...given),
      rename: now(renameSync),
      mkdir: now(mkdirSync),
      rm: now(rmSync),
    });
    syncBuiltinESMExports();
  }

  /** Begins anew, for another run. */
  reset(seed: number): void {
    // what a program leaves to chance depends on the seed too
    const random = new Random(seed ^ CHANCE);
    Math.random = () => random.fraction();
    this.powerCut();
    this.monotonic = 0;
    this.offset = this.#start;
    this.#looks = 0;
    this.#nextTimer = 1;
    this.forgetTurns();
  }

  forgetTurns(): void {
    this.longestTurnMs = 0;
    this.longestWritesMs = 0;
  }

  /** A write of the product to its store, which is its own part of a turn. */
  writing<T>(work: () => T): T {
    const before = cpuMs() - elsewhereMs;
    try {
      return work();
    } finally {
      this.#writesMs += cpuMs() - elsewhereMs - before;
    }
  }

  /** Forgets every timer and answer: the machine lost its power. */
  powerCut(): void {
    this.#timers.clear();
    this.#queue = [];
  }

  /** An answer from outside: delivered after those that came before it. */
  deliver(run: () => void): void {
    this.#queue.push(run);
  }

  /** Work on real threads: nothing is delivered before it has ended. Its outcome is delivered in its turn. */
  outside<T>(work: Promise<T>): Promise<T> {
    this.#outside++;
    return new Promise((resolve, reject) => {
      const done = (tell: () => void): void => {
        this.#outside--;
        this.deliver(tell);
      };
      work.then(
        (value) => done(() => resolve(value)),
        (error: unknown) => done(() => reject(error)),
      );
    });
  }

  /** Lets the machine work until it waits for the clock. Throws `Busy` when it never does. */
  async settle(until?: () => boolean): Promise<void> {
    let idle = 0;
    for (let turns = 0; idle < IDLE_TURNS && !until?.(); turns++) {
      if (turns > TURNS_MAX) throw new Busy('the machine does not come to rest');
      await this.#turn();
      if (this.#outside > 0 || readsFiles()) {
        await new Promise((resolve) => realSetTimeout(resolve, 0));
        idle = 0;
        continue;
      }
      const next = this.#queue.shift();
      idle = next ? 0 : idle + 1;
      next?.();
    }
  }

  async #turn(): Promise<void> {
    const before = cpuMs() - elsewhereMs;
    this.#writesMs = 0;
    await new Promise((resolve) => setImmediate(resolve));
    this.longestTurnMs = Math.max(this.longestTurnMs, cpuMs() - elsewhereMs - before);
    this.longestWritesMs = Math.max(this.longestWritesMs, this.#writesMs);
  }

  /**
   * Moves on by so much. Timers fire in their order as long as that takes few steps; what would fire more often in a long
   * stretch fires once, as on a machine that slept.
   */
  async advance(ms: number, stepsMax = this.stepsMax): Promise<void> {
    const end = this.monotonic + ms;
    await this.settle();
    for (let step = 0; step < stepsMax; step++) {
      const next = this.#next();
      if (next === null || next > end) break;
      this.monotonic = Math.max(this.monotonic, step === stepsMax - 1 ? end : next);
      this.#fire();
      await this.settle();
    }
    this.monotonic = Math.max(this.monotonic, end);
    this.#fire();
    await this.settle();
  }

  #next(): number | null {
    let next: number | null = null;
    for (const { at } of this.#timers.values()) if (next === null || at < next) next = at;
    return next;
  }

  #fire(): void {
    const due = [...this.#timers.values()].filter(({ at }) => at <= this.monotonic);
    for (const timer of due.sort((a, b) => a.at - b.at || a.id - b.id)) {
      if (!this.#timers.has(timer.id)) continue;
      if (timer.every === null) this.#timers.delete(timer.id);
      else timer.at = this.monotonic + timer.every;
      timer.run();
    }
  }
}

/** Whether the program reads or writes files that nobody put under `outside`. */
const readsFiles = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));

/** Milliseconds of the real clock, for the speed of a run. */
export const stopwatch = (): number => realPerformanceNow();
