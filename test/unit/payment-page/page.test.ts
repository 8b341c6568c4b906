import { describe, expect, it } from 'vitest';
import { contractOf, ethereumUri, paymentUri } from '../../../daemon/app/invoices/uri.ts';
import { ASSETS, type AssetId, assetOf } from '../../../daemon/domain/assets.ts';
import { CREDITS, type Credit } from '../../../daemon/domain/rate-sources.ts';
import { browserCode } from '../../../daemon/http/assets/asset.ts';
import { en } from '../../../daemon/payment-page/languages/en.ts';
import { DEFAULT_LOCALE, localeFor } from '../../../daemon/payment-page/locale.ts';
import type { Funds, InvoicePage, Offer, PageModel, Problem, State } from '../../../daemon/payment-page/model.ts';
import { renderPage as render, renderView } from '../../../daemon/payment-page/render.ts';
import { SCRIPT } from '../../../daemon/payment-page/script.ts';
import { STYLE } from '../../../daemon/payment-page/style.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
const MINUTE = 60_000;
const ADDRESS = 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9';
const PAGE_BYTES_MAX = 60_000;
const NONCE = 'n0nce';
const renderPage = (model: PageModel): string => render(model, DEFAULT_LOCALE, NONCE);

const funds = (change: Partial<Funds> = {}): Funds => ({
  asset: assetOf('LTC'),
  received: 0n,
  confirmations: 0,
  required: 3,
  transactions: [],
  overpaid: false,
  late: false,
  expectedSeconds: 450,
  ...change,
});

const some = (change: Partial<Funds> = {}): Funds =>
  funds({
    received: 20_000_000n,
    transactions: [{ txid: 'ab'.repeat(32), asset: assetOf('LTC'), units: 20_000_000n }],
    ...change,
  });

const open = (is: 'waiting' | 'partial', remaining: bigint, paid: Funds, address = ADDRESS): State => ({
  is,
  funds: paid,
  way: {
    address,
    uri: paymentUri(paid.asset, address, remaining),
    ethereumUri: ethereumUri(paid.asset, 'mainnet', address, remaining),
    contract: contractOf(paid.asset, 'mainnet'),
  },
  remaining,
  rate: 8_000_000_000n,
  quotedAt: NOW - 18 * MINUTE,
  quoteEndsAt: NOW + 42 * MINUTE,
});

const page = (state: State, change: Partial<InvoicePage> = {}): InvoicePage => ({
  page: 'invoice',
  root: '../pay/',
  query: '',
  slug: 'aB3dE6gH9jK2',
  business: { name: 'Corner Shop', accent: null, logo: null, contact: null },
  order: { id: null, description: null },
  network: 'mainnet',
  amount: 4_990_000_000n,
  currency: 'USD',
  dueAt: NOW + 86_400_000,
  now: NOW,
  others: [],
  changing: false,
  watching: false,
  mail: null,
  notice: null,
  state,
  payableUntil: null,
  behind: false,
  backUrl: 'https://shop.example/cart?a=1&b=2',
  credits: [],
  sandbox: null,
  ...change,
});

const settled = { at: NOW, rate: 8_000_000_000n, refunded: [] };
const waiting = open('waiting', 62_375_000n, funds());
const partial = open('partial', 42_375_000n, some());
const choose: State = {
  is: 'choose',
  fixed: false,
  offers: [
    { asset: assetOf('BTC'), units: 83_167n, rate: 6_000_000_000_000n, seconds: 1_200, withheld: null },
    { asset: assetOf('LTC'), withheld: 'chain' },
    { asset: assetOf('USDT_BEP20'), withheld: 'rate' },
    { asset: assetOf('XMR'), units: 311_875_000_000n, rate: 16_000_000_000n, seconds: null, withheld: null },
  ],
};

/** The words of the page as a reader meets them. */
const words = (markup: string): string =>
  markup
    .replace(/[\s\S]*<body/, '<body')
    .replace(/<\/?(?:bdi|time|b|strong|span)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#39;/g, "'")
    .replace(/\s+/g, ' ');

describe('each state says what it should', () => {
  type Row = { name: string; model: InvoicePage; says: string[]; not?: string[]; refresh: string | null };
  const refresh = '<noscript><meta http-equiv="refresh" content="10"></noscript>';
  const rows: Row[] = [
    {
      name: 'choosing',
      model: page(choose),
      says: [
        'Choose how to pay',
        'Bitcoin',
        '0.00083167 BTC',
        '1 BTC = US$60,000.00',
        'You can change it',
        '≈ 20 min',
        'how long confirmations usually take',
        'Due by 22 Nov 2026',
      ],
      not: ['To this address'],
      refresh: null,
    },
    {
      name: 'choosing where nothing can be had',
      model: page({ ...choose, offers: [{ asset: assetOf('LTC'), withheld: 'chain' }] }),
      says: ['connection to its network is behind', 'No cryptocurrency can be used at the moment'],
      not: ['You can change it'],
      refresh: null,
    },
    {
      name: 'choosing after nothing was chosen',
      model: page(choose, { notice: 'mustChoose' }),
      says: ['Please choose one of the cryptocurrencies.'],
      refresh: null,
    },
    {
      name: 'waiting where the coin may be changed',
      model: page(waiting, { others: [assetOf('BTC'), assetOf('USDT_BEP20')] }),
      says: [
        'Choose another coin',
        'You get a new address and amount',
        'Bitcoin',
        'Tether USD BNB Smart Chain (BEP-20)',
      ],
      refresh: null,
    },
    {
      name: 'waiting after a coin was asked for that is away',
      model: page(waiting, { notice: 'notNow' }),
      says: ['Send exactly', 'That cryptocurrency cannot be used at the moment.'],
      not: ['Choose another coin'],
      refresh: null,
    },
    {
      name: 'partly paid in two coins',
      model: page(
        open(
          'partial',
          30_000_000n,
          some({
            received: 32_375_000n,
            transactions: [
              { txid: 'ab'.repeat(32), asset: assetOf('LTC'), units: 20_000_000n },
              { txid: 'cd'.repeat(32), asset: assetOf('BTC'), units: 16_500n },
            ],
          }),
        ),
      ),
      says: ['0.2 LTC + 0.000165 BTC arrived. Please send 0.3 LTC more', 'Received: 0.2 LTC + 0.000165 BTC'],
      refresh: null,
    },
    {
      name: 'a fixed crypto',
      model: page({ ...choose, fixed: true, offers: [choose.offers[0]!] }),
      says: ['Pay with Bitcoin', '0.00083167 BTC'],
      not: ['Choose'],
      refresh: null,
    },
    {
      name: 'waiting',
      model: page(waiting),
      says: [
        'Payment to Corner Shop',
        'US$49.90',
        'Waiting for your payment',
        'Send exactly 0.62375 LTC',
        '= US$49.90 · 1 LTC = US$80.00',
        'on Litecoin',
        'Send only Litecoin (LTC). Anything else',
        'This price holds until 21 Nov 2026, 12:42 UTC.',
        'complete after 3 confirmations by the network, usually in about 8 minutes',
        'Open in wallet',
        'I have paid: look for the payment',
        'The amount is included.',
        'No account needed',
      ],
      not: ['Due by', 'Received', 'behind', 'Sandbox'],
      refresh: null,
    },
    {
      name: 'partly paid',
      model: page(partial),
      says: [
        'Part of it has arrived',
        '0.2 LTC arrived. Please send 0.42375 LTC more, to the same address.',
        'Still to send 0.42375 LTC',
        '= US$33.90',
        'Received: 0.2 LTC',
        'ab'.repeat(32),
      ],
      refresh: null,
    },
    {
      name: 'waiting, and asked to look for the payment',
      model: page(waiting, { watching: true }),
      says: ['Send exactly 0.62375 LTC', 'Stop looking, to copy something', 'looks for news every few seconds'],
      not: ['I have paid'],
      refresh,
    },
    {
      name: 'overdue, with a price that ends before the time to pay',
      model: page(waiting, { payableUntil: NOW + 90 * MINUTE }),
      says: ['The payment is overdue. Please pay soon.', 'This price holds until 21 Nov 2026, 12:42 UTC.'],
      not: ['13:30', 'Due by'],
      refresh: null,
    },
    {
      name: 'overdue, with a price that outlives the time to pay',
      model: page(waiting, { payableUntil: NOW + 30 * MINUTE }),
      says: ['The payment is overdue. It can still be paid until 21 Nov 2026, 12:30 UTC'],
      not: ['12:42', 'Due by'],
      refresh: null,
    },
    {
      name: 'a chain that is behind',
      model: page(waiting, { behind: true }),
      says: ['Our connection to Litecoin is behind at the moment'],
      refresh: null,
    },
    {
      name: 'detected',
      model: page({ is: 'detected', funds: some({ confirmations: 1 }) }),
      says: ['Payment found', '1 of 3 confirmations', 'Usually done in about 8 minutes'],
      not: ['To this address', 'Open in wallet', 'Due by'],
      refresh,
    },
    {
      name: 'withheld for the chain',
      model: page({ is: 'withheld', funds: funds(), why: 'chain' }, { behind: true }),
      says: ['No payment possible at the moment', 'our connection to the network is behind. Do not send anything now'],
      refresh,
    },
    {
      name: 'withheld for want of a rate',
      model: page({ is: 'withheld', funds: funds(), why: 'rate' }),
      says: ['there is no current exchange rate. Do not send anything now', 'Due by 22 Nov 2026'],
      refresh,
    },
    {
      name: 'withheld after grace',
      model: page({ is: 'withheld', funds: funds(), why: 'over' }),
      says: ['The time to pay has passed', 'Do not send anything any more'],
      not: ['Due by'],
      refresh,
    },
    {
      name: 'paid',
      model: page({ is: 'paid', funds: some(), redirect: false, settled }),
      says: [
        'Paid. Thank you!',
        'Back to the shop',
        'Receipt',
        'Received 0.2 LTC',
        'Exchange rate 1 LTC = US$80.00',
        'Date 21 Nov 2026, 12:00 UTC',
        'Payment to Corner Shop Website shop.example',
        'ab'.repeat(32),
      ],
      not: ['Due by', 'taken back', 'More than'],
      refresh: null,
    },
    {
      name: 'paid, with a receipt by e-mail',
      model: page({ is: 'paid', funds: some(), redirect: false, settled }, { mail: 'offered' }),
      says: ['Receipt by e-mail to', 'The address is kept only until the receipt was sent.'],
      refresh: null,
    },
    {
      name: 'paid, and the receipt was asked for',
      model: page({ is: 'paid', funds: some(), redirect: false, settled }, { mail: 'asked' }),
      says: ['The receipt is on its way by e-mail.'],
      not: ['Receipt by e-mail to'],
      refresh: null,
    },
    {
      name: 'paid without any payment, by the operator',
      model: page({ is: 'paid', funds: null, redirect: false, settled }, { backUrl: null }),
      says: ['Paid. Thank you!'],
      not: ['Back to the shop', 'Received'],
      refresh: null,
    },
    {
      name: 'paid with a redirect',
      model: page({ is: 'paid', funds: some(), redirect: true, settled }),
      says: ['You are taken back to the shop in a few seconds.'],
      refresh: '<noscript><meta http-equiv="refresh" content="5;url=https://shop.example/cart?a=1&amp;b=2"></noscript>',
    },
    {
      name: 'overpaid and late',
      model: page({ is: 'paid', funds: some({ overpaid: true, late: true }), redirect: false, settled }),
      says: ['More than the amount due has arrived: 0.2 LTC in total', 'after the time it was due'],
      refresh: null,
    },
    {
      name: 'canceled',
      model: page({ is: 'canceled', funds: some(), arrived: [{ asset: assetOf('LTC'), units: 20_000_000n }] }),
      says: [
        'This invoice is canceled',
        'Do not send money to its address any more',
        '0.2 LTC had arrived',
        'Back to the shop',
      ],
      not: ['To this address', 'Due by', 'No account needed'],
      refresh: null,
    },
    {
      name: 'canceled before a payment',
      model: page({ is: 'canceled', funds: null, arrived: [] }),
      says: ['This invoice is canceled', 'Please ask the shop for a new invoice'],
      not: ['To this address', 'arrived'],
      refresh: null,
    },
  ];

  it.each(rows)('$name', ({ model, says, not = [], refresh: wanted }) => {
    const markup = renderPage(model);
    const text = words(markup);
    for (const phrase of says) expect(text).toContain(phrase);
    for (const phrase of not) expect(text).not.toContain(phrase);
    expect(/(?:<noscript>)?<meta http-equiv="refresh"[^>]*>(?:<\/noscript>)?/.exec(markup)?.[0] ?? null).toBe(wanted);
    const parts = [markup, STYLE, SCRIPT, browserCode('sdk/sdk')];
    expect(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)).toBeLessThan(PAGE_BYTES_MAX);
  });

  it.each(rows)('$name: one title, one h1, language, no script and no style of its own', ({ model }) => {
    const markup = renderPage(model);
    expect(markup.match(/<h1[ >]/g)).toHaveLength(1);
    expect(markup).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
    expect(markup).toMatch(/<title>(?:✓ )?US\$49\.90 – Corner Shop<\/title>/);
    expect(markup).not.toMatch(
      /<script(?! type="module" src="[^"]+" nonce="n0nce"><\/script>)| style=|<style| on[a-z]+=/i,
    );
  });

  it('shows the address in the two states only in which it may be paid', () => {
    const shown = rows.filter(({ model }) => words(renderPage(model)).replaceAll(' ', '').includes(ADDRESS));
    const held = rows.filter(({ model }) => renderPage(model).includes(ADDRESS));
    expect(held).toEqual(shown);
    expect(new Set(shown.map(({ model }) => model.state.is))).toEqual(new Set(['waiting', 'partial']));
  });
});

describe('the price sources that want to be named', () => {
  const credits = Object.values(CREDITS) as Credit[];
  const line =
    '<p class="about quiet" lang="en" dir="ltr"><a href="https://www.coingecko.com" target="_blank">Price data by CoinGecko</a>' +
    ' · <a href="https://www.exchangerate-api.com" target="_blank">Rates By Exchange Rate API</a></p>';

  it('are named in their words, with their links, and stand where the open page is replaced', () => {
    for (const state of [choose, waiting, partial]) {
      const markup = renderPage(page(state, { credits }));
      expect(markup).toContain(line);
      expect(renderView(page(state, { credits }), DEFAULT_LOCALE).view.markup).toContain(line);
    }
    expect(renderPage(page(waiting))).not.toContain('<p class="about');
  });

  it('fit on the largest page of real money', () => {
    const usdt = open('waiting', 1_000_000n, funds({ asset: assetOf('USDT_ERC20') }), `0x${'aB'.repeat(20)}`);
    const others = ASSETS.filter(({ symbol }) => symbol !== 'USDT_ERC20');
    const markup = render(page(usdt, { credits, others }), localeFor('hi', undefined), NONCE);
    const parts = [markup, STYLE, SCRIPT, browserCode('sdk/sdk')];
    expect(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)).toBeLessThan(PAGE_BYTES_MAX);
  });
});

describe('the way to pay', () => {
  const opened = (symbol: AssetId, address: string): string =>
    renderPage(page(open('waiting', 1_000_000n, funds({ asset: assetOf(symbol) }), address)));

  it('has groups that hold nothing but the address, so that a copy is the address', () => {
    const shown = /<p class="address[^>]*>(.*?)<\/p>/.exec(renderPage(page(waiting)))![1]!;
    expect(shown.replace(/<\/?span>|<wbr>/g, '')).toBe(ADDRESS);
    expect(shown).toContain('<span>ltc1</span><wbr><span>qw50</span>');
  });

  it('ends no line between an amount and its unit, or within a rate’s sides', () => {
    const markup = renderPage(page(open('partial', 123_456_000_000n, some())));
    const texts = [...markup.matchAll(/<bdi dir="ltr">([^<]*)</g)].map(([, text]) => text!);
    expect(texts).toContain('1\u00a0LTC =\u00a0US$80.00');
    expect(texts.filter((text) => / (LTC|US)|= |\d [A-Z]/.test(text))).toEqual([]);
  });

  it('writes amounts as the reader does, but with a point where they are copied', () => {
    const german = localeFor('de', undefined);
    const markup = render(page(open('partial', 123_456_000_000n, some())), german, NONCE);
    expect(words(markup)).toContain('0,2 LTC sind angekommen. Bitte senden Sie noch 1.234,56 LTC');
    expect(markup).toContain('data-part="amount">1234<span class="comma">.</span>56</span>');
    expect(markup).toContain('data-copy="1234.56"');
    expect(renderPage(page(open('partial', 123_456_000_000n, some())))).toContain('data-part="amount">1234.56</span>');
  });

  it('links to the wallet with the amount that remains', () => {
    expect(renderPage(page(partial))).toContain(`href="litecoin:${ADDRESS}?amount=0.42375"`);
  });

  it('draws another code for another amount', () => {
    const code = (state: State): string =>
      /<path d="(M[^"]+)"/.exec(/<svg class="qr[\s\S]*/.exec(renderPage(page(state)))![0])![1]!;
    expect(code(waiting)).not.toBe(code(partial));
  });

  it.each(['ETH', 'USDT_ERC20', 'USDT_BEP20'] as const)(
    'gives %s the plain address, and a payment link only behind a switch',
    (symbol) => {
      const address = '0xf3E73B8e2442b4E936d40aDE628e6c471051080F';
      const markup = opened(symbol, address);
      expect(markup).toContain('The code holds the address only');
      const [before, behind] = markup.split('<input type="checkbox" class="full-switch">') as [string, string];
      expect(before).not.toContain('ethereum:');
      expect(before.match(/<svg class="qr (\w+)"/g)).toEqual(['<svg class="qr plain"', '<svg class="qr full"']);
      expect(behind.replaceAll('&amp;', '&')).toContain(
        `href="${ethereumUri(assetOf(symbol), 'mainnet', address, 1_000_000n)}"`,
      );
      const { contract } = assetOf(symbol);
      const shown = /<p class="contract">.*?<span class="mono"[^>]*>(.*?)<\/p>/.exec(markup)?.[1];
      expect(shown?.replace(/<[^>]*>/g, '')).toBe(contract);
    },
  );
});

describe('forms', () => {
  const PAYS = ['exact', 'half', 'double', 'late'];
  it('takes one tap for what can be had, and says last what cannot, and why', () => {
    const markup = renderPage(page(choose));
    const rows = [...markup.matchAll(/(name="crypto" value|data-crypto)="(\w+)"/g)];
    expect(rows.map(([, kind, symbol]) => [symbol, kind === 'data-crypto'])).toEqual([
      ['BTC', false],
      ['XMR', false],
      ['LTC', true],
      ['USDT_BEP20', true],
    ]);
    expect(words(markup)).toMatch(
      /Litecoin Not available now: our connection[^.]* Tether USD BNB Smart Chain Not available now: there is no current exchange rate/,
    );
  });

  it('asks for the network of Tether in a second step, and only where there are two', () => {
    const both: Offer[] = (['USDT_ERC20', 'BTC', 'USDT_BEP20'] as const).map((symbol) => ({
      asset: assetOf(symbol),
      units: 60_000_000n,
      rate: 100_000_000n,
      seconds: 192,
      withheld: null,
    }));
    const markup = renderPage(page({ ...choose, offers: both }));
    const [, inside] = /<details class="networks">([\s\S]*?)<\/details>/.exec(markup)!;
    expect(words(inside!)).toMatch(
      /Tether USD .* Choose network .* Ethereum \(ERC-20\) .* BNB Smart Chain \(BEP-20\) /,
    );
    expect([...inside!.matchAll(/value="(\w+)"/g)].map((match) => match[1])).toEqual(['USDT_ERC20', 'USDT_BEP20']);
    const one = renderPage(page({ ...choose, offers: both.slice(1) }));
    expect(one).not.toContain('<details');
    expect(one).toContain('value="USDT_BEP20"');
  });

  it.each([
    [{ canPay: true, canReplace: true, canReorg: true, down: false }, [...PAYS, 'replace', 'reorg', 'mine', 'down']],
    [{ canPay: true, canReplace: false, canReorg: false, down: true }, [...PAYS, 'mine', 'up']],
    [{ canPay: false, canReplace: false, canReorg: true, down: false }, ['reorg', 'mine', 'down']],
    [null, []],
  ])('offers the sandbox buttons of %j', (sandbox, names) => {
    const markup = renderPage(page(waiting, { sandbox, network: 'sandbox' }));
    expect([...markup.matchAll(/name="do" value="(\w+)"/g)].map((match) => match[1])).toEqual(names);
    expect(markup).toContain('Sandbox: no money here is real');
  });

  it('says on test networks that the coins are worth nothing', () => {
    expect(words(renderPage(page(waiting, { network: 'testnet' })))).toContain('the coins here have no value');
  });
});

describe('hostile texts', () => {
  const hostile = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='alert(1)",
    '</title></head><body>',
    `${'\u202e'}pohs${'\u2066'}`,
    'A'.repeat(100),
    '👩‍👩‍👧‍👦'.repeat(9),
    '\ud800\u0000\u001b',
  ];
  const tags = (markup: string): string[] =>
    [...markup.matchAll(/<\/?([a-z0-9]+)(?: ([a-z-]+)=)?/g)].map((match) => `${match[1]} ${match[2] ?? ''}`);

  it.each(hostile)('%j changes no tag wherever it stands', (text) => {
    const model = (word: string): InvoicePage =>
      page(
        open(
          'partial',
          42_375_000n,
          some({ transactions: [{ txid: word.slice(0, 4), asset: assetOf('LTC'), units: 1n }] }),
          `${ADDRESS}`,
        ),
        {
          business: { name: word, accent: null, logo: null, contact: null },
          slug: word,
          order: { id: word, description: word },
          backUrl: `https://shop.example/?${encodeURIComponent(word.toWellFormed())}"${word}`,
        },
      );
    const markup = renderPage(model(text));
    expect(tags(markup)).toEqual(tags(renderPage(model('plain'))));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not come out
    expect(markup).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u0000\u001b]/);
    expect(markup.isWellFormed()).toBe(true);
  });

  it('isolates the name of the business', () => {
    expect(
      renderPage(page(waiting, { business: { name: 'חנות', accent: null, logo: null, contact: null } })),
    ).toContain('<bdi class="clip">חנות</bdi>');
  });

  it('escapes an address too', () => {
    const markup = renderPage(page(open('waiting', 1n, funds(), '"><b>bold</b>')));
    expect(markup).not.toContain('<b>bold');
    expect(markup).not.toContain('href="litecoin:">');
  });
});

describe('problem pages', () => {
  it.each(['notFound', 'tooMany', 'method', 'request', 'refused', 'unavailable', 'bug'] satisfies Problem[])(
    '%s',
    (problem) => {
      const markup = renderPage({ page: 'problem', root: '../pay/', query: '', problem, slug: null });
      expect(markup).toContain(`<h1>${en[problem]}</h1>`);
      expect(markup).not.toContain('refresh');
      expect(markup).not.toContain('Back to the payment page');
    },
  );

  it('lead back to the invoice where there is one', () => {
    const markup = renderPage({
      page: 'problem',
      root: '../../pay/',
      query: '',
      problem: 'refused',
      slug: 'aB3dE6gH9jK2',
    });
    expect(markup).toContain('<a class="main" href="../../pay/aB3dE6gH9jK2">Back to the payment page</a>');
  });
});
