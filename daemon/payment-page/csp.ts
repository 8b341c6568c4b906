/** What a browser may do on the payment page: load our own files, talk to us, and nothing else. */
import { randomBytes } from 'node:crypto';
import type { Response } from 'express';
import type { App } from '../app/app.ts';
import { clientOf } from '../app/shops/clients.ts';
import type { InvoiceRow } from '../store/queries/invoices.ts';

const NONCE_BYTES = 16;

/**
 * Who may show the page in a frame: the pages of the client ID that made the invoice. A sandbox client without a list
 * takes any origin, where the sandbox plays (see `mayPlay`).
 */
export function frameAncestors(app: App, invoice: InvoiceRow, plays: boolean): string[] {
  const client = clientOf(app, app.store, invoice);
  if (!client) return [];
  if (client.origins.size > 0) return [...client.origins];
  return plays ? ['*'] : [];
}

/** Sets the policy of one answer and returns the nonce that its scripts and styles carry. */
export function setPolicy(response: Response, ancestors: readonly string[]): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const framing = ancestors.length > 0 ? ancestors.join(' ') : "'none'";
  const policy = {
    'default-src': "'none'",
    'script-src': `'nonce-${nonce}'`,
    'style-src': `'nonce-${nonce}'`,
    'img-src': "'self' data:",
    'connect-src': "'self'",
    'form-action': "'self'",
    'frame-ancestors': framing,
    'base-uri': "'none'",
  };
  const text = Object.entries(policy).map(([name, value]) => `${name} ${value}`);
  response.setHeader('Content-Security-Policy', text.join(';'));
  // the older header knows no list of origins
  if (ancestors.length === 0) response.setHeader('X-Frame-Options', 'DENY');
  else response.removeHeader('X-Frame-Options');
  return nonce;
}
