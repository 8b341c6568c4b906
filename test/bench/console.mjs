/** The console beside many invoices: its size, its lists and searches as a browser asks for them, and ten of them open. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { ConsolePage } from '../support/console-page.ts';
import { median } from './report.mjs';
import { DATABASE, dropFolder, node, residentMb, startDaemon, workFolder } from './servers.mjs';

const POOL = 1_000;
const SAMPLES = 20;
const CONSOLES = 10;
const BYTES_PER_KB = 1_000;
const SETTINGS = 'console.port = 0\n';

/** Bytes of all files of the console, packed. */
function packedKb(dist) {
  const folder = join(dist, 'renderer');
  const files = ['index.html', ...readdirSync(join(folder, 'assets')).map((name) => join('assets', name))];
  return (
    files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0) / BYTES_PER_KB
  );
}

/** A browser that is signed in. */
async function signIn(dist, dataDir) {
  const cli = join(dist, 'daemon', 'cli.js');
  const answer = execFileSync(node, [cli, 'console', '--json', '--data-dir', dataDir], { encoding: 'utf8' });
  const page = await ConsolePage.signIn(JSON.parse(answer).url);
  return async (method, params) => {
    const { status, body } = await page.ask(`/call/${method}`, params);
    if (status !== 200) throw new Error(`${method}: ${status} ${JSON.stringify(body)}`);
    page.sent.length = 0;
    return body;
  };
}

async function timed(work) {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

async function medianMs(inputs, work) {
  const samples = [];
  for (const input of inputs) samples.push(await timed(() => work(input)));
  return median(samples);
}

/** What the lists and searches name, at places all over the store. */
function known(dataDir) {
  const db = new Database(join(dataDir, DATABASE), { readonly: true });
  const rows = db
    .prepare(
      `SELECT credit.txid, target.address, invoice.slug FROM credit
        JOIN target ON target.id = credit.target_id JOIN invoice ON invoice.id = credit.invoice_id
        WHERE credit.id % 997 = 1 LIMIT ?`,
    )
    .all(SAMPLES);
  db.close();
  return rows;
}

/** `template`: a data directory with many invoices. Milliseconds are medians. */
export async function measureConsole(dist, template, nodeFlags) {
  const dataDir = workFolder(template);
  const server = await startDaemon(dist, dataDir, POOL, nodeFlags, SETTINGS);
  const rows = known(dataDir);
  const call = await signIn(dist, dataDir);
  const lists = Array.from({ length: SAMPLES }, () => ({ business: '1', limit: 50 }));
  const result = {
    packedKb: packedKb(dist),
    firstPageMs: await medianMs(lists, (input) => call('invoice.list', input)),
    statusPageMs: await medianMs(lists, (input) => call('invoice.list', { ...input, status: 'paid' })),
    txidMs: await medianMs(rows, ({ txid }) => call('invoice.find', { text: txid })),
    addressMs: await medianMs(rows, ({ address }) => call('invoice.find', { text: address })),
    slugMs: await medianMs(rows, ({ slug }) => call('invoice.show', { invoice: slug })),
    takingsFirstMs: await timed(() => call('takings.list', { business: '1', by: 'month', periods: 12 })),
    takingsMs: await timed(() => call('takings.list', { business: '1', by: 'month', periods: 12 })),
  };
  const before = residentMb(server.pid);
  const open = async () => {
    const own = await signIn(dist, dataDir);
    const { cursor } = await own('events.next', {});
    own('events.next', { cursor }).catch(() => {});
    await Promise.all(['business.list', 'status', 'rates.list', 'wallet.status'].map((method) => own(method, {})));
    await own('invoice.list', { business: '1', limit: 50 });
  };
  // one after the other: each sign-in holds this process up, and the service waits 10 s at the most for a begun request
  for (let n = 0; n < CONSOLES; n++) await open();
  result.beforeMb = before;
  result.tenOpenMb = residentMb(server.pid);
  await server.stop();
  dropFolder(dataDir);
  return result;
}

export const consoleAims = (found, stored) => [
  [`console: first page of the list, ${stored}, ms`, found.firstPageMs, '<', 50],
  [`console: search by transaction, ${stored}, ms`, found.txidMs, '<', 50],
];

export const consoleLines = (found, stored) => [
  ['console, the files of all screens, packed', found.packedKb, 'kB'],
  [`console: first page of paid invoices, ${stored}`, found.statusPageMs, 'ms'],
  [`console: search by address, ${stored}`, found.addressMs, 'ms'],
  [`console: one invoice, ${stored}`, found.slugMs, 'ms'],
  [`console: takings of twelve months, first time, ${stored}`, found.takingsFirstMs, 'ms'],
  [`console: takings of twelve months, again, ${stored}`, found.takingsMs, 'ms'],
  ['resident memory before consoles', found.beforeMb, 'MB'],
  ['resident memory with ten consoles open', found.tenOpenMb, 'MB'],
];
