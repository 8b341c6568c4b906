/**
 * Texts in the console's languages. Each screen has a file `texts.ts` whose default export is made by `texts`; the
 * compiler checks that the languages have the same keys. `{name}` is replaced by a value; of `one|many` the number `n`
 * chooses.
 */
import { createContext, useContext, useMemo } from 'react';

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;
export type Texts<K extends string> = Record<Language, Record<K, string>>;
export type Values = Record<string, string | number>;
export type Translate<K extends string> = (key: K, values?: Values) => string;

const STORED = 'countinghouse-language';

export const texts = <K extends string>(en: Record<K, string>, de: Record<NoInfer<K>, string>): Texts<K> => ({
  en,
  de,
});

/** The chosen language, else the browser's, else English. */
export function firstLanguage(): Language {
  const wanted = [localStorage.getItem(STORED), ...navigator.languages].map((tag) => tag?.slice(0, 2) ?? '');
  return (wanted.find((tag) => tag in LANGUAGES) as Language | undefined) ?? 'en';
}

export const storeLanguage = (language: Language): void => localStorage.setItem(STORED, language);

export const LanguageContext = createContext<{ language: Language; choose(language: Language): void }>({
  language: 'en',
  choose: () => {},
});

export const useLanguage = (): Language => useContext(LanguageContext).language;

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

/** The texts of a table in the language of the console. */
export function useText<K extends string>(table: Texts<K>): Translate<K> {
  const language = useLanguage();
  return useMemo(
    () =>
      (key, values = {}) =>
        fill(table[language][key], language, values),
    [table, language],
  );
}
