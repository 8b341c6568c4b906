/** German of the service's messages and refusals, by their code: one file that German readers load when they meet the first. */
import { ERRORS_DE } from './errors-de.ts';
import { MESSAGES_DE } from './messages-de.ts';

export const GERMAN_WORDS: ReadonlyMap<string, string> = new Map(Object.entries({ ...ERRORS_DE, ...MESSAGES_DE }));
