/** Rows and views in the form of the operator API: units become decimals, milliseconds become ISO times. */
import type { App } from '../../app/app.ts';
import { type Balance, balances, formerBalances, lockedUnits } from '../../app/books/balance.ts';
import { isUnchecked } from '../../app/chains/unchecked.ts';
import { sweepCostOf } from '../../app/gas/sweep-cost.ts';
import { refunded } from '../../app/invoices/refunded.ts';
import type { PaymentView } from '../../app/invoices/views.ts';
import { hasExpired, type InvoiceDetails, type InvoiceLine } from '../../app/operator/invoices.ts';
import type { NamedWebhook } from '../../app/operator/lists.ts';
import { possibleAssets } from '../../app/shops/businesses.ts';
import type { Business } from '../../app/shops/directory.ts';
import { openOverpaid } from '../../app/spends/refund-left.ts';
import { refundable } from '../../app/withdrawals/refund.ts';
import type { Result } from '../../contract/operator.ts';
import { type AssetId, assetOf, CHAINS } from '../../domain/assets.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { shownTransaction } from '../../domain/chain.ts';
import { shownRequired } from '../../domain/finality.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import { FLAG } from '../../domain/payment.ts';
import type { ApiKeyRow, ClientRow } from '../../store/queries/businesses.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import type { InvoiceRow, PaymentRow } from '../../store/queries/invoices.ts';

type BusinessJson = Result<'business.list'>['businesses'][number];
type KeyJson = Result<'key.list'>['keys'][number];
type ClientJson = Result<'client.list'>['clients'][number];
type InvoiceJson = Result<'invoice.list'>['invoices'][number];
type DetailJson = Result<'invoice.show'>['invoice'];
type SweepJson = NonNullable<InvoiceJson['payment']>['sweep'];
type WebhookJson = Result<'webhook.list'>['webhooks'][number];

/** An amount of fiat money, from 1e-8. */
export const fiat = (scaled: bigint): string => formatDecimal(scaled, FIAT_DECIMALS);
const fiatOrNull = (scaled: bigint | null): string | null => (scaled === null ? null : fiat(scaled));
const crypto = (units: bigint, asset: AssetId): string => formatUnits(units, assetOf(asset));

export function businessJson(app: App, business: Business): BusinessJson {
  const chains = CHAINS.filter((chain) =>
    app.directory
      .accounts()
      .some((account) => account.businessId === business.id && account.chainKey === `${business.network}:${chain}`),
  );
  return {
    id: business.id,
    uuid: business.uuid,
    name: business.name,
    network: business.network,
    time_zone: business.timeZone,
    account_no: business.accountNo,
    cryptos: business.enabled.map(({ symbol }) => symbol),
    possible_cryptos: possibleAssets(app, business.network, chains),
    watch_only: chains.filter((chain) => app.directory.isWatchOnly(business, chain)),
    brand: { ...business.brand, favourites: [...business.brand.favourites] },
    balances: [
      ...balances(app, business).map((balance) => balanceJson(app, business, balance)),
      ...formerBalances(app, business)
        .map((balance) => balanceJson(app, business, balance))
        .filter(({ amount, withheld, locked }) => amount !== '0' || withheld !== null || locked !== null),
    ],
    created_at: toIso(business.createdAt),
  };
}

function balanceJson(app: App, business: Business, { asset, units, withheld, unproven }: Balance) {
  const account = app.directory.account(business, asset.symbol);
  const chain = account && app.chains.find(account.chainKey);
  const locked = account && chain ? lockedUnits(app.store, chain, account, asset) : null;
  return {
    crypto: asset.symbol,
    amount: formatUnits(units, asset),
    withheld,
    unproven: unproven === null ? null : formatUnits(unproven, asset),
    locked: locked && {
      amount: formatUnits(locked.units, asset),
      first_blocks: locked.blocks.first,
      last_blocks: locked.blocks.last,
    },
  };
}

export function keyJson(app: App, row: ApiKeyRow): KeyJson {
  return {
    id: row.id,
    business_id: row.business_id,
    business: app.directory.business(row.business_id).name,
    name: row.name,
    hint: row.hint,
    per_minute: row.per_minute,
    scopes: row.scopes.split(' ') as KeyJson['scopes'],
    created_at: toIso(row.created_at),
    last_used_at: isoOrNull(row.last_used_at),
    revoked_at: isoOrNull(row.revoked_at),
  };
}

export function clientJson(app: App, row: ClientRow): ClientJson {
  return {
    id: row.id,
    client_id: row.public_id,
    business_id: row.business_id,
    business: app.directory.business(row.business_id).name,
    name: row.name,
    origins: row.origins,
    hosts: row.url_hosts,
    created_at: toIso(row.created_at),
    revoked_at: isoOrNull(row.revoked_at),
  };
}

function invoiceBase(app: App, row: InvoiceRow): Omit<InvoiceJson, 'payment' | 'over' | 'refunded' | 'expired'> {
  return {
    id: row.id,
    slug: row.slug,
    uuid: row.uuid,
    order_id: row.order_id,
    description: row.description,
    business_id: row.business_id,
    business: app.directory.business(row.business_id).name,
    origin: row.origin,
    amount: fiat(row.amount),
    currency: row.currency,
    crypto: row.crypto,
    status: row.status,
    due_at: toIso(row.due_at),
    created_at: toIso(row.created_at),
  };
}

export function invoiceJson(app: App, { invoice, payment }: InvoiceLine): InvoiceJson {
  return {
    ...invoiceBase(app, invoice),
    expired: hasExpired(invoice, payment),
    over: overJson(app, invoice, payment),
    refunded: refundedJson(app, invoice),
    payment: payment
      ? {
          crypto: payment.asset,
          status: payment.status,
          amount: crypto(payment.quote_amount, payment.asset),
          received: crypto(payment.received, payment.asset),
          confirmed: crypto(payment.confirmed, payment.asset),
          sweep: sweepJson(app, invoice, payment),
        }
      : null,
  };
}

function overJson(app: App, invoice: InvoiceRow, payment: PaymentRow | undefined): InvoiceJson['over'] {
  const isOver = payment !== undefined && (payment.flags & FLAG.overpaid) !== 0;
  const over = isOver ? openOverpaid(app.store, invoice) : null;
  if (!over || over.units === 0n) return null;
  return { crypto: over.asset, amount: crypto(over.units, over.asset), inbox: over.id };
}

const refundedJson = ({ store }: App, invoice: InvoiceRow): InvoiceJson['refunded'] =>
  refunded(store, invoice).map(({ asset, units }) => ({ crypto: asset, amount: crypto(units, asset) }));

function sweepJson(app: App, { business_id }: InvoiceRow, payment: PaymentRow): SweepJson {
  const found = sweepCostOf(app, app.directory.business(business_id), payment);
  return found && { cost_usd: fiat(found.usd), percent: found.percent, dear: found.isDear };
}

function uncheckedSince(app: App, { invoice, payment }: InvoiceDetails): string | null {
  const chain = payment && invoice.status === 'unpaid' ? app.chains.find(payment.row.chain_key) : undefined;
  return chain && isUnchecked(chain, app.now()) ? isoOrNull(chain.uncheckedSince) : null;
}

export function detailJson(app: App, details: InvoiceDetails): DetailJson {
  const { invoice, payment, credits, refunds, webhook, absence } = details;
  const depth = (credit: CreditRow): number =>
    app.chains.find(credit.chain_key)?.confirmations(credit.block_height) ?? 0;
  return {
    ...invoiceBase(app, invoice),
    expired: hasExpired(invoice, payment?.row),
    over: overJson(app, invoice, payment?.row),
    refunded: refundedJson(app, invoice),
    invoice_url: `${app.publicUrl}/pay/${invoice.slug}`,
    tolerance: fiat(invoice.tolerance),
    close_url: invoice.close_url,
    redirect_url: invoice.redirect_url,
    webhook_url: invoice.webhook_url,
    metadata: invoice.metadata,
    automatic_redirect: invoice.automatic_redirect,
    updated_at: toIso(invoice.updated_at),
    deleted_at: isoOrNull(invoice.deleted_at),
    payment: payment && { ...paymentJson(payment), sweep: sweepJson(app, invoice, payment.row) },
    absence: absence?.until ? { until: toIso(absence.until), servers: absence.servers } : null,
    unchecked_since: uncheckedSince(app, details),
    credits: credits.map((row) => ({
      id: row.id,
      ...shownTransaction(row),
      outpoint: row.outpoint,
      crypto: row.asset,
      amount: crypto(row.units, row.asset),
      value: fiatOrNull(row.value),
      usd_value: fiatOrNull(row.usd_value),
      block_height: row.block_height,
      confirmations: depth(row),
      required_confirmations: shownRequired(row, depth(row)),
      confirmed: row.confirmed,
      claim: row.claim,
      gone: row.gone,
      spent_by: row.spent_txid,
      first_seen_at: toIso(row.first_seen_at),
    })),
    refundable: refundable(app, app.store, invoice).map(({ asset, units }) => ({
      crypto: asset,
      amount: crypto(units, asset),
    })),
    refunds: refunds.map((row) => ({
      id: row.id,
      crypto: row.asset,
      amount: crypto(row.units, row.asset),
      state: row.state,
      address: row.address,
      tx_id: row.txid,
      created_at: toIso(row.created_at),
      approved_at: isoOrNull(row.approved_at),
      updated_at: toIso(row.updated_at),
    })),
    webhook: webhook && webhookJson({ ...webhook, slug: invoice.slug }),
  };
}

function paymentJson(payment: PaymentView): Omit<NonNullable<DetailJson['payment']>, 'sweep'> {
  const { row, asset } = payment;
  return {
    crypto: asset.symbol,
    network: asset.networkName,
    address: row.address,
    status: row.status,
    amount: formatUnits(payment.amount, asset),
    received: formatUnits(payment.received, asset),
    confirmed: formatUnits(payment.confirmed, asset),
    remaining: formatUnits(payment.remaining, asset),
    received_value: fiat(row.seen_value),
    confirmed_value: fiat(row.confirmed_value),
    confirmations: payment.confirmations,
    required_confirmations: payment.required,
    quote: {
      rate: fiat(row.quote_rate),
      issued_at: toIso(row.quote_issued_at),
      ends_at: toIso(row.quote_ends_at),
      ended: payment.quoteEnded,
    },
    deadline_at: toIso(row.deadline_at),
    underpaid: payment.underpaid,
    overpaid: payment.overpaid,
    late: payment.late,
    undone: payment.undone,
    marked_paid: (row.flags & FLAG.markedPaid) !== 0,
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
  };
}

export function webhookJson({ webhook, attempts, slug }: NamedWebhook): WebhookJson {
  return {
    id: webhook.id,
    invoice: slug,
    url: webhook.url,
    state: webhook.state,
    created_at: toIso(webhook.created_at),
    attempts: attempts.map((row) => ({
      id: row.id,
      by_operator: row.by_operator,
      started_at: toIso(row.started_at),
      finished_at: isoOrNull(row.finished_at),
      status: row.status,
      error: row.error,
    })),
  };
}
