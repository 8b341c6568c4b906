/** The service's words in the reader's language. English ones come with each message; German ones are loaded when they are needed. */
import { use } from 'react';
import { type Language, useLanguage } from '../i18n.ts';

/** Templates of messages, by their code. */
export type Words = ReadonlyMap<string, string>;

const NONE: Words = new Map();
let german: Promise<Words> | null = null;

/** The words of a language. Those that cannot be loaded leave the service's English until the page is loaded again. */
export function wordsOf(language: Language): Promise<Words> | null {
  if (language === 'en') return null;
  german ??= import('./german-words.ts').then(
    ({ GERMAN_WORDS }) => GERMAN_WORDS,
    () => NONE,
  );
  return german;
}

/** Suspends until the words are there. */
export function useWords(): Words {
  const words = wordsOf(useLanguage());
  return words === null ? NONE : use(words);
}
