/** The refund of a link whose payer has typed an address: asked for again every minute until it can be. */
import { isDeepStrictEqual } from 'node:util';
import { assetOf } from '../../domain/assets.ts';
import { present, Rejected, Unavailable } from '../../domain/errors.ts';
import { messageOf, reasonOf } from '../../domain/messages.ts';
import { formatUnits } from '../../domain/money.ts';
import { type InvoiceRow, invoiceById } from '../../store/queries/invoices.ts';
import {
  giveAddress,
  type RefundLinkRow,
  refundLinksBefore,
  setRefundWithdrawal,
} from '../../store/queries/refund-links.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { overpaidToRefund } from '../spends/refund-left.ts';
import { refundableDeposit, stepDeposit } from '../withdrawals/inbox.ts';
import { refundWanted } from '../withdrawals/refund.ts';
import { estimateHighestFee, type NewWithdrawal, requestWithdrawal } from '../withdrawals/request.ts';
import { changed, checkRefundAddress, findRefundLink } from './links.ts';

const LINKS_PER_PASS = 500;

/**
 * Takes the address that the payer typed, and asks for the withdrawal, which waits for the merchant. If it cannot be asked for now, the
 * address is kept with the reason. Throws `Rejected`: `refund_link.not_found`, `.over`, `withdrawal.address`.
 */
export async function giveRefundAddress(app: App, slug: string, address: string): Promise<void> {
  const link = findRefundLink(app.store, slug);
  checkRefundAddress(app, link, address);
  const fee = await feeFor(app, { ...link, address });
  await app.store.write((tx) => {
    if (tx.run(giveAddress, { id: link.id, address, now: app.now() }).changes !== 1) {
      throw new Rejected('refund_link.over', 'This refund link has ended, or its address was given already');
    }
    changed(app, tx, link.id);
  });
  await ask(app, link.id, fee);
}

/** Asks again for the withdrawal of a link whose address is known. Throws `Rejected`, as a withdrawal. */
export async function prepareRefund(app: App, id: number): Promise<RefundLinkRow> {
  const link = findRefundLink(app.store, id);
  if (link.state !== 'given' || link.withdrawal_id !== null) {
    throw new Rejected('refund_link.over', 'No address was typed, or the withdrawal was made already');
  }
  await ask(app, id, await feeFor(app, link));
  return findRefundLink(app.store, id);
}

const feeFor = (app: App, link: RefundLinkRow): Promise<bigint> =>
  estimateHighestFee(app, app.directory.business(link.business_id), () => wantedOf(app, app.store, link)).catch(
    (error: unknown) => {
      // the address is taken in any case
      if (error instanceof Rejected || error instanceof Unavailable) return 0n;
      throw error;
    },
  );

/** Makes the withdrawal, or notes why not. A crash before it leaves the address, and `prepareRefund` continues there. */
async function ask(app: App, id: number, fee: bigint): Promise<void> {
  try {
    await app.store.write((tx) => {
      const link = findRefundLink(tx, id);
      if (link.state !== 'given' || link.withdrawal_id !== null) return;
      const wanted = wantedOf(app, tx, link);
      const row = requestWithdrawal(app, tx, app.directory.business(link.business_id), wanted, fee);
      if (wanted.deposit) stepDeposit(app, tx, wanted.deposit.inboxId, row.id);
      tx.run(setRefundWithdrawal, { id, withdrawal_id: row.id, problem: null, updated_at: app.now() });
      const invoice = link.invoice_id === null ? undefined : tx.get(invoiceById, { id: link.invoice_id });
      if (invoice) tx.afterCommit(() => app.invoiceSubscribers.changed(invoice.id));
      changed(app, tx, id);
    });
  } catch (error) {
    if (!(error instanceof Rejected) && !(error instanceof Unavailable)) throw error;
    const problem = messageOf(reasonOf(error));
    await app.store.write((tx) => {
      const link = findRefundLink(tx, id);
      if (link.withdrawal_id !== null || isDeepStrictEqual(link.problem, problem)) return;
      tx.run(setRefundWithdrawal, { id, withdrawal_id: null, problem, updated_at: app.now() });
      changed(app, tx, id);
    });
  }
}

/** The withdrawal that a link with an address means. It waits for the merchant, whatever the policy. */
function wantedOf(app: App, reader: Reader, link: RefundLinkRow): NewWithdrawal {
  const address = present(link.address, 'address of an answered link');
  if (link.invoice_id === null) {
    const { credit } = refundableDeposit(app, reader, link.inbox_id!, link.id);
    const deposit = { outpoint: credit.outpoint, inboxId: link.inbox_id! };
    return { asset: assetOf(link.asset), units: null, address, origin: 'inbox', deposit, typed: true };
  }
  const invoice = reader.get(invoiceById, { id: link.invoice_id })!;
  if (link.inbox_id !== null) needOverpaid(app, reader, link, invoice);
  const business = app.directory.business(link.business_id);
  const amount = formatUnits(link.units!, assetOf(link.asset));
  return {
    ...refundWanted(app, reader, business, invoice, { address, amount, crypto: link.asset }, link.id),
    typed: true,
  };
}

/** A reorganisation since the link was made may have taken the overpayment, or a part of it, or its confirmations. */
function needOverpaid(app: App, reader: Reader, link: RefundLinkRow, invoice: InvoiceRow): void {
  const { item } = refundableDeposit(app, reader, link.inbox_id!, link.id);
  const { asset, units } = overpaidToRefund(app, reader, item.id, invoice, link.id);
  if (link.units! <= units) return;
  const most = `${formatUnits(units, assetOf(asset))} ${asset}`;
  throw new Rejected('refund.too_much', `Only ${most} of the overpayment of invoice ${invoice.slug} are left.`);
}

/** Where the last pass over the links ended: the next one reads those before this id. */
export type Progress = { before: number };

/**
 * Goes on with links whose payer has answered and whose withdrawal could not be asked for, because their money was not confirmed for
 * example, or a crash came between. Reads a page of links, the newest first. A restored service may have paid one after its backup, so
 * it waits for the end of the quarantine.
 */
export async function prepareGiven(app: App, progress: Progress): Promise<void> {
  if (isQuarantined(app.store)) return;
  const page = app.store.all(refundLinksBefore, { id: progress.before, limit: LINKS_PER_PASS });
  const isLast = page.length < LINKS_PER_PASS;
  progress.before = isLast ? Number.MAX_SAFE_INTEGER : page.at(-1)!.id;
  for (const link of page) {
    if (link.state === 'given' && link.withdrawal_id === null) await ask(app, link.id, await feeFor(app, link));
  }
}
