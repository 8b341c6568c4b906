/**
 * Texts in the console's languages. Each screen has a file `texts.ts` whose default export is made by `texts`; the
 * compiler checks that the languages have the same keys.
 */
import { createContext, useContext, useMemo } from 'react';
import { fill, isLanguage, type Language, type Texts, type Translate } from './languages.ts';

export {
  fill,
  isLanguage,
  LANGUAGES,
  type Language,
  type Texts,
  type Translate,
  texts,
  type Values,
} from './languages.ts';

const STORED = 'countinghouse-language';

/** The chosen language, else the browser's, else English. */
export function firstLanguage(): Language {
  const wanted = [localStorage.getItem(STORED), ...navigator.languages].map((tag) => tag?.slice(0, 2) ?? '');
  return wanted.find(isLanguage) ?? 'en';
}

export const storeLanguage = (language: Language): void => localStorage.setItem(STORED, language);

export const LanguageContext = createContext<{ language: Language; choose(language: Language): void }>({
  language: 'en',
  choose: () => {},
});

export const useLanguage = (): Language => useContext(LanguageContext).language;

/** The time zone of the browser, until a business is known. */
export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
export const TimeZoneContext = createContext<string>(OWN_ZONE);

/** In which times and days are shown: of the business, so that a day has the same sales here as in its takings, closings and statements. */
export const useTimeZone = (): string => useContext(TimeZoneContext);

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
