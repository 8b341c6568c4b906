/** `countinghouse key`: API keys. */
import type { Command } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { action, BUSINESS, itemCommand, list } from './commands.ts';
import type { Io } from './io.ts';
import { wholeNumber } from './parse.ts';
import { confirm } from './prompt.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

type Scopes = NonNullable<Params<'key.add'>['scopes']>;
type NewKey = Result<'key.add'>['key'];

export const SCOPES_HELP =
  'comma-separated: invoices, balance, withdraw, refund (may only ask for refunds) (default: the first three)';

/** The daemon checks which scopes exist. */
export const scopesOf = (typed: string[] | undefined): Scopes =>
  (typed ?? ['invoices', 'balance', 'withdraw']) as Scopes;

export function keyCommands(root: Command, io: Io): void {
  const key = root.command('key').description('API keys, with which a shop calls the merchant API');
  key
    .command('list')
    .argument('[business]', 'only the keys of this business')
    .option('--revoked', 'also the revoked ones')
    .description('list the API keys')
    .action(action(io, listKeys));
  key
    .command('add')
    .argument(...BUSINESS)
    .requiredOption('--name <name>', 'a name for you to recognise it by')
    .option('--scopes <scopes>', SCOPES_HELP, list)
    .option('--per-minute <n>', 'the most requests a minute (default: no limit)', wholeNumber)
    .description('make an API key; it is shown only once')
    .action(action(io, addKey));
  itemCommand(key, 'revoke', 'revoke an API key, at once and for ever').action(action(io, revokeKey));
}

async function listKeys(session: Session, { revoked = false }: { revoked?: boolean }, business?: string) {
  const found = await session.call('key.list', { revoked, business });
  session.print(found, () =>
    table(
      ['>NO', 'BUSINESS', 'NAME', 'KEY', 'SCOPES', 'MADE', 'LAST USED', ...(revoked ? ['REVOKED'] : [])],
      found.keys.map((key) => [
        `${key.id}`,
        key.business,
        key.name,
        `${key.hint}…`,
        key.scopes.join(' '),
        when(key.created_at),
        when(key.last_used_at),
        ...(revoked ? [when(key.revoked_at)] : []),
      ]),
      'There are no API keys.',
    ),
  );
}

/** A new key with a note that it is shown only once. */
export function newKeyText(key: NewKey): string {
  const text = pairs([
    ['API key', key.key],
    ['Scopes', key.scopes.join(' ')],
    ...(key.per_minute === null ? [] : [['Limit', `${key.per_minute} requests a minute`] as [string, string]]),
  ]);
  return `${text}\nKeep it safe: it is not shown again.\n`;
}

type AddOptions = { name: string; scopes?: string[]; perMinute?: number };

async function addKey(session: Session, { name, scopes, perMinute }: AddOptions, business?: string) {
  const added = await session.call('key.add', {
    business: business ?? '',
    name,
    scopes: scopesOf(scopes),
    per_minute: perMinute ?? null,
  });
  session.print(added, () => newKeyText(added.key));
}

async function revokeKey(session: Session, _: object, id?: string) {
  await confirm(session.io, session.yes, `Revoke key ${id}? Shops that use it stop working at once.`);
  const done = await session.call('key.revoke', { id: Number(id) });
  session.print(done, () => `Key ${id} is revoked.\n`);
}
