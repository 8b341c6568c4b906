/** The content security policy of the payment page: it may load its own files and connect to its own origin only. */
import { randomBytes } from 'node:crypto';
import type { Response } from 'express';
import type { App } from '../app/app.ts';
import { clientOf } from '../app/shops/clients.ts';
import type { InvoiceRow } from '../store/queries/invoices.ts';

const NONCE_BYTES = 16;

/**
 * The origins that may frame the page: those of the client ID that made the invoice. A sandbox client without a list
 * accepts any origin where the sandbox's tools are available (see `mayPlay`).
 */
export function frameAncestors(app: App, invoice: InvoiceRow, plays: boolean): string[] {
  const client = clientOf(app, app.store, invoice);
  if (!client) return [];
  if (client.origins.size > 0) return [...client.origins];
  return plays ? ['*'] : [];
}

/** Sets the policy of one answer and returns the nonce for its scripts and styles. */
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
  // the older header has no list of origins
  if (ancestors.length === 0) response.setHeader('X-Frame-Options', 'DENY');
  else response.removeHeader('X-Frame-Options');
  return nonce;
}
