/** `countinghouse alert`: the operator's alerts. */
import type { Command } from 'commander';
import { action } from './commands.ts';
import { EXIT, Failure, type Io, usage } from './io.ts';
import { wholeNumber } from './parse.ts';
import { textOf } from './said.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';

export function alertCommands(root: Command, io: Io): void {
  const alert = root.command('alert').description('alerts: what is wrong, and what waits for you');
  alert
    .command('list')
    .option('--after <place>', 'where the next page begins, as the page before says')
    .description('list the open alerts, those of live networks first')
    .action(action(io, listAlerts));
  alert
    .command('seen')
    .argument('[number]', 'as listed', wholeNumber)
    .option('--all', 'all that are listed')
    .description('mark an alert as seen; the same trouble raises it again')
    .action(action(io, markSeen));
  alert
    .command('test')
    .description('send a test message over every channel of [alerts]')
    .action(action(io, testChannels));
}

async function testChannels(session: Session) {
  const { channels } = await session.call('alert.test', {});
  if (channels.length === 0) {
    const text = 'no channel is configured: see [alerts] in resources/docs/run-a-server.md';
    throw new Failure(text, EXIT.failed, 'alert.no_channel');
  }
  const rows = channels.map(({ channel, error }) => [channel, error ?? 'sent']);
  session.print({ channels }, () => table(['CHANNEL', 'RESULT'], rows, ''));
  const failed = channels.filter(({ error }) => error !== null);
  if (failed.length > 0) throw new Failure(`not sent: ${failed.map(({ channel }) => channel).join(', ')}`);
}

async function listAlerts(session: Session, { after }: { after?: string }) {
  const found = await session.call('alert.list', { after });
  session.print(found, () =>
    table(
      ['>NO', 'SINCE', 'NETWORK', 'KIND', 'ABOUT', 'MESSAGE'],
      found.alerts.map((alert) => [
        alert.id === 0 ? '-' : `${alert.id}`,
        when(alert.created_at),
        alert.network ?? '-',
        alert.kind,
        alert.subject,
        textOf(alert.message),
      ]),
      'There are no open alerts.',
    ),
  );
  if (!session.json && found.next !== null) session.note(`More: --after ${found.next}`);
}

async function markSeen(session: Session, { all = false }: { all?: boolean }, id?: string) {
  if (all === (id !== undefined)) throw usage('give the number of an alert, or --all');
  const ids = all
    ? (await session.call('alert.list', {})).alerts.map(({ id }) => id).filter((each) => each > 0)
    : [Number(id)];
  const done = ids.length === 0 ? { closed: 0 } : await session.call('alert.seen', { ids });
  if (!all && done.closed === 0) throw new Failure(`there is no open alert ${id}`, EXIT.failed, 'alert.not_found');
  session.print(done, () => `Marked as seen: ${done.closed}.\n`);
}
