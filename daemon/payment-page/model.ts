/**
 * The content of the payment page, decided from an invoice. The templates only render it.
 *
 * Invariant: the model has the address only while money may be sent to it: the invoice is unpaid, something is left to
 * pay, and its price is valid.
 */
import { type App, graceMs } from '../app/app.ts';
import { fixedAsset } from '../app/invoices/invoices.ts';
import { isTooSmall, mayChangeCoin } from '../app/invoices/payments.ts';
import { refunded } from '../app/invoices/refunded.ts';
import { arrived, isEnough } from '../app/invoices/settle.ts';
import { contractOf, ethereumUri, paymentUri, webUrl } from '../app/invoices/uri.ts';
import { expectedConfirmations, type InvoiceView, type PaymentView } from '../app/invoices/views.ts';
import { type ReceiptState, receiptState } from '../app/notifications/receipts.ts';
import type { Business } from '../app/shops/directory.ts';
import { type Asset, type AssetId, assetOf, type ChainId, type Network } from '../domain/assets.ts';
import { chainKey } from '../domain/chain.ts';
import { cryptoFor } from '../domain/money.ts';
import type { Credit } from '../domain/rate-sources.ts';
import type { InvoiceRow } from '../store/queries/invoices.ts';

const REFRESH_SECONDS = 10;
/** A paid invoice opened later than this is shown without a redirect. */
const REDIRECT_MS_MAX = 15 * 60_000;
/** Shorter than for real payments, for those who try the sandbox's buttons. */
const SANDBOX_REFRESH_SECONDS = 3;

/** A coin that a payer may choose with its current price and the usual time of its confirmations, or why it is not available. */
export type Offer = { asset: Asset } & (
  | { units: bigint; rate: bigint; seconds: number | null; withheld: null }
  | { withheld: 'chain' | 'rate' | 'wallet' | 'small' }
);

export type Received = { asset: Asset; units: bigint };

/** Units are the asset's smallest, times milliseconds since 1970. */
export type Funds = {
  asset: Asset;
  /** In the asset. Money in a coin that the payer left counts by its value. */
  received: bigint;
  confirmations: number;
  required: number;
  transactions: (Received & { txid: string })[];
  overpaid: boolean;
  late: boolean;
  /** The usual time for the missing confirmations; null if unknown. */
  expectedSeconds: number | null;
};

/** Additional data of a receipt. `refunded`: the amounts that went back, with a confirmation. */
type Settled = { at: number; rate: bigint | null; refunded: Received[] };

/** `uri`: the link with the amount for wallets; null if the plain address works better. */
type Way = { address: string; uri: string | null; ethereumUri: string | null; contract: string | null };

export type State =
  | { is: 'choose'; fixed: boolean; offers: Offer[] }
  | {
      is: 'waiting' | 'partial';
      funds: Funds;
      way: Way;
      remaining: bigint;
      rate: bigint;
      quotedAt: number;
      quoteEndsAt: number;
    }
  | { is: 'detected'; funds: Funds }
  /** `undone`: the invoice was paid, and a reorganisation took its payment back. */
  | { is: 'withheld'; funds: Funds; why: 'chain' | 'rate' | 'over' | 'undone' }
  | { is: 'paid'; funds: Funds | null; settled: Settled; redirect: boolean }
  /** `arrived`: also money that the invoice no longer claims. */
  | { is: 'canceled'; funds: Funds | null; arrived: Received[] };

export type InvoicePage = {
  page: 'invoice';
  /** The relative path to the payment pages, with a slash at the end. */
  root: string;
  /** The query that keeps a chosen language, for links to the page. */
  query: string;
  slug: string;
  /** `logo`: the picture's id. `accent`: "#rrggbb". */
  business: { name: string; accent: string | null; logo: string | null; contact: string | null };
  /** The shop's own order id and description. */
  order: { id: string | null; description: string | null };
  network: Network;
  /** Fiat, 1e-8. */
  amount: bigint;
  currency: string;
  dueAt: number;
  now: number;
  state: State;
  /** The coins that the payer may choose instead; none once a payment was seen. */
  others: Asset[];
  /** True on the page for choosing another coin without scripts: the coins are shown, and nothing reloads. */
  changing: boolean;
  /** True once the payer, without scripts, asked the page to look for the payment: it reloads. */
  watching: boolean;
  /** The problem with the choice that was just sent. */
  notice: Notice;
  /** Whether a receipt can be asked for by e-mail; null: never. */
  mail: ReceiptState | null;
  /** Until when an overdue payment still counts; null while it is not overdue. */
  payableUntil: number | null;
  /** True if the chain's source is behind. */
  behind: boolean;
  backUrl: string | null;
  /** The price sources to be named beside the rates that the page shows. */
  credits: Credit[];
  /** The sandbox's buttons; null on other networks and for strangers. */
  sandbox: { canPay: boolean; canReplace: boolean; canReorg: boolean; down: boolean } | null;
};

export type Problem = 'notFound' | 'tooMany' | 'method' | 'request' | 'refused' | 'unavailable' | 'bug';

export type ProblemPage = { page: 'problem'; root: string; query: string; problem: Problem; slug: string | null };

export type PageModel = InvoicePage | ProblemPage;

/** True while there is something to copy or to scan: a page that reloads would take the selection away. */
const isPayable = ({ state }: InvoicePage): boolean => state.is === 'waiting' || state.is === 'partial';

/**
 * Seconds until the page refreshes itself without scripts; null if nothing can change, or if a choice or a selection
 * would be lost.
 */
export function refreshSeconds(model: InvoicePage): number | null {
  const { state, sandbox, changing, watching } = model;
  const changes = isPayable(model) ? watching : state.is === 'detected' || state.is === 'withheld';
  if (!changes || changing) return null;
  return sandbox ? SANDBOX_REFRESH_SECONDS : REFRESH_SECONDS;
}

/**
 * The one deadline that the payer has to keep. Of an overdue payment it is the end of the price or of the time to pay,
 * whichever comes first; null where nothing is to be done in time.
 */
export function deadlineOf({ state, dueAt, payableUntil }: InvoicePage): Deadline | null {
  if (state.is === 'waiting' || state.is === 'partial') {
    const last = payableUntil !== null && payableUntil <= state.quoteEndsAt;
    return last ? { is: 'payable', at: payableUntil } : { is: 'price', at: state.quoteEndsAt };
  }
  const open = state.is === 'choose' || (state.is === 'withheld' && state.why !== 'over' && state.why !== 'undone');
  return open ? { is: 'due', at: dueAt } : null;
}
export type Deadline = { is: 'due' | 'price' | 'payable'; at: number };

/** The current price in `asset`, or why it is not available. */
function offer(app: App, business: Business, invoice: InvoiceRow, asset: Asset, now: number): Offer {
  const chain = app.chains.find(chainKey(business.network, asset.chain));
  if (!chain || !app.chains.sees(business.network, asset) || chain.withheld(now) !== null) {
    return { asset, withheld: 'chain' };
  }
  if (!app.directory.account(business, asset.symbol)) return { asset, withheld: 'wallet' };
  const rate = app.rates.quoteRate(business.network, asset.symbol, invoice.currency, now);
  if (!rate) return { asset, withheld: 'rate' };
  const units = cryptoFor(invoice.amount, asset, rate.scaled);
  if (isTooSmall(app, business, asset, units)) return { asset, withheld: 'small' };
  const needed = expectedConfirmations(app, business, invoice, asset);
  const seconds = expectedSeconds(business.network, asset.chain, needed, app.config.sandbox.blockSeconds);
  return { asset, units, rate: rate.scaled, seconds, withheld: null };
}

/** The assets that a business takes, its favourites first. */
function inOrder({ enabled, brand }: Business): Asset[] {
  const place = ({ symbol }: Asset): number => brand.favourites.indexOf(symbol) + 1 || Number.MAX_SAFE_INTEGER;
  return [...enabled].sort((a, b) => place(a) - place(b));
}

function chooseState(app: App, { business, invoice }: InvoiceView, now: number): State {
  const fixed = fixedAsset(invoice);
  const assets = fixed ? [fixed] : inOrder(business);
  const offers = assets.map((asset) => offer(app, business, invoice, asset, now));
  return { is: 'choose', fixed: fixed !== null, offers };
}

function fundsOf(app: App, business: Business, payment: PaymentView): Funds {
  const { asset, confirmations, required, waitsFor } = payment;
  const missing = Math.max(0, required - confirmations);
  return {
    asset,
    confirmations,
    required,
    received: payment.received,
    transactions: payment.transactions,
    overpaid: payment.overpaid,
    late: payment.late,
    expectedSeconds: expectedSeconds(business.network, waitsFor.chain, missing, app.config.sandbox.blockSeconds),
  };
}

function isBehind(app: App, payment: PaymentView, now: number): boolean {
  const chain = app.chains.find(payment.row.chain_key);
  return !chain || chain.withheld(now) !== null;
}

function payState(app: App, { business }: InvoiceView, payment: PaymentView, now: number): State {
  const funds = fundsOf(app, business, payment);
  // also while the received money has no value for lack of a rate: no further amount is requested until it has
  if (payment.remaining === 0n) return { is: 'detected', funds };
  if (payment.quoteEnded) {
    const over = now >= payment.row.deadline_at + graceMs(app);
    return { is: 'withheld', funds, why: over ? 'over' : isBehind(app, payment, now) ? 'chain' : 'rate' };
  }
  const { remaining, asset } = payment;
  const { address } = payment.row;
  return {
    is: payment.received === 0n ? 'waiting' : 'partial',
    funds,
    way: {
      address,
      uri: paymentUri(asset, address, remaining),
      ethereumUri: ethereumUri(asset, business.network, address, remaining),
      contract: contractOf(asset, business.network),
    },
    remaining,
    rate: payment.row.quote_rate,
    quotedAt: payment.row.quote_issued_at,
    quoteEndsAt: payment.row.quote_ends_at,
  };
}

/** Where "back to the shop" leads: after success the success redirect comes first. */
function backUrlOf({ invoice, payment }: InvoiceView): string | null {
  const close = webUrl(invoice.close_url);
  return invoice.status === 'paid' && !payment?.undone ? (webUrl(invoice.redirect_url) ?? close) : close;
}

function stateOf(app: App, found: InvoiceView, now: number, backUrl: string | null): State {
  const { invoice, payment, business } = found;
  const funds = payment ? fundsOf(app, business, payment) : null;
  if (payment?.undone) {
    const funds = fundsOf(app, business, payment);
    return isEnough(invoice, payment.row) ? { is: 'detected', funds } : { is: 'withheld', funds, why: 'undone' };
  }
  if (invoice.status === 'paid') {
    const fresh = now - invoice.updated_at < REDIRECT_MS_MAX;
    const rate = payment?.row.quote_rate;
    const back = refunded(app.store, invoice).map(({ asset, units }) => ({ asset: assetOf(asset), units }));
    return {
      is: 'paid',
      funds,
      settled: { at: invoice.updated_at, rate: rate === undefined ? null : BigInt(rate), refunded: back },
      redirect: fresh && invoice.automatic_redirect && backUrl !== null,
    };
  }
  if (invoice.status === 'canceled') {
    return { is: 'canceled', funds, arrived: payment ? arrived(app.store, payment.row) : [] };
  }
  return payment ? payState(app, found, payment, now) : chooseState(app, found, now);
}

/** Where the page is answered, and what its address asks for. */
type Place = Pick<InvoicePage, 'root' | 'query'> & {
  plays: boolean;
  isLocal: boolean;
  change: boolean;
  watch: boolean;
};

export type Notice = 'mustChoose' | 'notNow' | 'soldOut' | 'mailInvalid' | 'mailNotNow' | null;

/** The page of an invoice. `plays`: with the sandbox's buttons. `isLocal`: asked on this machine. `change`: another coin is to be chosen. `watch`: the payer asked to look for the payment. `notice`: what was wrong with the choice that was just sent. */
export function invoicePage(
  app: App,
  found: InvoiceView,
  { root, query, plays, isLocal, change, watch }: Place,
  notice: Notice = null,
): InvoicePage {
  const { invoice, business, payment } = found;
  const now = app.now();
  const backUrl = backUrlOf(found);
  const state = stateOf(app, found, now, backUrl);
  const open = invoice.status === 'unpaid';
  const others = othersOf(app, found, now);
  return {
    page: 'invoice',
    root,
    query,
    slug: invoice.slug,
    business: { ...business.brand, name: business.brand.name ?? business.name },
    order: { id: invoice.order_id, description: invoice.description },
    network: business.network,
    amount: invoice.amount,
    currency: invoice.currency,
    dueAt: invoice.due_at,
    now,
    state,
    others,
    changing: change && others.length > 0,
    watching: watch,
    // sandbox money is free: whoever may play with it could have mail sent to anybody
    mail: business.network === 'sandbox' && !isLocal ? null : receiptState(app, app.store, invoice),
    notice,
    payableUntil: open && payment?.row.status === 'overdue' ? payment.row.deadline_at + graceMs(app) : null,
    behind: open && payment !== null && isBehind(app, payment, now),
    backUrl,
    credits: app.rates.credits(business.network, ratedIn(state), [invoice.currency]),
    sandbox: plays ? sandboxOf(app, found) : null,
  };
}

/** The assets whose rates the page shows. */
function ratedIn(state: State): AssetId[] {
  if (state.is === 'choose')
    return state.offers.filter(({ withheld }) => withheld === null).map(({ asset }) => asset.symbol);
  const shown = state.is === 'paid' ? state.settled.rate !== null : 'rate' in state;
  return shown && state.funds ? [state.funds.asset.symbol] : [];
}

/** The coins that can be had instead of the payment's. */
function othersOf(app: App, { business, invoice, payment }: InvoiceView, now: number): Asset[] {
  if (!payment || !mayChangeCoin(app, app.store, invoice, payment.row)) return [];
  const others = inOrder(business).filter(({ symbol }) => symbol !== payment.row.asset);
  return others.filter((asset) => offer(app, business, invoice, asset, now).withheld === null);
}

function sandboxOf(app: App, { invoice, payment }: InvoiceView): InvoicePage['sandbox'] {
  if (!payment) return null;
  const depths = payment.transactions.map(({ confirmations }) => confirmations);
  return {
    canPay: invoice.status === 'unpaid' && payment.remaining > 0n,
    canReplace: depths.some((depth) => depth === 0),
    canReorg: depths.some((depth) => depth > 0),
    down: app.chains.find(payment.row.chain_key)?.adapter.health().error !== null,
  };
}

/** The time between two blocks that each chain's rules aim at. BSC's is below one second since 2025, and rounded up. */
const BLOCK_SECONDS: Readonly<Record<ChainId, number>> = { BTC: 600, BCH: 600, LTC: 150, XMR: 120, ETH: 12, BSC: 1 };

/** The seconds that so many more blocks usually take; null where a person mines them, and for none. */
function expectedSeconds(network: Network, chain: ChainId, blocks: number, sandboxBlockSeconds: number): number | null {
  if (network === 'regtest' || blocks === 0) return null;
  if (network !== 'sandbox') return blocks * BLOCK_SECONDS[chain];
  return sandboxBlockSeconds === 0 ? null : blocks * sandboxBlockSeconds;
}
