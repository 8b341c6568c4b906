/** `countinghouse closing`: closes the counter's day, shows and exports closings, and sends them by e-mail. */
import type { Command } from 'commander';
import { type Closing, closingCsv } from '../contract/closing-table.ts';
import { action, itemCommand } from './commands.ts';
import { type Io, usage } from './io.ts';
import { textIn } from './said.ts';
import type { Session } from './session.ts';
import { onlyBusiness } from './statement.ts';
import { pairs, table, when } from './table.ts';

type Options = { business?: string; csv?: boolean; language?: string };

const IN = ['--business <business>', 'the business (default: the only one but the sandbox)'] as const;
const SPOKEN = ['--language <language>', 'en or de: of the e-mail', 'en'] as const;

export function closingCommands(root: Command, io: Io): void {
  const closing = root.command('closing').description("the counter's day: what was sold since the last closing");
  closing
    .command('list')
    .option(...IN)
    .description('list the closings, newest first')
    .action(action(io, listClosings));
  closing
    .command('show')
    .argument('[number]', 'as listed (default: the next one, as it would be now)')
    .option(...IN)
    .option('--csv', 'as CSV, one row a figure')
    .description('show a closing')
    .action(action(io, showClosing));
  closing
    .command('make')
    .option(...IN)
    .option(...SPOKEN)
    .description('close the day; [closing] mail has it sent by e-mail')
    .action(action(io, makeClosing));
  itemCommand(closing, 'mail', 'send the e-mail about a closing, or send it once more')
    .option(...IN)
    .option(...SPOKEN)
    .action(action(io, mailClosing));
}

const of = async (session: Session, { business }: Options): Promise<string> =>
  business ?? (await onlyBusiness(session));

function spoken({ language }: Options): 'en' | 'de' {
  if (language === 'en' || language === 'de') return language;
  throw usage('--language takes en or de');
}

const sums = ({ parts }: Closing): string =>
  parts.map(({ taken, currency }) => `${taken} ${currency}`).join(', ') || 'nothing';

function mailText({ mail }: Closing): string {
  if (mail === null) return 'none';
  const { state, to, problem } = mail;
  const why = problem === null ? '' : `: ${textIn(problem)}`;
  return `${state === 'unknown' ? 'perhaps sent' : state} to ${to.join(', ')}${why}`;
}

async function listClosings(session: Session, options: Options): Promise<void> {
  const answer = await session.call('closing.list', { business: await of(session, options) });
  session.print(answer, () =>
    table(
      ['NUMBER', 'CLOSED', '>TAKEN', 'E-MAIL'],
      answer.closings.map((one) => [`${one.number}`, when(one.to), sums(one), mailText(one)]),
      'No day was closed yet.',
    ),
  );
}

async function showClosing(session: Session, options: Options, number?: string): Promise<void> {
  const business = await of(session, options);
  const closing = number === undefined ? await nextOne(session, business) : await numbered(session, business, number);
  session.print({ closing }, () => (options.csv ? closingCsv(closing) : textOf(closing)));
}

const nextOne = async (session: Session, business: string): Promise<Closing> =>
  (await session.call('closing.next', { business })).closing;

async function numbered(session: Session, business: string, text: string): Promise<Closing> {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`${text} is no number of a closing`);
  const number = Number(text);
  const { closings } = await session.call('closing.list', { business, before: number + 1, limit: 1 });
  const [closing] = closings;
  if (closing?.number !== number) throw usage(`there is no closing ${text}`);
  return closing;
}

async function makeClosing(session: Session, options: Options): Promise<void> {
  const business = await of(session, options);
  const language = spoken(options);
  const { number, parts } = await nextOne(session, business);
  if (parts.length === 0) throw usage('nothing was paid at the counter since the last closing');
  const answer = await session.call('closing.make', { business, number, language });
  session.print(answer, () => textOf(answer.closing));
}

async function mailClosing(session: Session, options: Options, number: string): Promise<void> {
  const call = { business: await of(session, options), number: Number(number), language: spoken(options) };
  const answer = await session.call('closing.mail', call);
  session.print(answer, () => `Closing ${number} goes to ${answer.closing.mail!.to.join(', ')}.\n`);
}

/** The sums of each currency, what was paid with, and the tax. */
function textOf(closing: Closing): string {
  const { number, from, to, parts, books, waiting } = closing;
  const head = pairs([
    ['Closing', `${number}`],
    ['From', from === null ? 'no sale' : when(from)],
    ['To', when(to)],
    ['Taken', sums(closing)],
    ['Books', books.differ.length === 0 ? `agree (${books.agree})` : `differ: ${books.differ.join(', ')}`],
    ['Still confirm', `${waiting.length}`],
    ['E-mail', mailText(closing)],
  ]);
  const rows = parts.flatMap(({ currency, sales, tips, refunds, taken, coins, taxes, kept_tips, fees }) => [
    [currency, 'sales', `${sales.count}`, sales.sum],
    [currency, 'tips', '', tips],
    [currency, 'refunds', `${refunds.count}`, refunds.sum],
    [currency, 'taken', '', taken],
    ...coins.map(({ crypto, payments, sum }) => [currency, `paid with ${crypto ?? 'no coin'}`, `${payments}`, sum]),
    ...taxes.map(({ rate, tax }) => [currency, `tax ${rate === null ? 'not given' : `${rate / 100} %`}`, '', tax]),
    [currency, 'tips kept, no tax', '', kept_tips],
    ...fees.map(({ crypto, amount }) => [crypto, 'fees of refunds', '', amount]),
  ]);
  return `${head}\n${table(['UNIT', 'FIGURE', '>COUNT', '>AMOUNT'], rows, 'Nothing was paid at the counter.')}`;
}
