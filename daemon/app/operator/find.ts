/** Finds what an operator names, by the names that lists show. */
import { Rejected } from '../../domain/errors.ts';
import { businessesMeant } from '../../domain/merchant.ts';
import { type ApiKeyRow, allApiKeys, allClients, type ClientRow } from '../../store/queries/businesses.ts';
import { type InvoiceRow, invoiceByUuid } from '../../store/queries/invoices.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { invoiceNamed } from '../invoices/slugs.ts';
import type { Business } from '../shops/directory.ts';

/**
 * A business by number, UUID, or name (case-insensitive). Throws `Rejected`: `business.not_found`, `business.ambiguous`
 * if several have that name.
 */
export function findBusiness(app: App, ref: string): Business {
  const found = businessesMeant(app.directory.businesses(), ref);
  if (found.length > 1) {
    const numbers = found.map(({ id }) => id).join(', ');
    throw new Rejected(
      'business.ambiguous',
      `Several businesses are called ${ref}: use a number (${numbers})`,
      'business',
    );
  }
  const [only] = found;
  if (!only) throw new Rejected('business.not_found', `There is no business ${ref}`, 'business');
  return only;
}

/** A client ID by its number or its text. Throws `Rejected('client.not_found')`. */
export function findClient(reader: Reader, ref: string): ClientRow {
  const row = reader.all(allClients, {}).find(({ id, public_id }) => String(id) === ref || public_id === ref);
  if (!row) throw new Rejected('client.not_found', `There is no client ID ${ref}`, 'client');
  return row;
}

/** A key by a number that exists. */
export function keyOf(reader: Reader, id: number): ApiKeyRow {
  const row = reader.all(allApiKeys, {}).find((key) => key.id === id);
  if (!row) throw new Rejected('key.not_found', `There is no key ${id}`, 'id');
  return row;
}

/** An invoice by slug or UUID, even a deleted one. Throws `Rejected('invoice.not_found')`. */
export function findAnyInvoice(reader: Reader, ref: string): InvoiceRow {
  const row = invoiceNamed(reader, ref) ?? reader.get(invoiceByUuid, { uuid: ref.toLowerCase() });
  if (!row) throw new Rejected('invoice.not_found', 'Invoice not found', 'invoice');
  return row;
}
