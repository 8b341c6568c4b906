/** Exact decimals in JSON answers. */

/** A JSON number with exactly these digits (ES2026, not yet in TypeScript's library). */
export function exactNumber(decimal: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(decimal);
}
