/** The payer's language, and texts with their placeholders filled in. */
import { Html, html, type Part } from './html.ts';
import type { Plural, Words } from './languages/en.ts';
import { LANGUAGES } from './languages/index.ts';

export type Locale = {
  /** Intl's locale: language, region, and Latin digits, which wallets understand. */
  tag: string;
  language: string;
  direction: 'ltr' | 'rtl';
  words: Words;
  /** True if the payer chose it on the page; then links keep it. */
  chosen: boolean;
};

const FALLBACK = 'en-GB';
const TAGS_READ_MAX = 20;
const RTL = new Set(['ar']);

const byLanguage = new Map(LANGUAGES.map((entry) => [entry.language, entry]));

function localeOf(language: string, region: string | undefined, chosen: boolean): Locale | null {
  const entry = byLanguage.get(language);
  if (!entry) return null;
  const tag = region ? `${language}-${region}` : entry.tag;
  return {
    tag: `${tag}-u-nu-latn`,
    language,
    direction: RTL.has(language) ? 'rtl' : 'ltr',
    words: entry.words,
    chosen,
  };
}

/** The language and, if it has two letters, the region of a tag such as pt-BR or zh-Hant-TW. */
function partsOf(tag: string): [language: string, region: string | undefined] {
  const [language = '', ...rest] = tag.trim().toLowerCase().split(/[-_]/);
  return [language, rest.find((part) => /^[a-z]{2}$/.test(part))?.toUpperCase()];
}

/**
 * The payer's language: the one chosen on the page, else the first available one of the browser's list (RFC 9110,
 * 12.5.4), else English. Unreadable entries are skipped.
 */
export function localeFor(chosen: unknown, acceptLanguage: string | undefined): Locale {
  const wanted = tagsOf(acceptLanguage ?? '').map(partsOf);
  if (typeof chosen === 'string') {
    const region = wanted.find(([language, own]) => language === chosen && own !== undefined)?.[1];
    const found = localeOf(chosen, region, true);
    if (found) return found;
  }
  for (const [language, region] of wanted) {
    const found = localeOf(language, region, false);
    if (found) return found;
  }
  return DEFAULT_LOCALE;
}

/** The tags of an Accept-Language header, the most preferred first. */
function tagsOf(header: string): string[] {
  return header
    .split(',', TAGS_READ_MAX)
    .map((entry, at) => {
      const [tag = '', ...parameters] = entry.split(';');
      const quality = /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(parameters[0] ?? '');
      return { tag, quality: parameters.length === 0 ? 1 : Number(quality?.[1] ?? 0), at };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality || a.at - b.at)
    .map(({ tag }) => tag);
}

export const DEFAULT_LOCALE: Locale = localeOf(...partsOf(FALLBACK), false)!;

const GAP = /\{(\w+)\}/g;

type Values<T> = Readonly<Record<string, T>>;

/** The text with its placeholders filled in, for attributes and titles. */
export function fill(text: string, values: Values<string | number>): string {
  return text.replace(GAP, (_, name: string) => String(values[name] ?? ''));
}

/** The same as markup, each value isolated: its direction of writing does not affect its neighbours. */
export function rich(text: string, values: Values<Part>): Html {
  const pieces = text.split(GAP);
  return new Html(
    pieces.map((piece, i) => (i % 2 === 0 ? html`${piece}` : html`<bdi>${values[piece] ?? ''}</bdi>`).markup).join(''),
  );
}

const rules = new Map<string, Intl.PluralRules>();

/** The plural form of a text for a number. */
export function plural(forms: Plural, count: number, { language }: Locale): string {
  const rule = rules.get(language) ?? new Intl.PluralRules(language);
  rules.set(language, rule);
  return forms[rule.select(count)] ?? forms.other;
}
