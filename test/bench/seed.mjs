/**
 * Fills a data directory with invoices as years of business leave them: four in ten never got a payment, four in ten
 * were paid, one in ten ran out, one in ten is open. Written by the store's own statements, in large transactions.
 * Prints the public names of some of the open ones.
 *
 * Invariant: what it writes asks nothing of the daemon at its start: no deadline has passed that was not acted on, and
 * no deposit waits for confirmations.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';

const { dist, dataDir, invoices: INVOICES, names: NAMES_MAX } = JSON.parse(process.argv[2] ?? '{}');
const PER_TRANSACTION = 50_000;
const CACHE_KIB = 1_048_576;
const DAY_MS = 86_400_000;
const YEARS_MS = 10 * 365 * DAY_MS;
/** Beyond every index that the daemon derives meanwhile. */
const INDEX_FROM = 1_000_000_000;

const load = (path) => import(pathToFileURL(join(dist, '..', 'daemon', path)).href);
const { insertInvoice, insertPayment, invoiceById } = await load('store/queries/invoices.ts');
const { Slugs } = await load('app/invoices/slugs.ts');
const { insertTarget, insertCredit, setBalance } = await load('store/queries/credits.ts');

const db = new Database(join(dataDir, 'countinghouse.db'));
db.pragma('synchronous = OFF');
db.pragma(`cache_size = -${CACHE_KIB}`);
const business = db.prepare('SELECT id, network FROM business ORDER BY id').get();
const chain = `${business.network}:BTC`;
const account = db.prepare('SELECT id FROM account WHERE business_id = ? AND chain_key = ?').get(business.id, chain);

const runner = (statement) => {
  const prepared = db.prepare(statement.sql);
  return (row) => Number(prepared.run(...statement.bind(row)).lastInsertRowid);
};
const add = {
  invoice: runner(insertInvoice),
  payment: runner(insertPayment),
  target: runner(insertTarget),
  credit: runner(insertCredit),
  balance: runner(setBalance),
};

const slugs = new Slugs(db.prepare("SELECT value FROM setting WHERE key = 'slug_key'").pluck().get());
const hex = (length) => randomBytes(length).toString('hex');

/** A UUID of version 7 for a time, as the daemon's are: they grow with it. */
function uuid(at) {
  const time = at.toString(16).padStart(12, '0');
  const rest = hex(10);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-a${rest.slice(3, 6)}-${rest.slice(6, 18)}`;
}

/** What became of the n-th invoice. */
const fateOf = (n) =>
  ['forgotten', 'paid', 'forgotten', 'paid', 'open', 'forgotten', 'paid', 'late', 'forgotten', 'paid'][n % 10];
const STATUS = { forgotten: 'canceled', paid: 'paid', late: 'canceled', open: 'unpaid' };
const PAYMENT_STATUS = { paid: 'paid', late: 'overdue', open: 'pending' };

function addInvoice(n, fate, at, dueAt) {
  const cents = 1_000n + BigInt((n * 7_919) % 50_000);
  const amount = cents * 1_000_000n;
  const id = n + 1;
  const slug = slugs.of(id, hex(3));
  add.invoice({
    id,
    uuid: uuid(at),
    slug,
    business_id: business.id,
    origin: n % 3 === 0 ? 'client' : 'merchant',
    amount,
    tolerance: amount / 100n,
    currency: 'EUR',
    crypto: 'ALL',
    status: STATUS[fate],
    due_at: dueAt,
    check_at: fate === 'open' ? dueAt + DAY_MS : null,
    close_url: 'https://shop.example/thanks',
    redirect_url: null,
    webhook_url: n % 2 === 0 ? `https://shop.example/orders/${n}/paid` : null,
    automatic_redirect: false,
    created_at: at,
    updated_at: at,
    order_id: null,
    description: null,
    metadata: null,
  });
  return { id, slug, amount };
}

function addPayment(n, fate, at, dueAt, { id, amount }) {
  const address = `bcrt1q${hex(19)}`;
  const target_id = add.target({
    account_id: account.id,
    chain_key: chain,
    branch: 0,
    idx: INDEX_FROM + n,
    script: Buffer.concat([Buffer.from([0, 20]), randomBytes(20)]),
    address,
    invoice_id: id,
  });
  const units = amount / 60_000n;
  const got = fate === 'paid';
  add.payment({
    invoice_id: id,
    chain_key: chain,
    asset: 'BTC',
    target_id,
    address,
    status: PAYMENT_STATUS[fate],
    deadline_at: dueAt,
    check_at: fate === 'open' ? dueAt : null,
    quote_rate: 6_000_000_000_000n,
    quote_amount: units,
    quote_issued_at: at,
    quote_ends_at: dueAt,
    rates: '{"usd":"65998.10","eur":"60998.10","gbp":"50998.10"}',
    received: got ? units : 0n,
    confirmed: got ? units : 0n,
    seen_value: got ? amount : 0n,
    confirmed_value: got ? amount : 0n,
    changes: 0,
    flags: 0,
    created_at: at,
    updated_at: at,
  });
  return { target_id, units };
}

function addCredit(n, at, { id, amount }, { target_id, units }) {
  const txid = hex(32);
  add.credit({
    chain_key: chain,
    outpoint: `${txid}:0`,
    txid,
    target_id,
    account_id: account.id,
    invoice_id: id,
    asset: 'BTC',
    units,
    block_height: n,
    block_hash: hex(32),
    block_time: at,
    first_seen_at: at,
    value: amount,
    usd_value: amount,
    book_currency: null,
    book_rate: null,
    book_rate_at: null,
    required: 1,
    maturity: 0,
    locked: false,
    replaceable: true,
    confirmed: true,
    settled: true,
    counted: true,
    gone: false,
    gone_at: null,
    inherited: null,
    claim: 'invoice',
    spent_txid: null,
    spent_block_hash: null,
    spent_block_height: null,
    own_change: false,
    via_txid: null,
  });
}

const now = Date.now();
const names = [];
let received = 0n;
for (let from = 0; from < INVOICES; from += PER_TRANSACTION) {
  db.exec('BEGIN');
  for (let n = from; n < Math.min(INVOICES, from + PER_TRANSACTION); n++) {
    const fate = fateOf(n);
    const at = now - YEARS_MS + Math.floor((YEARS_MS * n) / INVOICES);
    const dueAt = fate === 'open' ? now + 60 * DAY_MS + n : at + 20 * DAY_MS;
    const invoice = addInvoice(n, fate, at, dueAt);
    if (fate === 'forgotten') continue;
    const payment = addPayment(n, fate, at, dueAt, invoice);
    if (fate === 'paid') {
      addCredit(n, at, invoice, payment);
      received += payment.units;
    } else if (fate === 'open') names.push(invoice.slug);
  }
  db.exec('COMMIT');
}
// an earlier release has indexes instead, and none of these has a reference of the shop
if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'invoice_listed'").get()) {
  db.exec(`INSERT INTO invoice_listed SELECT business_id, created_at, id FROM invoice ORDER BY business_id, created_at, id;
    UPDATE setting SET value = (SELECT max(id) FROM invoice) WHERE key = 'invoices_listed'`);
}
add.balance({ account_id: account.id, asset: 'BTC', units: received });
db.pragma('wal_checkpoint(TRUNCATE)');
const last = names.at(-1);
const found = db.prepare(invoiceById.sql).get(...invoiceById.bind({ id: slugs.idOf(last) }));
if (found?.slug !== last) throw new Error('nothing was seeded');
db.close();

// read in an order that has nothing to do with that of the rows
for (let i = names.length - 1; i > 0; i--) {
  const j = randomBytes(4).readUInt32LE() % (i + 1);
  [names[i], names[j]] = [names[j], names[i]];
}
process.stdout.write(`${JSON.stringify({ names: names.slice(0, NAMES_MAX) })}\n`);
