#!/usr/bin/env node
/**
 * The command `countinghouse`: starts the built product with a suitable Node. Valid on Node 18; loads nothing of the
 * product. Both processes end together: signals are passed on to the child, its exit code is returned, and the channel
 * between the two closes with this process, even after SIGKILL (see parent.ts).
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_MAJOR_MIN, nodeEnvironment, remedyFor, SIGNALS, usableNodes } from './runtime.mjs';

const PARENT_POLL_MS = 250;
const STOP_TIMEOUT_MS = 20_000;
const SHELLS_MAX = 4;

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const program = join(root, 'dist', 'daemon', 'cli.js');

function refuse(message) {
  process.stderr.write(`countinghouse: ${message}\n`);
  process.exit(1);
}

/**
 * The processes from this one's parent up to npm, as text that changes when one of them ends. npm starts a script
 * through a shell, which may replace itself by the script or outlive npm.
 */
function ancestry() {
  const pids = [process.ppid];
  try {
    for (let n = 0; process.platform === 'linux' && n < SHELLS_MAX; n++) {
      const stat = readFileSync(`/proc/${pids[n]}/stat`, 'utf8');
      const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      if (!/^(?:[a-z]*sh|busybox)$/.test(name)) break;
      pids.push(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    }
    process.kill(process.ppid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return 'gone';
  }
  return pids.join(' ');
}

/** npm passes SIGTERM and SIGINT only to its shell, and SIGKILL to no process, so this checks whether npm has ended. */
function stopWithNpm(child) {
  const first = ancestry();
  const timer = setInterval(() => {
    if (ancestry() === first) return;
    clearInterval(timer);
    if (process.platform === 'win32') child.disconnect();
    else child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS).unref();
  }, PARENT_POLL_MS);
  timer.unref();
}

/** Runs the program with the first of `nodes` that can be executed (a glibc binary cannot on a musl system). */
function start([node, ...others]) {
  if (!node) {
    refuse(
      `Node.js ${NODE_MAJOR_MIN} or later is needed; this is ${process.version}, and the one that comes with ` +
        `countinghouse for some platforms cannot be used here. Install Node.js ${NODE_MAJOR_MIN}, or reinstall ` +
        'countinghouse with optional dependencies.',
    );
  }
  const child = spawn(node, [program, ...process.argv.slice(2)], {
    env: { ...nodeEnvironment, ...process.env },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  child.once('error', () => start(others));
  if (!child.pid) return;
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    const remedy = remedyFor(code);
    if (remedy) refuse(remedy);
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
  if (process.env.npm_lifecycle_event) stopWithNpm(child);
}

/** In a fresh clone any command installs and builds first, as `npm start` does. Messages go to stderr. */
function prepare() {
  const bootstrap = join(root, 'daemon', 'launcher', 'prepare.mjs');
  if (!existsSync(join(root, 'daemon', 'cli.ts'))) {
    refuse('the installation is incomplete (dist/ is missing). Install the package again.');
  }
  const { status } = spawnSync(process.execPath, [bootstrap], { stdio: ['ignore', 2, 2] });
  if (status !== 0) refuse(`could not be installed and built in ${root}`);
}

if (!existsSync(program)) prepare();
start(usableNodes());
