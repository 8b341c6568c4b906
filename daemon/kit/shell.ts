/** Commands that the operator is to paste into a shell. */

/** A text as one word of a POSIX shell; as it is where that needs no quotes. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
