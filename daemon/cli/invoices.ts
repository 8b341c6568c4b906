/** `countinghouse invoice` and `countinghouse inbox`. */
import { type Command, Option } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { action, BUSINESS } from './commands.ts';
import { inboxAdvice, inboxText } from './inbox-text.ts';
import { invoiceText } from './invoice-text.ts';
import type { Io } from './io.ts';
import { type PageOptions, paged, pageOf, printPage } from './page.ts';
import { symbol } from './parse.ts';
import { depositCommands } from './policies.ts';
import { confirm } from './prompt.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';

type ListOptions = PageOptions & { business?: string; status?: 'unpaid' | 'paid' | 'canceled'; order?: string };
type List = Result<'invoice.list'>;
type AddOptions = { choose?: string; order?: string };

const LIMIT_DEFAULT = 50;
/** How many calls a filter with few matches makes before it asks the user to continue. */
const CALLS_MAX = 20;

export function invoiceCommands(root: Command, io: Io): void {
  const invoice = root.command('invoice').description('invoices: add, list, show, cancel, mark as paid');
  invoice
    .command('add')
    .argument(...BUSINESS)
    .argument('<amount>', 'such as 25.50')
    .argument('<currency>', 'its code, such as EUR', symbol)
    .option(
      '--choose <crypto>',
      'the coin of its payment, which then has an address at once; otherwise the payer chooses',
      symbol,
    )
    .option('--order <id>', 'a reference of your own')
    .description('make an invoice by hand')
    .action(action(io, addInvoice));
  paged(invoice.command('list'))
    .option('--business <business>', 'only invoices of this business')
    .addOption(new Option('--status <status>', 'only invoices of this status').choices(['unpaid', 'paid', 'canceled']))
    .option('--order <id>', 'only invoices of this order')
    .description('list the invoices, newest first')
    .action(action(io, listInvoices));
  invoice
    .command('show')
    .argument('<invoice>', 'its id or UUID')
    .description('show an invoice: its payment, quote, deposits and notification')
    .action(action(io, showInvoice));
  invoice
    .command('cancel')
    .argument('<invoice>', 'its id or UUID')
    .description('cancel an unpaid invoice; money that came or will come goes to the inbox')
    .action(action(io, cancelInvoice));
  invoice
    .command('mark-paid')
    .argument('<invoice>', 'its id or UUID')
    .description('mark an unpaid invoice as paid, whatever has arrived; the shop is notified')
    .action(action(io, markPaid));
}

export function inboxCommands(root: Command, io: Io): void {
  const inbox = root.command('inbox').description('deposits that no unpaid invoice claims');
  paged(inbox.command('list'))
    .option('--each', 'a row for each deposit, also where one transaction made several')
    .description('list the deposits, newest first')
    .action(action(io, listInbox));
  paged(inbox.command('tokens'))
    .description('list tokens that this program does not know: they have no price and count for nothing')
    .action(action(io, listUnknownTokens));
  depositCommands(inbox, io);
}

async function listInvoices(session: Session, options: ListOptions) {
  const found = await searchInvoices(session, options);
  printPage(session, found, () =>
    table(
      ['>NO', 'INVOICE', 'ORDER', 'BUSINESS', 'MADE', '>AMOUNT', 'STATUS', '>RECEIVED', 'OF', 'DUE'],
      found.invoices.map((invoice) => [
        `${invoice.id}`,
        invoice.slug,
        invoice.order_id ?? '-',
        invoice.business,
        when(invoice.created_at),
        `${invoice.amount} ${invoice.currency}`,
        invoice.payment?.status === 'overdue' && invoice.status === 'unpaid' ? 'overdue' : invoice.status,
        invoice.payment?.received ?? '-',
        invoice.payment ? `${invoice.payment.amount} ${invoice.payment.crypto}` : invoice.crypto,
        when(invoice.due_at),
      ]),
      found.next === null ? 'There are no such invoices.' : 'None among the newest.',
    ),
  );
}

/** One page. If a filter skips most rows, several calls fill it. */
async function searchInvoices(session: Session, options: ListOptions): Promise<List> {
  const { business, status, order, limit = LIMIT_DEFAULT } = options;
  const filter = { business, status, order_id: order };
  const invoices: List['invoices'] = [];
  let page: PageOptions = pageOf(options);
  for (let calls = 1; ; calls++) {
    const params: Params<'invoice.list'> = { ...filter, ...page, limit: limit - invoices.length };
    const found = await session.call('invoice.list', params);
    invoices.push(...found.invoices);
    if (found.next === null || invoices.length >= limit || calls >= CALLS_MAX) return { invoices, next: found.next };
    page = { before: found.next };
  }
}

async function addInvoice(session: Session, options: AddOptions, business = '', amount = '', currency = '') {
  const { choose, order: order_id = null } = options;
  const wanted = { business, amount, currency: currency.toUpperCase(), choose, order_id, description: null };
  const made = await session.call('invoice.create', wanted);
  session.print(made, () => invoiceText(made.invoice));
}

async function showInvoice(session: Session, _: object, ref?: string) {
  const found = await session.call('invoice.show', { invoice: ref ?? '' });
  session.print(found, () => invoiceText(found.invoice));
}

/** Asks for confirmation, with enough of the invoice to recognise it. */
async function ask(session: Session, ref: string, what: string): Promise<void> {
  if (session.yes) return;
  const { invoice } = await session.call('invoice.show', { invoice: ref });
  const received = invoice.payment ? `, ${invoice.payment.received} ${invoice.payment.crypto} received` : '';
  const text = `${invoice.slug} of ${invoice.business}: ${invoice.amount} ${invoice.currency}, ${invoice.status}`;
  await confirm(session.io, false, `${text}${received}. ${what}`);
}

async function cancelInvoice(session: Session, _: object, ref = '') {
  await ask(session, ref, 'Cancel it?');
  const done = await session.call('invoice.cancel', { invoice: ref });
  session.print(done, () => `Invoice ${done.invoice.slug} is canceled.\n`);
}

async function markPaid(session: Session, _: object, ref = '') {
  await ask(session, ref, 'Count it as paid?');
  const done = await session.call('invoice.markPaid', { invoice: ref });
  session.print(done, () => `Invoice ${done.invoice.slug} counts as paid.\n`);
}

async function listInbox(session: Session, options: PageOptions & { each?: boolean }) {
  const found = await session.call('inbox.list', pageOf(options));
  const isEach = options.each === true;
  printPage(session, found, () => inboxText(found.items, isEach));
  if (session.json) return;
  for (const line of inboxAdvice(found.items, isEach)) session.note(line);
}

async function listUnknownTokens(session: Session, options: PageOptions) {
  const found = await session.call('inbox.unknownTokens', pageOf(options));
  printPage(session, found, () =>
    table(
      ['>NO', 'BUSINESS', 'SINCE', 'CALLS ITSELF', '>UNITS', '>DECIMALS', 'CHAIN', 'CONTRACT', 'ADDRESS', 'INVOICE'],
      found.tokens.map((token) => [
        `${token.id}`,
        token.business,
        when(token.first_seen_at),
        token.symbol ?? '-',
        token.units,
        token.decimals === null ? '-' : `${token.decimals}`,
        token.chain,
        token.contract,
        token.address,
        token.invoice ?? '-',
      ]),
      'No unknown tokens were seen.',
    ),
  );
}
