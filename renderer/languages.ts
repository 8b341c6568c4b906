/**
 * Texts in several languages, of the console and of the shell. `{name}` is replaced by a value; of `one|many` the number `n`
 * chooses.
 */

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;
export const isLanguage = (tag: string): tag is Language => Object.hasOwn(LANGUAGES, tag);
export type Texts<K extends string> = Record<Language, Record<K, string>>;
export type Values = Record<string, string | number>;
export type Translate<K extends string> = (key: K, values?: Values) => string;

export const texts = <K extends string>(en: Record<K, string>, de: Record<NoInfer<K>, string>): Texts<K> => ({
  en,
  de,
});

export function fill(text: string, language: Language, values: Values): string {
  const forms = text.split('|');
  const { n } = values;
  const plural = n !== undefined && new Intl.PluralRules(language).select(Number(n)) !== 'one';
  const form = forms[plural ? forms.length - 1 : 0] ?? text;
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return typeof value === 'number' ? value.toLocaleString(language) : (value ?? whole);
  });
}
