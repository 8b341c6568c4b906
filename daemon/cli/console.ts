/** `countinghouse console`. */
import type { Command } from 'commander';
import { action } from './commands.ts';
import { EXIT, Failure, type Io } from './io.ts';
import { wholeNumber } from './parse.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';

export function consoleCommands(root: Command, io: Io): void {
  const group = root
    .command('console')
    .description('print a link that signs one browser in to the console')
    .action(action(io, openConsole));
  group.command('sessions').description('list the browsers that are signed in').action(action(io, listSessions));
  group
    .command('end')
    .argument('[number]', 'the number in `console sessions`; without it, all browsers', wholeNumber)
    .description('sign browsers out')
    .action(action(io, endSessions));
}

async function openConsole(session: Session): Promise<void> {
  const link = await session.call('console.open', {});
  session.print(
    link,
    () => `Open this link in a browser on this computer. It works once, until ${when(link.ends_at)}:\n\n${link.url}\n`,
  );
}

async function listSessions(session: Session): Promise<void> {
  const found = await session.call('console.list', {});
  session.print(found, () =>
    table(
      ['>NO', 'SINCE', 'LAST USED', 'MAY', 'BROWSER'],
      found.sessions.map(({ id, created_at, used_at, scope, name }) => [
        `${id}`,
        when(created_at),
        when(used_at),
        scope === 'counter' ? 'counter only' : 'everything',
        name,
      ]),
      'No browser is signed in.',
    ),
  );
}

async function endSessions(session: Session, _options: object, number?: string): Promise<void> {
  const ended = await session.call('console.end', { id: number === undefined ? undefined : Number(number) });
  if (number !== undefined && ended.ended === 0) {
    throw new Failure(
      `there is no session ${number}: see 'countinghouse console sessions'`,
      EXIT.failed,
      'console.session',
    );
  }
  session.print(ended, () => `Signed out: ${ended.ended}\n`);
}
