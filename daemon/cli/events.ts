/** `countinghouse events`: prints changes as they happen. */
import type { Command } from 'commander';
import { action } from './commands.ts';
import { type Io, jsonLine } from './io.ts';
import { wholeNumber } from './parse.ts';
import type { Session } from './session.ts';
import { when } from './table.ts';

export function eventCommands(root: Command, io: Io): void {
  root
    .command('events')
    .option('--count <number>', 'end after so many events', wholeNumber)
    .description('print each change as it happens; Ctrl-C ends it')
    .action(action(io, follow));
}

async function follow(session: Session, { count = Number.POSITIVE_INFINITY }: { count?: number }): Promise<void> {
  let { cursor } = await session.call('events.next', { wait_seconds: 0 });
  for (let left = count; left > 0; ) {
    const page = await session.call('events.next', { cursor });
    cursor = page.cursor;
    if (page.missed) session.note('Some were missed: the service was started anew.');
    for (const event of page.events.slice(0, left)) {
      const line = session.json
        ? jsonLine(event)
        : `${when(event.at)}  ${event.kind} ${event.subject}: ${event.what}\n`;
      session.io.stdout.write(line);
      left--;
    }
  }
}
