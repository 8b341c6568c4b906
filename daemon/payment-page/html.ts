/**
 * HTML templates.
 *
 * Invariant: every `${…}` value is escaped as text, unless it is `Html`, which only this tag makes. Attribute values
 * must be quoted in the template.
 */

/** Markup that is safe to embed. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
  toString(): string {
    return this.markup;
  }
}

export type Part = Html | string | number | null | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/**
 * Control characters except white space, and characters that change the direction of writing and can disguise a text.
 */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** The text without characters that could disguise it: controls, direction marks, unpaired surrogates. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, '');
}

/** The text, clean and escaped for elements and attributes. */
export function escapeHtml(text: string): string {
  return cleanText(text).replace(/[&<>"'`]/g, (character) => ENTITIES[character]!);
}

function markupOf(part: Part): string {
  if (part === null) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  return part.map((piece) => piece.markup).join('');
}

/** The template tag: html`<p>${text}</p>`. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  let markup = strings[0]!;
  parts.forEach((part, i) => {
    markup += markupOf(part) + strings[i + 1]!;
  });
  return new Html(markup);
}
