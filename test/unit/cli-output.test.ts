/** A long result of the command line: no faster than it is read, and never cut off without a word. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { written } from '../../daemon/cli/io.ts';
import { runCli } from '../../daemon/cli/program.ts';
import { bundled } from '../support/bundles.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { fakeIo } from './cli-kit.ts';

const FULL = '/dev/full';
const CANCELED_MS = 30_000;

let daemon: TestDaemon;
let empty: string;
beforeAll(async () => {
  daemon = await startTestDaemon();
  empty = await mkdtemp(join(tmpdir(), 'countinghouse-output-'));
});
afterAll(async () => {
  await daemon.stop();
  await rm(empty, { recursive: true, force: true });
});

/** An output whose reader takes a text only when it is told to. */
function slowReader() {
  const waiting: { text: string; take: () => void }[] = [];
  const { io, ran } = fakeIo({ COUNTINGHOUSE_DATA_DIR: daemon.dataDir });
  io.stdout = {
    write: (text, taken) => waiting.push({ text, take: () => taken?.() }),
  };
  return { io, ran, waiting };
}

it('waits until the reader has taken a part, before it asks for the next one', async () => {
  const { io, waiting } = slowReader();
  const ended = runCli(['export', '--business', '1'], io);
  const heading = await until('the heading is written', async () => waiting[0]);
  expect(heading.text).toMatch(/^at,day,kind,/);
  let isOver = false;
  void ended.then(() => (isOver = true));
  // the service answers another command from beginning to end meanwhile
  expect(await runCli(['status'], fakeIo({ COUNTINGHOUSE_DATA_DIR: daemon.dataDir }).io)).toBe(0);
  expect([isOver, waiting.length]).toEqual([false, 1]);
  heading.take();
  const last = await until('the end is written', async () => waiting[1]);
  last.take();
  expect(await ended).toBe(0);
});

it('is an error where the output takes no more, with the reason of the first failure', async () => {
  const full = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
  const destroyed = Object.assign(new Error('destroyed'), { code: 'ERR_STREAM_DESTROYED' });
  const stdout = { write: (_: string, taken?: (error: Error) => void) => taken?.(destroyed), errored: full };
  await expect(written({ stdout }, 'text')).rejects.toThrow('the disk is full (ENOSPC)');
  const gone = {
    write: (_: string, taken?: (error: Error) => void) => taken?.(Object.assign(full, { code: 'EPIPE' })),
  };
  await expect(written({ stdout: gone }, 'text')).rejects.toMatchObject({ message: '' });
});

/** Runs the command line as a process whose output goes to `stdout`. */
async function printedTo(stdout: number, argv: string[]) {
  const flags = ['--disable-warning=ExperimentalWarning'];
  const env = { PATH: process.env.PATH, HOME: empty, COUNTINGHOUSE_DATA_DIR: daemon.dataDir };
  const child = spawn(process.execPath, [...flags, await bundled('daemon/cli.ts'), ...argv], {
    env,
    stdio: ['ignore', stdout, 'pipe'],
    timeout: CANCELED_MS,
  });
  let err = '';
  child.stderr?.on('data', (part) => (err += part));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, err };
}

it
  .runIf(existsSync(FULL))
  .each([[['export', '--business', '1']], [['export', '--business', '1', '--json']], [['status', '--json']]])(
  'says that the disk is full, and fails: %j',
  async (argv) => {
    const full = openSync(FULL, 'w');
    try {
      const { code, err } = await printedTo(full, argv);
      expect(code).toBe(1);
      expect(err).toContain('the output cannot be written: the disk is full (ENOSPC)');
    } finally {
      closeSync(full);
    }
  },
);
