/** `countinghouse endpoint`: the URLs to which shops' signed events are sent. */
import type { Command } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { action, BUSINESS, itemCommand, list } from './commands.ts';
import { EXIT, Failure, type Io } from './io.ts';
import { type PageOptions, paged, pageOf, printPage } from './page.ts';
import { confirm } from './prompt.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

type Types = NonNullable<Params<'endpoint.add'>['types']>;
type WithSecret = Result<'endpoint.add'>['endpoint'];

export function endpointCommands(root: Command, io: Io): void {
  const endpoint = root
    .command('endpoint')
    .description('event endpoints: the URLs to which signed events of a shop are sent');
  endpoint
    .command('add')
    .argument(...BUSINESS)
    .argument('<url>', 'where events are sent')
    .option('--types <types>', 'only these types, such as invoice.paid,withdrawal.completed (default: all)', list)
    .description('add an endpoint; prints its secret')
    .action(action(io, add));
  endpoint.command('list').description('list the endpoints').action(action(io, listEndpoints));
  paged(endpoint.command('log')).description('list the events that were sent, newest first').action(action(io, log));
  itemCommand(endpoint, 'types', 'change which events an endpoint is sent from now on')
    .argument('<types>', 'all, or these types, such as invoice.paid,withdrawal.completed', list)
    .action(action(io, changeTypes));
  itemCommand(endpoint, 'rotate', 'make a new secret; the former one holds for another day').action(action(io, rotate));
  itemCommand(endpoint, 'enable', 'send events to a disabled endpoint again, those that waited first').action(
    action(io, enable),
  );
  itemCommand(endpoint, 'pause', 'send an endpoint nothing until it is enabled; its events wait').action(
    action(io, pause),
  );
  itemCommand(endpoint, 'test', 'send an endpoint a test event now').action(action(io, test));
  itemCommand(endpoint, 'remove', 'remove an endpoint for ever').action(action(io, remove));
  itemCommand(endpoint, 'resend', 'send an event of the log again').action(action(io, resend));
}

function secretText({ id, url, secret }: WithSecret): string {
  return pairs([
    ['Endpoint', `${id}`],
    ['URL', url],
    ['Secret', secret],
  ]);
}

async function add(session: Session, { types }: { types?: string[] }, business = '', url = '') {
  const added = await session.call('endpoint.add', { business, url, types: types as Types | undefined });
  session.print(
    added,
    () => `${secretText(added.endpoint)}\nThe receiver verifies each event's signature with the secret.\n`,
  );
}

async function listEndpoints(session: Session) {
  const found = await session.call('endpoint.list', {});
  session.print(found, () =>
    table(
      ['>NO', 'BUSINESS', 'URL', 'TYPES', 'STATE'],
      found.endpoints.map((row) => [
        `${row.id}`,
        row.business,
        row.url,
        row.types.join(' ') || 'all',
        row.disabled_at !== null
          ? `disabled ${when(row.disabled_at)}: ${row.disabled_why}`
          : row.failing_since !== null
            ? `failing since ${when(row.failing_since)}`
            : 'ok',
      ]),
      'There are no event endpoints.',
    ),
  );
}

async function log(session: Session, options: PageOptions) {
  const found = await session.call('delivery.list', pageOf(options));
  printPage(session, found, () =>
    table(
      ['>NO', '>TO', 'MADE', 'TYPE', 'ABOUT', 'STATE', '>TRIED', 'ANSWER', 'NEXT'],
      found.deliveries.map((row) => [
        `${row.id}`,
        `${row.endpoint_id}`,
        when(row.created_at),
        row.type,
        row.subject,
        row.state,
        `${row.attempts}`,
        row.status === null ? (row.error ?? '-') : `${row.status}`,
        row.due_at === null ? '-' : when(row.due_at),
      ]),
      'Nothing was sent yet.',
    ),
  );
}

async function changeTypes(session: Session, _: object, ...given: unknown[]) {
  const [id, wanted] = [Number(given[0]), given[1] as string[]];
  const types = (wanted.join() === 'all' ? [] : wanted) as Types;
  const { endpoint } = await session.call('endpoint.types', { id, types });
  session.print({ endpoint }, () => `Endpoint ${id} is sent ${endpoint.types.join(', ') || 'all events'}.\n`);
}

async function rotate(session: Session, _: object, id?: string) {
  const done = await session.call('endpoint.rotate', { id: Number(id) });
  session.print(done, () => secretText(done.endpoint));
}

async function enable(session: Session, _: object, id?: string) {
  const done = await session.call('endpoint.enable', { id: Number(id) });
  session.print(done, () => `Endpoint ${id} is sent events again.\n`);
}

async function pause(session: Session, _: object, id?: string) {
  const done = await session.call('endpoint.pause', { id: Number(id) });
  session.print(done, () => `Endpoint ${id} is paused; its events wait.\n`);
}

async function test(session: Session, _: object, id?: string) {
  const { status, error, milliseconds } = await session.call('endpoint.test', { id: Number(id) });
  const isTaken = error === null && status !== null && status >= 200 && status < 300;
  const answer = status === null ? `no answer: ${error}` : `${status}${error === null ? '' : `: ${error}`}`;
  if (!isTaken)
    throw new Failure(`endpoint ${id} did not take the test event: ${answer}`, EXIT.failed, 'endpoint.test');
  session.print({ status, error, milliseconds }, () => `Endpoint ${id} took the test event: ${status}.\n`);
}

async function remove(session: Session, _: object, id?: string) {
  await confirm(session.io, session.yes, `Remove endpoint ${id}? Events that wait for it are not sent.`);
  const done = await session.call('endpoint.remove', { id: Number(id) });
  session.print(done, () => `Endpoint ${id} is removed.\n`);
}

async function resend(session: Session, _: object, id?: string) {
  const done = await session.call('delivery.resend', { id: Number(id) });
  session.print(done, () => `Delivery ${id} is sent again.\n`);
}
