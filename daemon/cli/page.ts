/** Lists that come in pages. */
import type { Command } from 'commander';
import { wholeNumber } from './parse.ts';

export type PageOptions = { limit?: number; before?: number };

/** Adds the options of a page to a command. */
export function paged(command: Command): Command {
  return command
    .option('--limit <count>', 'how many (default 50, at most 200)', wholeNumber)
    .option('--before <number>', 'only older ones than this number', wholeNumber);
}

/** The page's parameters, without those that were not given. */
export function pageOf({ limit, before }: PageOptions): PageOptions {
  return { ...(limit === undefined ? {} : { limit }), ...(before === undefined ? {} : { before }) };
}
