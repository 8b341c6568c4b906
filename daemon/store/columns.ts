/**
 * The storage of values in columns. A codec has the type of a column's values, for the statements, and reads them from
 * the form that SQLite stores. Writing needs no codec: `stored` depends on the value alone.
 */
import type { Generated } from 'kysely';
import type { Part } from '../domain/inheritance.ts';

/** The values that SQLite stores and returns. */
export type Stored = string | number | null | Uint8Array;

/** The values of columns in the program. `undefined` and dates are excluded on purpose. */
export type Value = Stored | bigint | boolean | object;

/** `read` is absent if the stored form is the value. It is never called for NULL. */
export type Codec<T> = { readonly read?: (stored: Stored) => T };

/** The type of a column's values. In inserts it is optional if SQLite fills the column or it may be NULL. */
export type Column<C> = C extends Codec<infer T> ? T : never;

const asStored = <T>(): Codec<T> => ({});

export const text = asStored<string>();
export const int = asStored<number>();
export const bytes = asStored<Uint8Array>();

/** Text of fixed words, written by the program alone. */
export const only = asStored as <T extends string>() => Codec<T>;

/** Milliseconds since 1970. */
export const time = int;

/** An amount or a scaled price, as decimal text: SQLite's integers overflow at 9.22 ETH in wei. */
export const units: Codec<bigint> = { read: (stored) => BigInt(stored as string) };

/** 0 or 1. */
export const flag: Codec<boolean> = { read: (stored) => stored === 1 };

/** JSON text. `T` is an object or a list, because single texts and numbers would be stored without JSON. */
export const json = <T extends object>(): Codec<T> => ({ read: (stored) => JSON.parse(stored as string) as T });

/** When parts of a deposit were first seen: JSON, with units as text. */
export const parts: Codec<Part[]> = {
  read: (stored) => (JSON.parse(stored as string) as [number, string][]).map(([at, units]) => [at, BigInt(units)]),
};

/** A column that may be NULL. */
export const maybe = <T>(codec: Codec<T>): Codec<T | null> => codec;

/** A column that has a default: an insert may leave it out. */
export const made = <T>(codec: Codec<T>): Codec<Generated<T>> => codec as Codec<unknown> as Codec<Generated<T>>;

/** The stored form of a value, for any column. */
export function stored(value: Value): Stored {
  switch (typeof value) {
    case 'bigint':
      return value.toString();
    case 'boolean':
      return value ? 1 : 0;
    case 'object':
      return value === null || value instanceof Uint8Array
        ? value
        : JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
    default:
      return value;
  }
}
