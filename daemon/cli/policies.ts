/** `countinghouse policy`, `address-book` and `rates`, and decisions about deposits in the inbox. */
import { type Command, Option } from 'commander';
import type { Result } from '../contract/operator.ts';
import { CHAINS, type ChainId } from '../domain/assets.ts';
import { POLICY_MODES, type PolicyMode } from '../domain/policy.ts';
import { granted } from './approvals.ts';
import { action, BUSINESS, itemCommand } from './commands.ts';
import type { Io } from './io.ts';
import { endLimits, nextDate, notingLimits } from './limits.ts';
import { symbol } from './parse.ts';
import { type PassphraseOption, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';
import { asked } from './withdrawals.ts';

type PolicyOptions = PassphraseOption & {
  mode: PolicyMode;
  perWithdrawal?: string;
  perDay?: string;
  addressBookOnly?: boolean;
};
type Policy = Result<'policy.show'>['policy'];

export function policyCommands(root: Command, io: Io): void {
  const policy = root.command('policy').description('policies: which withdrawals are paid without your approval');
  policy
    .command('show')
    .description('show the policy of a business')
    .argument(...BUSINESS)
    .action(action(io, showPolicy));
  withPassphrase(policy.command('set'))
    .argument(...BUSINESS)
    .addOption(
      new Option('--mode <mode>', 'manual: you approve each withdrawal; automatic: without approval, up to the limits')
        .choices(POLICY_MODES)
        .makeOptionMandatory(),
    )
    .option('--per-withdrawal <usd>', 'the most for one withdrawal, in US dollars')
    .option('--per-day <usd>', 'the most in any 24 hours, in US dollars')
    .option('--address-book-only', 'only to addresses in the address book as it is now')
    .description('set the policy of a business; the wallet has limits of its own and has to be unlocked for it')
    .action(action(io, setPolicy));

  const book = root
    .command('address-book')
    .description('the address book: addresses with names, which a policy may be limited to');
  book
    .command('list')
    .description('list the address book of a business')
    .argument(...BUSINESS)
    .action(action(io, listAddresses));
  book
    .command('add')
    .argument(...BUSINESS)
    .argument('<chain>', CHAINS.join(', '), symbol)
    .argument('<address>', 'the address, of the right network')
    .argument('<label>', 'its name')
    .description('add an address to the address book')
    .action(action(io, addAddress));
  withPassphrase(itemCommand(book, 'remove', 'remove an address; a policy may no longer pay it')).action(
    action(io, removeAddress),
  );
  root.command('rates').description('list what each coin is worth now').action(action(io, listRates));
}

/** Added to the commands of the inbox. */
export function depositCommands(inbox: Command, io: Io): void {
  itemCommand(inbox, 'accept', 'count a deposit for the invoice at whose address it came').action(action(io, accept));
  itemCommand(inbox, 'refund', 'ask for a withdrawal that sends a deposit back, less the fee')
    .argument('<address>', 'where to send it: ask the payer, do not take the address from the chain')
    .action(action(io, refund));
  itemCommand(inbox, 'keep', 'keep a deposit without counting it for an invoice').action(action(io, keep));
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
  // before the service is asked for anything, since it may answer so that nothing is taken back
  const known = mode === 'manual' ? await endLimits(session, options, 'policies') : options;
  const { grants } = await session.call('policy.grants', wanted);
  const signed = await granted(session, known, grants, wanted, await nextDate(session));
  if (signed.length === 0) session.note('The wallet is told nothing: right for a business of the sandbox alone.');
  const done = await notingLimits(session, session.call('policy.set', { ...wanted, grants: signed }));
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
  const signed = await granted(session, options, grants, policy, await nextDate(session));
  const removed = await notingLimits(session, session.call('addressBook.remove', { id, grants: signed }));
  session.print(removed, () => `${removed.address.label} is no longer in the address book.\n`);
}

async function listRates(session: Session): Promise<void> {
  const found = await session.call('rates.list', {});
  session.print(found, () =>
    table(
      ['NETWORK', 'CRYPTO', '>USD', '>EUR', '>GBP'],
      found.rates.map((one) => [one.network, one.crypto, one.usd ?? '-', one.eur ?? '-', one.gbp ?? '-']),
      'No business takes anything.',
    ).concat(...new Set(found.credits.map(({ text, url }) => `${text}: ${url}\n`))),
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
