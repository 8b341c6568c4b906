/** `countinghouse client`: client IDs, with which a shop's pages call the browser API. */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { action, BUSINESS, list } from './commands.ts';
import { type Io, usage } from './io.ts';
import { confirm } from './prompt.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

type Client = Result<'client.add'>['client'];
type Options = { name?: string; origin?: string[]; host?: string[] };

export function clientCommands(root: Command, io: Io): void {
  const client = root.command('client').description("client IDs, with which a shop's pages call the browser API");
  client
    .command('list')
    .argument('[business]', 'only the client IDs of this business')
    .option('--revoked', 'also the revoked ones')
    .description('list the client IDs')
    .action(action(io, listClients));
  const origin = ['--origin <origin>', 'a page that may use it, such as https://shop.example; repeatable'] as const;
  const host = ['--host <host>', 'a host that its URLs may name; repeatable (default: those of the origins)'] as const;
  client
    .command('add')
    .argument(...BUSINESS)
    .requiredOption('--name <name>', 'what it is for')
    .option(...origin, list)
    .option(...host, list)
    .description('make a client ID')
    .action(action(io, addClient));
  client
    .command('change')
    .argument('<client>', 'its number or the ID itself')
    .option(...origin, list)
    .option(...host, list)
    .description('replace the origins or hosts of a client ID by those given')
    .action(action(io, changeClient));
  client
    .command('revoke')
    .argument('<client>', 'its number or the ID itself')
    .description('revoke a client ID, at once and for ever')
    .action(action(io, revokeClient));
}

async function listClients(session: Session, { revoked = false }: { revoked?: boolean }, business?: string) {
  const found = await session.call('client.list', { revoked, business });
  session.print(found, () =>
    table(
      ['>NO', 'BUSINESS', 'NAME', 'CLIENT ID', 'ORIGINS', 'HOSTS', ...(revoked ? ['REVOKED'] : [])],
      found.clients.map((client) => [
        `${client.id}`,
        client.business,
        client.name,
        client.client_id,
        client.origins.join(' ') || 'any',
        client.hosts.join(' ') || '-',
        ...(revoked ? [when(client.revoked_at)] : []),
      ]),
      'There are no client IDs.',
    ),
  );
}

export function clientText(client: Client): string {
  return pairs([
    ['Client ID', client.client_id],
    ['Origins', client.origins.join(' ') || 'any'],
    ['Hosts', client.hosts.join(' ') || null],
  ]);
}

async function addClient(session: Session, { name = '', origin = [], host }: Options, business?: string) {
  const added = await session.call('client.add', { business: business ?? '', name, origins: origin, hosts: host });
  session.print(added, () => clientText(added.client));
}

async function changeClient(session: Session, { origin, host }: Options, client?: string) {
  if (!origin && !host) throw usage('nothing to change: give --origin or --host');
  const changed = await session.call('client.change', { client: client ?? '', origins: origin, hosts: host });
  session.print(changed, () => clientText(changed.client));
}

async function revokeClient(session: Session, _: object, client?: string) {
  await confirm(session.io, session.yes, `Revoke client ID ${client}? Pages that use it stop working at once.`);
  const done = await session.call('client.revoke', { client: client ?? '' });
  session.print(done, () => `Client ID ${client} is revoked.\n`);
}
