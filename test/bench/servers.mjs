/**
 * What the benchmarks start: the daemon and the yardstick as processes of their own, the load generator, and the data
 * directories that they are measured on. Valid on Node 18; everything that it starts runs on the product's Node.
 *
 * Invariant: every process started here is ended by its own id, at the latest when the run ends, and every folder made
 * here but the kept ones is removed.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  cpSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nodeEnvironment, usableNodes } from '../../daemon/launcher/runtime.mjs';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const TOOL_TIMEOUT_MS = 1_800_000;
const PROBE_MS_MAX = 60_000;
const OUTPUT_CHARACTERS_MAX = 50_000_000;
const BYTES_PER_KIB = 1_024;
const BYTES_PER_MB = 1_000_000;
/** The name of the store's file in a data directory. */
export const DATABASE = 'countinghouse.db';

export const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, '..', '..');
export const [node] = usableNodes();

const running = new Set();
/** Where everything of this run lies. */
export const scratch = mkdtempSync(join(tmpdir(), 'countinghouse-bench-run-'));

const TURN_FILE = join(scratch, 'turn');

/** Ends what still runs and removes this run's folders. */
export function cleanUp() {
  for (const child of running) child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
}

/** A folder of this run's, new or with a copy of `template` that is on the disk before anything is measured on it. */
export function workFolder(template) {
  const folder = mkdtempSync(join(scratch, 'data-'));
  if (!template) return folder;
  cpSync(template, folder, { recursive: true, mode: constants.COPYFILE_FICLONE });
  const file = openSync(join(folder, DATABASE), 'r+');
  fsyncSync(file);
  closeSync(file);
  return folder;
}

export function dropFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
}

function start(args, stdio) {
  const env = { ...nodeEnvironment, TURN_PROBE_FILE: TURN_FILE, ...process.env };
  const child = spawn(node, args, { cwd: root, stdio, env });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * Starts a server and waits for its one line of JSON. `readyMs` counts from the moment that the system was asked to
 * start it.
 */
async function startServer(args, logFile) {
  const beganAt = performance.now();
  const child = start(args, ['ignore', 'pipe', 'pipe']);
  const errors = [];
  child.stderr.on('data', (chunk) => errors.push(chunk));
  const line = await new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error('a server was not ready in time')), READY_TIMEOUT_MS);
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (!text.includes('\n')) return;
      clearTimeout(timer);
      resolve(text);
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`a server ended with ${code} before it was ready: ${Buffer.concat(errors)}`));
    });
  });
  const readyMs = performance.now() - beganAt;
  const stop = () =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('a server did not stop in time')), STOP_TIMEOUT_MS);
      child.once('exit', () => {
        clearTimeout(timer);
        if (logFile) writeFileSync(logFile, Buffer.concat(errors));
        resolve();
      });
      child.kill('SIGTERM');
    });
  return { ...JSON.parse(line), pid: child.pid, readyMs, stop };
}

/** `stored`: its rows at the start; `names` is a file with names of some of them. */
export async function startYardstick(stored = 0) {
  const folder = workFolder();
  const server = await startServer([join(here, 'yardstick.mjs'), folder, `${stored}`]);
  return { ...server, names: join(folder, 'names') };
}

const CONFIG = `port = 0
[log]
level = "warn"
[rates]
sources = []
[sandbox]
block_seconds = 0
[payments]
`;

/**
 * Starts the daemon of a build on a data directory. `pool` is how many addresses it keeps ready, `settings` what stands
 * before the first table of its configuration.
 */
export function startDaemon(dist, dataDir, pool, nodeFlags = [], settings = '') {
  const config = join(scratch, `pool-${pool}.toml`);
  writeFileSync(config, `${settings}${CONFIG}address_pool = ${pool}\n`);
  const program = join(dist, 'daemon', 'cli.js');
  const flags = ['start', '--json', '--data-dir', dataDir, '--port', '0', '--config', config];
  return startServer([...nodeFlags, program, ...flags], join(scratch, 'last-daemon.log'));
}

/** Flags with which a daemon's Node measures turns; for `probed`. */
export const PROBE = ['--import', join(here, 'turn-probe.mjs')];

/** Does `work` while the daemon of a process measures its turns. Adds the longest one in milliseconds of processor time. */
export async function probed(pid, work) {
  rmSync(TURN_FILE, { force: true });
  process.kill(pid, 'SIGUSR2');
  const done = await work();
  process.kill(pid, 'SIGUSR2');
  for (const until = performance.now() + PROBE_MS_MAX; !existsSync(TURN_FILE) && performance.now() < until; )
    await pause(50);
  return { ...done, turnMs: Number(readFileSync(TURN_FILE, 'utf8')) };
}

/** A process's resident memory in MB; null where the system does not say. */
export function residentMb(pid) {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return (Number(kib) * BYTES_PER_KIB) / BYTES_PER_MB;
  } catch {
    return null;
  }
}

/** Runs a tool of this folder to its end, and gives what it printed as JSON. */
export async function runTool(name, argument) {
  const child = start([join(here, name), JSON.stringify(argument)], ['ignore', 'pipe', 'inherit']);
  let text = '';
  child.stdout.on('data', (chunk) => {
    if (text.length < OUTPUT_CHARACTERS_MAX) text += chunk;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), TOOL_TIMEOUT_MS);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  return JSON.parse(text);
}

/** Where data directories that take long to make are kept between runs. */
export function keptFolder(name) {
  const folder = join(tmpdir(), 'countinghouse-bench', name);
  mkdirSync(dirname(folder), { recursive: true });
  return folder;
}
