/** The content of a payment link's page, decided from the link. The template only renders it. */
import type { App } from '../../app/app.ts';
import type { LinkState, LinkView } from '../../app/links/links.ts';
import type { Network } from '../../domain/assets.ts';
import { FIAT } from '../../domain/currencies.ts';
import { LINK_QUANTITY_MAX, type LinkKind, leftOf } from '../../domain/links.ts';
import { FIAT_DECIMALS, maxOf, parseDecimal } from '../../domain/money.ts';
import type { InvoicePage } from '../model.ts';

/** The fault of the order that was just sent. */
export type OrderFault = 'needItem' | 'needAmount' | 'tooMuch' | 'soldOut' | 'notNow';

/** The fields as the payer filled them in. */
export type Filled = { amount: string; suggested: string; quantities: ReadonlyMap<number, string> };

export type LinkPage = {
  root: string;
  query: string;
  slug: string;
  business: InvoicePage['business'];
  network: Network;
  kind: LinkKind;
  state: LinkState;
  name: string;
  about: string | null;
  currency: string;
  /** Decimals of an amount in the currency. */
  decimals: number;
  /** 1e-8; at least the currency's smallest amount. */
  least: bigint;
  suggested: { text: string; amount: bigint }[];
  /** `left`: null: any number. `most`: that one sale may have. */
  items: { id: number; name: string; price: bigint; left: number | null; most: number }[];
  endsAt: number | null;
  filled: Filled;
  fault: OrderFault | null;
};

const NOTHING: Filled = { amount: '', suggested: '', quantities: new Map() };

/** The page of a link. `filled` and `fault`: the order that was just sent and could not be taken. */
export function linkPage(
  app: App,
  { link, items, state }: LinkView,
  place: Pick<LinkPage, 'root' | 'query'>,
  filled: Filled = NOTHING,
  fault: OrderFault | null = null,
): LinkPage {
  const business = app.directory.business(link.business_id);
  const decimals = FIAT[link.currency] ?? 2;
  return {
    ...place,
    slug: link.slug,
    business: { ...business.brand, name: business.brand.name ?? business.name },
    network: business.network,
    kind: link.kind,
    state,
    name: link.name,
    about: link.about,
    currency: link.currency,
    decimals,
    least: maxOf(link.least ?? 0n, 10n ** BigInt(FIAT_DECIMALS - decimals)),
    suggested: link.suggested.map((text) => ({ text, amount: parseDecimal(text, FIAT_DECIMALS) ?? 0n })),
    items: items.map((item) => {
      const left = leftOf(item);
      const most = Math.min(left ?? LINK_QUANTITY_MAX, LINK_QUANTITY_MAX);
      return { id: item.id, name: item.name, price: item.price, left, most };
    }),
    endsAt: link.ends_at,
    filled,
    fault,
  };
}
