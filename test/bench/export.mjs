/**
 * The memory of `countinghouse export` as a process of its own, read at once and by a reader that takes long pauses, above
 * what the same command takes for an export without a line. Prints lines, seconds and MB.
 *
 * Most of the memory is no cost of the export. Measured with 24,000 lines: Node alone 44 MB, with its HTTP client 61, an export without a line
 * 75, of all lines 86. Of the 86, 53 are pages of Node's program file, which all its processes share. V8's limits do little: 84 with a young
 * generation of 1 MB, and 72 without compiled code, for several times the processor time.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { nodeEnvironment } from '../../daemon/launcher/runtime.mjs';

const { dist, dataDir } = JSON.parse(process.argv[2] ?? '{}');
const BYTES_PER_KIB = 1_024;
const BYTES_PER_MB = 1_000_000;
const LOOK_MS = 50;
/** A slow reader rests this long after each so many bytes, until it has seen how the memory goes; then it hurries. */
const REST = { ms: 100, bytes: 200_000, times: 100 };
const LINE_END = 10;

/**
 * The most memory that a process has had, and what it has now without the pages of files, in MB; 0 if it is over. Node's own process, not
 * the launcher.
 */
function memoryOf(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mb = (name) =>
      (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)[1]) * BYTES_PER_KIB) / BYTES_PER_MB;
    return { peak: mb('VmHWM'), own: mb('RssAnon') };
  } catch {
    return { peak: 0, own: 0 };
  }
}

/** Runs an export to its end. */
async function exported(args, isSlow = false) {
  const began = performance.now();
  const program = [join(dist, 'daemon', 'cli.js'), 'export', '--data-dir', dataDir, '--business', '1', ...args];
  const env = { ...process.env, ...nodeEnvironment };
  const child = spawn(process.execPath, program, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  let [mb, ownMb] = [0, 0];
  const timer = setInterval(() => {
    const { peak, own } = memoryOf(child.pid);
    [mb, ownMb] = [Math.max(mb, peak), Math.max(ownMb, own)];
  }, LOOK_MS);
  let [lines, unread, rests] = [0, 0, 0];
  for await (const chunk of child.stdout) {
    for (let at = chunk.indexOf(LINE_END); at >= 0; at = chunk.indexOf(LINE_END, at + 1)) lines++;
    unread += chunk.length;
    if (!isSlow || rests === REST.times || unread < REST.bytes) continue;
    await wait(REST.ms);
    unread = 0;
    rests++;
  }
  const code = await ended;
  clearInterval(timer);
  if (code !== 0) throw new Error(`the export ended with ${code}`);
  return { lines: lines - 1, seconds: (performance.now() - began) / 1_000, mb, ownMb };
}

const nothing = await exported(['--to', '1970-01-02']);
const fast = await exported([]);
const slow = await exported([], true);
const { lines, seconds, mb, ownMb } = fast;
const above = { aboveMb: mb - nothing.mb, slowAboveMb: slow.mb - nothing.mb };
process.stdout.write(`${JSON.stringify({ lines, seconds, mb, ownMb, ...above })}\n`);
