/**
 * The yardstick: what a bare Express 5 server needs to parse a body, check it with zod and insert one row like an
 * invoice's, at the same durability and grouped in the same way. Takes as arguments the folder for its database, and how many
 * rows it has at the start; writes the names of some of these into the folder's file `names`, in random order, and prints its
 * address as one line of JSON.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import express from 'express';
import { z } from 'zod';

const BODY_BYTES_MAX = 65_536;
const NAMES_MAX = 10_000;
const [, , folder = '.', stored = '0'] = process.argv;
const db = new Database(join(folder, 'yardstick.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.pragma('wal_autocheckpoint = 4000');
db.exec(`CREATE TABLE item (
  id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, slug TEXT NOT NULL UNIQUE, amount TEXT NOT NULL,
  currency TEXT NOT NULL, crypto TEXT NOT NULL, status TEXT NOT NULL, due_at INTEGER NOT NULL, close_url TEXT,
  webhook_url TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`);
const insert = db.prepare(
  'INSERT INTO item (uuid, slug, amount, currency, crypto, status, due_at, close_url, webhook_url, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)',
);
const find = db.prepare('SELECT * FROM item WHERE slug = ?');
const begin = db.prepare('BEGIN IMMEDIATE');
const commit = db.prepare('COMMIT');

const schema = z.object({
  amount: z.number().min(10),
  currency: z.string().length(3).default('USD'),
  crypto: z.string().max(20).default('ALL'),
  close_url: z.url().optional(),
  webhook_url: z.url().optional(),
});

/** @type {{ work: () => unknown, resolve: (value: unknown) => void }[]} */
let queue = [];

/** Everything that arrived in this turn of the event loop is one transaction, answered after its commit. */
function flush() {
  const jobs = queue;
  queue = [];
  begin.run();
  const values = jobs.map((job) => job.work());
  commit.run();
  jobs.forEach((job, i) => {
    job.resolve(values[i]);
  });
}

function write(work) {
  return new Promise((resolve) => {
    if (queue.push({ work, resolve }) === 1) setImmediate(flush);
  });
}

const DUE_MS = 86_400_000;
const insertInvoice = ({ amount, currency, crypto, close_url, webhook_url }, now) => {
  const uuid = randomUUID();
  const slug = uuid.replaceAll('-', '').slice(0, 12);
  const row = [uuid, slug, String(amount), currency, crypto, 'unpaid', now + DUE_MS];
  insert.run(...row, close_url ?? null, webhook_url ?? null, now, now);
  return slug;
};

/** Fills the table, in one transaction. */
function fill(count) {
  const example = { amount: 59.9, currency: 'EUR', crypto: 'ALL', webhook_url: 'https://shop.example/orders/1/paid' };
  begin.run();
  const slugs = Array.from({ length: count }, () => insertInvoice(example, Date.now()));
  commit.run();
  const names = Array.from({ length: NAMES_MAX }, () => slugs[randomInt(slugs.length)]);
  writeFileSync(join(folder, 'names'), names.join('\n'));
}

if (stored !== '0') fill(Number(stored));
const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.use(express.json({ limit: BODY_BYTES_MAX }));
app.post('/item', async (request, response) => {
  const body = schema.safeParse(request.body);
  if (!body.success) {
    response.status(422).json({ message: body.error.issues[0]?.message });
    return;
  }
  const { amount, currency, crypto } = body.data;
  const now = Date.now();
  const slug = await write(() => insertInvoice(body.data, now));
  response
    .status(201)
    .json({ id: slug, amount: String(amount), currency, crypto, due_at: now + DUE_MS, status: 'unpaid' });
});
app.get('/item/:slug', (request, response) => {
  const row = find.get(request.params.slug);
  if (row) response.json(row);
  else response.status(404).json({ message: 'Not found' });
});
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`);
});
process.on('SIGTERM', () => process.exit(0));
