import { describe, expect, it } from 'vitest';
import { type AssetId, assetOf } from '../../../daemon/domain/assets.ts';
import type { Funds, InvoicePage, State } from '../../../daemon/http/page/model.ts';
import { renderPage } from '../../../daemon/http/page/render.ts';
import { STYLE } from '../../../daemon/http/page/style.ts';
import { ENGLISH, type Problem } from '../../../daemon/http/page/texts.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
const MINUTE = 60_000;
const ADDRESS = 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9';
const PAGE_BYTES_MAX = 60_000;

const funds = (change: Partial<Funds> = {}): Funds => ({
  asset: assetOf('LTC'),
  received: 0n,
  confirmations: 0,
  required: 3,
  transactions: [],
  overpaid: false,
  late: false,
  ...change,
});

const some = (change: Partial<Funds> = {}): Funds =>
  funds({ received: 20_000_000n, transactions: [{ txid: 'ab'.repeat(32), units: 20_000_000n }], ...change });

const open = (is: 'waiting' | 'partial', remaining: bigint, paid: Funds, address = ADDRESS): State => ({
  is,
  funds: paid,
  address,
  remaining,
  rate: 8_000_000_000n,
  quoteEndsAt: NOW + 42 * MINUTE,
});

const page = (state: State, change: Partial<InvoicePage> = {}): InvoicePage => ({
  page: 'invoice',
  root: '../pay/',
  slug: 'aB3dE6gH9jK2',
  business: 'Corner Shop',
  network: 'mainnet',
  amount: 4_990_000_000n,
  currency: 'USD',
  dueAt: NOW + 86_400_000,
  now: NOW,
  state,
  payableUntil: null,
  behind: false,
  backUrl: 'https://shop.example/cart?a=1&b=2',
  sandbox: null,
  ...change,
});

const waiting = open('waiting', 62_375_000n, funds());
const partial = open('partial', 42_375_000n, some());
const choose: State = {
  is: 'choose',
  fixed: false,
  notice: null,
  offers: [
    { asset: assetOf('BTC'), units: 83_167n, rate: 6_000_000_000_000n, withheld: null },
    { asset: assetOf('LTC'), withheld: 'chain' },
    { asset: assetOf('USDT_BEP20'), withheld: 'rate' },
    { asset: assetOf('XMR'), units: 311_875_000_000n, rate: 16_000_000_000n, withheld: null },
  ],
};

/** The words of the page as a reader meets them. */
const words = (markup: string): string =>
  markup
    .replace(/[\s\S]*<body/, '<body')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#39;/g, "'")
    .replace(/\s+/g, ' ');

describe('each state says what it should', () => {
  type Row = { name: string; model: InvoicePage; says: string[]; not?: string[]; refresh: string | null };
  const refresh = '<meta http-equiv="refresh" content="10">';
  const rows: Row[] = [
    {
      name: 'choosing',
      model: page(choose),
      says: [
        'Choose how to pay',
        'Bitcoin',
        '≈ 0.00083167 BTC',
        '1 BTC = US$60,000.00',
        'on BNB Smart Chain',
        'Continue',
      ],
      not: ['To this address'],
      refresh: null,
    },
    {
      name: 'choosing where nothing can be had',
      model: page({ ...choose, offers: [{ asset: assetOf('LTC'), withheld: 'chain' }] }),
      says: ['connection to its network is behind', 'No cryptocurrency can be used at the moment'],
      not: ['Continue'],
      refresh: null,
    },
    {
      name: 'choosing after nothing was chosen',
      model: page({ ...choose, notice: 'mustChoose' }),
      says: ['Please choose one of the cryptocurrencies.'],
      refresh: null,
    },
    {
      name: 'a fixed crypto',
      model: page({ ...choose, fixed: true, offers: [choose.offers[0]!] }),
      says: ['Pay with Bitcoin', '≈ 0.00083167 BTC'],
      not: ['Choose', 'Continue'],
      refresh: null,
    },
    {
      name: 'waiting',
      model: page(waiting),
      says: [
        'Payment to Corner Shop',
        'US$49.90',
        'Waiting for your payment',
        'Send exactly 0.62375 LTC for US$49.90',
        'Network: Litecoin. Send only Litecoin (LTC), and only on Litecoin.',
        'This price holds until 21 Nov 2026, 12:42 UTC (in 42 minutes)',
        'Open in wallet',
      ],
      not: ['Received', 'behind', 'Sandbox'],
      refresh,
    },
    {
      name: 'partly paid',
      model: page(partial),
      says: [
        'Part of it has arrived',
        '0.2 LTC arrived. Please send 0.42375 LTC more, to the same address.',
        'Still to send 0.42375 LTC for US$33.90',
        'Received: 0.2 LTC',
        'ab'.repeat(32),
      ],
      refresh,
    },
    {
      name: 'overdue',
      model: page(waiting, { payableUntil: NOW + 90 * MINUTE }),
      says: ['The payment is overdue', 'It can still be paid until 21 Nov 2026, 13:30 UTC'],
      refresh,
    },
    {
      name: 'a chain that is behind',
      model: page(waiting, { behind: true }),
      says: ['Our connection to Litecoin is behind at the moment'],
      refresh,
    },
    {
      name: 'detected',
      model: page({ is: 'detected', funds: some({ confirmations: 1 }) }),
      says: ['Payment found, waiting for confirmations', '1 of 3 confirmations'],
      not: ['To this address', 'Open in wallet'],
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
      says: ['there is no current exchange rate. Do not send anything now'],
      refresh,
    },
    {
      name: 'withheld after grace',
      model: page({ is: 'withheld', funds: funds(), why: 'over' }),
      says: ['The time to pay has passed', 'Do not send anything any more'],
      refresh,
    },
    {
      name: 'paid',
      model: page({ is: 'paid', funds: some(), redirect: false }),
      says: ['Paid. Thank you!', 'Back to the shop', 'Received: 0.2 LTC'],
      not: ['Due by', 'taken back', 'More than'],
      refresh: null,
    },
    {
      name: 'paid without any payment, by the operator',
      model: page({ is: 'paid', funds: null, redirect: false }, { backUrl: null }),
      says: ['Paid. Thank you!'],
      not: ['Back to the shop', 'Received'],
      refresh: null,
    },
    {
      name: 'paid with a redirect',
      model: page({ is: 'paid', funds: some(), redirect: true }),
      says: ['You are taken back to the shop in a few seconds.'],
      refresh: '<meta http-equiv="refresh" content="5;url=https://shop.example/cart?a=1&amp;b=2">',
    },
    {
      name: 'overpaid and late',
      model: page({ is: 'paid', funds: some({ overpaid: true, late: true }), redirect: false }),
      says: ['More than the amount due has arrived', 'We received 0.2 LTC in total', 'after the time it was due'],
      refresh: null,
    },
    {
      name: 'canceled',
      model: page({ is: 'canceled', funds: some() }),
      says: ['This invoice is canceled', 'Do not send money to its address any more', '0.2 LTC had arrived'],
      not: ['To this address', 'Due by'],
      refresh: null,
    },
    {
      name: 'canceled before a payment',
      model: page({ is: 'canceled', funds: null }),
      says: ['This invoice is canceled'],
      not: ['address', 'arrived'],
      refresh: null,
    },
  ];

  it.each(rows)('$name', ({ model, says, not = [], refresh: wanted }) => {
    const markup = renderPage(model);
    const text = words(markup);
    for (const phrase of says) expect(text).toContain(phrase);
    for (const phrase of not) expect(text).not.toContain(phrase);
    expect(/<meta http-equiv="refresh"[^>]*>/.exec(markup)?.[0] ?? null).toBe(wanted);
    expect(Buffer.byteLength(markup) + Buffer.byteLength(STYLE)).toBeLessThan(PAGE_BYTES_MAX);
  });

  it.each(rows)('$name: one title, one h1, language, no script, no inline style', ({ model }) => {
    const markup = renderPage(model);
    expect(markup.match(/<h1[ >]/g)).toHaveLength(1);
    expect(markup).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
    expect(markup).toContain('<title>US$49.90 – Corner Shop</title>');
    expect(markup).not.toMatch(/<script| style=|<style| on[a-z]+=/i);
  });

  it('shows the address in the two states only in which it may be paid', () => {
    const shown = rows.filter(({ model }) => words(renderPage(model)).replaceAll(' ', '').includes(ADDRESS));
    expect(new Set(shown.map(({ model }) => model.state.is))).toEqual(new Set(['waiting', 'partial']));
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

  it('links to the wallet with the amount that remains', () => {
    expect(renderPage(page(partial))).toContain(`href="litecoin:${ADDRESS}?amount=0.42375"`);
  });

  it('draws another code for another amount', () => {
    const code = (state: State): string => /<path d="(M[^"]+)"/.exec(renderPage(page(state)))![1]!;
    expect(code(waiting)).not.toBe(code(partial));
  });

  it.each(['ETH', 'USDT_ERC20', 'USDT_BEP20'] as const)(
    'gives %s no link and says that the amount is missing',
    (symbol) => {
      const markup = opened(symbol, '0xf3E73B8e2442b4E936d40aDE628e6c471051080F');
      expect(markup).not.toContain('Open in wallet');
      expect(markup).not.toMatch(/ethereum:/i);
      expect(markup).toContain('The code holds the address only');
    },
  );
});

describe('forms', () => {
  it('disables what is withheld and says why beside it', () => {
    const labels = renderPage(page(choose)).match(/<label[\s\S]*?<\/label>/g)!;
    expect(labels.map((label) => [/value="(\w+)"/.exec(label)![1], / disabled>/.test(label)])).toEqual([
      ['BTC', false],
      ['LTC', true],
      ['USDT_BEP20', true],
      ['XMR', false],
    ]);
    expect(labels[2]).toContain('there is no current exchange rate');
  });

  it('chooses for the payer only where there is one to choose', () => {
    const one = page({ ...choose, offers: choose.offers.slice(0, 2) });
    expect(renderPage(page(choose))).not.toContain(' checked');
    expect(renderPage(one)).toContain('value="BTC" required checked>');
  });

  it.each([
    [{ canPay: true }, ['exact', 'half', 'double', 'mine']],
    [{ canPay: false }, ['mine']],
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
        open('partial', 42_375_000n, some({ transactions: [{ txid: word.slice(0, 4), units: 1n }] }), `${ADDRESS}`),
        {
          business: word,
          slug: word,
          backUrl: word,
        },
      );
    const markup = renderPage(model(text));
    expect(tags(markup)).toEqual(tags(renderPage(model('plain'))));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not come out
    expect(markup).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u0000\u001b]/);
    expect(markup.isWellFormed()).toBe(true);
  });

  it('isolates the name of the business', () => {
    expect(renderPage(page(waiting, { business: 'חנות' }))).toContain('<bdi>חנות</bdi>');
  });

  it('escapes an address too', () => {
    const markup = renderPage(page(open('waiting', 1n, funds(), '"><b>bold</b>')));
    expect(markup).not.toContain('<b>bold');
    expect(markup).not.toContain('href="litecoin:">');
  });
});

describe('problem pages', () => {
  it.each(Object.keys(ENGLISH.problems) as Problem[])('%s', (problem) => {
    const markup = renderPage({ page: 'problem', root: '../pay/', problem, slug: null });
    expect(markup).toContain(`<h1>${ENGLISH.problems[problem].title}</h1>`);
    expect(markup).not.toContain('refresh');
    expect(markup).not.toContain('Back to the payment page');
  });

  it('lead back to the invoice where there is one', () => {
    const markup = renderPage({ page: 'problem', root: '../../pay/', problem: 'refused', slug: 'aB3dE6gH9jK2' });
    expect(markup).toContain('<a href="../../pay/aB3dE6gH9jK2">Back to the payment page</a>');
  });
});
