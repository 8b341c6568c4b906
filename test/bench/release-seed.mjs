/**
 * Makes a data directory as the first release left it, with the invoices and withdrawals of another one (`decade.mjs`): the
 * schema is that release's (`test/migrations/0.1.0.json`), the rows are copied, column by column, as far as it had them.
 * Prints the rows of each table.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { restore } from '../migrations/fixture.ts';

const { from, dataDir } = JSON.parse(process.argv[2] ?? '{}');
const DATABASE = 'countinghouse.db';
const CACHE_KIB = 1_048_576;
/** The columns that the first release called otherwise, and one that it had alone. */
const FORMER = {
  spend: { anchor: 'conflict_key' },
  spend_version: { vsize: 'size' },
  withdrawal: { face: 'lookalike_key' },
  credit: {
    inputs: `coalesce((SELECT json_group_array(outpoint) FROM made.paying_input i
      WHERE i.txid = made.credit.txid AND i.chain_key = made.credit.chain_key), '[]')`,
  },
  spend_input: { outpoint: 'conflict_key' },
};
const SOURCES = { spend_input: 'spend_key' };
const TABLES = [
  'account',
  'target',
  'invoice',
  'payment',
  'credit',
  'balance',
  'inbox',
  'webhook',
  'webhook_attempt',
  'alert',
  'idempotency',
  'withdrawal',
  'spend',
  'spend_version',
  'spend_input',
  'spend_payout',
  'previous_tx',
  'chain_state',
  'sandbox_chain',
  'sandbox_block',
  'sandbox_tx',
  'sandbox_output',
];

const fixture = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'migrations', '0.1.0.json'), 'utf8'));
rmSync(join(dataDir, DATABASE), { force: true });
restore(fixture, dataDir);
const db = new Database(join(dataDir, DATABASE));
db.pragma('synchronous = OFF');
db.pragma('journal_mode = WAL');
db.pragma(`cache_size = -${CACHE_KIB}`);
db.exec(`ATTACH '${join(from, DATABASE).replaceAll("'", "''")}' AS made`);
const columns = (schema, table) => db.prepare(`SELECT name FROM pragma_table_info(?, ?)`).pluck().all(table, schema);
const rows = {};
for (const table of TABLES) {
  const source = SOURCES[table] ?? table;
  const there = new Set(columns('made', source));
  const pairs = columns('main', table).flatMap((name) => {
    const value = FORMER[table]?.[name] ?? (there.has(name) ? name : null);
    return value === null ? [] : [[name, value]];
  });
  db.exec(`DELETE FROM main.${table}`);
  rows[table] = db
    .prepare(
      `INSERT INTO main.${table} (${pairs.map(([name]) => name).join(', ')})
       SELECT ${pairs.map(([, value]) => value).join(', ')} FROM made.${source}`,
    )
    .run().changes;
}
db.exec('DETACH made');
db.pragma('wal_checkpoint(TRUNCATE)');
db.close();
process.stdout.write(`${JSON.stringify(rows)}\n`);
