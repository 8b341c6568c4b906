/** Exact decimals in JSON answers. */

/** A JSON number spelled exactly like this decimal; standard since ES2026, and not in TypeScript's library yet. */
export function exactNumber(decimal: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(decimal);
}
