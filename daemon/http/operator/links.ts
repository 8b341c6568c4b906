/** Methods about payment links. */
import type { App } from '../../app/app.ts';
import { isTooSmall } from '../../app/invoices/payments.ts';
import {
  addLink,
  changeLink,
  endLink,
  findLink,
  type LinkView,
  linkPage,
  viewOf,
  type WantedLink,
} from '../../app/links/links.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { nextOf } from '../../app/operator/lists.ts';
import type { LINKS } from '../../contract/links.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import { dayBounds, isoOrNull, toIso } from '../../domain/calendar.ts';
import { leftOf } from '../../domain/links.ts';
import { cryptoFor, FIAT_DECIMALS, formatDecimal } from '../../domain/money.ts';
import type { Methods } from './context.ts';

type LinkJson = Result<'link.show'>['link'];

const DEFAULT_CURRENCY = 'USD';
const fiat = (scaled: bigint): string => formatDecimal(scaled, FIAT_DECIMALS);

export const LINK_METHODS: Methods<typeof LINKS> = {
  'link.list': ({ app }, { business, ...page }) => {
    const found = linkPage(app, business === undefined ? null : findBusiness(app, business), page);
    const next = nextOf(
      found.map(({ link }) => link),
      page.limit,
    );
    return { links: found.map((view) => linkJson(app, view)), next };
  },
  'link.show': ({ app }, { link }) => ({ link: linkJson(app, viewOf(app, app.store, findLink(app.store, link))) }),
  'link.add': async ({ app }, { business: ref, kind, currency, link, ...wanted }) => {
    const business = findBusiness(app, ref);
    const money = currency ?? business.brand.currency ?? DEFAULT_CURRENCY;
    const terms = wantedLink(wanted, business.timeZone);
    const view = await app.store.write((tx) => addLink(app, tx, business, kind, money, link, terms));
    return { link: linkJson(app, view) };
  },
  'link.change': async ({ app }, { link, ...wanted }) => {
    const { business_id } = findLink(app.store, link);
    const terms = wantedLink(wanted, app.directory.business(business_id).timeZone);
    return { link: linkJson(app, await app.store.write((tx) => changeLink(app, tx, link, terms))) };
  },
  'link.end': async ({ app }, { link, ended }) => ({
    link: linkJson(app, await app.store.write((tx) => endLink(app, tx, link, ended))),
  }),
};

type LinkChange = Omit<Parsed<'link.change'>, 'link'>;

function wantedLink({ ends_on, ...wanted }: LinkChange, timeZone: string): WantedLink {
  return { ...wanted, endsAt: ends_on === null ? null : dayBounds(ends_on, timeZone).to };
}

function dayIn(at: number, timeZone: string): string {
  // the Swedish form of a date is that of ISO 8601
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(at);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);

/** A link that looks like a button, for any page: without scripts, and without a picture from here. */
const snippetOf = (url: string, name: string): string =>
  `<a href="${escaped(url)}" style="display:inline-block;padding:12px 20px;border-radius:10px;background:#1c54c4;color:#fff;font:600 16px/1.2 sans-serif;text-decoration:none">${escaped(name)}</a>`;

function linkJson(app: App, { link, items, state }: LinkView): LinkJson {
  const business = app.directory.business(link.business_id);
  const url = `${app.publicUrl}/pay/l/${link.slug}`;
  return {
    id: link.id,
    link: link.slug,
    url,
    snippet: snippetOf(url, link.name),
    business_id: business.id,
    business: business.name,
    kind: link.kind,
    state,
    name: link.name,
    about: link.about,
    currency: link.currency,
    least: link.least === null ? null : fiat(link.least),
    suggested: link.suggested,
    items: items.map((item) => ({
      id: item.id,
      name: item.name,
      price: fiat(item.price),
      stock: item.stock,
      taken: item.taken,
      left: leftOf(item),
    })),
    ends_on: link.ends_at === null ? null : dayIn(link.ends_at, business.timeZone),
    ended_at: isoOrNull(link.ended_at),
    paid: link.paid,
    paid_amount: fiat(link.paid_amount),
    too_small_for: tooSmallFor(app, { link, items, state }),
    created_at: toIso(link.created_at),
  };
}

/** The coins of the business that cannot carry the least amount that can be paid. A coin without a rate is not judged. */
function tooSmallFor(app: App, { link, items }: LinkView): string[] {
  const business = app.directory.business(link.business_id);
  const prices = items.map(({ price }) => price);
  const least = link.least ?? prices.reduce((low, price) => (price < low ? price : low), prices[0] ?? 0n);
  const small = business.enabled.filter((asset) => {
    const rate = app.rates.quoteRate(business.network, asset.symbol, link.currency, app.now());
    return (
      rate !== null && rate !== undefined && isTooSmall(app, business, asset, cryptoFor(least, asset, rate.scaled))
    );
  });
  return small.map(({ symbol }) => symbol);
}
