/** `countinghouse business brand`: the appearance of a business for payers. */
import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { action, BUSINESS, symbols } from './commands.ts';
import { Failure, type Io, usage } from './io.ts';
import { symbol } from './parse.ts';
import { readPast } from './secrets.ts';
import type { Session } from './session.ts';
import { pairs } from './table.ts';

/** Commander makes `--no-x` set `x` to false. */
type BrandOptions = {
  name?: string | false;
  accent?: string | false;
  logo?: string | false;
  contact?: string | false;
  favourites?: string[] | false;
  currency?: string | false;
};

/** Larger than any logo: such a file was named by mistake. */
const FILE_BYTES_MAX = 262_144;

export function brandCommand(business: Command, io: Io): void {
  business
    .command('brand')
    .argument(...BUSINESS)
    .option('--name <name>', 'the name that payers see')
    .option('--no-name', "use the business's own name again")
    .option('--logo <file>', 'a picture: PNG, JPEG or WebP, at most 32 KiB')
    .option('--no-logo', 'show no logo')
    .option(
      '--accent <colour>',
      'the colour of the buttons, such as #1f6feb; the page adjusts it until text on it is readable',
    )
    .option('--no-accent', 'use the usual colour')
    .option('--contact <text>', 'whom payers may ask: an e-mail address, a telephone number')
    .option('--no-contact', 'show no contact')
    .option('--favourites <cryptos>', 'the coins that payers see first, such as LTC,BTC', symbols)
    .option('--no-favourites', 'show the coins in the usual order')
    .option('--currency <code>', 'the currency in which the business reckons, such as EUR', symbol)
    .option('--no-currency', 'choose no currency')
    .description('change how the business looks on the payment page, and its currency')
    .action(action(io, brandBusiness));
}

async function readLogo(file: string): Promise<string> {
  try {
    const bytes = await readPast(createReadStream(file), FILE_BYTES_MAX);
    if (bytes.length > FILE_BYTES_MAX) throw usage(`${file} is too large for a logo`);
    return bytes.toString('base64');
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw usage(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** An absent option changes nothing; null resets. */
const orNull = <T>(value: T | false | undefined): T | null | undefined => (value === false ? null : value);

async function brandBusiness(session: Session, options: BrandOptions, business = '') {
  const { name, accent, logo, contact, favourites, currency } = options;
  const change: Params<'business.brand'> = {
    business,
    name: orNull(name),
    accent: orNull(accent),
    contact: orNull(contact),
    favourites: orNull(favourites),
    currency: orNull(currency),
    logo: orNull(logo && (await readLogo(logo))),
  };
  if ([name, accent, contact, favourites, logo, currency].every((option) => option === undefined)) {
    throw usage('nothing to change: see `countinghouse business brand --help`');
  }
  const changed = await session.call('business.brand', change);
  session.print(changed, () => brandText(changed.business));
}

const brandText = ({ name, brand }: Result<'business.brand'>['business']): string =>
  pairs([
    ['Payers see', brand.name ?? name],
    ['Colour', brand.accent ?? 'the usual one'],
    ['Logo', brand.logo ? 'yes' : 'none'],
    ['Contact', brand.contact ?? 'none'],
    ['First', brand.favourites.join(', ') || 'the usual order'],
    ['Currency', brand.currency ?? 'none chosen'],
  ]);
