/**
 * Ten years of business in one data directory: how fast the service starts there, how much memory and disk it takes, and how
 * long the jobs of a night take and hold the event loop. The service itself does them, told by its command line.
 */
import { spawn } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { nodeEnvironment } from '../../daemon/launcher/runtime.mjs';
import { median } from './report.mjs';
import {
  DATABASE,
  dropFolder,
  node,
  PROBE,
  probed,
  residentMb,
  runTool,
  scratch,
  startDaemon,
  workFolder,
} from './servers.mjs';

const POOL = 1_000;
const STARTS = 3;
/** A start's garbage is collected some seconds after it. */
const SETTLED_MS = 12_000;
const BYTES_PER_MB = 1_000_000;
const BYTES_PER_KB = 1_000;
const SECONDS_PER_DAY = 86_400;
const PASSPHRASE = 'a passphrase of the benchmark';
/** Of a year's nights; a leak of 30 kB a night is more. */
const GROWN_MB_MAX = 10;

/** Runs the command line on a data directory. Resolves to what it printed as JSON, and the seconds that it took. */
function command(dist, dataDir, ...args) {
  const began = performance.now();
  const flags = [join(dist, 'daemon', 'cli.js'), ...args, '--json', '--data-dir', dataDir];
  const child = spawn(node, flags, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...nodeEnvironment, ...process.env } });
  let [text, errors] = ['', ''];
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  return new Promise((resolve, reject) =>
    child.once('close', (code) => {
      // a drill with findings ends with 1
      if (code !== 0 && !text.startsWith('{')) reject(new Error(`${args[0]} ended with ${code}: ${errors}`));
      else resolve({ answer: JSON.parse(text), seconds: (performance.now() - began) / 1_000 });
    }),
  );
}

async function timeStart(dist, dataDir, flags) {
  const server = await startDaemon(dist, dataDir, POOL, flags);
  await server.stop();
  return server.readyMs;
}

/** `template`: a data directory that `decade.mjs` has filled. `nights`: how many an idle service lives through. */
export async function measureYears({ dist, template, invoices, nights, nodeFlags, say }) {
  const dataDir = workFolder(template);
  const load = (path) => import(pathToFileURL(join(dist, '..', 'daemon', path)).href);
  const { createWallet } = await load('wallet/wallet.ts');
  await createWallet(join(dataDir, 'vault'), { passphrase: PASSPHRASE });
  const passphrase = join(scratch, 'passphrase');
  writeFileSync(passphrase, PASSPHRASE, { mode: 0o600 });
  await timeStart(dist, dataDir, nodeFlags);
  const starts = [];
  for (let n = 0; n < STARTS; n++) starts.push(await timeStart(dist, dataDir, nodeFlags));

  const server = await startDaemon(dist, dataDir, POOL, [...PROBE, ...nodeFlags]);
  await runTool('ready.mjs', { file: join(dataDir, DATABASE), pool: POOL });
  await pause(SETTLED_MS);
  const memoryMb = residentMb(server.pid);
  const backup = join(scratch, 'years.backup');
  const jobs = [];
  for (const [name, ...args] of [
    ['the first night removes old rows', 'maintenance', '--free'],
    ['each later night', 'maintenance', '--free'],
    ['proof of the books', 'ledger'],
    ['backup', 'backup', backup],
  ]) {
    say(`  ${name} …`);
    jobs.push({ name, ...(await probed(server.pid, () => command(dist, dataDir, ...args))) });
  }
  const memoryAfterMb = residentMb(server.pid);
  const proof = jobs.find(({ name }) => name === 'proof of the books').answer.chains;
  if (proof.some(({ problems }) => problems.length > 0)) throw new Error('the books of the seed do not add up');
  const stored = await command(dist, dataDir, 'maintenance');
  await server.stop();
  say('  drill …');
  const drill = await command(dist, dataDir, 'backup', 'verify', backup, '--passphrase-file', passphrase);
  // the seed's addresses are made up
  const found = drill.answer.problems.filter((problem) => !problem.includes('the words give'));
  if (found.length > 0) throw new Error(`the drill found something: ${found[0]}`);
  const backupMb = statSync(backup).size / BYTES_PER_MB;
  dropFolder(dataDir);
  say(`  an idle day, and ${nights} nights …`);
  const idle = await runTool('idle.mjs', { dist, dataDir: workFolder(), days: nights });
  return {
    idle,
    startMs: median(starts),
    memoryMb,
    memoryAfterMb,
    jobs: [...jobs, { name: 'drill', ...drill }],
    kbPerThousand: stored.answer.bytes / BYTES_PER_KB / (invoices / 1_000),
    unusedMb: stored.answer.unused_bytes / BYTES_PER_MB,
    backupMb,
    tables: stored.answer.tables,
  };
}

export function yearsLines(years) {
  return [
    ['ten years: start to ready', years.startMs, 'ms'],
    ['ten years: resident memory after start', years.memoryMb, 'MB'],
    ['ten years: resident memory after the jobs of a night', years.memoryAfterMb, 'MB'],
    ...years.jobs.flatMap(({ name, seconds, turnMs }) => [
      [`ten years: ${name}`, seconds, 's'],
      [`ten years: event loop held by it`, turnMs, 'CPU ms'],
    ]),
    ['ten years: disk for 1,000 invoices', years.kbPerThousand, 'kB'],
    ['ten years: free room in the database after the first night', years.unusedMb, 'MB'],
    ['ten years: backup file', years.backupMb, 'MB'],
    ['idle day: processor time of its jobs', years.idle.day.cpuSeconds, 's'],
    ['idle day: share of one core', (100 * years.idle.day.cpuSeconds) / SECONDS_PER_DAY, '%'],
    ['idle day: resident memory before it', years.idle.beforeMb, 'MB'],
    ['idle day: resident memory after it', years.idle.day.residentMb, 'MB'],
    [`resident memory after ${years.idle.days} idle days`, years.idle.year.residentMb, 'MB'],
    ...[
      ['the first nights', years.idle.first],
      [`${years.idle.days} more`, years.idle.year],
    ].flatMap(([when, { heapMb, nativeMb }]) => [
      [`idle: V8's heap without garbage after ${when}`, heapMb, 'MB'],
      [`idle: memory beside V8's heap after ${when}`, nativeMb, 'MB'],
    ]),
    ...Object.entries(years.idle.year.nights).map(([job, count]) => [`nights of them with a ${job}`, count, '']),
    ...years.tables.slice(0, 8).map(({ name, bytes }) => [`ten years: ${name}`, bytes / BYTES_PER_MB, 'MB']),
  ];
}

export function yearsAims(years) {
  const grown = (key) => years.idle.year[key] - years.idle.first[key];
  return [
    [`idle: growth of V8's heap in ${years.idle.days} nights, MB`, grown('heapMb'), '<', GROWN_MB_MAX],
    [`idle: growth beside V8's heap in ${years.idle.days} nights, MB`, grown('nativeMb'), '<', GROWN_MB_MAX],
    ['ten years: start, s', years.startMs / 1_000, '<', 0.5],
    ['ten years: memory after start, MB', years.memoryMb, '<', 130],
    [
      'ten years: longest turn of the nightly jobs, CPU ms',
      Math.max(...years.jobs.map(({ turnMs = 0 }) => turnMs)),
      '≤',
      50,
    ],
  ];
}
