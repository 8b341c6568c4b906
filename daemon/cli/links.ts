/** `countinghouse link`: payment links, pages that a merchant sends or prints. */
import type { Command } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { action, BUSINESS, list } from './commands.ts';
import { type Io, usage } from './io.ts';
import { type PageOptions, paged, pageOf, printPage } from './page.ts';
import { day, symbol, wholeNumber } from './parse.ts';
import { confirm } from './prompt.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

type Link = Result<'link.show'>['link'];
type LinkChange = Omit<Params<'link.change'>, 'link'>;
type Options = {
  name?: string;
  about?: string;
  amount?: string;
  any?: boolean;
  least?: string;
  suggest?: string[];
  item?: string[];
  stock?: number;
  ends?: string;
  currency?: string;
  address?: string;
};

const DAY_CHARACTERS = 10;
const LINK = ['<link>', 'the end of its address'] as const;

export function linkCommands(root: Command, io: Io): void {
  const link = root.command('link').description('payment links: pages that you send or print, without a shop program');
  paged(link.command('list'))
    .option('--business <business>', 'only the links of this business')
    .description('list the links, newest first')
    .action(action(io, listLinks));
  link
    .command('show')
    .argument(...LINK)
    .description('show a link, and HTML for your own page')
    .action(action(io, showLink));
  terms(link.command('add').argument(...BUSINESS))
    .requiredOption('--name <name>', 'as payers see it')
    .option('--currency <code>', "such as EUR (default: the business's)", symbol)
    .option('--address <end>', 'the end of its address: a–z, 0–9 and - (default: from the name)')
    .description('make a link: a fixed amount, any amount, or items')
    .action(action(io, addLink));
  terms(link.command('change').argument(...LINK))
    .option('--name <name>', 'as payers see it')
    .description('change what a link says and sells; what is not given stays')
    .action(action(io, changeLink));
  link
    .command('end')
    .argument(...LINK)
    .description('end a link; its invoices stay')
    .action(action(io, endLink));
  link
    .command('reopen')
    .argument(...LINK)
    .description('open a link again')
    .action(action(io, reopenLink));
}

function terms(command: Command): Command {
  return command
    .option('--about <text>', 'a text below the name')
    .option('--amount <amount>', 'a fixed amount')
    .option('--stock <count>', 'of a fixed amount: how often it can be paid', wholeNumber)
    .option('--any', 'the payer chooses the amount')
    .option('--least <amount>', 'of any amount: the least')
    .option('--suggest <amounts>', 'of any amount: suggested ones, with commas', list)
    .option('--item <item>', 'name=price, or name=price@stock; repeatable', (text: string, all: string[] = []) => [
      ...all,
      text,
    ])
    .option('--ends <day>', 'the last day, such as 2026-12-31', day);
}

/** "Seat=35.00@13": a name, a price, and how many there are. */
function itemOf(text: string): NonNullable<LinkChange['items']>[number] {
  const match = /^(.+)=(\d+(?:\.\d+)?)(?:@(\d{1,9}))?$/su.exec(text);
  if (!match) throw usage(`${text} is no item: write it like "Seat=35.00", or "Seat=35.00@13" if there are 13`);
  return { name: match[1]!, price: match[2]!, stock: match[3] === undefined ? null : Number(match[3]) };
}

function kindOf({ amount, any, item }: Options): Link['kind'] | null {
  const kinds = [amount === undefined ? null : 'fixed', any ? 'open' : null, item ? 'items' : null] as const;
  const given = kinds.filter((kind) => kind !== null);
  if (given.length > 1) throw usage('give one of --amount, --any and --item');
  return given[0] ?? null;
}

const dayGiven = (ends: string | undefined): string | null => ends?.slice(0, DAY_CHARACTERS) ?? null;

async function addLink(session: Session, options: Options, business = '') {
  const kind = kindOf(options);
  if (kind === null) throw usage('say what is paid: --amount 24, or --any, or --item "Seat=35.00"');
  const {
    name = '',
    about = null,
    amount,
    stock = null,
    least = null,
    suggest = [],
    item = [],
    currency = null,
  } = options;
  const items = kind === 'fixed' ? [{ name, price: amount!, stock }] : item.map(itemOf);
  const texts = { name, about, ends_on: dayGiven(options.ends), link: options.address ?? null };
  const { link } = await session.call('link.add', {
    business,
    kind,
    currency,
    ...texts,
    least,
    suggested: suggest,
    items,
  });
  printLink(session, link);
}

/** Options that are not given change nothing. Items are known by their names. */
async function changeLink(session: Session, options: Options, ref = '') {
  const { link } = await session.call('link.show', { link: ref });
  const kind = kindOf(options);
  if (kind !== null && kind !== link.kind) throw usage(`the link is of another kind (${link.kind}): make a new one`);
  const name = options.name ?? link.name;
  const known = (item: ReturnType<typeof itemOf>) => ({
    ...item,
    id: link.items.find((one) => one.name === item.name)?.id ?? null,
  });
  const kept = link.items.map(({ id, name: of, price, stock }) => ({ id, name: of, price, stock }));
  const [only] = kept;
  const fixed = only && { ...only, name, price: options.amount ?? only.price, stock: options.stock ?? only.stock };
  const changed = await session.call('link.change', {
    link: ref,
    name,
    about: options.about ?? link.about,
    ends_on: dayGiven(options.ends) ?? link.ends_on,
    least: options.least ?? link.least,
    suggested: options.suggest ?? link.suggested,
    items: link.kind === 'fixed' && fixed ? [fixed] : (options.item?.map((text) => known(itemOf(text))) ?? kept),
  });
  printLink(session, changed.link);
}

const STATES: Record<Link['state'], string> = { open: 'open', ended: 'ended', sold_out: 'sold out' };

function paysText({ kind, least, suggested, items, currency }: Link): string {
  if (kind === 'open') {
    const some = suggested.length === 0 ? '' : `; suggests ${suggested.join(', ')}`;
    return `any amount from ${least ?? '0.01'} ${currency}${some}`;
  }
  const [only] = items;
  return kind === 'fixed' ? `${only?.price} ${currency}` : `${items.length} items`;
}

async function listLinks(session: Session, options: PageOptions & { business?: string }) {
  const found = await session.call('link.list', { business: options.business, ...pageOf(options) });
  printPage(session, found, () =>
    table(
      ['>NO', 'LINK', 'BUSINESS', 'NAME', 'PAYER PAYS', 'STATE', 'UNTIL', '>PAID', '>SUM'],
      found.links.map((link) => [
        `${link.id}`,
        link.link,
        link.business,
        link.name,
        paysText(link),
        STATES[link.state],
        link.ends_on ?? '-',
        `${link.paid}`,
        `${link.paid_amount} ${link.currency}`,
      ]),
      'There are no payment links.',
    ),
  );
}

const itemText = ({ name, price, stock, taken }: Link['items'][number], currency: string): string =>
  `${name}: ${price} ${currency}${stock === null ? `, ${taken} sold or waiting` : `, ${taken} of ${stock} sold or waiting`}`;

function linkText(link: Link): string {
  return pairs([
    ['Address', link.url],
    ['Name', link.name],
    ['Text', link.about],
    ['Payer pays', paysText(link)],
    ...link.items.map((item): [string, string] => ['Item', itemText(item, link.currency)]),
    ['State', STATES[link.state]],
    ['Last day', link.ends_on],
    ['Ended', link.ended_at && when(link.ended_at)],
    ['Paid', `${link.paid}, together ${link.paid_amount} ${link.currency}`],
    ['For your page', link.snippet],
  ]);
}

function printLink(session: Session, link: Link): void {
  session.print({ link }, () => linkText(link));
  if (!session.json && link.too_small_for.length > 0) {
    session.note(
      `Too small for ${link.too_small_for.join(', ')}: payers of the least amount are not offered these coins.`,
    );
  }
}

async function showLink(session: Session, _: object, ref = '') {
  printLink(session, (await session.call('link.show', { link: ref })).link);
}

async function endLink(session: Session, _: object, ref = '') {
  await confirm(session.io, session.yes, `End the link ${ref}? Nothing more can be paid on its page.`);
  const done = await session.call('link.end', { link: ref });
  session.print(done, () => `The link ${done.link.link} has ended.\n`);
}

async function reopenLink(session: Session, _: object, ref = '') {
  const done = await session.call('link.end', { link: ref, ended: false });
  session.print(done, () => `The link ${done.link.link} is ${STATES[done.link.state]}.\n`);
}
