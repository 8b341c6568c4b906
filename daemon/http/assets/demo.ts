/**
 * The example shop at `/demo`, for trying the sandbox and for copying: one HTML file in which this service's address
 * and the sandbox's client ID replace the placeholders. It exists only with a client ID of a sandbox business and never
 * takes real money.
 */
import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { App } from '../../app/app.ts';
import { notFound } from '../errors.ts';
import { mayPlay } from '../requests.ts';
import { browserFile } from './asset.ts';

const ADDRESS = 'https://pay.example.com';
const CLIENT_ID = 'ch_client_YOURS';

/** The first valid client ID of a sandbox business. */
function sandboxClient(app: App): string | undefined {
  return app.directory.clients().find(({ businessId }) => app.directory.business(businessId).network === 'sandbox')
    ?.publicId;
}

/** The hashes that permit exactly these inline blocks (CSP level 2). */
function hashesOf(html: string, tag: 'script' | 'style'): string {
  const blocks = [...html.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))];
  return blocks.map(([, text]) => `'sha256-${createHash('sha256').update(text!).digest('base64')}'`).join(' ');
}

const inAttribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

export function demoPage(app: App): RequestHandler {
  let template: string | undefined;
  return (request, response, next) => {
    const clientId = mayPlay(app, { network: 'sandbox' }, request) ? sandboxClient(app) : undefined;
    if (clientId === undefined) {
      notFound(request, response, next);
      return;
    }
    template ??= browserFile('static/shop.html');
    const html = template.replace(ADDRESS, () => inAttribute(app.publicUrl)).replace(CLIENT_ID, () => clientId);
    const { origin } = new URL(app.publicUrl);
    const policy = [
      "default-src 'none'",
      `script-src ${origin} ${hashesOf(html, 'script')}`,
      `style-src ${hashesOf(html, 'style')}`,
      'img-src data:',
      `connect-src ${origin}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ];
    response.set({
      'Cache-Control': 'no-store',
      'Content-Security-Policy': policy.join('; '),
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
    response.type('html').send(html);
  };
}
