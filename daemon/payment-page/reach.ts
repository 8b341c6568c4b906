/** The page of a test of the public address, which the merchant opens on a telephone. It takes no payment. */
import type { Request, RequestHandler } from 'express';
import type { App } from '../app/app.ts';
import { type Opening, openReachTest } from '../app/operator/reach.ts';
import { Rejected } from '../domain/errors.ts';
import { entry } from './after.ts';
import { setPolicy } from './csp.ts';
import { type Html, html } from './html.ts';
import { TICK } from './icons.ts';
import { type Locale, localeFor } from './locale.ts';
import { frame } from './render.ts';

/** The console's two languages: merchants alone see this page. */
const ENGLISH = {
  title: 'This phone reaches the shop',
  note: 'The console shows it too. You can close this page.',
  address: 'Address',
  connection: 'Connection',
  encrypted: 'encrypted, the certificate is valid',
  onion: 'encrypted by Tor',
  plain: 'not encrypted',
  network: 'Network',
  own: 'the shop’s own network',
  internet: 'the internet',
  behind: 'through a proxy on the shop’s computer',
  foot: 'This page takes no payment.',
};
const GERMAN: typeof ENGLISH = {
  title: 'Dieses Telefon erreicht den Shop',
  note: 'Die Konsole zeigt es auch. Sie können diese Seite schließen.',
  address: 'Adresse',
  connection: 'Verbindung',
  encrypted: 'verschlüsselt, das Zertifikat ist gültig',
  onion: 'durch Tor verschlüsselt',
  plain: 'nicht verschlüsselt',
  network: 'Netz',
  own: 'das eigene Netz des Shops',
  internet: 'das Internet',
  behind: 'durch einen Proxy auf dem Computer des Shops',
  foot: 'Diese Seite nimmt keine Zahlung an.',
};

type View = { url: string; opened: Opening; root: string; nonce: string };

function render({ url, opened, root, nonce }: View, locale: Locale): Html {
  const words = locale.language === 'de' ? GERMAN : ENGLISH;
  const { protocol, hostname, host } = new URL(url);
  const connection = protocol === 'https:' ? 'encrypted' : hostname.endsWith('.onion') ? 'onion' : 'plain';
  const body = html`<main class="view good">
<div class="card">
${TICK}<h1 class="status" tabindex="-1">${words.title}</h1>
<p class="note">${words.note}</p>
<dl>
${entry(words.address, host)}${entry(words.connection, words[connection])}${entry(words.network, words[opened.network ?? 'behind'])}</dl>
</div>
</main>
<footer class="foot"><p class="quiet">${words.foot}</p></footer>`;
  const language = locale.language === 'de' ? 'de' : 'en';
  const place = { title: words.title, root, nonce, head: null, attributes: null, body };
  return frame(place, { ...locale, language, direction: 'ltr' });
}

/** Throws `Rejected` as for an unknown invoice where there is no such test. `HEAD` opens nothing. */
export function reachPage(app: App, rootOf: (request: Request) => string): RequestHandler {
  return async (request, response) => {
    const { code } = request.params;
    const isOpening = request.method === 'GET' && typeof code === 'string';
    const opened = isOpening ? await openReachTest(app, code, request.ip ?? '') : null;
    if (opened === null) throw new Rejected('invoice.not_found', 'There is no such test');
    const locale = localeFor(request.query.lang, request.headers['accept-language']);
    const nonce = setPolicy(response, []);
    const page = render({ url: app.publicUrl, opened, root: rootOf(request), nonce }, locale);
    response.status(200).type('html').vary('Accept-Language').send(page.markup);
  };
}
