/** Options of paged lists. */
import type { Command } from 'commander';
import { wholeNumber } from './parse.ts';
import type { Session } from './session.ts';

export type PageOptions = { limit?: number; before?: number };

export function paged(command: Command): Command {
  return command
    .option('--limit <count>', 'how many rows (default: 50, at most 200)', wholeNumber)
    .option('--before <number>', 'only rows with a smaller number', wholeNumber);
}

/** The page's parameters, of all options. */
export const pageOf = ({ limit, before }: PageOptions): PageOptions => ({ limit, before });

/** Prints a page, and how the next one is asked for. */
export function printPage<P extends { next: number | null }>(session: Session, page: P, text: () => string): void {
  session.print(page, text);
  if (!session.json && page.next !== null) session.note(`More: --before ${page.next}`);
}
