/**
 * The load generator: a process of its own that keeps N connections busy with one request each, over bare sockets, so
 * that it costs less than what it measures. Reads a job as JSON from its first argument and prints a result as JSON.
 *
 * Invariant: a request is counted only when its whole answer has arrived with the status that was expected; the first
 * other answer ends the run with an error.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const RUN_MS_MAX = 120_000;
const LATENCIES_MAX = 4_000_000;
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH_LINE = /\r\ncontent-length: (\d+)/i;
const STATUS_AT = 9;
const SLUG_AT = '{"id":"'.length;
const SLUG_CHARACTERS = 12;
/** What Linux counts processor time in. */
const MS_PER_TICK = 10;

/**
 * @typedef {object} Job
 * @property {'create' | 'pairs' | 'reads'} kind
 * @property {string} url where the server is
 * @property {string} path of creation; with `kind` reads, what a slug is appended to
 * @property {string} [apiKey]
 * @property {string[]} [apiKeys] of several businesses, which take turns
 * @property {string} [body] of creation
 * @property {boolean} [random] whether each creation has an amount of its own
 * @property {number} connections
 * @property {number} warmup how many units are done before the measurement
 * @property {number} [units] how many are measured; otherwise as many as `ms` allows
 * @property {number} [ms]
 * @property {string} [slugs] a file of names to read, one a line
 * @property {number} [pid] the server's process, whose processor time is measured (on Linux)
 * @property {boolean} [made] whether the names of what was created are reported
 */

/** @type {Job} */
const job = JSON.parse(process.argv[2] ?? '{}');
const { hostname, port, host } = new URL(job.url);
const heads = (job.apiKeys ?? [job.apiKey]).map((key) => `Host: ${host}\r\n${key ? `MB-API-KEY: ${key}\r\n` : ''}`);

const post = (path, body, head) =>
  `POST ${path} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const get = (path) => `GET ${path} HTTP/1.1\r\n${heads[0]}\r\n`;

const slugs = job.slugs ? readFileSync(job.slugs, 'utf8').trimEnd().split('\n') : [];
const creations = job.kind === 'reads' ? [] : heads.map((head) => post(job.path, job.body, head));
const AMOUNT = /"amount":[\d.]+/;
const CENTS_MIN = 2_000;
const CENTS_MAX = 50_000;

/** A request for an invoice of the business whose turn it is. */
function creation(turn) {
  if (!job.random) return creations[turn];
  const cents = CENTS_MIN + Math.floor(Math.random() * (CENTS_MAX - CENTS_MIN));
  return post(job.path, job.body.replace(AMOUNT, `"amount":${cents / 100}`), heads[turn]);
}

const paymentBody = '{"crypto":"BTC"}';
const made = [];

const slugOf = (data, bodyAt) => data.latin1Slice(bodyAt + SLUG_AT, bodyAt + SLUG_AT + SLUG_CHARACTERS);

const latencies = new Float64Array(Math.min(job.units ?? LATENCIES_MAX, LATENCIES_MAX));
let asked = 0;
let done = 0;
let measured = 0;
let beganAt = 0;
let endedAt = 0;
let cpuAtStart = 0;
let mainCpuAtStart = 0;

/** Whether a connection may begin another unit. */
function mayBegin() {
  if (job.units !== undefined) return asked < job.warmup + job.units;
  return beganAt === 0 || (performance.now() - beganAt < job.ms && measured < LATENCIES_MAX);
}

/** Below the server's own folder in /proc. */
const mainThread = `/task/${job.pid}`;

/** The processor time that the server has used, or its main thread alone, in milliseconds; NaN where it cannot be known. */
function serverCpuMs(thread = '') {
  try {
    const fields = readFileSync(`/proc/${job.pid}${thread}/stat`, 'latin1')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return Number.NaN;
  }
}

function begin(now) {
  beganAt = now;
  cpuAtStart = serverCpuMs();
  mainCpuAtStart = serverCpuMs(mainThread);
}

/** Counts a finished unit: the measurement begins when the warm-up is through. */
function finished(since) {
  const now = performance.now();
  done++;
  if (done <= job.warmup) {
    if (done === job.warmup) begin(now);
    return;
  }
  // one that began in the warm-up and ended after it counts for the rate, and its latency with it
  if (measured < latencies.length) latencies[measured++] = now - since;
  endedAt = now;
}

/** Splits what arrives into answers. Bodies are short, so an answer nearly always is one chunk. */
function answers(onAnswer) {
  let pending = null;
  return (chunk) => {
    const data = pending === null ? chunk : Buffer.concat([pending, chunk]);
    pending = null;
    const headEnd = data.indexOf(HEAD_END);
    if (headEnd < 0) {
      pending = data;
      return;
    }
    const head = data.latin1Slice(0, headEnd);
    const length = LENGTH_LINE.exec(head);
    if (!length) throw new Error(`an answer without Content-Length: ${head}`);
    const bodyAt = headEnd + HEAD_END.length;
    if (data.length < bodyAt + Number(length[1])) {
      pending = data;
      return;
    }
    onAnswer(head.slice(STATUS_AT, STATUS_AT + 3), data, bodyAt);
  };
}

/** One connection: sends, waits for the answer, sends the next, until enough was done. */
function client() {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    let since = 0;
    let second = false;
    let turn = 0;

    const next = () => {
      if (!mayBegin()) {
        socket.end();
        resolve();
        return;
      }
      asked++;
      since = performance.now();
      turn = asked % heads.length;
      socket.write(job.kind === 'reads' ? get(job.path + slugs[asked % slugs.length]) : creation(turn), 'latin1');
    };
    const onAnswer = (status, data, bodyAt) => {
      const expected = job.kind === 'reads' ? '200' : '201';
      if (status !== expected) throw new Error(`answered ${status}: ${data.toString('utf8', bodyAt)}`);
      if (job.kind === 'pairs' && !second) {
        second = true;
        const slug = slugOf(data, bodyAt);
        if (job.made) made.push(slug);
        socket.write(post(`${job.path}/rp/${slug}`, paymentBody, heads[turn]), 'latin1');
        return;
      }
      second = false;
      if (job.kind === 'create' && job.made) made.push(slugOf(data, bodyAt));
      finished(since);
      next();
    };
    const read = answers(onAnswer);
    socket.on('connect', next);
    socket.on('error', reject);
    socket.on('close', resolve);
    socket.on('data', (chunk) => {
      try {
        read(chunk);
      } catch (error) {
        socket.destroy();
        reject(error);
      }
    });
  });
}

const deadline = setTimeout(() => {
  process.stderr.write(`the load did not end within ${RUN_MS_MAX} ms\n`);
  process.exit(1);
}, RUN_MS_MAX);
if (job.warmup === 0) begin(performance.now());
await Promise.all(Array.from({ length: job.connections }, client));
clearTimeout(deadline);
const cpuMs = serverCpuMs() - cpuAtStart;
const mainCpuMs = serverCpuMs(mainThread) - mainCpuAtStart;

const sorted = latencies.subarray(0, measured).sort();
const percentile = (part) => sorted[Math.min(measured - 1, Math.floor(measured * part))];
const seconds = (endedAt - beganAt) / 1_000;
const result = {
  units: measured,
  perSecond: measured / seconds,
  p50: percentile(0.5),
  p99: percentile(0.99),
  cpuUs: (cpuMs * 1_000) / measured,
  mainCpuUs: (mainCpuMs * 1_000) / measured,
};
process.stdout.write(`${JSON.stringify({ ...result, ...(job.made ? { made } : {}) })}\n`);
