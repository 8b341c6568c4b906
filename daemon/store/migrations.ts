/**
 * Brings a database's schema up to date. Migrations are never edited once released; a database of a newer release is
 * refused rather than guessed at.
 */
import type Database from 'better-sqlite3';
import { Kysely, SqliteDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { Rejected } from '../domain/errors.ts';
import { FIRST } from './migrations/0001-first.ts';
import { WITHDRAWALS } from './migrations/0002-withdrawals.ts';
import { BRANDING } from './migrations/0003-branding.ts';
import { APPLIANCE } from './migrations/0004-appliance.ts';
import { CLIENTS } from './migrations/0005-clients.ts';
import { RESTORED } from './migrations/0006-restored.ts';

const migration = (statements: readonly string[]): Migration => ({
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
});

const MIGRATIONS: Record<string, Migration> = {
  '0001-first': migration(FIRST),
  '0002-withdrawals': migration(WITHDRAWALS),
  '0003-branding': migration(BRANDING),
  '0004-appliance': migration(APPLIANCE),
  '0005-clients': migration(CLIENTS),
  '0006-restored': migration(RESTORED),
};

/** Applies what is missing, each migration in a transaction of its own. Throws `Rejected('store.newer')`. */
export async function migrate(db: Database.Database): Promise<void> {
  // destroying this Kysely would close the connection, which the store goes on with
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) });
  const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  if (!error) return;
  if (error instanceof Error && error.message.includes('is missing')) {
    throw new Rejected('store.newer', 'The database was made by a newer release: install that release or a later one');
  }
  throw error;
}
