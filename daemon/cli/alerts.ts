/** `countinghouse alert`: what the operator must know. */
import type { Command } from 'commander';
import { action } from './commands.ts';
import { EXIT, Failure, type Io } from './io.ts';
import { wholeNumber } from './parse.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';

export function alertCommands(root: Command, io: Io): void {
  const alert = root.command('alert').description('what the operator must know');
  alert.command('list').description('list what was not marked as seen').action(action(io, listAlerts));
  alert
    .command('seen')
    .argument('[number]', 'as listed', wholeNumber)
    .option('--all', 'all that are listed')
    .description('mark one as seen; it is raised again when it happens again')
    .action(action(io, markSeen));
}

async function listAlerts(session: Session) {
  const found = await session.call('alert.list', {});
  session.print(found, () =>
    table(
      ['>NO', 'SINCE', 'KIND', 'ABOUT', 'MESSAGE'],
      found.alerts.map((alert) => [
        alert.id === 0 ? '-' : `${alert.id}`,
        when(alert.created_at),
        alert.kind,
        alert.subject,
        alert.message,
      ]),
      'There are no open alerts.',
    ),
  );
}

async function markSeen(session: Session, { all = false }: { all?: boolean }, id?: string) {
  if (all === (id !== undefined)) throw new Failure('give the number of an alert, or --all', EXIT.usage, 'usage');
  const ids = all
    ? (await session.call('alert.list', {})).alerts.map(({ id }) => id).filter((each) => each > 0)
    : [Number(id)];
  const done = ids.length === 0 ? { closed: 0 } : await session.call('alert.seen', { ids });
  if (!all && done.closed === 0) throw new Failure(`there is no open alert ${id}`, EXIT.failed, 'alert.not_found');
  session.print(done, () => `Marked as seen: ${done.closed}.\n`);
}
