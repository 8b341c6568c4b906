/** The languages of the payment page, each under the name that its readers know, in the order in which they are offered. */
import { en, type Words } from './en.ts';

/** `tag`: the usual region, for who names none. */
export type Language = { language: string; tag: string; name: string; words: Words };

export const LANGUAGES: readonly Language[] = [{ language: 'en', tag: 'en-GB', name: 'English', words: en }];
