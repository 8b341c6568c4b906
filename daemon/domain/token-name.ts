/** The symbol of a token that anybody may have made: text from a stranger, which is shown to the operator. */

const SHOWN_CHARS_MAX = 24;
/** All but letters, digits, punctuation and signs is removed: what is invisible or changes the text's direction. */
const UNSAFE = /[^\p{L}\p{N}\p{P}\p{Sc}\p{Sm}\p{So} ]/gu;

/** A symbol that is safe to show, cut to a few characters; null if nothing of it remains. */
export function safeSymbol(text: string): string | null {
  const safe = text
    .slice(0, 10 * SHOWN_CHARS_MAX)
    .normalize('NFKC')
    .replace(UNSAFE, '')
    .trim();
  const characters = [...safe];
  const cut = characters.length > SHOWN_CHARS_MAX ? `${characters.slice(0, SHOWN_CHARS_MAX - 1).join('')}…` : safe;
  return cut === '' ? null : cut;
}
