/** `countinghouse refund-link`: pages on which a payer types the address of a refund. */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { action, itemCommand } from './commands.ts';
import { type Io, usage } from './io.ts';
import { type PageOptions, paged, pageOf, printPage } from './page.ts';
import { symbol, wholeNumber } from './parse.ts';
import { textOf } from './said.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

type Link = Result<'refundLink.make'>['link'];
type MakeOptions = { deposit?: number; amount?: string; crypto?: string; days?: number };

export function refundLinkCommands(root: Command, io: Io): void {
  const link = root.command('refund-link').description('pages on which a payer types, once, where a refund goes');
  link
    .command('make')
    .argument('[invoice]', 'the id or UUID of a paid invoice')
    .option('--deposit <number>', 'in place of an invoice: a deposit of the inbox', wholeNumber)
    .option('--amount <amount>', 'in whole coins (default: all that is left)')
    .option('--crypto <symbol>', 'which coin, if the payer sent several', symbol)
    .option('--days <count>', 'how long it works (default: 7, at most 90)', wholeNumber)
    .description('make a refund link; the withdrawal that follows waits for your approval')
    .action(action(io, make));
  paged(link.command('list')).description('list the refund links, newest first').action(action(io, listLinks));
  itemCommand(link, 'end', 'end a refund link before its withdrawal was made').action(action(io, end));
  itemCommand(link, 'prepare', 'ask again for the withdrawal, where the address is known').action(action(io, prepare));
}

const STATES: Record<Link['state'], string> = {
  waits: 'waits for the payer',
  given: 'the address was typed',
  approved: 'approved, not sent yet',
  sent: 'on the way',
  done: 'sent back',
  refused: 'not sent',
  over: 'ended',
};

const stateText = ({ state, withdrawal, problem }: Link): string => {
  const next = withdrawal === null ? '' : `: withdrawal ${withdrawal}`;
  return `${STATES[state]}${next}${problem === null ? '' : ` (no withdrawal yet: ${textOf(problem)})`}`;
};

const amountText = ({ amount, crypto }: Link): string =>
  amount === null ? `the whole deposit, ${crypto}` : `${amount} ${crypto}`;

function print(session: Session, link: Link): void {
  session.print({ link }, () =>
    pairs([
      ['Number', `${link.id}`],
      ['For the payer alone', link.url],
      ['Amount', amountText(link)],
      ['Invoice', link.invoice],
      ['Deposit', link.inbox === null ? null : `${link.inbox}`],
      ['State', stateText(link)],
      ['Address', link.address],
      ['Works until', when(link.ends_at)],
    ]),
  );
}

async function make(session: Session, { deposit, amount, crypto, days }: MakeOptions, invoice?: string) {
  if ((invoice === undefined) === (deposit === undefined)) throw usage('give an invoice, or --deposit with a number');
  if (deposit !== undefined && (amount !== undefined || crypto !== undefined)) {
    throw usage('a deposit is sent back whole: leave --amount and --crypto out');
  }
  const { link } =
    deposit === undefined
      ? await session.call('refundLink.make', { invoice: invoice ?? '', amount, crypto, days })
      : await session.call('refundLink.make', { inbox: deposit, days });
  print(session, link);
}

async function listLinks(session: Session, options: PageOptions) {
  const found = await session.call('refundLink.list', pageOf(options));
  printPage(session, found, () =>
    table(
      ['>NO', 'BUSINESS', 'INVOICE', '>DEPOSIT', '>AMOUNT', 'STATE', 'UNTIL', 'LINK'],
      found.links.map((link) => [
        `${link.id}`,
        link.business,
        link.invoice ?? '-',
        link.inbox === null ? '-' : `${link.inbox}`,
        amountText(link),
        stateText(link),
        when(link.ends_at),
        link.url,
      ]),
      'There are no refund links.',
    ),
  );
}

async function end(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const { link } = await session.call('refundLink.end', { id: Number(given[0]) });
  session.print({ link }, () => `Refund link ${link.id} has ended.\n`);
}

async function prepare(session: Session, _: object, ...given: unknown[]): Promise<void> {
  print(session, (await session.call('refundLink.prepare', { id: Number(given[0]) })).link);
}
