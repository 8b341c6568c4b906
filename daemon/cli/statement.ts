/** `countinghouse statement`: the statement of a month, as text or CSV. */
import type { Command } from 'commander';
import { shellWord } from '../kit/shell.ts';
import { FLOWS, rateText, type Statement, statementCsv } from '../operator/statement-table.ts';
import { action } from './commands.ts';
import { type Io, usage } from './io.ts';
import type { Session } from './session.ts';
import { table } from './table.ts';

type Options = { month: string; business?: string; csv?: boolean };

const NAMES = ['TAKINGS', 'RECEIVED', 'REFUNDS', 'WITHDRAWALS', 'FEES', 'CORRECTED'].map((name) => `>${name}`);
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

export function statementCommand(root: Command, io: Io): void {
  root
    .command('statement')
    .description('tell the takings, refunds, withdrawals, fees and VAT of a month, and the balances at both ends')
    .requiredOption('--month <month>', "a month of the business's calendar, YYYY-MM")
    .option('--business <business>', 'the business (default: the only one but the sandbox)')
    .option('--csv', 'as CSV, one row a figure')
    .action(action(io, tell));
}

async function tell(session: Session, { month, business, csv }: Options): Promise<void> {
  if (!MONTH.test(month)) throw usage(`${month} is no month: write it like 2026-10`);
  const asked = business ?? (await onlyBusiness(session));
  const statement = await session.call('books.statement', { business: asked, month });
  session.print(statement, () => (csv ? statementCsv(statement) : textOf(statement)));
}

/** The only business but the sandbox. */
export async function onlyBusiness(session: Session): Promise<string> {
  const { businesses } = await session.call('business.list', {});
  const real = businesses.filter(({ network }) => network !== 'sandbox');
  const [one, ...others] = real;
  const named = (all: typeof businesses): string => all.map(({ name }) => shellWord(name)).join(', ');
  if (!one) throw usage(`there is no business but the sandbox: name it with --business: ${named(businesses)}`);
  if (others.length > 0) throw usage(`name the business with --business: ${named(real)}`);
  return `${one.id}`;
}

/** Tables of the coins, of the values in each currency, and of the VAT. */
function textOf({ business, month, time_zone, as_of, coins, values, taxes }: Statement): string {
  const perCoin = table(
    ['COIN', '>OPENING', ...NAMES, '>CLOSING'],
    coins.map(({ crypto, opening, closing, flows }) => [crypto, opening, ...FLOWS.map((flow) => flows[flow]), closing]),
    'No coin was ever received.',
  );
  const perCurrency = table(
    ['CURRENCY', ...NAMES, '>LINES', '>WITHOUT A RATE'],
    values.map(({ currency, lines, unrated, flows }) => [
      currency === '' ? 'not known' : currency,
      ...FLOWS.map((flow) => flows[flow]),
      `${lines}`,
      `${unrated}`,
    ]),
    'No entry is in this month.',
  );
  const perRate = table(
    ['VAT', 'CURRENCY', '>NET', '>TAX', '>GROSS'],
    taxes.map(({ currency, rate, net, tax, gross }) => [rateText(rate), currency, net, tax, gross]),
    'No invoice was paid or refunded.',
  );
  return `${business}, ${month}, ${time_zone}, as of ${as_of}\n\n${perCoin}\n${perCurrency}\n${perRate}`;
}
