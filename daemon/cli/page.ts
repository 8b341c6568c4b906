/** Options of paged lists. */
import type { Command } from 'commander';
import { wholeNumber } from './parse.ts';

export type PageOptions = { limit?: number; before?: number };

export function paged(command: Command): Command {
  return command
    .option('--limit <count>', 'how many (default 50, at most 200)', wholeNumber)
    .option('--before <number>', 'only older ones than this number', wholeNumber);
}

/** The page's parameters that were given. */
export function pageOf({ limit, before }: PageOptions): PageOptions {
  return { ...(limit === undefined ? {} : { limit }), ...(before === undefined ? {} : { before }) };
}
