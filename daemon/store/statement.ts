/**
 * Statements that Kysely types and compiles once, and better-sqlite3 runs synchronously. A statement is written as a
 * function of its parameters; it is called once, with markers in their place, and from then on only binding costs.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Schema } from './schema.ts';

/** What a column takes; `undefined`, booleans and dates are not bindable on purpose. */
export type Bindable = string | number | bigint | null | Uint8Array;

/** A statement not yet bound to a database. */
export type Statement<P, R> = { readonly sql: string; readonly bind: (parameters: P) => Bindable[]; readonly row?: R };

class Marker {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Compiling is all that this Kysely may do: a query that it ran itself would silently see no rows. */
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

/** The builder that statements are written with. */
export const sqlite = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new RefusingDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/**
 * Declares a statement: `statement((p: { slug: string }) => sqlite.selectFrom('invoice')….where('slug', '=', p.slug))`.
 * The function must use its parameters as whole values only, since it sees markers instead.
 */
export function statement<P extends { [name in keyof P]: Bindable }, R>(
  build: (parameters: P) => { compile(): CompiledQuery<R> },
): Statement<P, R> {
  const markers = new Proxy({} as P, { get: (_, name) => new Marker(String(name)) });
  let compiled: CompiledQuery<R> | undefined;
  const compile = (): CompiledQuery<R> => {
    compiled ??= build(markers).compile();
    return compiled;
  };
  return {
    get sql() {
      return compile().sql;
    },
    bind(parameters: P): Bindable[] {
      const slots = compile().parameters;
      const bound = new Array<Bindable>(slots.length);
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i];
        const value = slot instanceof Marker ? parameters[slot.name as keyof P] : slot;
        if (value === undefined) throw new Error(`assertion failed: statement parameter ${i} is undefined`);
        bound[i] = value as Bindable;
      }
      return bound;
    },
  };
}
