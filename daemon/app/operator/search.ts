/** Finds invoices by one known fact. Every search uses an index. */
import { scriptOf } from '../../chains/derive.ts';
import { chainOf, networkOf } from '../../domain/chain.ts';
import { FIAT } from '../../domain/currencies.ts';
import { FIAT_DECIMALS, parseDecimal } from '../../domain/money.ts';
import { inTurns } from '../../kit/async.ts';
import { type CreditRow, creditsOfTransaction, type TargetRow } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById, invoiceByUuid } from '../../store/queries/invoices.ts';
import { givenTarget, invoicesOfAmount, newestInvoiceId } from '../../store/queries/operator.ts';
import type { App } from '../app.ts';
import { invoicesOfOrderBehind } from '../invoices/listed.ts';
import { invoiceNamed } from '../invoices/slugs.ts';
import { type InvoiceLine, lineOf } from './invoices.ts';

const HASH = /^(?:0x)?[0-9a-fA-F]{64}$/;
const AMOUNT = /^(\d{1,12}(?:\.\d{1,8})?)(?:\s*([A-Za-z]{3}))?$/;
const SLUG_OF_LINK = /\/pay\/([A-Za-z0-9]{12})(?:[/?#]|$)/;
/** A payment URI: the address between the scheme and the amount. */
const URI = /^(?:bitcoin|litecoin|monero|ethereum):([^?@]+)/i;

/** One step takes about a millisecond. */
const AMOUNTS_PER_STEP = 10_000;

type Matches = { lines: InvoiceLine[]; as: string[] };

/** The credits of a transaction on every chain. Their ids are stored in lower case. */
export function creditsOf(app: App, text: string): CreditRow[] {
  if (!HASH.test(text)) return [];
  const plain = text.toLowerCase().replace(/^0x/, '');
  return app.chains
    .all()
    .flatMap(({ key }) =>
      [plain, `0x${plain}`].flatMap((txid) =>
        app.store.all(creditsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key: key }),
      ),
    );
}

/** The address that a text is or contains: payment URIs too; BCH with its prefix, account chains in any case. */
export function addressIn(text: string): string[] {
  const bare = URI.exec(text)?.[1] ?? text.split('?')[0]!;
  return [...new Set([bare, bare.toLowerCase(), `bitcoincash:${bare.toLowerCase()}`, `bchtest:${bare.toLowerCase()}`])];
}

/** The addresses of ours that a text may be, on each chain where a business has an account. */
export function targetsOfText(app: App, text: string): TargetRow[] {
  const keys = [...new Set(app.directory.accounts().map(({ chainKey }) => chainKey))];
  const found = addressIn(text).flatMap((address) =>
    keys.flatMap((chain_key) => {
      const script = scriptOf(chainOf(chain_key), networkOf(chain_key), address);
      return (script && app.store.get(givenTarget, { script, chain_key })) ?? [];
    }),
  );
  return [...new Map(found.map((target) => [target.id, target])).values()];
}

/** The newest ones of an amount: a step of all numbers after the other, with requests between. */
async function byAmount({ store }: App, text: string, limit: number): Promise<InvoiceRow[]> {
  const [, amount = '', currency] = AMOUNT.exec(text) ?? [];
  const scaled = parseDecimal(amount, FIAT_DECIMALS);
  if (scaled === null || scaled <= 0n) return [];
  const wanted = currency?.toUpperCase();
  if (wanted !== undefined && !(wanted in FIAT)) return [];
  const rows: InvoiceRow[] = [];
  let below = (store.get(newestInvoiceId, {})?.id ?? 0) + 1;
  while (below > 1 && rows.length < limit) {
    const from = Math.max(1, below - AMOUNTS_PER_STEP);
    const found = store.all(invoicesOfAmount, { from, below, amount: scaled, limit });
    const those = found.map(({ id }) => store.get(invoiceById, { id })!);
    rows.push(...those.filter((row) => row.deleted_at === null && (wanted === undefined || row.currency === wanted)));
    // a full answer may leave further ones of this step
    below = found.length === limit ? found.at(-1)!.id : from;
    await new Promise(setImmediate);
  }
  return rows.slice(0, limit);
}

async function byOrder(app: App, text: string, limit: number): Promise<InvoiceRow[]> {
  const position = { from: 0, at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER, limit };
  const rows: InvoiceRow[] = [];
  for await (const { id } of inTurns(app.directory.businesses())) {
    rows.push(...invoicesOfOrderBehind(app.store, { ...position, business_id: id, order_id: text }));
  }
  return rows;
}

/** At most `limit` invoices, newest first, and how the text was understood. */
export async function findInvoices(app: App, given: string, limit: number): Promise<Matches> {
  const { store } = app;
  const text = given.trim();
  const one = (row: InvoiceRow | undefined): InvoiceRow[] => (row ? [row] : []);
  const ofIds = (ids: (number | null)[]): InvoiceRow[] =>
    [...new Set(ids)].flatMap((id) => (id === null ? [] : one(store.get(invoiceById, { id }))));
  const slug = SLUG_OF_LINK.exec(text)?.[1] ?? text;
  const ways: [string, InvoiceRow[]][] = [
    ['id', [...one(invoiceNamed(store, slug)), ...one(store.get(invoiceByUuid, { uuid: text.toLowerCase() }))]],
    ['reference', await byOrder(app, text, limit)],
    ['address', ofIds(targetsOfText(app, text).map(({ invoice_id }) => invoice_id))],
    ['transaction', ofIds(creditsOf(app, text).map(({ invoice_id }) => invoice_id))],
    ['amount', await byAmount(app, text, limit)],
  ];
  const rows = new Map(ways.flatMap(([, found]) => found.map((row) => [row.id, row] as const)));
  const newest = [...rows.values()].filter(({ deleted_at }) => deleted_at === null).sort((a, b) => b.id - a.id);
  return {
    lines: newest.slice(0, limit).map((row) => lineOf(app, row)),
    as: ways.flatMap(([name, found]) => (found.length > 0 ? [name] : [])),
  };
}
