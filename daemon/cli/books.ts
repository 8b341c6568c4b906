/** `countinghouse ledger` and `export`: reconciliation with the chains, and the export for accounting. */

import { open, rename, rm } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { csv, csvRows } from '../domain/csv.ts';
import { MS_PER_DAY } from '../domain/time.ts';
import { BOOK_COLUMNS, type BookRow } from '../operator/book-columns.ts';
import { memorySaver } from '../workers/heap.ts';
import { action } from './commands.ts';
import { EXIT, Failure, type Io, usage, written } from './io.ts';
import { day, symbol } from './parse.ts';
import type { Session } from './session.ts';
import { table } from './table.ts';

type ChainProof = Result<'ledger.prove'>['chains'][number];
type ExportOptions = { from?: string; to?: string; business?: string; file?: string };

const DAY_CHARS = 'YYYY-MM-DD'.length;

export function bookCommands(root: Command, io: Io): void {
  root
    .command('ledger')
    .argument('[chain]', 'such as mainnet:BTC (default: all that are connected)', chainKey)
    .description("prove that receipts, payments, fees and holdings add up, and agree with the source's own record")
    .option('--adopt', "take the chain's balances over where the books differ and two operators agree; names a chain")
    .action(action(io, prove));
  root
    .command('export')
    .description('export receipts, withdrawals and fees with their value at the time, as CSV for an accountant')
    .option('--from <day>', "the first day in each business's time zone, YYYY-MM-DD (default: the beginning)", day)
    .option('--to <day>', 'the last day (default: today)', day)
    .option('--business <business>', 'only this business (default: all but the sandbox)')
    .option('--file <file>', 'the file to write; must not exist yet (default: printed)')
    .action(action(io, exportRows));
}

/** The name of a chain on its network; the chain may be typed in small letters. */
const chainKey = (text: string): string => text.replace(/[^:]*$/, symbol);

async function prove(session: Session, { adopt = false }: { adopt?: boolean }, chain?: string): Promise<void> {
  if (adopt && chain === undefined) throw usage('--adopt needs a chain, such as mainnet:ETH');
  const { chains } =
    adopt && chain !== undefined
      ? await session.call('ledger.adopt', { chain })
      : await session.call('ledger.prove', { chain });
  session.print({ chains }, () => `${proofTable(chains)}${chains.flatMap(problemLines).join('')}`);
  if (chains.some(({ problems }) => problems.length > 0)) {
    throw new Failure('the books and the chain differ', EXIT.failed, 'ledger.differs');
  }
}

function proofTable(chains: readonly ChainProof[]): string {
  const rows = chains.flatMap((one) =>
    one.lines.map(({ crypto, received, paid_out, fees, adopted, held }) => [
      one.chain,
      `${one.height}`,
      crypto,
      received,
      paid_out,
      fees,
      adopted,
      held,
      one.problems.length > 0 ? 'DIFFERS' : one.compared ? 'proved' : 'adds up',
    ]),
  );
  return table(
    ['CHAIN', '>BLOCK', 'CRYPTO', '>RECEIVED', '>PAID OUT', '>FEES', '>ADOPTED', '>HELD', 'BOOKS'],
    rows,
    'Nothing was received yet.',
  );
}

const problemLines = ({ chain, problems, offers, corrections, error }: ChainProof): string[] => [
  ...problems.map((text) => `${chain}: ${text}\n`),
  ...offers
    .filter(({ booked, held }) => booked === held)
    .map(
      ({ address }) =>
        `${chain}: blocks have transactions of ${address} that the books lack, and its balance is right\n`,
    ),
  ...(offers.length === 0
    ? []
    : [`${chain}: two operators agree on ${offers.length} of these balances: countinghouse ledger ${chain} --adopt\n`]),
  ...corrections.map(
    ({ at, kind, address, crypto, amount, entry }) =>
      `${chain}: ${at} ${kind === 'adopted' ? 'adopted' : 'taken out'}: ${address} ${amount} ${crypto} (${entry})\n`,
  ),
  ...(error === null ? [] : [`${chain}: not proved: ${error}\n`]),
];

async function exportRows(session: Session, options: ExportOptions): Promise<void> {
  const from = options.from?.slice(0, DAY_CHARS) ?? '1970-01-01';
  // the latest time zone may already have the next day
  const to = options.to?.slice(0, DAY_CHARS) ?? new Date(Date.now() + MS_PER_DAY).toISOString().slice(0, DAY_CHARS);
  if (from > to) throw usage(`--from ${from} is after --to ${to}`);
  const pages = pagesOf(session, { from, to, business: options.business });
  if (options.file !== undefined) return exportInto(session, options.file, pages);
  await writeRows(pages, session.json, (text) => written(session.io, text));
}

/** Each page when it is asked for: no more of them is in memory. */
async function* pagesOf(session: Session, asked: Omit<Params<'export.page'>, 'cursor'>): AsyncGenerator<BookRow[]> {
  const saveMemory = memorySaver();
  let cursor: Params<'export.page'>['cursor'];
  do {
    const page: Result<'export.page'> = await session.call('export.page', { ...asked, cursor });
    yield page.rows;
    saveMemory();
    cursor = page.next ?? undefined;
  } while (cursor);
}

/** Resolves to the number of rows. `json`: one object with all rows, else CSV. */
async function writeRows(
  pages: AsyncIterable<BookRow[]>,
  json: boolean,
  write: (text: string) => Promise<unknown>,
): Promise<number> {
  let count = 0;
  await write(json ? '{"rows":[' : csv(BOOK_COLUMNS, []));
  for await (const rows of pages) {
    if (rows.length === 0) continue;
    const lines = json ? rows.map((row) => JSON.stringify(row)).join(',') : csvRows(BOOK_COLUMNS, rows);
    await write(json && count > 0 ? `,${lines}` : lines);
    count += rows.length;
  }
  if (json) await write(']}\n');
  return count;
}

/** The file has its name only once it is whole: until then it is empty, and `.part` beside it grows. */
async function exportInto(session: Session, file: string, pages: AsyncIterable<BookRow[]>): Promise<void> {
  const refused = ({ code }: NodeJS.ErrnoException): never => {
    throw new Failure(`${file} cannot be written (${code})`, EXIT.failed, 'export.file');
  };
  await (await open(file, 'wx', 0o600).catch(refused)).close();
  const part = `${file}.part`;
  try {
    const out = await open(part, 'wx', 0o600).catch(refused);
    const rows = await writeRows(pages, false, (text) => out.appendFile(text).catch(refused)).finally(() =>
      out.close(),
    );
    await rename(part, file).catch(refused);
    session.print({ file, rows }, () => `${rows} lines in ${file}\n`);
  } catch (error) {
    await rm(part, { force: true });
    await rm(file, { force: true });
    throw error;
  }
}
