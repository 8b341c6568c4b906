/** One invoice as text. */
import type { Result } from '../contract/operator.ts';
import { indent, pairs, table, when } from './table.ts';
import { outcome } from './webhooks.ts';

type Invoice = Result<'invoice.show'>['invoice'];

export function invoiceText(invoice: Invoice): string {
  const { payment, credits, refunds, webhook } = invoice;
  const parts = [invoicePairs(invoice)];
  if (payment) parts.push(`Payment\n${indent(paymentPairs(invoice, payment))}`);
  if (credits.length > 0) parts.push(`Deposits\n${indent(creditTable(invoice))}`);
  if (refunds.length > 0) {
    const rows = refunds.map(({ id, amount, crypto, state }) => [`${id}`, `${amount} ${crypto}`, state]);
    parts.push(`Refunds\n${indent(table(['>WITHDRAWAL', '>AMOUNT', 'STATE'], rows, ''))}`);
  }
  if (webhook) {
    const attempts = table(
      ['SENT', 'BY', 'ANSWER'],
      webhook.attempts.map((attempt) => [
        when(attempt.started_at),
        attempt.by_operator ? 'operator' : 'itself',
        outcome({ ...webhook, attempts: [attempt] }),
      ]),
      'not sent yet',
    );
    parts.push(`Notification ${webhook.id}\n${indent(attempts)}`);
  }
  return parts.join('\n');
}

function invoicePairs(invoice: Invoice): string {
  return pairs([
    ['Invoice', invoice.slug],
    ['UUID', invoice.uuid],
    ['Page', invoice.invoice_url],
    ['Business', invoice.business],
    ['Order', invoice.order_id],
    ['Description', invoice.description],
    ...Object.entries(invoice.metadata ?? {}).map(([key, text]): [string, string] => [`Metadata ${key}`, text]),
    ['Status', invoice.deleted_at === null ? invoice.status : `${invoice.status}, deleted ${when(invoice.deleted_at)}`],
    ['Amount', `${invoice.amount} ${invoice.currency} (${invoice.tolerance} less is enough)`],
    ['Payable in', invoice.crypto],
    ['Made', `${when(invoice.created_at)} through the ${invoice.origin} API`],
    ['Due', when(invoice.due_at)],
    ['Close URL', invoice.close_url],
    ['Redirect URL', invoice.redirect_url],
    ['Webhook URL', invoice.webhook_url],
  ]);
}

/** The cost of moving it on, in gas. */
function sweepText(sweep: NonNullable<Invoice['payment']>['sweep']): string | null {
  if (!sweep) return null;
  const mark = sweep.dear ? '; DEAR: wait until gas is cheaper' : '';
  return `would cost ${Number(sweep.cost_usd).toFixed(2)} USD in gas now, ${sweep.percent} % of it${mark}`;
}

function paymentPairs({ currency }: Invoice, payment: NonNullable<Invoice['payment']>): string {
  const flags = (['underpaid', 'overpaid', 'late', 'undone', 'marked_paid'] as const).filter((flag) => payment[flag]);
  const { quote } = payment;
  return pairs([
    ['Status', [payment.status, ...flags.map((flag) => flag.replace('_', ' '))].join(', ')],
    ['Address', payment.address],
    ['Network', payment.network],
    ['Collecting', sweepText(payment.sweep)],
    ['Asked', `${payment.amount} ${payment.crypto}`],
    ['Received', `${payment.received} ${payment.crypto} (${payment.received_value} ${currency})`],
    ['Confirmed', `${payment.confirmed} ${payment.crypto} (${payment.confirmed_value} ${currency})`],
    ['Remaining', `${payment.remaining} ${payment.crypto}`],
    ['Confirmations', `${payment.confirmations} of ${payment.required_confirmations}`],
    ['Rate', `${quote.rate} ${currency} until ${when(quote.ends_at)}${quote.ended ? ' (ended)' : ''}`],
    ['Deadline', when(payment.deadline_at)],
  ]);
}

function creditTable({ credits, currency }: Invoice): string {
  return table(
    ['SEEN', '>AMOUNT', `>${currency}`, 'CONFIRMATIONS', 'COUNTS FOR', 'TRANSACTION'],
    credits.map((credit) => [
      when(credit.first_seen_at),
      `${credit.amount} ${credit.crypto}`,
      credit.value ?? 'no rate',
      `${credit.confirmations} of ${credit.required_confirmations}`,
      credit.gone ? 'gone' : credit.claim === null ? 'not decided' : placeOf(credit.claim),
      credit.internal ? `${credit.tx_id} (from inside a contract)` : credit.outpoint,
    ]),
    '',
  );
}

const placeOf = (claim: string): string => (claim === 'invoice' ? 'the invoice' : `the inbox: ${claim}`);
