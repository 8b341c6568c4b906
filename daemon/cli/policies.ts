/** `countinghouse policy`, `address-book` and `rates`, and decisions about deposits in the inbox. */
import { type Command, Option } from 'commander';
import type { Result } from '../contract/operator.ts';
import { CHAINS, type ChainId } from '../domain/assets.ts';
import { POLICY_MODES, type PolicyMode } from '../domain/policy.ts';
import { granted, type PassphraseOption } from './approvals.ts';
import { action, itemCommand } from './commands.ts';
import type { Io } from './io.ts';
import type { Session } from './session.ts';
import { grantDirectly } from './signer.ts';
import { pairs, table, when } from './table.ts';
import { asked } from './withdrawals.ts';

type PolicyOptions = PassphraseOption & {
  mode: PolicyMode;
  perWithdrawal?: string;
  perDay?: string;
  addressBookOnly?: boolean;
};
const PASSPHRASE_HELP = "a file that holds the wallet's passphrase; otherwise it is asked for";
type Policy = Result<'policy.show'>['policy'];

export function policyCommands(root: Command, io: Io): void {
  const policy = root.command('policy').description('which withdrawals go without asking');
  policy.command('show').argument('<business>', 'its number, UUID or name').action(action(io, showPolicy));
  policy
    .command('set')
    .argument('<business>', 'its number, UUID or name')
    .addOption(
      new Option('--mode <mode>', 'by hand, or up to the limits without asking')
        .choices(POLICY_MODES)
        .makeOptionMandatory(),
    )
    .option('--per-withdrawal <usd>', 'the most for one withdrawal, US dollars')
    .option('--per-day <usd>', 'the most in any 24 hours, US dollars')
    .option('--address-book-only', 'only to addresses in the address book as it is now')
    .option('--passphrase-file <file>', PASSPHRASE_HELP)
    .description('set it; the wallet, which counts limits of its own, has to be unlocked for it')
    .action(action(io, setPolicy));

  const book = root.command('address-book').description('addresses that a policy may pay, and that have a name');
  book.command('list').argument('<business>', 'its number, UUID or name').action(action(io, listAddresses));
  book
    .command('add')
    .argument('<business>', 'its number, UUID or name')
    .argument('<chain>', CHAINS.join(', '))
    .argument('<address>')
    .argument('<label>', 'whose it is')
    .action(action(io, addAddress));
  itemCommand(book, 'remove', 'take it out, and out of what a policy may pay')
    .option('--passphrase-file <file>', PASSPHRASE_HELP)
    .action(action(io, removeAddress));
  root.command('rates').description('what a coin is worth now').action(action(io, listRates));
}

/** Added to the commands of the inbox. */
export function depositCommands(inbox: Command, io: Io): void {
  itemCommand(inbox, 'accept', 'let it count for the invoice at whose address it came').action(action(io, accept));
  itemCommand(inbox, 'refund', 'draft a withdrawal of it, less the fee')
    .argument('<address>', 'where to: ask the payer, do not take it from the chain')
    .action(action(io, refund));
  itemCommand(inbox, 'keep', 'leave it as ours').action(action(io, keep));
}

async function showPolicy(session: Session, _: object, business = ''): Promise<void> {
  print(session, await session.call('policy.show', { business }));
}

async function setPolicy(session: Session, options: PolicyOptions, business = ''): Promise<void> {
  const { mode, perWithdrawal = null, perDay = null, addressBookOnly = false } = options;
  const wanted = {
    business,
    mode,
    per_withdrawal_usd: perWithdrawal,
    per_day_usd: perDay,
    address_book_only: addressBookOnly,
  };
  const { grants } = await session.call('policy.grants', wanted);
  const signed = await granted(session, options, grants, wanted);
  if (signed.length === 0) session.note('The wallet is told nothing: right for a business of the sandbox alone.');
  const done = await session.call('policy.set', { ...wanted, grants: signed });
  await grantDirectly(session, signed);
  print(session, done);
}

function print(session: Session, result: { policy: Policy }): void {
  const { policy } = result;
  const limit = (usd: string | null): string => (usd === null ? 'none' : `${usd} USD`);
  session.print(result, () =>
    pairs([
      ['Business', policy.business],
      ['Withdrawals', policy.mode === 'manual' ? 'by hand' : 'without asking, up to the limits'],
      ['Per withdrawal', policy.mode === 'manual' ? null : limit(policy.per_withdrawal_usd)],
      ['Per 24 hours', policy.mode === 'manual' ? null : `${limit(policy.per_day_usd)} (${policy.used_usd} USD used)`],
      ['Addresses', policy.address_book_only ? 'those of the address book' : null],
    ]),
  );
}

async function listAddresses(session: Session, _: object, business = ''): Promise<void> {
  const found = await session.call('addressBook.list', { business });
  session.print(found, () =>
    table(
      ['>NO', 'CHAIN', 'LABEL', 'ADDRESS', 'SINCE'],
      found.addresses.map((one) => [`${one.id}`, one.chain, one.label, one.address, when(one.created_at)]),
      'The address book is empty.',
    ),
  );
}

async function addAddress(session: Session, _: object, business = '', chain = '', address = '', label = '') {
  const added = await session.call('addressBook.add', { business, chain: chain as ChainId, address, label });
  session.print(added, () => `${added.address.label} is in the address book.\n`);
}

async function removeAddress(session: Session, options: PassphraseOption, ...given: unknown[]): Promise<void> {
  const id = Number(given[0]);
  const { grants, policy } = await session.call('addressBook.grants', { id });
  // a policy that may pay the address book needs grants for it in the wallet too
  const signed = await granted(session, options, grants, policy);
  const removed = await session.call('addressBook.remove', { id, grants: signed });
  await grantDirectly(session, signed);
  session.print(removed, () => `${removed.address.label} is no longer in the address book.\n`);
}

async function listRates(session: Session): Promise<void> {
  const found = await session.call('rates.list', {});
  session.print(found, () =>
    table(
      ['NETWORK', 'CRYPTO', '>USD', '>EUR', '>GBP'],
      found.rates.map((one) => [one.network, one.crypto, one.usd ?? '-', one.eur ?? '-', one.gbp ?? '-']),
      'No business takes anything.',
    ),
  );
}

async function accept(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const done = await session.call('inbox.accept', { id: Number(given[0]) });
  session.print(done, () => `It counts for invoice ${done.invoice}, which is ${done.status}.\n`);
}

async function refund(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const [id, address] = given;
  asked(session, await session.call('inbox.refund', { id: Number(id), address: String(address) }));
}

async function keep(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const done = await session.call('inbox.keep', { id: Number(given[0]) });
  session.print(done, () => 'It stays.\n');
}
