/**
 * `npm run bench`: measures the built daemon on this machine, beside a bare Express server as the yardstick, and prints
 * a table with what was aimed at. Rounds of both are interleaved, so that a machine that is busy for a while slows both;
 * what is shown are medians.
 *
 *   --quick            shorter, with a tenth of the invoices
 *   --only NAME        load, sustained, frames, start, scan, flood, large, headers, electrum, first-look, restart, spend, evm, monero,
 *                      monero-restore, home, page, console, export or backup; repeatable
 *   --only years       ten years of business, which takes a quarter of an hour to make: only when it is named
 *   --connections N    64 unless given
 *   --rounds N         5 unless given
 *   --dist FOLDER      another build than this tree's, with its sources beside it
 *   --node-flags=FLAGS for the daemon's Node
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { consoleAims, consoleLines, measureConsole } from './console.mjs';
import { evmAims, evmLines } from './evm-rows.mjs';
import { homeAims, homeLines } from './home-rows.mjs';
import { moneroAims, moneroLines, restoreAims, restoreLines } from './monero-rows.mjs';
import { measurePage, pageAims, pageLines } from './page.mjs';
import { aimTable, loadTable, median, show, valueTable } from './report.mjs';
import {
  cleanUp,
  dropFolder,
  node,
  residentMb,
  root,
  runTool,
  scratch,
  startDaemon,
  startYardstick,
  workFolder,
} from './servers.mjs';
import { POOL, poolFull, prepareDecade, prepareStores } from './stores.mjs';
import { measureSustained, SUSTAINED, sustainedAims, sustainedLines } from './sustained.mjs';
import { measureYears, yearsAims, yearsLines } from './years.mjs';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: {
      type: 'string',
      multiple: true,
      default: [
        'load',
        'sustained',
        'frames',
        'start',
        'scan',
        'flood',
        'large',
        'headers',
        'electrum',
        'first-look',
        'restart',
        'spend',
        'evm',
        'monero',
        'monero-restore',
        'home',
        'page',
        'console',
        'export',
        'backup',
      ],
    },
    connections: { type: 'string', default: '64' },
    rounds: { type: 'string' },
    dist: { type: 'string', default: join(root, 'dist') },
    'node-flags': { type: 'string', default: '' },
  },
});
const { quick, only } = options;
const dist = resolve(options.dist);
const nodeFlags = options['node-flags'].split(' ').filter(Boolean);
const connections = Number(options.connections);
const ROUNDS = Number(options.rounds ?? (quick ? 2 : 5));
const INVOICES = quick ? 100_000 : 1_000_000;
/** Less than half of a pool, with the warm-up: a burst within it. */
const PAIRS = quick ? 3_500 : 7_000;
/** Requests until the servers run at full speed; a pair is two of them. */
const WARMUP = 4_000;
const PAIRS_WARMUP = WARMUP / 2;
const LOAD_MS = quick ? 1_000 : 3_000;
const SUSTAINED_LOAD = { ms: quick ? 3_000 : 8_000, rounds: quick ? 1 : 3 };
/** The default of `payments.address_pool`. */
const POOL_DEFAULT = 1_000;
/** A year; each takes a second. */
const NIGHTS = quick ? 60 : 365;
const START_SAMPLES = quick ? 3 : 7;
const SCAN = { blocks: quick ? 2 : 6, rounds: quick ? 3 : 7 };
const FRAMES = { pairs: quick ? 2_000 : 8_000, warmup: quick ? 500 : 2_000 };
const WATCHED = 100_000;
/** As many as the largest standard transaction holds. */
const FLOOD = { outputs: 12_900, rounds: quick ? 1 : 3 };
const SPEND = { wallets: [10, 1_000, 20_000], rounds: quick ? 5 : 25 };
const MONERO = {
  payments: quick ? 4 : 15,
  requests: quick ? 200 : 1_000,
  blocks: quick ? 4 : 15,
  withdrawals: quick ? 2 : 5,
};
const RESTORE = {
  blocks: quick ? 500 : 4_000,
  fullBlocks: quick ? 3 : 6,
  transactions: 18,
  rounds: quick ? 1 : 3,
};
const HOME = { waiting: quick ? 200 : 1_000, minutes: quick ? 1 : 3 };
const PAGE = { samples: quick ? 5 : 15, payments: quick ? 20 : 100, pages: quick ? 200 : 1_000 };
const ELECTRUM = { addresses: quick ? 1_000 : 10_000, payments: quick ? 40 : 200 };
const FIRST_LOOK = { addresses: quick ? 5_000 : 20_000, limitedMs: quick ? 15_000 : 60_000 };
const RESTART = { addresses: quick ? 20_000 : 300_000, limitedMs: quick ? 30_000 : 300_000 };
const HEADERS = { sha256d: quick ? 10_080 : 40_320, scrypt: quick ? 2_016 : 8_064, rounds: quick ? 1 : 3 };

const PATH = '/api/v1/merchant/invoice';
const BODY = JSON.stringify({
  amount: 59.9,
  currency: 'EUR',
  close_url: 'https://shop.example/thanks',
  webhook_url: 'https://shop.example/orders/1/paid',
});

const say = (text) => process.stderr.write(`${text}\n`);
const count = (value) => value.toLocaleString('en-US');
const few = '0 stored';
const many = `${count(INVOICES)} stored`;

const YARDSTICK = 'yardstick: one request';
const readLabel = (stored) => `yardstick: one read by key, ${stored}`;
const label = (kind, stored) => `${{ create: 'create', pairs: 'pairs in a burst', reads: 'get' }[kind]}, ${stored}`;

/** Everything measured. */
const series = new Map();
const resident = { few: [], many: [], fewLoaded: [], manyLoaded: [] };
const starts = { first: [], few: [], many: [] };
/** What pairs write with one business, and with a hundred. */
const frames = [];
let sustained = null;
let scan = null;
let flood = null;
let large = null;
let headers = null;
let electrum = null;
let evm = null;
let firstLook = null;
let restart = null;
let spend = null;
let monero = null;
let restore = null;
let link = null;
let home = null;
let page = null;
let consoles = null;
let backup = null;
let exported = null;
let years = null;

function record(name, result) {
  series.set(name, [...(series.get(name) ?? []), result]);
  return result;
}

async function loadYardstick() {
  const server = await startYardstick();
  const job = { kind: 'create', url: server.url, path: '/item', body: BODY, pid: server.pid };
  const result = await runTool('load.mjs', { ...job, connections, warmup: WARMUP, ms: LOAD_MS, made: true });
  const made = join(scratch, 'items');
  writeFileSync(made, result.made.join('\n'));
  const reading = { ...job, kind: 'reads', path: '/item/', slugs: made };
  const read = await runTool('load.mjs', { ...reading, connections, warmup: WARMUP, ms: LOAD_MS });
  await server.stop();
  record(YARDSTICK, result);
  record(readLabel(few), read);
  const full = await startYardstick(INVOICES);
  const there = { ...reading, url: full.url, pid: full.pid, slugs: full.names };
  record(readLabel(many), await runTool('load.mjs', { ...there, connections, warmup: WARMUP, ms: LOAD_MS }));
  await full.stop();
}

/** One round on a copy of one store: pairs, creations and reads, by the same daemon. */
async function loadDaemon(stored, { data, apiKey, names }) {
  const dataDir = workFolder(data);
  const server = await startDaemon(dist, dataDir, POOL, nodeFlags);
  await poolFull(dataDir, POOL);
  resident[stored === few ? 'few' : 'many'].push(residentMb(server.pid));
  const job = { url: server.url, path: PATH, apiKey, body: BODY, random: true, pid: server.pid, connections };
  const pairs = await runTool('load.mjs', { ...job, kind: 'pairs', warmup: PAIRS_WARMUP, units: PAIRS, made: true });
  const created = await runTool('load.mjs', { ...job, kind: 'create', warmup: WARMUP, ms: LOAD_MS });
  const made = join(scratch, 'names');
  writeFileSync(made, pairs.made.join('\n'));
  const reading = { ...job, kind: 'reads', path: `${PATH}/`, slugs: names ?? made };
  const read = await runTool('load.mjs', { ...reading, warmup: WARMUP, ms: LOAD_MS });
  resident[stored === few ? 'fewLoaded' : 'manyLoaded'].push(residentMb(server.pid));
  await server.stop();
  dropFolder(dataDir);
  record(label('create', stored), created);
  record(label('pairs', stored), pairs);
  record(label('reads', stored), read);
}

async function measureLoad(stores) {
  for (let round = 1; round <= ROUNDS; round++) {
    say(`Load, round ${round} of ${ROUNDS} …`);
    await loadYardstick();
    await loadDaemon(few, stores.empty);
    await loadYardstick();
    await loadDaemon(many, stores.full);
  }
}

async function timeStart(dataDir) {
  const server = await startDaemon(dist, dataDir, POOL_DEFAULT, nodeFlags);
  await server.stop();
  return server.readyMs;
}

async function measureStarts(stores) {
  const full = workFolder(stores.full.data);
  await timeStart(full);
  for (let sample = 1; sample <= START_SAMPLES; sample++) {
    say(`Starts, ${sample} of ${START_SAMPLES} …`);
    const fresh = workFolder();
    starts.first.push(await timeStart(fresh));
    starts.few.push(await timeStart(fresh));
    starts.many.push(await timeStart(full));
  }
}

const medianOf = (name, field) => median((series.get(name) ?? []).map((round) => round[field]));

/** The median of a quotient round by round: what slows the machine for a while slows both halves of it. */
function ratio(over, under, field) {
  const unders = series.get(under) ?? [];
  return median((series.get(over) ?? []).map((round, i) => round[field] / (unders[i]?.[field] ?? Number.NaN)));
}

/**
 * A round's requests against the yardsticks before and after it; `requests`: how many of the yardstick's stand for one of ours.
 * `offset`: 0 for the rounds with few stored, which come first, 1 for those with many.
 */
function againstYardstick(name, yardstick, requests, offset) {
  const yardsticks = (series.get(yardstick) ?? []).map((round) => round.perSecond);
  const quotients = (series.get(name) ?? []).map((round, i) => {
    const near = [yardsticks[2 * i + offset], yardsticks[2 * i + offset + 1]].filter(Number.isFinite);
    return round.perSecond / (median(near) / requests);
  });
  return median(quotients);
}

/** The same by the processor time of the servers, which other programs on the machine change little. */
const cpuRatio = (name, yardstick, requests) => (requests * medianOf(yardstick, 'cpuUs')) / medianOf(name, 'cpuUs');

function loadAims() {
  const aimsOf = (what, kind, yardstickOf, requests) =>
    [few, many].flatMap((stored, offset) => {
      const name = label(kind, stored);
      const yardstick = yardstickOf(stored);
      return [
        [`${what}, ${stored}`, againstYardstick(name, yardstick, requests, offset), '≥', 0.8],
        [`${what}, ${stored}, by processor time`, cpuRatio(name, yardstick, requests), '≥', 0.8],
      ];
    });
  return [
    ...aimsOf('pairs in a burst ÷ (yardstick ÷ 2)', 'pairs', () => YARDSTICK, 2),
    ...aimsOf("get ÷ the yardstick's read", 'reads', readLabel, 1),
  ];
}

/** Scrypt takes a core a quarter of a millisecond a header: there the ceiling is the machine's. */
function headerAims() {
  const results = (headers?.results ?? []).filter(({ label: name }) => name.includes('SHA-256d'));
  return results.map(({ label: name, perSecond }) => [`headers a second, ${name}`, perSecond, '≥', 20_000]);
}

function aims() {
  const p99 = (kind) => ratio(label(kind, many), label(kind, few), 'p99');
  return [
    ...loadAims(),
    ...(sustained ? sustainedAims(sustained) : []),
    [`p99 of create, ${many} ÷ ${few}`, p99('create'), '≤', 1.2],
    [`p99 of pairs, ${many} ÷ ${few}`, p99('pairs'), '≤', 1.2],
    [`p99 of get, ${many} ÷ ${few}`, p99('reads'), '≤', 1.2],
    [`start, ${many} ÷ ${few}`, median(starts.many) / median(starts.few), '≤', 1.2],
    ['ready, first start ever, s', median(starts.first) / 1_000, '<', 1],
    [`ready, ${few}, s`, median(starts.few) / 1_000, '<', 0.5],
    [`ready, ${many}, s`, median(starts.many) / 1_000, '<', 0.5],
    [`memory after start, ${few}, MB`, median(resident.few), '<', 130],
    [`memory after start, ${many}, MB`, median(resident.many), '<', 130],
    [`event loop held by a transaction of ${count(FLOOD.outputs)} outputs, CPU ms`, flood?.longest, '≤', 50],
    ['event loop held by a transaction of 4 MB, or 20 MB of them, CPU ms', large?.longest, '≤', 50],
    ...headerAims(),
    ['electrum: notification to stored fact, p50, ms', electrum?.notification?.p50, '≤', 20],
    [`electrum: catch-up with ${count(ELECTRUM.addresses)} addresses, s`, electrum?.catchUpSeconds, '≤', 10],
    [`electrum: memory for ${count(ELECTRUM.addresses)} addresses, MB`, electrum?.memoryMb, '≤', 60],
    ['electrum: first look, addresses a second', firstLook?.unlimited.perSecond, '≥', 1_000],
    [
      `electrum: restart with ${count(RESTART.addresses)} addresses, usable, s`,
      restart?.unlimited.usableSeconds,
      '≤',
      30,
    ],
    ['electrum: the same, all asked and late money found, s', restart?.unlimited.allSeconds, '≤', 300],
    ...(evm ? evmAims(evm) : []),
    ['electrum: failover when the asked server freezes, s', electrum?.failoverSeconds, '≤', 10],
    ...(monero ? moneroAims(monero) : []),
    ...(restore ? restoreAims(restore) : []),
    ...homeAims(link, home),
    ...(page ? pageAims(page) : []),
    ...(consoles ? consoleAims(consoles, many) : []),
    ['frames that a pair writes, 100 businesses ÷ one', frames[1]?.frames / frames[0]?.frames, '≤', 1.05],
    ['export: memory above that of an export of nothing, MB', exported?.aboveMb, '≤', 60],
    ['export: the same with a slow reader, MB', exported?.slowAboveMb, '≤', 60],
    ...(years ? yearsAims(years) : []),
  ];
}

function print() {
  const order = [YARDSTICK, readLabel(few), readLabel(many)];
  for (const kind of ['create', 'pairs', 'reads']) order.push(label(kind, few), label(kind, many));
  order.push(SUSTAINED);
  const measured = order.filter((name) => series.has(name)).map((name) => [name, series.get(name)]);
  let text = `\nCountinghouse on ${availableParallelism()} CPUs, ${process.platform} ${process.arch}; medians`;
  text += measured.length > 0 ? ` of ${ROUNDS} interleaved rounds, ${connections} connections\n\n` : '\n\n';
  if (measured.length > 0) text += `${loadTable(measured)}\n`;
  const lines = [
    ['start to ready, first start ever', median(starts.first), 'ms'],
    [`start to ready, ${few}`, median(starts.few), 'ms'],
    [`start to ready, ${many}`, median(starts.many), 'ms'],
    [`resident memory after start, ${few}`, median(resident.few), 'MB'],
    [`resident memory after start, ${many}`, median(resident.many), 'MB'],
    [`resident memory after load, ${few}`, median(resident.fewLoaded), 'MB'],
    [`resident memory after load, ${many}`, median(resident.manyLoaded), 'MB'],
    ...(sustained ? sustainedLines(sustained) : []),
    ...frames.map(({ businesses, frames: written }) => [
      `written to the log by a pair of random amount, businesses: ${businesses}`,
      written,
      'frames',
    ]),
    ...(scan?.results ?? []).map(({ watched, megabytesPerSecond }) => [
      `block scan, ${count(watched)} addresses watched (blocks of ${show(scan.blockMegabytes)} MB)`,
      megabytesPerSecond,
      'MB/s',
    ]),
    ...(flood?.steps ?? []).map(({ name, whole }) => [
      `one transaction of ${count(FLOOD.outputs)} outputs to us, ${name}`,
      whole,
      'ms',
    ]),
    ...(large?.steps ?? []).map(({ name, longest }) => [`event loop held by ${name}`, longest, 'CPU ms']),
    ...(headers?.results ?? []).flatMap(({ label: name, perSecond, heldMs, bytesEach }) => [
      [`headers verified and stored, ${name}`, perSecond, 'per second'],
      [`event loop held meanwhile, ${name}`, heldMs, 'ms at the most'],
      [`disk, ${name}`, bytesEach, 'bytes a header'],
    ]),
    ['electrum: notification to stored fact, p50', electrum?.notification?.p50, 'ms'],
    ['electrum: notification to stored fact, p99', electrum?.notification?.p99, 'ms'],
    ...(electrum?.distances ?? []).flatMap(({ latencyMs, p50, most }) => [
      [`electrum: pool to stored fact, ${latencyMs} ms away, p50`, p50, 'ms'],
      [`electrum: pool to stored fact, ${latencyMs} ms away, at the most`, most, 'ms'],
    ]),
    ['electrum: first look, a server of this machine', firstLook?.unlimited.perSecond, 'addresses/s'],
    ["electrum: first look, with ElectrumX's limits", firstLook?.limited.perSecond, 'addresses/s'],
    ["electrum: first look, three with ElectrumX's limits", firstLook?.spread.perSecond, 'addresses/s'],
    ...['unlimited', 'limited'].flatMap((how) => {
      const found = restart?.[how];
      const what = `electrum: restart, ${how === 'limited' ? "ElectrumX's limits" : 'no limits'}`;
      return [
        [`${what}, usable`, found?.usableSeconds, 's'],
        [`${what}, money at an old address reported`, found?.foundSeconds, 's'],
        [`${what}, all asked`, found?.allSeconds, 's'],
        [`${what}, requests a second after it was usable`, found?.perSecond, ''],
        [`${what}, requests`, found?.requests, ''],
        [`${what}, memory with the server's`, found?.memoryMb, 'MB'],
      ];
    }),
    ...(spend?.results ?? []).flatMap(({ coins, inputs, planMs, signMs }) => [
      [`choosing among ${count(coins)} coins, ${inputs} of them spent`, planMs, 'ms'],
      [`signing ${inputs} inputs`, signMs, 'ms'],
    ]),
    ...(evm && !evm.missing ? evmLines(evm) : []),
    ...(monero ? moneroLines(monero) : []),
    ...(restore ? restoreLines(restore) : []),
    ...homeLines(link, home),
    ...(page ? pageLines(page) : []),
    ...(consoles ? consoleLines(consoles, many) : []),
    [`export, ${count(exported?.lines ?? 0)} lines`, exported?.seconds, 's'],
    ['export: memory at the most', exported?.mb, 'MB'],
    ["export: of it without pages of files, such as Node's program", exported?.ownMb, 'MB'],
    [`backup, ${many}`, backup?.makeSeconds, 's'],
    [`backup file of a database of ${show(backup?.databaseMegabytes)} MB`, backup?.megabytes, 'MB'],
    ['restore of it', backup?.restoreSeconds, 's'],
    ...(years ? yearsLines(years) : []),
  ].filter(([, value]) => Number.isFinite(value));
  if (lines.length > 0) text += `${valueTable(lines)}\n`;
  const table = aimTable(aims());
  if (table) text += `Aims\n${table}`;
  process.stdout.write(text);
}

function prepare() {
  if (options.dist !== join(root, 'dist')) return;
  const { status } = spawnSync(process.execPath, [join(root, 'daemon', 'launcher', 'prepare.mjs')], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the build failed');
}

async function main() {
  prepare();
  if (!node) throw new Error('no Node that can run the daemon: run `npm start` once');
  const stores = only.some((name) => ['load', 'start', 'console', 'export', 'backup'].includes(name))
    ? await prepareStores(dist, INVOICES, say)
    : null;
  if (only.includes('start')) await measureStarts(stores);
  if (only.includes('load')) await measureLoad(stores);
  if (only.includes('sustained')) {
    const job = { path: PATH, body: BODY };
    sustained = await measureSustained({ ...SUSTAINED_LOAD, dist, nodeFlags, job, connections, say });
    series.set(SUSTAINED, sustained.rounds);
  }
  for (const businesses of only.includes('frames') ? [1, 100] : []) {
    say(`Frames, businesses: ${businesses} …`);
    frames.push(await runTool('frames.mjs', { dist, businesses, ...FRAMES }));
  }
  if (only.includes('scan')) {
    say('Block scan …');
    scan = await runTool('scan.mjs', { dist, folder: scratch, watched: [0, WATCHED], ...SCAN });
  }
  if (only.includes('flood')) {
    say('Flood …');
    flood = await runTool('flood.mjs', FLOOD);
  }
  if (only.includes('large')) {
    say('Large transactions …');
    large = await runTool('large.mjs', { rounds: ROUNDS });
  }
  if (only.includes('headers')) {
    say('Headers …');
    headers = await runTool('headers.mjs', { dist, folder: scratch, ...HEADERS });
  }
  if (only.includes('electrum')) {
    say('Electrum …');
    electrum = await runTool('electrum.mjs', { dist, ...ELECTRUM });
    if (electrum.missing) say(`  left out: ${electrum.missing} is not installed`);
  }
  if (only.includes('first-look')) {
    say('First look …');
    firstLook = await runTool('first-look.mjs', { dist, ...FIRST_LOOK });
  }
  if (only.includes('restart')) {
    say('Restart with many addresses …');
    restart = await runTool('restart.mjs', { dist, ...RESTART });
  }
  if (only.includes('spend')) {
    say('Spending …');
    spend = await runTool('spend.mjs', { dist, ...SPEND });
  }
  if (only.includes('evm')) {
    say('Ethereum …');
    evm = await runTool('evm.ts', {});
    if (evm.missing) say(`  left out: ${evm.missing} is not installed`);
  }
  if (only.includes('monero')) {
    say('Monero …');
    monero = await runTool('monero.mjs', { dist, ...MONERO });
    if (monero.missing) say(`  left out: ${monero.missing} is not installed`);
  }
  if (only.includes('monero-restore')) {
    say('Monero, restoring …');
    restore = await runTool('monero-restore.mjs', RESTORE);
    if (restore.missing) say(`  left out: ${restore.missing} is not installed`);
  }
  if (only.includes('home')) {
    say('A signer at home …');
    link = await runTool('link.ts', { waiting: HOME.waiting });
    home = await runTool('home.mjs', { dist, minutes: HOME.minutes });
  }
  if (only.includes('page')) {
    say('Payment page …');
    page = await measurePage({ dist, nodeFlags, say, ...PAGE });
  }
  if (only.includes('console')) {
    say('Console …');
    consoles = await measureConsole(dist, stores.full.data, nodeFlags);
  }
  if (only.includes('export')) {
    say('Export …');
    const dataDir = workFolder(stores.full.data);
    const server = await startDaemon(dist, dataDir, POOL, nodeFlags);
    exported = await runTool('export.mjs', { dist, dataDir });
    await server.stop();
    dropFolder(dataDir);
  }
  if (only.includes('backup')) {
    say('Backup …');
    const dataDir = workFolder(stores.full.data);
    backup = await runTool('backup.mjs', { dist, dataDir, folder: workFolder() });
    dropFolder(dataDir);
  }
  if (only.includes('years')) {
    const template = await prepareDecade(dist, { invoices: INVOICES, withdrawals: INVOICES / 10, seed: 1 }, say);
    say('Ten years …');
    years = await measureYears({ dist, template, invoices: INVOICES, nights: NIGHTS, nodeFlags, say });
  }
  print();
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    cleanUp();
    process.exit(130);
  });
}
main()
  .catch((error) => {
    process.stderr.write(`The benchmarks could not be run: ${error.message}\n`);
    process.exitCode = 1;
  })
  .finally(cleanUp);
