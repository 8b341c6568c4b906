/**
 * Makes a data directory with many invoices (`seed.mjs`) into one that is ten years old: withdrawals with their
 * transactions, change, debits and answers, the transactions that paid the invoices, their webhooks, alerts, and the events
 * of the last month. The rows are those that the product writes for the same business in the sandbox. Nothing was
 * removed by a night yet, as after an upgrade from a release that removed nothing. The same `seed` makes the same rows.
 *
 * Invariant: the books add up, so that the product's own proof finds no difference.
 */
import { createCipheriv, createHash } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';

const { dataDir, withdrawals: WITHDRAWALS, seed } = JSON.parse(process.argv[2] ?? '{}');
const CACHE_KIB = 1_048_576;
const PER_TRANSACTION = 2_000;
const DAY_MS = 86_400_000;
const EVENTS_MS = 30 * DAY_MS;
const ALERTS = 5_000;
const FEE = 1_045n;
const RATE = 6_000_000_000_000n;
const COIN = 100_000_000n;
/** Bytes of a transaction that paid us, without witnesses; hexadecimal digits of one of ours for each input. */
const PREVIOUS_BYTES = 222;
const RAW_DIGITS_AN_INPUT = 260;
/** Blocks above the last one with a row. */
const NEWER_BLOCKS = 2_000;

const db = new Database(join(dataDir, 'countinghouse.db'));
db.pragma('synchronous = OFF');
db.pragma(`cache_size = -${CACHE_KIB}`);

const stream = createCipheriv('aes-256-ctr', createHash('sha256').update(`${seed}`).digest(), Buffer.alloc(16));
const bytes = (length) => stream.update(Buffer.alloc(length));
const hex = (length) => bytes(length).toString('hex');

/** A UUID of version 7. */
function uuid(at) {
  const rest = hex(10);
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-a${rest.slice(3, 6)}-${rest.slice(6, 18)}`;
}

const inserts = new Map();
/** Inserts a row and returns its id. Amounts are stored as texts. */
function add(table, row) {
  const columns = Object.keys(row);
  const key = `${table} ${columns}`;
  if (!inserts.has(key)) {
    const marks = columns.map(() => '?').join(', ');
    inserts.set(key, db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`));
  }
  const values = columns.map((name) => (typeof row[name] === 'bigint' ? `${row[name]}` : row[name]));
  return Number(inserts.get(key).run(...values).lastInsertRowid);
}

const business = db.prepare('SELECT id, network FROM business ORDER BY id').get();
const chain_key = `${business.network}:BTC`;
const account = db
  .prepare('SELECT id, next_index FROM account WHERE business_id = ? AND chain_key = ?')
  .get(business.id, chain_key);

/** Gives the seeded addresses the numbers that the account would have given them. */
function renumber() {
  const { changes } = db
    .prepare(
      `UPDATE target SET idx = seeded.idx FROM (
         SELECT id, ? + ROW_NUMBER() OVER (ORDER BY idx) - 1 AS idx FROM target WHERE account_id = ? AND idx >= ?
       ) AS seeded WHERE seeded.id = target.id`,
    )
    .run(account.next_index, account.id, account.next_index);
  db.prepare('UPDATE account SET next_index = next_index + ? WHERE id = ?').run(changes, account.id);
}

function addPaying({ txid }, outpoints, usd_value) {
  add('paying_tx', { txid, chain_key, usd_value, outputs: 1, unvalued: 0, unread: 0, stale: 0 });
  for (const outpoint of outpoints) add('paying_input', { outpoint, chain_key, txid });
}

/** The payer's transaction, and the shop's notification. */
function addPayerSide(credit, invoice) {
  addPaying(credit, [`${hex(32)}:0`, `${hex(32)}:1`], BigInt(credit.usd_value));
  add('previous_tx', { txid: credit.txid, chain_key, base: bytes(PREVIOUS_BYTES) });
  if (invoice.webhook_url === null) return;
  const at = credit.block_time;
  const webhook = { invoice_id: credit.invoice_id, url: invoice.webhook_url, state: 'attempted', created_at: at };
  const webhook_id = add('webhook', { ...webhook, lane: 'shop' });
  add('webhook_attempt', {
    webhook_id,
    by_operator: 0,
    started_at: at + 20,
    finished_at: at + 140,
    status: 200,
    error: null,
  });
}

const markSpent = db.prepare(
  `UPDATE credit SET spent_txid = ?, spent_block_hash = ?, spent_block_height = ?, counted = 0 WHERE id = ?`,
);
const coinOf = ({ outpoint, units, target }) => ({
  outpoint,
  units: { $units: `${units}` },
  script: { $hex: target.script.toString('hex') },
  branch: target.branch,
  index: target.idx,
  confirmations: 100,
  sequence: 4_294_967_293,
});

let changeIndex = 0;
/** Pays somebody from `coins`, and returns the change as a coin. */
function addWithdrawal(n, coins) {
  const last = coins.at(-1);
  const at = last.block_time + DAY_MS;
  const height = last.block_height + 1;
  const [txid, block_hash] = [hex(32), hex(32)];
  const total = coins.reduce((sum, { units }) => sum + units, 0n);
  const kept = total / 10n;
  const paid = total - kept - FEE;
  const address = `bcrt1q${hex(19)}`;
  const of = { account_id: account.id, chain_key, asset: 'BTC' };
  const spend = { ...of, purpose: 'pay', conflict_key: coins[0].outpoint, state: 'buried', created_at: at };
  const spend_id = add('spend', { ...spend, closed_height: height + 6, subject: null });
  const script = Buffer.concat([Buffer.from([0, 20]), bytes(20)]);
  const change = { branch: 1, idx: changeIndex++, script, address: `bcrt1q${hex(19)}` };
  const plan = {
    kind: 'utxo',
    network: business.network,
    chain: 'BTC',
    accountNo: 0,
    version: 2,
    lockTime: height - 1,
    inputs: coins.map(coinOf),
    outputs: [
      {
        kind: 'change',
        script: { $hex: script.toString('hex') },
        address: change.address,
        index: change.idx,
        units: { $units: `${kept}` },
      },
      { kind: 'payout', address, script: { $hex: `0014${hex(20)}` }, units: { $units: `${paid}` } },
    ],
    fee: { $units: `${FEE}` },
    vsize: 68 * coins.length + 73,
  };
  const version_id = add('spend_version', {
    spend_id,
    chain_key,
    kind: 'pay',
    plan: JSON.stringify(plan),
    approval: hex(200),
    txid,
    raw: hex((RAW_DIGITS_AN_INPUT / 2) * coins.length + 80),
    fee: FEE,
    size: plan.vsize,
    created_at: at,
    signed_at: at + 50,
    sent_at: at + 100,
    problem: null,
    proof: null,
  });
  const usd_value = (paid * RATE) / COIN;
  const withdrawal_id = add('withdrawal', {
    uuid: uuid(at),
    business_id: business.id,
    ...of,
    origin: 'merchant',
    units: paid,
    sweep: 0,
    fee_held: 2n * FEE,
    address,
    lookalike_key: `${address.slice(5, 8)}…${address.slice(-3)}`,
    state: 'completed',
    held: 0,
    usd_value,
    approved_by: 'operator',
    approved_at: at,
    approval: hex(200),
    spend_id,
    cancel: 0,
    fee: FEE,
    txid,
    created_at: at,
    updated_at: at + DAY_MS / 24,
    fee_asset: 'BTC',
  });
  add('spend_payout', { version_id, withdrawal_id, units: paid });
  for (const { outpoint, id } of coins) {
    add('spend_key', { conflict_key: outpoint, chain_key, version_id });
    markSpent.run(txid, block_hash, height, id);
  }
  for (const [kind, units] of Object.entries({ paid, fee: FEE, moved: kept })) {
    const ref = `${txid}:${kind}:${account.id}:BTC`;
    add('debit', { ...of, ref, txid, kind, units, block_height: height, block_hash, at, usd_rate: RATE });
  }
  add('idempotency', {
    business_id: business.id,
    route: 'POST /api/v1/merchant/withdraw',
    key: `payout-${n}`,
    body_hash: bytes(32),
    status: 201,
    body: `{"id":"${withdrawal_id}","status":"pending"}`,
    created_at: at,
    expires_at: null,
  });
  addPaying(
    { txid },
    coins.map(({ outpoint }) => outpoint),
    (kept * RATE) / COIN,
  );
  add('previous_tx', { txid, chain_key, base: bytes(PREVIOUS_BYTES) });
  const target_id = add('target', { account_id: account.id, chain_key, ...change, invoice_id: null });
  const id = add('credit', {
    ...of,
    outpoint: `${txid}:0`,
    txid,
    target_id,
    invoice_id: null,
    units: kept,
    block_height: height,
    block_hash,
    block_time: at,
    first_seen_at: at,
    value: null,
    usd_value: (kept * RATE) / COIN,
    required: 1,
    maturity: 0,
    locked: 0,
    replaceable: 1,
    confirmed: 1,
    settled: 1,
    counted: 1,
    gone: 0,
    claim: null,
    own_change: 1,
  });
  return { id, outpoint: `${txid}:0`, units: kept, block_height: height, block_time: at, target: change };
}

const paidCoins = db.prepare(
  `SELECT credit.id, credit.outpoint, credit.txid, credit.units, credit.block_height, credit.block_time, credit.usd_value,
     credit.invoice_id, target.branch, target.idx, target.script, invoice.webhook_url
   FROM credit JOIN target ON target.id = credit.target_id JOIN invoice ON invoice.id = credit.invoice_id
   WHERE credit.id > ? AND credit.id <= ? ORDER BY credit.id LIMIT ?`,
);

/** Every paid invoice gets its payer's side, and nine in ten coins of each withdrawal's share are spent by it. */
function addPayments() {
  const last = db.prepare('SELECT max(id) FROM credit').pluck().get();
  const share = Math.floor(db.prepare('SELECT count(*) FROM credit').pluck().get() / WITHDRAWALS);
  let change = null;
  let made = 0;
  let waiting = [];
  for (let after = 0; ; ) {
    const rows = paidCoins.all(after, last, PER_TRANSACTION);
    if (rows.length === 0) break;
    after = rows.at(-1).id;
    db.exec('BEGIN');
    for (const { branch, idx, script, webhook_url, ...row } of rows) {
      addPayerSide(row, { webhook_url });
      waiting.push({ ...row, units: BigInt(row.units), target: { branch, idx, script } });
      if (waiting.length < share || made === WITHDRAWALS) continue;
      const coins = made % 10 === 0 && waiting.length > 1 ? waiting.slice(1) : waiting;
      change = addWithdrawal(made, change ? [change, ...coins] : coins);
      made += 1;
      waiting = [];
    }
    db.exec('COMMIT');
  }
  db.prepare('UPDATE account SET next_change = ? WHERE id = ?').run(changeIndex, account.id);
}

/** An endpoint that has received everything. */
function addEvents(now) {
  const endpoint_id = add('event_endpoint', {
    business_id: business.id,
    url: 'https://shop.example/events',
    types: '[]',
    created_at: now - EVENTS_MS,
    secret: `whsec_${bytes(32).toString('base64')}`,
    disabled_at: now,
    disabled_why: 'the seed made it',
  });
  const invoices = db
    .prepare('SELECT slug, status, created_at FROM invoice WHERE created_at > ? ORDER BY id')
    .all(now - EVENTS_MS);
  db.exec('BEGIN');
  for (const { slug, status, created_at: at } of invoices) {
    const types = status === 'paid' ? ['created', 'requested', 'seen', 'confirmed', 'paid'] : ['created'];
    for (const type of types) {
      const body = JSON.stringify({ type: `invoice.${type}`, timestamp: at, data: { id: slug, text: hex(300) } });
      const event = { uuid: uuid(at), business_id: business.id, type: `invoice.${type}`, subject: slug, body };
      const event_id = add('shop_event', { ...event, created_at: at });
      add('event_delivery', {
        event_id,
        endpoint_id,
        subject: slug,
        state: 'delivered',
        attempts: 1,
        due_at: at,
        status: 200,
        error: null,
        attempted_at: at,
      });
    }
  }
  db.exec('COMMIT');
}

function addAlerts(now, from) {
  db.exec('BEGIN');
  for (let n = 0; n < ALERTS; n++) {
    const at = Math.floor(from + ((now - from) * n) / ALERTS);
    const text = { kind: 'chain.away', subject: `chain ${n}`, message: `A chain was away, the ${n}th time` };
    add('alert', { ...text, created_at: at, seen_at: at + 60_000, network: business.network, ended_at: at + 60_000 });
  }
  db.exec('COMMIT');
}

/** The simulated chain is as high as the rows say. */
function raiseTip(now) {
  const height = db.prepare('SELECT max(block_height) FROM credit').pluck().get() + NEWER_BLOCKS;
  add('sandbox_block', { chain: 'BTC', height, hash: hex(32), time: now });
}

function addBalance() {
  const units = db
    .prepare('SELECT units FROM credit WHERE account_id = ? AND spent_txid IS NULL')
    .pluck()
    .all(account.id)
    .reduce((sum, text) => sum + BigInt(text), 0n);
  db.prepare('UPDATE balance SET units = ? WHERE account_id = ? AND asset = ?').run(`${units}`, account.id, 'BTC');
}

const now = Date.now();
renumber();
addPayments();
addEvents(now);
addAlerts(now, db.prepare('SELECT min(created_at) FROM invoice').pluck().get());
raiseTip(now);
addBalance();
const count = (table) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
const rows = [
  'invoice',
  'payment',
  'credit',
  'debit',
  'withdrawal',
  'webhook',
  'webhook_attempt',
  'previous_tx',
  'shop_event',
];
const counts = Object.fromEntries(rows.map((table) => [table, count(table)]));
db.pragma('wal_checkpoint(TRUNCATE)');
db.close();
process.stdout.write(`${JSON.stringify(counts)}\n`);
