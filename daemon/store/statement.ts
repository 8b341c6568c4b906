/**
 * Statements that are compiled once and run synchronously by better-sqlite3. A statement of one table that depends on
 * its columns alone is named (`insert`, `find`, `page`, `update`, `remove`, …). Any other is written for Kysely, as a function of
 * its parameters. The function is called once, with markers for the parameters; each later use only binds values.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { type Stored, stored, type Value } from './columns.ts';
import { type Row, type Schema, TABLES } from './schema.ts';

/** A statement not yet bound to a database. */
export type Statement<P, R> = { readonly sql: string; readonly bind: (parameters: P) => Stored[]; readonly row?: R };

class Marker {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Kysely only compiles here: a query that it ran itself would silently return no rows. */
class RefusingDriver implements Driver {
  async init(): Promise<void> {}
  async destroy(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    throw new Error('assertion failed: statements are run by the store, not by Kysely');
  }
  async beginTransaction(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
}

/**
 * The placeholder of a parameter. With a bare `?` in a join, an `order by` or a `limit`, SQLite compiles the statement again
 * whenever another value is bound, which takes ten times as long as running it: the plan might depend on the value
 * (https://sqlite.org/c3ref/prepare.html). It does not look at the value of an expression.
 */
const PARAMETER = '+?';

class OncePlanned extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return PARAMETER;
  }
}

export const sqlite = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new RefusingDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new OncePlanned(),
  },
});

/** A word as a literal, because SQLite uses a partial index only if its condition is in the statement. */
export const word = <const W extends string>(text: W) => sql.lit<W>(text);

/** The same of a flag. */
export const YES = sql<boolean>`1`;
export const NO = sql<boolean>`0`;

function bound(value: Value | undefined, name: string): Stored {
  if (value === undefined) throw new Error(`assertion failed: statement parameter ${name} is undefined`);
  return stored(value);
}

/**
 * Declares a statement: `statement((p: { slug: string }) => sqlite.selectFrom('invoice')….where('slug', '=', p.slug))`.
 * The function may use its parameters only as whole values, because it gets markers instead of values. It may also return SQL (`sql`).
 */
export function statement<P extends { [name in keyof P]: Value }, R>(
  build: (parameters: P) => { compile(by: typeof sqlite): CompiledQuery<R> },
): Statement<P, R> {
  const markers = new Proxy({} as P, { get: (_, name) => new Marker(String(name)) });
  let compiled: CompiledQuery<R> | undefined;
  const compile = (): CompiledQuery<R> => {
    compiled ??= build(markers).compile(sqlite);
    return compiled;
  };
  return {
    get sql() {
      return compile().sql;
    },
    bind(parameters: P): Stored[] {
      const slots = compile().parameters;
      return slots.map((slot, i) =>
        slot instanceof Marker
          ? bound(parameters[slot.name as keyof P] as Value, slot.name)
          : bound(slot as Value, `${i}`),
      );
    },
  };
}

type Table = keyof Schema;
type Name<T extends Table> = keyof Row<T> & string;

const quoted = (name: string): string => `"${name}"`;
const listOf = (names: readonly string[]): string => names.map(quoted).join(', ');
const equal = (names: readonly string[], separator: string): string =>
  names.map((name) => `${quoted(name)} = ${PARAMETER}`).join(separator);

/** A statement whose parameters are columns, in the order of its placeholders. */
const byColumns = <P, R>(text: string, names: readonly string[]): Statement<P, R> => ({
  sql: text,
  bind: (parameters) => names.map((name) => bound(parameters[name as keyof P] as Value, name)),
});

/** The columns of a table without some. */
export const columnsBut = <T extends Table, const N extends readonly Name<T>[]>(
  table: T,
  ...names: N
): Exclude<Name<T>, N[number]>[] =>
  Object.keys(TABLES[table]).filter((name) => !(names as readonly string[]).includes(name)) as Exclude<
    Name<T>,
    N[number]
  >[];

/**
 * The handling of an insert whose key exists: `ignore` keeps the stored row; the columns of a key name the row to
 * overwrite.
 */
type Conflict<N> = 'ignore' | readonly N[];

/** Inserts a row with these columns. The other columns get their defaults. */
export function insert<T extends Table, const N extends Name<T>>(
  table: T,
  columns: readonly N[],
  conflict?: Conflict<N>,
): Statement<Pick<Row<T>, N>, never> {
  const into = `insert into ${quoted(table)} (${listOf(columns)}) values (${columns.map(() => PARAMETER).join(', ')})`;
  if (conflict === undefined) return byColumns(into, columns);
  if (conflict === 'ignore') return byColumns(`${into} on conflict do nothing`, columns);
  const others = columns.filter((name) => !conflict.includes(name));
  const set = others.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ');
  return byColumns(`${into} on conflict (${listOf(conflict)}) do update set ${set}`, columns);
}

/** Selects the rows with the given values in these columns. */
export const find = <T extends Table, const N extends Name<T>>(
  table: T,
  ...columns: N[]
): Statement<Pick<Row<T>, N>, Row<T>> =>
  byColumns(`select * from ${quoted(table)} where ${equal(columns, ' and ')}`, columns);

/** As a fixed value: the column is not NULL. */
export const SOME = Symbol('not null');

/** Values that a statement always has. They are literals, because SQLite uses a partial index only if its condition is in the statement. */
type Fixed<T extends Table> = {
  readonly [N in Name<T>]?: Extract<Row<T>[N], string | number | boolean | null> | typeof SOME;
};

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : value === null ? 'null' : `${Number(value)}`;

const isFixed = ([name, value]: [string, unknown]): string => {
  if (value === SOME) return `${quoted(name)} is not null`;
  return `${quoted(name)} ${value === null ? 'is' : '='} ${literal(value)}`;
};

/** Makes `find` with fixed values, an end with the parameters `more`, and some columns alone. */
const ending =
  <M extends object>(end: string, ...more: (keyof M & string)[]) =>
  <T extends Table, const N extends Name<T> = never, const C extends Name<T> = Name<T>>(
    table: T,
    columns: readonly N[] = [],
    fixed: Fixed<T> = {},
    selected: readonly C[] = [],
  ): Statement<Pick<Row<T>, N> & M, Pick<Row<T>, C>> => {
    const conditions = [...columns.map((name) => equal([name], '')), ...Object.entries(fixed).map(isFixed)];
    const where = conditions.length === 0 ? '1' : conditions.join(' and ');
    const what = selected.length === 0 ? '*' : listOf(selected);
    return byColumns(`select ${what} from ${quoted(table)} where ${where}${end}`, [...columns, ...more]);
  };

export const matching = ending('');
export const upTo = ending<{ limit: number }>(` limit ${PARAMETER}`, 'limit');
export const inOrder = ending(' order by "id"');
export const last = ending(' order by "id" desc limit 1');
export const oldest = ending<{ limit: number }>(` order by "id" limit ${PARAMETER}`, 'limit');
export const newest = ending<{ limit: number }>(` order by "id" desc limit ${PARAMETER}`, 'limit');
/** A page, by id. */
export const page = ending<{ after: number; limit: number }>(
  ` and "id" > ${PARAMETER} order by "id" limit ${PARAMETER}`,
  'after',
  'limit',
);
/** A page, by conflict key. */
export const pageByKey = ending<{ after: string; limit: number }>(
  ` and "conflict_key" > ${PARAMETER} order by "conflict_key" limit ${PARAMETER}`,
  'after',
  'limit',
);
/** A row if there are more than `above`. */
export const beyond = ending<{ above: number }>(` limit 1 offset ${PARAMETER}`, 'above');
/** A page, the newest first. */
export const below = ending<{ id: number; limit: number }>(
  ` and "id" < ${PARAMETER} order by "id" desc limit ${PARAMETER}`,
  'id',
  'limit',
);

type Part<T extends Table> = Name<T> | Fixed<T>;
type Given<T extends Table, L extends readonly Part<T>[]> = Extract<L[number], Name<T>>;

/** Sets columns of the rows with the given values in the columns of `where`; in both, also fixed values. */
export function update<T extends Table, const C extends readonly Part<T>[], const W extends readonly Part<T>[]>(
  table: T,
  columns: C,
  ...where: W
): Statement<Pick<Row<T>, Given<T, C> | Given<T, W>>, never> {
  const texts = (parts: readonly Part<T>[], fixed: (entry: [string, unknown]) => string): string[] =>
    parts.flatMap((part) => (typeof part === 'object' ? Object.entries(part).map(fixed) : equal([part], '')));
  const set = texts(columns, ([name, value]) => `${quoted(name)} = ${literal(value)}`).join(', ');
  const conditions = texts(where, isFixed).join(' and ');
  const names = [...columns, ...where].filter((part) => typeof part === 'string');
  return byColumns(`update ${quoted(table)} set ${set} where ${conditions}`, names);
}

/** Deletes the rows with the given values in these columns. */
export const remove = <T extends Table, const N extends Name<T>>(
  table: T,
  ...columns: N[]
): Statement<Pick<Row<T>, N>, never> =>
  byColumns(`delete from ${quoted(table)} where ${equal(columns, ' and ')}`, columns);
