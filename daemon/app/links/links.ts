/** Payment links: pages that a merchant sends or prints. Each payment on one becomes an invoice. */
import { FIAT } from '../../domain/currencies.ts';
import { Rejected } from '../../domain/errors.ts';
import {
  DISGUISING,
  LINK_ABOUT_CHARS_MAX,
  LINK_ITEMS_MAX,
  LINK_NAME_CHARS_MAX,
  LINK_SLUG,
  LINK_STOCK_MAX,
  LINK_SUGGESTED_MAX,
  type LinkKind,
  leftOf,
  slugFor,
  totalOf,
} from '../../domain/links.ts';
import { FIAT_DECIMALS, parseDecimal } from '../../domain/money.ts';
import {
  endLinkRow,
  insertItem,
  insertLink,
  itemsOf,
  type LinkItemRow,
  type LinkRow,
  linkBySlug,
  linksAbove,
  linksBefore,
  linksOfBusiness,
  setItem,
  setLink,
} from '../../store/queries/links.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { randomText } from '../ids.ts';
import type { Business } from '../shops/directory.ts';
import { itemsWithRoom } from './room.ts';

const LINKS_MAX = 1_000;
const SLUG_CHARACTERS = 6;
/** The least amount in which a payer may choose one, 1e-8: a cent. */
const LEAST_MIN = 1_000_000n;

/** Amounts are decimals of the currency's main unit. */
type WantedItem = { id: number | null; name: string; price: string; stock: number | null };
export type WantedLink = {
  name: string;
  about: string | null;
  /** The last moment at which it can be used, ms since 1970; null: no end. */
  endsAt: number | null;
  /** Of `open`: the least amount, and suggested ones. */
  least: string | null;
  suggested: readonly string[];
  /** Of `items`, and of `fixed` the one that it is. */
  items: readonly WantedItem[];
};

/** `open`: it can be used. `sold_out`: no item has any left. */
export type LinkState = 'open' | 'ended' | 'sold_out';
export type LinkView = { link: LinkRow; items: LinkItemRow[]; state: LinkState };

const fault = (field: string, text: string): Rejected => new Rejected('link.field', text, field);

/** A text of one line that disguises nothing. Throws `link.field`. */
function textFor(field: string, text: string, charactersMax: number): string {
  const trimmed = text.trim();
  if (trimmed === '') throw fault(field, 'It may not be empty');
  if ([...trimmed].length > charactersMax) throw fault(field, `It may have at most ${charactersMax} characters`);
  if (DISGUISING.test(trimmed)) {
    throw fault(
      field,
      'It has characters that cannot be seen and change the direction of writing, or control characters',
    );
  }
  return trimmed.toWellFormed();
}

/** An amount of a currency, 1e-8. Throws `link.field`. */
function amountFor(field: string, text: string, currency: string): bigint {
  const decimals = FIAT[currency]!;
  const amount = parseDecimal(text, decimals);
  if (amount === null || amount === 0n) {
    throw fault(field, `${text} is no amount of ${currency}: it is above 0, with at most ${decimals} decimals`);
  }
  const scaled = amount * 10n ** BigInt(FIAT_DECIMALS - decimals);
  if (totalOf([{ price: scaled, quantity: 1 }]) === null) throw fault(field, 'It may be at most 1,000,000,000');
  return scaled;
}

type LinkFields = {
  columns: Pick<LinkRow, 'name' | 'about' | 'least' | 'suggested' | 'ends_at'>;
  items: { id: number | null; name: string; price: bigint; stock: number | null }[];
};

/** Checks what a link should be. Throws `link.field`. */
function checked(kind: LinkKind, currency: string, wanted: WantedLink): LinkFields {
  const { endsAt } = wanted;
  const name = textFor('name', wanted.name, LINK_NAME_CHARS_MAX);
  const about = wanted.about === null ? null : textFor('about', wanted.about, LINK_ABOUT_CHARS_MAX);
  if (kind === 'open') {
    if (wanted.items.length > 0) throw fault('items', 'A link on which the payer chooses the amount has no items');
    const least = wanted.least === null ? LEAST_MIN : amountFor('least', wanted.least, currency);
    if (wanted.suggested.length > LINK_SUGGESTED_MAX) {
      throw fault('suggested', `At most ${LINK_SUGGESTED_MAX} amounts can be suggested`);
    }
    for (const text of wanted.suggested) {
      if (amountFor('suggested', text, currency) < least) throw fault('suggested', `${text} is below the least amount`);
    }
    return { columns: { name, about, least, suggested: [...wanted.suggested], ends_at: endsAt }, items: [] };
  }
  if (wanted.least !== null || wanted.suggested.length > 0) {
    throw fault('least', 'Only a link on which the payer chooses the amount has a least and suggested ones');
  }
  const [least, most] = kind === 'fixed' ? [1, 1] : [1, LINK_ITEMS_MAX];
  if (wanted.items.length < least || wanted.items.length > most) {
    throw fault('items', kind === 'fixed' ? 'A fixed amount is one item' : `A link has 1 to ${most} items`);
  }
  const items = wanted.items.map(({ id, stock, ...item }, at) => {
    if (stock !== null && (!Number.isInteger(stock) || stock < 0 || stock > LINK_STOCK_MAX)) {
      throw fault(`items.${at}.stock`, `A stock is a whole number from 0 to ${LINK_STOCK_MAX}`);
    }
    const price = amountFor(`items.${at}.price`, item.price, currency);
    return { id, stock, price, name: textFor(`items.${at}.name`, item.name, LINK_NAME_CHARS_MAX) };
  });
  return { columns: { name, about, least: null, suggested: [], ends_at: endsAt }, items };
}

/** The address chosen for a new link, or one from its name. Throws `link.slug`. */
function newLinkSlug(reader: Reader, wanted: string | null, name: string): string {
  const isFree = (slug: string): boolean => reader.get(linkBySlug, { slug }) === undefined;
  if (wanted !== null) {
    if (!LINK_SLUG.test(wanted)) {
      throw new Rejected('link.slug', 'The address may have 1 to 40 of a–z, 0–9 and -, and no - at an end', 'slug');
    }
    if (!isFree(wanted)) throw new Rejected('link.slug', `There is a link ${wanted} already`, 'slug');
    return wanted;
  }
  const base = slugFor(name);
  if (base !== '' && isFree(base)) return base;
  const rest = randomText(SLUG_CHARACTERS).toLowerCase();
  return base === '' ? rest : `${base}-${rest}`;
}

/** Makes a link. Throws `Rejected`: `link.field`, `link.slug`, `link.too_many`. */
export function addLink(
  app: App,
  tx: Tx,
  business: Business,
  kind: LinkKind,
  currency: string,
  slug: string | null,
  wanted: WantedLink,
): LinkView {
  if (FIAT[currency] === undefined) throw fault('currency', `There is no currency ${currency}`);
  if (tx.get(linksAbove, { above: LINKS_MAX - 1 })) {
    throw new Rejected('link.too_many', `There are ${LINKS_MAX} links already`);
  }
  const { columns, items } = checked(kind, currency, wanted);
  const now = app.now();
  const { id } = tx.run(insertLink, {
    slug: newLinkSlug(tx, slug, columns.name),
    business_id: business.id,
    kind,
    currency,
    ...columns,
    ended_at: null,
    paid: 0,
    paid_amount: 0n,
    created_at: now,
    updated_at: now,
  });
  items.forEach(({ id: _, ...item }, place) => {
    tx.run(insertItem, { link_id: id, place, ...item, listed: true });
  });
  return newest(app, tx, id);
}

const newest = (app: App, tx: Tx, id: number): LinkView =>
  viewOf(app, tx, tx.all(linksBefore, { id: id + 1, limit: 1 })[0]!);

/**
 * Changes what a link says and sells; its kind, currency and address stay. An item that is named by its number keeps its sales; one
 * that is not named any more is not sold any more. Throws `link.field`, `link.not_found`.
 */
export function changeLink(app: App, tx: Tx, slug: string, wanted: WantedLink): LinkView {
  const link = findLink(tx, slug);
  const { columns, items } = checked(link.kind, link.currency, wanted);
  const before = tx.all(itemsOf, { link_id: link.id });
  const known = new Set(before.map(({ id }) => id));
  const kept = new Set<number>();
  for (const [place, { id, ...item }] of items.entries()) {
    if (id === null) tx.run(insertItem, { link_id: link.id, place, ...item, listed: true });
    else if (!known.has(id) || kept.has(id)) throw fault(`items.${place}.id`, `The link has no item ${id}, or twice`);
    else tx.run(setItem, { id, place, ...item, listed: true });
    if (id !== null) kept.add(id);
  }
  for (const { id, place, name, price, stock } of before) {
    if (!kept.has(id)) tx.run(setItem, { id, place, name, price, stock, listed: false });
  }
  tx.run(setLink, { id: link.id, ...columns, updated_at: app.now() });
  return newest(app, tx, link.id);
}

/** Ends a link, or opens it again. Its invoices stay as they are. */
export function endLink(app: App, tx: Tx, slug: string, ends: boolean): LinkView {
  const link = findLink(tx, slug);
  const now = app.now();
  tx.run(endLinkRow, { id: link.id, ended_at: ends ? (link.ended_at ?? now) : null, updated_at: now });
  return newest(app, tx, link.id);
}

/** The link with a public name. Throws `Rejected('link.not_found')`. */
export function findLink(reader: Reader, slug: string): LinkRow {
  const row = LINK_SLUG.test(slug) ? reader.get(linkBySlug, { slug }) : undefined;
  if (!row) throw new Rejected('link.not_found', `There is no payment link ${slug}`, 'link');
  return row;
}

export function viewOf(app: App, reader: Reader, link: LinkRow): LinkView {
  const items = itemsWithRoom(app, reader, link.id);
  const isOver = link.ended_at !== null || (link.ends_at !== null && app.now() >= link.ends_at);
  const isSoldOut = items.length > 0 && items.every((item) => leftOf(item) === 0);
  return { link, items, state: isOver ? 'ended' : isSoldOut ? 'sold_out' : 'open' };
}

/** Links, the newest first. `business`: null: of all. */
export function linkPage(
  app: App,
  business: Business | null,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before?: number | undefined; limit: number },
): LinkView[] {
  const rows = business
    ? app.store.all(linksOfBusiness, { business_id: business.id, id: before, limit })
    : app.store.all(linksBefore, { id: before, limit });
  return rows.map((row) => viewOf(app, app.store, row));
}
