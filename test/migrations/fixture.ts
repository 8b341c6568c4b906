/**
 * Data directories of releases, as text that a later release is tested on. Before a release that changes the schema, run
 * `node test/migrations/fixture.ts RELEASE`, which writes `RELEASE.json` beside this file, and commit that.
 *
 * What is in one is a sandbox business's: no key in it guards anything.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { createLog } from '../../daemon/log.ts';
import { type Daemon, startDaemon } from '../../daemon/main.ts';
import { QUIET_CONFIG, until } from '../support/daemon.ts';

const DATABASE = 'countinghouse.db';

export type Fixture = {
  /** Milliseconds since 1970: a later release opens it at that time, or its invoices would long be over. */
  takenAt: number;
  apiKey: string;
  /** By path in the data directory, base64. */
  files: Record<string, string>;
  /** The database's statements: its schema, then its rows. */
  sql: string[];
  /** What the merchant API answered to GETs: a later release must still say all of it. */
  answers: Record<string, unknown>;
};

/** A running daemon and its merchant API. */
export class Service {
  readonly #daemon: Daemon;
  readonly #apiKey: string;

  private constructor(daemon: Daemon, apiKey: string) {
    this.#daemon = daemon;
    this.#apiKey = apiKey;
  }

  /** On a new data directory, or on that of a fixture, at its time. */
  static async start(dataDir: string, fixture?: Fixture): Promise<Service> {
    const offset = fixture === undefined ? 0 : fixture.takenAt - Date.now();
    const daemon = await startDaemon({
      dataDir,
      now: () => Date.now() + offset,
      log: createLog({ level: 'silent', format: 'json' }),
    });
    await daemon.acknowledgeKeys();
    return new Service(daemon, fixture?.apiKey ?? daemon.firstKeys?.apiKey ?? '');
  }

  get apiKey(): string {
    return this.#apiKey;
  }

  async call<Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await fetch(`${this.#daemon.url}/api/v1/merchant${path}`, {
      method,
      headers: { 'mb-api-key': this.#apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${await response.text()}`);
    return (await response.json()) as Body;
  }

  /** Makes an invoice and pays it, `blocks` deep; with enough of them waits until it is paid. */
  async sell(crypto: string, blocks: number, status = 'paid'): Promise<string> {
    const { id } = await this.call<{ id: string }>('POST', '/invoice', { amount: 100 });
    await this.call('POST', `/invoice/rp/${id}`, { crypto });
    await this.call('POST', '/sandbox/pay', { invoice_id: id });
    if (blocks > 0) await this.call('POST', '/sandbox/mine', { crypto, blocks });
    await until(`${id} is ${status}`, async () => {
      const invoice = await this.call<{ status: string; payment: { received: string } }>('GET', `/invoice/${id}`);
      return invoice.status === status && invoice.payment.received !== '0';
    });
    return id;
  }

  async stop(): Promise<void> {
    await this.#daemon.stop();
  }
}

/** A data directory of this release after some business. */
export async function makeFixture(): Promise<Fixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-fixture-'));
  try {
    writeFileSync(join(dataDir, 'countinghouse.toml'), QUIET_CONFIG);
    const service = await Service.start(dataDir);
    const answers: Record<string, unknown> = {};
    try {
      const ids = [await service.sell('BTC', 1), await service.sell('LTC', 1, 'unpaid')];
      const { id } = await service.call<{ id: string }>('POST', '/invoice', { amount: 25, crypto: 'XMR' });
      for (const path of ['/balance', ...[...ids, id].map((each) => `/invoice/${each}`)]) {
        answers[path] = await service.call('GET', path);
      }
    } finally {
      await service.stop();
    }
    const sql = dump(join(dataDir, DATABASE));
    return { takenAt: Date.now(), apiKey: service.apiKey, files: filesOf(dataDir), sql, answers };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Makes the data directory again. */
export function restore(fixture: Fixture, dataDir: string): void {
  for (const [path, base64] of Object.entries(fixture.files)) {
    mkdirSync(dirname(join(dataDir, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, path), Buffer.from(base64, 'base64'), { mode: 0o600 });
  }
  const db = new Database(join(dataDir, DATABASE));
  db.transaction(() => {
    for (const statement of fixture.sql) db.exec(statement);
  })();
  db.close();
}

function filesOf(dataDir: string): Record<string, string> {
  const paths = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(
    paths
      .filter((path) => statSync(join(dataDir, path)).isFile() && !path.startsWith(DATABASE) && path !== 'lock')
      .map((path) => [path, readFileSync(join(dataDir, path)).toString('base64')]),
  );
}

function dump(file: string): string[] {
  const db = new Database(file, { readonly: true });
  db.defaultSafeIntegers();
  try {
    const master = db
      .prepare(`SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'`)
      .all() as { type: string; name: string; sql: string }[];
    const tables = master.filter(({ type }) => type === 'table');
    const rows = tables.flatMap(({ name }) =>
      (db.prepare(`SELECT * FROM "${name}"`).raw().all() as unknown[][]).map(
        (row) => `INSERT INTO "${name}" VALUES (${row.map(literal).join(', ')})`,
      ),
    );
    return [...tables, ...master.filter(({ type }) => type !== 'table')].map(({ sql }) => sql).concat(rows);
  } finally {
    db.close();
  }
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : String(value);
}

if (import.meta.main) {
  const release = process.argv[2];
  if (release === undefined) throw new Error('usage: fixture.ts RELEASE');
  const file = join(import.meta.dirname, `${release}.json`);
  writeFileSync(file, `${JSON.stringify(await makeFixture(), null, 1)}\n`);
  console.info(`wrote ${file}`);
}
