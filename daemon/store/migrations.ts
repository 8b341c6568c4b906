/**
 * Brings a database's schema up to date. A released migration is never edited; a database of a newer release is
 * refused.
 *
 * Invariant: the statements of a migration and the row that names it are one transaction. So after a crash at any
 * moment the database has a whole number of migrations, and the next start continues.
 */
import Database from 'better-sqlite3';
import { Rejected } from '../domain/errors.ts';
import { FIRST } from './migrations/0001-first.ts';
import { WITHDRAWALS } from './migrations/0002-withdrawals.ts';
import { BRANDING } from './migrations/0003-branding.ts';
import { APPLIANCE } from './migrations/0004-appliance.ts';
import { CLIENTS } from './migrations/0005-clients.ts';
import { RESTORED } from './migrations/0006-restored.ts';
import { SPENDING } from './migrations/0008-spending.ts';
import { DEPOSITS } from './migrations/0009-deposits.ts';
import { RESTORED_APPROVALS } from './migrations/0010-restored-approvals.ts';
import { SHARES } from './migrations/0014-shares.ts';
import { ORDERS } from './migrations/0015-orders.ts';
import { SHOP_EVENTS } from './migrations/0016-shop-events.ts';
import { REFUNDS } from './migrations/0017-refunds.ts';
import { ALERTS } from './migrations/0018-alerts.ts';
import { CONFLICT_KEYS } from './migrations/0019-conflict-keys.ts';
import { DEBITS } from './migrations/0020-debits.ts';
import { CHECKOUT } from './migrations/0021-checkout.ts';
import { ALERT_NOTICES } from './migrations/0022-alert-notices.ts';
import { ACCOUNT_CHAINS } from './migrations/0023-account-chains.ts';
import { UNKNOWN_TOKENS } from './migrations/0024-unknown-tokens.ts';
import { WITHDRAWAL_SPEED } from './migrations/0025-withdrawal-speed.ts';
import { CONSOLE } from './migrations/0026-console.ts';
import { GAS_PLANS } from './migrations/0027-gas-plans.ts';
import { KEY_IMAGES } from './migrations/0028-key-images.ts';
import { LOOKALIKE_KEYS } from './migrations/0029-lookalike-keys.ts';
import { REPORTED_DEBITS } from './migrations/0030-reported-debits.ts';
import { GAS_SCHEDULE } from './migrations/0031-gas-schedule.ts';
import { TANK } from './migrations/0032-tank.ts';
import { FOUND_BY_SCRIPT } from './migrations/0033-found-by-script.ts';
import { ALERT_TEMPLATES } from './migrations/0034-alert-templates.ts';
import { INBOX_ALERTS } from './migrations/0035-inbox-alerts.ts';
import { WITHDRAWAL_TEMPLATES } from './migrations/0036-withdrawal-templates.ts';
import { CORRECTIONS } from './migrations/0037-corrections.ts';
import { GAS_HALTS } from './migrations/0039-gas-halts.ts';
import { ABSENCE } from './migrations/0041-absence.ts';
import { WEBHOOK_TURNS } from './migrations/0044-webhook-turns.ts';
import { ALERT_CHANGES } from './migrations/0046-alert-changes.ts';
import { SHARES_AND_PAYEES } from './migrations/0047-shares-and-payees.ts';
import { PAID_INDICES } from './migrations/0049-paid-indices.ts';
import { OVERPAID } from './migrations/0050-overpaid.ts';
import { DAY_OF_A_SHOP } from './migrations/0051-day-of-a-shop.ts';
import { PROBLEM_CODES } from './migrations/0052-problem-codes.ts';
import { LINKS } from './migrations/0053-links.ts';
import { COUNTER } from './migrations/0054-counter.ts';
import { REFUND_LINKS } from './migrations/0055-refund-links.ts';
import { TANKS } from './migrations/0058-tanks.ts';
import { REFUND_TOLD } from './migrations/0059-refund-told.ts';
import { GIVEN } from './migrations/0060-given.ts';
import { ENTRIES_BY_TIME } from './migrations/0061-entries-by-time.ts';
import { MESSAGES } from './migrations/0062-messages.ts';
import { PLAN_MESSAGES } from './migrations/0063-plan-messages.ts';
import { FORWARDING } from './migrations/0064-forwarding.ts';
import { RECEIPTS } from './migrations/0065-receipts.ts';
import { BOOKS_CURRENCY } from './migrations/0067-books-currency.ts';
import { FORWARDING_RUNS } from './migrations/0069-forwarding-runs.ts';
import { CLOSING_MAIL } from './migrations/0070-closing-mail.ts';
import { SLUGS } from './migrations/0071-slugs.ts';
import { AMOUNTS } from './migrations/0072-amounts.ts';
import { FORWARDING_TIMES } from './migrations/0074-forwarding-times.ts';
import { RECEIVING } from './migrations/0076-receiving.ts';
import { CHEAP_HOURS } from './migrations/0079-cheap-hours.ts';
import { GIVEN_LOG } from './migrations/0081-given-log.ts';
import { FORWARDING_GAS } from './migrations/0083-forwarding-gas.ts';
import { OUTSIDE_FEES } from './migrations/0085-outside-fees.ts';
import { LISTED } from './migrations/0088-listed.ts';
import { ADOPTED } from './migrations/0092-adopted.ts';
import { SPENDS_LEFT } from './migrations/0093-spends-left.ts';
import { TAKINGS } from './migrations/0095-takings.ts';

type Migration = readonly [name: string, statements: readonly string[]];

/** Every migration, in order of their numbers. The name is the file's. */
export const MIGRATIONS: readonly Migration[] = [
  ['0001-first', FIRST],
  ['0002-withdrawals', WITHDRAWALS],
  ['0003-branding', BRANDING],
  ['0004-appliance', APPLIANCE],
  ['0005-clients', CLIENTS],
  ['0006-restored', RESTORED],
  ['0008-spending', SPENDING],
  ['0009-deposits', DEPOSITS],
  ['0010-restored-approvals', RESTORED_APPROVALS],
  ['0014-shares', SHARES],
  ['0015-orders', ORDERS],
  ['0016-shop-events', SHOP_EVENTS],
  ['0017-refunds', REFUNDS],
  ['0018-alerts', ALERTS],
  ['0019-conflict-keys', CONFLICT_KEYS],
  ['0020-debits', DEBITS],
  ['0021-checkout', CHECKOUT],
  ['0022-alert-notices', ALERT_NOTICES],
  ['0023-account-chains', ACCOUNT_CHAINS],
  ['0024-unknown-tokens', UNKNOWN_TOKENS],
  ['0025-withdrawal-speed', WITHDRAWAL_SPEED],
  ['0026-console', CONSOLE],
  ['0027-gas-plans', GAS_PLANS],
  ['0028-key-images', KEY_IMAGES],
  ['0029-lookalike-keys', LOOKALIKE_KEYS],
  ['0030-reported-debits', REPORTED_DEBITS],
  ['0031-gas-schedule', GAS_SCHEDULE],
  ['0032-tank', TANK],
  ['0033-found-by-script', FOUND_BY_SCRIPT],
  ['0034-alert-templates', ALERT_TEMPLATES],
  ['0035-inbox-alerts', INBOX_ALERTS],
  ['0036-withdrawal-templates', WITHDRAWAL_TEMPLATES],
  ['0037-corrections', CORRECTIONS],
  ['0039-gas-halts', GAS_HALTS],
  ['0041-absence', ABSENCE],
  ['0044-webhook-turns', WEBHOOK_TURNS],
  ['0046-alert-changes', ALERT_CHANGES],
  ['0047-shares-and-payees', SHARES_AND_PAYEES],
  ['0049-paid-indices', PAID_INDICES],
  ['0050-overpaid', OVERPAID],
  ['0051-day-of-a-shop', DAY_OF_A_SHOP],
  ['0052-problem-codes', PROBLEM_CODES],
  ['0053-links', LINKS],
  ['0054-counter', COUNTER],
  ['0055-refund-links', REFUND_LINKS],
  ['0058-tanks', TANKS],
  ['0059-refund-told', REFUND_TOLD],
  ['0060-given', GIVEN],
  ['0061-entries-by-time', ENTRIES_BY_TIME],
  ['0062-messages', MESSAGES],
  ['0063-plan-messages', PLAN_MESSAGES],
  ['0064-forwarding', FORWARDING],
  ['0065-receipts', RECEIPTS],
  ['0067-books-currency', BOOKS_CURRENCY],
  ['0069-forwarding-runs', FORWARDING_RUNS],
  ['0070-closing-mail', CLOSING_MAIL],
  ['0071-slugs', SLUGS],
  ['0072-amounts', AMOUNTS],
  ['0074-forwarding-times', FORWARDING_TIMES],
  ['0076-receiving', RECEIVING],
  ['0079-cheap-hours', CHEAP_HOURS],
  ['0081-given-log', GIVEN_LOG],
  ['0083-forwarding-gas', FORWARDING_GAS],
  ['0085-outside-fees', OUTSIDE_FEES],
  ['0088-listed', LISTED],
  ['0092-adopted', ADOPTED],
  ['0093-spends-left', SPENDS_LEFT],
  ['0095-takings', TAKINGS],
];

/** Release 0.1.0 ran the statements of these without a transaction around them. */
const RUN_APART: ReadonlySet<string> = new Set(MIGRATIONS.slice(0, 6).map(([name]) => name));

/**
 * Indexes that exist only while a migration runs. Released statements cannot be changed, and without these some of them
 * read a whole table for each row of another: days with 100,000 withdrawals.
 */
export const HELP: ReadonlyMap<string, readonly string[]> = new Map([
  ['0010-restored-approvals', ['withdrawal (txid, chain_key)']],
]);

/** Runs a migration's statements with the indexes that help it. */
function runStatements(db: Database.Database, name: string, statements: readonly string[]): void {
  const help = HELP.get(name) ?? [];
  for (const [n, on] of help.entries()) db.exec(`CREATE INDEX migration_help_${n} ON ${on}`);
  for (const statement of statements) db.exec(statement);
  for (const n of help.keys()) db.exec(`DROP INDEX migration_help_${n}`);
}

/** Name and shape are those of Kysely's migrator, so that release 0.1.0 refuses a newer database. */
const BOOKKEEPING = `CREATE TABLE IF NOT EXISTS "kysely_migration"
  ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null)`;

/** A migration that is about to run, and its place among the missing ones, from 1. */
export type MigrationStep = { name: string; step: number; of: number };

/** Runs the missing migrations. Throws as `migrationSteps` does. */
export function migrate(db: Database.Database, migrations = MIGRATIONS): void {
  for (const _ of migrationSteps(db, migrations));
}

/**
 * Runs a missing migration after each step that it yields. Throws `Rejected`: `store.newer`, and `store.damaged` if the
 * schema is not what the migrations make. Disk errors are SQLite's own; then nothing of that migration was done.
 */
export function* migrationSteps(db: Database.Database, migrations = MIGRATIONS): Generator<MigrationStep> {
  const pending = pendingMigrations(db, migrations);
  if (pending.length > 0) {
    addArithmetic(db);
    addMessages(db);
  }
  for (const [i, [name, statements]] of pending.entries()) {
    yield { name, step: i + 1, of: pending.length };
    // only the first can be unfinished, because the next one starts after it
    const from = i === 0 && RUN_APART.has(name) ? statementsInForce(db, migrations, name) : 0;
    inTransaction(db, () => {
      db.exec(BOOKKEEPING);
      runStatements(db, name, statements.slice(from));
      db.prepare('INSERT INTO kysely_migration (name, timestamp) VALUES (?, ?)').run(name, new Date().toISOString());
    });
  }
}

/** Adds SQL functions that calculate with amounts: decimal texts of any length, in smallest units. */
function addArithmetic(db: Database.Database): void {
  db.aggregate('sum_units', {
    start: '0',
    step: (sum: string, units: unknown) => `${BigInt(sum) + BigInt(units as string)}`,
    deterministic: true,
  });
  db.function('difference', { varargs: true, deterministic: true }, (from: unknown, ...less: unknown[]) =>
    less.reduce<bigint>((left, units) => left - BigInt(units as string), BigInt(from as string)).toString(),
  );
}

/** Adds a function that joins a message's text with its code and values, which are JSON or NULL. */
function addMessages(db: Database.Database): void {
  db.function('message_of', { deterministic: true }, (text: unknown, template: unknown) =>
    JSON.stringify(
      template === null ? { code: 'words', values: { text } } : whole({ ...JSON.parse(`${template}`), text }),
    ),
  );
}

/** A message that was stored with its text, as one without. A message without values keeps the text, which may be its only words. */
function whole({ code, values, text }: { code: string; values: Record<string, unknown>; text: unknown }): unknown {
  const parts = Object.entries(values).map(([name, value]) => [name, isNested(value) ? whole(value) : value]);
  return { code, values: parts.length === 0 ? { text } : Object.fromEntries(parts) };
}

const isNested = (value: unknown): value is Parameters<typeof whole>[0] => typeof value === 'object' && value !== null;

/** The migrations that the database lacks, in order. Throws `Rejected('store.newer')`. */
function pendingMigrations(db: Database.Database, migrations = MIGRATIONS): readonly Migration[] {
  const applied = new Set(appliedNames(db));
  const missing = migrations.filter(([name]) => !applied.has(name));
  for (const [name] of migrations) applied.delete(name);
  if (applied.size === 0) return missing;
  throw new Rejected(
    'store.newer',
    `The database was made by a newer release (it has ${[...applied].sort().join(', ')}): install that release or a later ` +
      'one. To go back to this one, take the backup that was made before the upgrade, in the folder `upgrades` of the data ' +
      'directory, and restore it into a new data directory: `countinghouse restore FILE --data-dir FOLDER`. The restored ' +
      'service is quarantined, and finds on the chains what was paid since',
  );
}

/** The number of migrations in a database that this release would change; null if it would change none, or the database is new. */
export function upgradedFrom(db: Database.Database): number | null {
  const applied = appliedNames(db).length;
  return applied > 0 && pendingMigrations(db).length > 0 ? applied : null;
}

function appliedNames(db: Database.Database): string[] {
  const table = db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kysely_migration'`).get();
  return table ? (db.prepare('SELECT name FROM kysely_migration').pluck().all() as string[]) : [];
}

function inTransaction(db: Database.Database, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    // a full or failing disk may have ended the transaction itself
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * How many statements of a migration were run although no row names it, because release 0.1.0 was interrupted. Compares
 * what the migration creates and alters with a model that runs it statement by statement. Tables of other programs are
 * ignored.
 */
function statementsInForce(db: Database.Database, migrations: readonly Migration[], name: string): number {
  const at = migrations.findIndex((migration) => migration[0] === name);
  const model = new Database(':memory:');
  try {
    for (const [, statements] of migrations.slice(0, at)) for (const statement of statements) model.exec(statement);
    const before = schemaOf(model);
    const states = [before];
    for (const statement of migrations[at]![1]) {
      model.exec(statement);
      states.push(schemaOf(model));
    }
    const touched = [...schemaOf(model)]
      .filter(([object, sql]) => before.get(object) !== sql)
      .map(([object]) => object);
    const found = schemaOf(db);
    const inForce = states.findIndex((state) => touched.every((object) => state.get(object) === found.get(object)));
    if (inForce >= 0) return inForce;
  } finally {
    model.close();
  }
  throw new Rejected(
    'store.damaged',
    `The tables of the database are not what a release makes, so migration ${name} cannot go on: restore a backup into ` +
      'a new data directory (`countinghouse restore`), and keep this one',
  );
}

/** The statement of each table and index, by name. */
function schemaOf(db: Database.Database): Map<string, string> {
  const rows = db
    .prepare(`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
    .all() as { name: string; sql: string }[];
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

const PLAIN_TABLE = /^create table /i;
/** SQLite's own. */
const INTERNAL = new Map([
  ['sqlite_sequence', 'CREATE TABLE sqlite_sequence(name,seq)'],
  ['sqlite_stat1', 'CREATE TABLE sqlite_stat1(tbl,idx,stat)'],
  ['sqlite_stat4', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'],
]);

/**
 * Tables and indexes that no release makes so, and what is neither, as "trigger NAME": a trigger, view, generated column or virtual table
 * changes by itself what a service stores and reads. Plain tables of other programs are ignored. Throws `Rejected('store.newer')`.
 */
export function strangeObjects(db: Database.Database): string[] {
  pendingMigrations(db);
  const made = allStatements();
  const rows = db.prepare('SELECT type, name, tbl_name AS owner, sql FROM sqlite_master WHERE sql IS NOT NULL').all();
  return (rows as { type: string; name: string; owner: string; sql: string }[])
    .filter(({ name, owner, sql }) => {
      if (INTERNAL.has(name)) return INTERNAL.get(name) !== sql;
      if (made.has(name) || made.has(owner)) return !made.get(name)?.has(plain(sql));
      return !PLAIN_TABLE.test(sql);
    })
    .map(({ type, name }) => `${type.toLowerCase()} ${name}`);
}

/** SQLite's releases set other quotes and spaces where they alter a table. */
const plain = (sql: string): string => sql.replaceAll('"', '').replace(/\s+/g, ' ').toLowerCase();

let everMade: ReadonlyMap<string, ReadonlySet<string>> | null = null;

/** The statements that each table and index had after any part of any migration, by `plain`. Read once: that takes a fifth of a second. */
function allStatements(): ReadonlyMap<string, ReadonlySet<string>> {
  everMade ??= readStatements();
  return everMade;
}

function readStatements(): Map<string, Set<string>> {
  const model = new Database(':memory:');
  const made = new Map<string, Set<string>>();
  let before = schemaOf(model);
  try {
    addArithmetic(model);
    addMessages(model);
    for (const statement of MIGRATIONS.flatMap(([, statements]) => statements)) {
      const version = model.pragma('schema_version', { simple: true });
      model.exec(statement);
      if (model.pragma('schema_version', { simple: true }) === version) continue;
      const after = schemaOf(model);
      for (const [name, sql] of after) {
        if (sql !== before.get(name)) made.set(name, (made.get(name) ?? new Set()).add(plain(sql)));
      }
      before = after;
    }
  } finally {
    model.close();
  }
  return made;
}
