/** Methods about selling: invoices by hand, search, takings, the counter. */
import { randomUUID } from 'node:crypto';
import type { App } from '../../app/app.ts';
import { findInvoice } from '../../app/invoices/invoices.ts';
import type { InvoiceView } from '../../app/invoices/views.ts';
import {
  cancelSale,
  chooseCoin,
  coinsOf,
  findSale,
  makeByHand,
  type Sale,
  saleOf,
  salesOf,
} from '../../app/operator/counter.ts';
import { assetOfVerdict, explain, type Verdict } from '../../app/operator/explain.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { showInvoice } from '../../app/operator/invoices.ts';
import { findInvoices } from '../../app/operator/search.ts';
import { cartOf, sellCart } from '../../app/operator/sell-items.ts';
import { takings } from '../../app/operator/takings.ts';
import { refundOfSale, refundSale } from '../../app/refunds/at-counter.ts';
import { refundLinkState } from '../../app/refunds/links.ts';
import type { Business } from '../../app/shops/directory.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import type { SHOP } from '../../contract/shop.ts';
import { assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import { reachOf } from '../../domain/reach.ts';
import type { RefundLinkRow } from '../../store/queries/refund-links.ts';
import { refundUrl } from '../merchant/refund-link.ts';
import { openApi } from '../openapi.ts';
import type { Context, Methods } from './context.ts';
import { detailJson, invoiceJson } from './present.ts';
import { tryApi } from './try-api.ts';

/** Offered at the counter. Another one can be asked for by an invoice. */
const COUNTER_CURRENCIES = ['EUR', 'USD', 'GBP', 'CHF'];
const REALITY = ['mainnet', 'testnet', 'regtest', 'sandbox'];

const fiat = (scaled: bigint): string => formatDecimal(scaled, FIAT_DECIMALS);

function businessOf(app: App, ref: string | undefined): Business {
  if (ref !== undefined) return findBusiness(app, ref);
  const [first] = app.directory.businesses().sort((a, b) => REALITY.indexOf(a.network) - REALITY.indexOf(b.network));
  if (!first) throw new Rejected('business.not_found', 'There is no business yet', 'business');
  return first;
}

/** Lets the sandbox's payer, miner or network act. Throws `Rejected`. */
async function play({ app, extra: { sandbox } }: Context, action: Parsed<'sandbox.play'>): Promise<string | null> {
  const business = findBusiness(app, action.business);
  if (business.network !== 'sandbox') throw new Rejected('params', `${business.name} takes real money`, 'business');
  switch (action.action) {
    case 'pay':
      if (action.crypto !== undefined) await chooseCoin(app, findInvoice(app.store, action.invoice), action.crypto);
      return (await sandbox.pay(business, action.invoice)).txid;
    case 'pay-late':
      return (await sandbox.payLate(business, action.invoice)).txid;
    case 'mine':
      await sandbox.mine(business, action.crypto, action.blocks);
      return null;
    case 'reorg':
      await sandbox.reorg(business, action.crypto, action.depth, false);
      return null;
    case 'outage':
      await sandbox.outage(business, action.crypto, action.down);
      return null;
  }
}

export const SHOP_METHODS: Methods<typeof SHOP> = {
  'sandbox.play': async (context, action) => ({ tx_id: await play(context, action) }),
  'api.show': ({ app }) => ({ document: openApi(app) as Record<string, unknown> }),
  'api.ignored': ({ app }, { business }) => {
    const fields = app.ignored.list(findBusiness(app, business).id);
    return { fields: fields.map((field) => ({ ...field, at: toIso(field.at) })) };
  },
  'api.try': tryApi,
  'invoice.create': async ({ app }, { business, order_id: orderId, choose, ...rest }) => {
    const wanted = { ...rest, orderId, origin: 'operator' as const };
    const made = await app.store.write((tx) => makeByHand(app, tx, findBusiness(app, business), wanted));
    if (choose !== undefined) await chooseCoin(app, made, choose);
    return { invoice: detailJson(app, showInvoice(app, made.slug)) };
  },
  'invoice.find': async ({ app }, { text, limit }) => {
    const { lines, as } = await findInvoices(app, text, limit);
    return { invoices: lines.map((line) => invoiceJson(app, line)), as };
  },
  'invoice.explain': async ({ app }, { invoice, text }) => verdictJson(app, await explain(app, invoice, text)),
  'takings.list': async ({ app }, { business, by, periods }) => {
    const found = await takings(app, findBusiness(app, business), by, periods);
    return {
      unvalued: found.unvalued,
      periods: found.periods.map((one) => ({
        ...one,
        coins: one.coins.map(({ asset, usd, payments }) => ({ crypto: asset, usd: fiat(usd), payments })),
        refunds: { count: one.refunds.count, usd: fiat(one.refunds.usd) },
      })),
    };
  },
  'counter.show': async ({ app }, { business }) => {
    const shop = businessOf(app, business);
    const sales = await salesOf(app, shop);
    return {
      business: shop.id,
      name: shop.brand.name ?? shop.name,
      network: shop.network,
      currency: shop.brand.currency,
      currencies: (shop.brand.currency === null ? COUNTER_CURRENCIES : [shop.brand.currency]).filter(
        (one) => app.rates.perDollar(shop.network, one, app.now()) !== null,
      ),
      cryptos: coinsOf(app, shop).map(({ asset, ready }) => ({ crypto: asset.symbol, ready })),
      reach: reachOf(app.publicUrl),
      sales: sales.map(soldJson),
    };
  },
  'counter.sell': async ({ app }, { business, request = randomUUID(), ...sale }) => {
    const { slug } = await app.store.write((tx) =>
      sellCart(app, tx, findBusiness(app, `${business}`), { ...sale, request }),
    );
    return { invoice: slug };
  },
  'counter.choose': async ({ app }, { invoice, crypto }) => {
    await chooseCoin(app, findSale(app.store, invoice), crypto);
    return {};
  },
  'counter.sale': async ({ app }, { invoice, crypto }) => saleJson(app, await saleOf(app, invoice, crypto)),
  'counter.refund': async ({ app }, { invoice }) => {
    const link = await app.store.write((tx) => refundSale(app, tx, invoice));
    return { refund: refundJson(app, link)! };
  },
  'counter.cancel': async ({ app }, { invoice }) => {
    await cancelSale(app, invoice);
    return {};
  },
};

function soldJson({ invoice, payment }: InvoiceView): Result<'counter.sale'>['sale'] {
  const overdue = invoice.status === 'unpaid' && payment?.row.status === 'overdue';
  return {
    invoice: invoice.slug,
    status: overdue ? 'overdue' : payment?.undone ? 'unpaid' : invoice.status,
    amount: fiat(invoice.amount),
    currency: invoice.currency,
    created_at: toIso(invoice.created_at),
    received_value: fiat(payment?.row.seen_value ?? 0n),
    underpaid: payment?.underpaid ?? false,
    late: payment?.late ?? false,
  };
}

function saleJson(app: App, { view, code }: Sale): Result<'counter.sale'> {
  const { payment } = view;
  const { tip, lines } = cartOf(app.store, view.invoice);
  const units = (amount: bigint): string | null => (payment ? formatUnits(amount, payment.asset) : null);
  return {
    sale: soldJson(view),
    code,
    crypto: payment?.asset.symbol ?? null,
    crypto_amount: units(payment?.amount ?? 0n),
    received: units(payment?.received ?? 0n),
    missing: units(payment?.remaining ?? 0n),
    confirmations: payment?.confirmations ?? 0,
    required_confirmations: payment?.required ?? 0,
    price_until: payment ? toIso(payment.row.quote_ends_at) : null,
    updated_at: toIso(view.invoice.updated_at),
    tip: fiat(tip),
    lines: lines.map(({ name, price, quantity, vat }) => ({ name, price: fiat(price), quantity, vat })),
    refund: refundJson(app, refundOfSale(app, app.store, view.invoice.id)),
  };
}

/** A refund link as the till shows it: without the address, which is for who approves. */
function refundJson(app: App, link: RefundLinkRow | null): Result<'counter.sale'>['refund'] {
  if (link === null || link.units === null) return null;
  const state = refundLinkState(app, app.store, link);
  if (state === 'over' || state === 'refused') return null;
  return { url: refundUrl(app, link), crypto: link.asset, amount: formatUnits(link.units, assetOf(link.asset)), state };
}

function verdictJson(app: App, found: Verdict): Result<'invoice.explain'> {
  const { verdict, details, payment, credit, inbox, network } = found;
  const asset = assetOfVerdict(found);
  const units = (amount: bigint): string | null => asset && formatUnits(amount, asset);
  const missingValue = details && payment ? details.invoice.amount - payment.row.seen_value : null;
  return {
    verdict,
    invoice: details?.invoice.slug ?? null,
    crypto: asset?.symbol ?? null,
    network: network ?? (details && app.directory.business(details.invoice.business_id).network),
    received: credit ? units(credit.units) : null,
    missing: payment ? formatUnits(payment.remaining, payment.asset) : null,
    missing_value: missingValue !== null && missingValue > 0n ? fiat(missingValue) : null,
    currency: details?.invoice.currency ?? null,
    confirmations: payment?.confirmations ?? null,
    required_confirmations: payment?.required ?? null,
    at: credit ? toIso(credit.first_seen_at) : null,
    inbox,
  };
}
