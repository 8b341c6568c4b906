/**
 * What a pair writes: the frames that it appends to the write-ahead log, and the processor time of the service. Both depend little on what
 * else the machine does. Takes a job as JSON: the build, the number of businesses, whether the amounts are random, and the numbers of pairs.
 *
 * Invariant: a connection of its own reads a state that the log has and the database not, so SQLite cannot begin the log anew, and it has each
 * frame that is written. The size of its file tells nothing: it is larger than what is valid in it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { cleanUp, DATABASE, runTool, startDaemon, workFolder } from './servers.mjs';

/** Where the log's index has the number of valid frames (SQLite's `mxFrame`) and of those that are in the database (`nBackfill`). */
const VALID_AT = 16;
const FOLDED_AT = 96;
const {
  dist,
  businesses = 1,
  pairs = 3_000,
  warmup = 1_000,
  connections = 64,
  random = true,
} = JSON.parse(process.argv[2] ?? '{}');
const PATH = '/api/v1/merchant/invoice';
const BODY = JSON.stringify({
  amount: 59.9,
  currency: 'EUR',
  order_id: 'A-1',
  webhook_url: 'https://shop.example/orders/1/paid',
});
/** More than twice of what the pairs take, so that nothing is derived meanwhile. */
const pool = Math.ceil((2.5 * (pairs + warmup)) / businesses) + 100;

/** Leaves the business of the first start its account for Bitcoin, and adds others with a key each. Gives the keys of all. */
async function addBusinesses(dataDir, firstKey) {
  const load = (path) => import(pathToFileURL(join(dist, '..', 'daemon', path)).href);
  const { accountKey } = await load('wallet/accounts.ts');
  const seed = randomBytes(64);
  const db = new Database(join(dataDir, DATABASE));
  const first = db.prepare('SELECT id, network FROM business').get();
  const chain = `${first.network}:BTC`;
  db.prepare('DELETE FROM target').run();
  db.prepare('DELETE FROM account WHERE chain_key <> ?').run(chain);
  db.prepare('UPDATE account SET next_index = 0').run();
  const keys = [firstKey];
  for (let n = 1; n < businesses; n++) {
    const key = `${firstKey.slice(0, -6)}${n.toString(16).padStart(6, '0')}`;
    const { lastInsertRowid: id } = db
      .prepare(
        `INSERT INTO business (uuid, name, network, time_zone, account_no, created_at)
         SELECT uuid || '-' || @n, name || @n, network, time_zone, account_no + @n, created_at FROM business WHERE id = @id`,
      )
      .run({ n, id: first.id });
    db.prepare(
      `INSERT INTO account (business_id, chain_key, key, next_index, birthday)
       SELECT ?, chain_key, ?, 0, birthday FROM account WHERE business_id = ?`,
    ).run(id, JSON.stringify(accountKey(seed, 'BTC', first.network, 1_000 + n)), first.id);
    db.prepare('INSERT INTO business_asset SELECT ?, asset, enabled FROM business_asset WHERE business_id = ?').run(
      id,
      first.id,
    );
    db.prepare(
      `INSERT INTO api_key (business_id, name, hash, hint, scopes, created_at)
       SELECT ?, name, ?, hint, scopes, created_at FROM api_key WHERE business_id = ? LIMIT 1`,
    ).run(id, createHash('sha256').update(key).digest(), first.id);
    keys.push(key);
  }
  db.close();
  return keys;
}

/**
 * The frames of the log: all, and those that are in the database. Not to be called while this process reads the database: closing a file ends
 * the process's locks on it, SQLite's as well.
 */
function framesIn(file) {
  const index = readFileSync(`${file}-shm`);
  const at = (offset) => (endianness() === 'LE' ? index.readUInt32LE(offset) : index.readUInt32BE(offset));
  return { valid: at(VALID_AT), folded: at(FOLDED_AT) };
}

try {
  const dataDir = workFolder();
  const first = await startDaemon(dist, dataDir, 20);
  await first.stop();
  const keys = await addBusinesses(dataDir, first.api_key);
  const server = await startDaemon(dist, dataDir, pool);
  const file = join(dataDir, DATABASE);
  await runTool('ready.mjs', { file, pool });
  const job = { kind: 'pairs', url: server.url, path: PATH, apiKeys: keys, body: BODY, random, pid: server.pid };
  let units = warmup;
  do {
    await runTool('load.mjs', { ...job, connections, warmup: 0, units });
    units = connections;
  } while (framesIn(file).folded === framesIn(file).valid);
  const before = framesIn(file).valid;
  const reader = new Database(file, { readonly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM business').get();
  const result = await runTool('load.mjs', { ...job, connections, warmup: 0, units: pairs });
  const frames = (framesIn(file).valid - before) / pairs;
  reader.close();
  await server.stop();
  process.stdout.write(
    `${JSON.stringify({ businesses, random, frames, cpuUs: result.cpuUs, perSecond: result.perSecond })}\n`,
  );
} finally {
  cleanUp();
}
