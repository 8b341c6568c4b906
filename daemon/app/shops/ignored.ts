/**
 * Fields of requests that no operation knows. The API ignores them, so that shops may send more than it needs; a misspelt one goes
 * unnoticed there, and is shown to developers.
 *
 * Invariant: names alone are kept, never a value, a few for each business, and until the program ends.
 */

/** `meant`: the field that has the same letters; null if there is none. `at`: milliseconds since 1970 of the last time. */
type IgnoredField = { operation: string; field: string; meant: string | null; times: number; at: number };

const FIELDS_MAX = 20;
/** Fields of one request that are looked at. */
const LOOKED_AT_MAX = 100;
/** A name that a developer types. Longer ones may be secrets. */
const NAME = /^[A-Za-z_][\w.-]{0,31}$/;

const letters = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

export class IgnoredFields {
  readonly #now: () => number;
  /** Of each business, by operation and name; the field that was ignored last is the last one. */
  readonly #of = new Map<number, Map<string, IgnoredField>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes the fields of a body that `known` lacks. It takes any body. */
  note(businessId: number, operation: string, body: unknown, known: object): void {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
    let looked = 0;
    for (const name in body) {
      if (++looked > LOOKED_AT_MAX) return;
      if (!Object.hasOwn(known, name) && NAME.test(name)) this.#add(businessId, operation, name, Object.keys(known));
    }
  }

  /** The ignored fields of a business, the latest first. */
  list(businessId: number): IgnoredField[] {
    return [...(this.#of.get(businessId)?.values() ?? [])].reverse();
  }

  #add(businessId: number, operation: string, field: string, known: readonly string[]): void {
    const fields = this.#of.get(businessId) ?? new Map<string, IgnoredField>();
    this.#of.set(businessId, fields);
    const key = `${operation} ${field}`;
    const before = fields.get(key);
    fields.delete(key);
    const meant = before ? before.meant : (known.find((name) => letters(name) === letters(field)) ?? null);
    fields.set(key, { operation, field, meant, times: (before?.times ?? 0) + 1, at: this.#now() });
    const [oldest] = fields.keys();
    if (fields.size > FIELDS_MAX && oldest !== undefined) fields.delete(oldest);
  }
}
