/** The console's texts in every language, and its amounts. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { FIAT } from '../../daemon/domain/currencies.ts';
import { ALERT_KINDS, MESSAGES, type MessageCode, SUBJECTS } from '../../daemon/domain/messages.ts';
import { fill, LANGUAGES, type Texts } from '../../renderer/i18n.ts';
import { currencyOf, exampleOf } from '../../renderer/parts/currencies.ts';
import { ERRORS_DE } from '../../renderer/parts/errors-de.ts';
import {
  asSentence,
  cut,
  dayIn,
  decimal,
  fiat,
  foreign,
  groups,
  inOrder,
  scaled,
  splitZeros,
  stepFor,
  sum,
  times,
  unscaled,
} from '../../renderer/parts/format.ts';
import { MESSAGES_DE } from '../../renderer/parts/messages-de.ts';
import { moneyOf, worthOf } from '../../renderer/parts/worth.ts';
import KINDS from '../../renderer/screens/alerts/kind-texts.ts';
import { amountOf, digitsOf, press, tipOn } from '../../renderer/screens/counter/amount.ts';
import { nextNight } from '../../renderer/screens/gas/night.ts';
import { daysOf, monthsOf, totalOf } from '../../renderer/screens/home/periods.ts';
import { daysOfMonth, monthsUntil } from '../../renderer/screens/invoices/months.ts';
import { SUBJECTS_DE } from '../../renderer/screens/sources/subjects-de.ts';

const RENDERER = join(import.meta.dirname, '..', '..', 'renderer');
const screens = readdirSync(RENDERER, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('texts.ts'),
);
/** The shell's menus, tray and notifications are in the same languages. */
const files = [...screens, join('..', 'main', 'texts.ts')];
const holes = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

describe('texts', () => {
  it('are found', () => expect(files.length).toBeGreaterThan(8));

  it.each(files)('%s says the same in every language', async (name) => {
    const { default: table } = (await import(join(RENDERER, name))) as { default: Texts<string> };
    const keys = Object.keys(table.en);
    expect(Object.keys(table)).toEqual(Object.keys(LANGUAGES));
    for (const texts of Object.values(table)) {
      expect(Object.keys(texts)).toEqual(keys);
      for (const key of keys) {
        expect([key, texts[key]!.trim()]).toEqual([key, texts[key]]);
        expect(texts[key]).not.toBe('');
        expect([key, holes(texts[key]!)]).toEqual([key, holes(table.en[key]!)]);
        // one form, or one and many
        expect(texts[key]!.split('|').length).toBe(table.en[key]!.split('|').length);
      }
    }
  });

  it('choose the form for a number, and write it as the language does', () => {
    expect(fill('{n} payment|{n} payments', 'en', { n: 1 })).toBe('1 payment');
    expect(fill('{n} payment|{n} payments', 'en', { n: 12_418 })).toBe('12,418 payments');
    expect(fill('{n} Zahlung|{n} Zahlungen', 'de', { n: 12_418 })).toBe('12.418 Zahlungen');
    expect(fill('to {name}', 'en', { name: '{n}|$&' })).toBe('to {n}|$&');
  });
});

describe('the service’s messages', () => {
  it('have a German text each, with the same values', () => {
    expect(Object.keys(MESSAGES_DE)).toEqual(Object.keys(MESSAGES));
    for (const [code, text] of Object.entries(MESSAGES)) {
      const german = MESSAGES_DE[code as MessageCode];
      expect([code, holes(german)]).toEqual([code, holes(text)]);
      expect([code, german.trim()]).toEqual([code, german]);
      expect(german, code).not.toBe('');
    }
    expect(Object.keys(SUBJECTS_DE).sort()).toEqual([...SUBJECTS].sort());
    expect(Object.keys(KINDS.de).sort()).toEqual([...ALERT_KINDS].sort());
  });

  it('share no code with a refusal, because a refusal can be the reason in a message', () => {
    expect(Object.keys(ERRORS_DE).filter((code) => code in MESSAGES)).toEqual([]);
  });
});

describe('amounts', () => {
  it('are cut, never rounded up', () => {
    expect(decimal('0.123456789', 'en')).toBe('0.12345678');
    expect(fiat('9.999', 'EUR', 'en')).toBe('€9.99');
    expect(fiat('1234.5', 'EUR', 'de')).toBe('1.234,50\u00a0€');
    expect(fiat('1234.9', 'JPY', 'en')).toBe('¥1,234');
    // usually written whole, and asked for with two decimals
    expect(fiat('12.405', 'HUF', 'en')).toBe('Ft\u00a012.40');
    expect(fiat('12', 'HUF', 'en')).toBe('Ft\u00a012');
    expect(fiat('-0.009', 'IDR', 'en')).toBe('-Rp\u00a00');
    expect(cut('12.999', 2)).toBe('12.99');
  });

  it('are exact beyond floating point', () => {
    expect(decimal('123456789012345678.12345678', 'en')).toBe('123,456,789,012,345,678.12345678');
    expect(sum(['0.1', '0.2', '-0.3'])).toBe('0');
    expect(unscaled(scaled('-12.000000000000000001'))).toBe('-12.000000000000000001');
  });

  it('show their trailing zeros apart', () => {
    expect(splitZeros('0.084', 'en', false)).toEqual({ digits: '0.084', zeros: '00000' });
    expect(splitZeros('5', 'en', false)).toEqual({ digits: '5.', zeros: '00000000' });
    expect(splitZeros('1.000000000000000001', 'en', true)).toEqual({ digits: '1.000000000000000001', zeros: '' });
  });

  it('have a plot of at most four lines', () => {
    for (const most of [0.003, 1, 9, 99, 101, 660, 4_001, 123_456]) expect(most / stepFor(most)).toBeLessThanOrEqual(4);
  });
});

describe('text from outside', () => {
  it('is one line without characters that nobody sees', () => {
    expect(foreign('a\nb\u202Ec\u200B\u0007')).toBe('a b\ufffdc\ufffd\ufffd');
    expect(foreign('x'.repeat(10_000))).toHaveLength(501);
    expect(foreign('\ud800')).toBe('\ufffd');
    expect(groups('bc1q8w4kt')).toEqual(['bc1q', '8w4k', 't']);
  });
});

describe('a text before another sentence', () => {
  it.each([
    ['At most 0.3 LTC can be sent now', 'At most 0.3 LTC can be sent now.'],
    ['Nothing has changed.', 'Nothing has changed.'],
    ['Is it yours?', 'Is it yours?'],
  ])('%s', (text, sentence) => {
    expect(asSentence(text)).toBe(sentence);
  });
});

describe('the events of an invoice', () => {
  it('are in the order of their times, and those to come are last', () => {
    const events = [
      { key: 'first payment', at: '2026-11-30T01:38:20Z' },
      { key: 'second payment', at: '2026-11-30T01:40:22Z' },
      { key: 'paid', at: '2026-11-30T01:38:49Z' },
      { key: 'told' },
      { key: 'asked at once', at: '2026-11-30T01:40:22Z' },
    ];
    const order = ['first payment', 'paid', 'second payment', 'asked at once', 'told'];
    expect(inOrder(events).map(({ key }) => key)).toEqual(order);
  });
});

describe('the keypad', () => {
  it('fills the amount from the cents', () => {
    expect([...'1240'].reduce(press, '')).toBe('1240');
    expect(amountOf('1240')).toBe('12.40');
    expect([amountOf(''), amountOf('5'), amountOf('00')]).toEqual(['0.00', '0.05', '0.00']);
    expect(['0', '0', '5', 'Backspace', '7', '00'].reduce(press, '')).toBe('700');
    expect('1234567890'.split('').reduce(press, '')).toBe('123456789');
  });

  it.each([
    ['12.4', 2, '12.40'],
    ['12.40', 2, '12.40'],
    ['500', 2, '500.00'],
    ['007', 2, '7.00'],
    // a currency without cents
    ['500', 0, '500'],
    ['12.00', 0, '12'],
    ['12.40', 0, '0'],
    ...['', '-5', '1,5', '1e3', '1 000', '１２', '1.234', '12345678', 'NaN'].map((text) => [text, 2, '0.00'] as const),
  ] as const)('begins with the amount %s of a link, in a currency with %d decimals, as %s', (text, decimals, shown) => {
    expect(amountOf(digitsOf(text, decimals), decimals)).toBe(shown);
  });
});

describe('the currency of a business', () => {
  it('is that of the region which the browser names, or the usual one of its language', () => {
    const guessed = ['de-CH', 'de', 'en-GB', 'en-US', 'ja', 'pt-BR', 'fr-CA', 'es', 'de-LI', 'x'].map(currencyOf);
    expect(guessed).toEqual(['CHF', 'EUR', 'GBP', 'USD', 'JPY', 'BRL', 'CAD', 'EUR', 'CHF', 'USD']);
    for (const code of guessed) expect(Object.keys(FIAT)).toContain(code);
  });

  it('gives the example of a first payment a round price above ten dollars', () => {
    const rates = ['1', '0.92', '0.0001', '3.9', '150', '1400', '16000'].map((rate) => exampleOf(scaled(rate)));
    expect(rates).toEqual(['25', '25', '25', '25', '4000', '40000', '400000']);
    expect(exampleOf(null)).toBe('25');
  });

  it('without cents makes whole amounts at the counter', () => {
    expect([amountOf('1240', 0), amountOf('', 0), amountOf('1240', 2)]).toEqual(['1240', '0', '12.40']);
  });
});

describe('takings', () => {
  it('add up to the cent, by day, by month and in total, whatever is cut', () => {
    const amount = fc.integer({ min: 0, max: 10 ** 9 }).map((units) => unscaled(BigInt(units) * 10n ** 12n));
    const day = fc.record({ day: fc.integer({ min: 0, max: 99 }), BTC: amount, LTC: amount });
    fc.assert(
      fc.property(fc.uniqueArray(day, { selector: (one) => one.day, maxLength: 60 }), amount, (given, rate) => {
        const days = daysOf(
          given.map(({ day: at, BTC, LTC }) => ({
            period: new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10),
            payments: 1,
            coins: [
              { crypto: 'BTC', usd: BTC, payments: 1 },
              { crypto: 'LTC', usd: LTC, payments: 0 },
            ],
            refunds: { count: 1, usd: BTC },
          })),
          (usd) => cut(unscaled((scaled(usd) * scaled(rate)) / 10n ** 18n), 2),
        );
        const months = monthsOf(days);
        expect(totalOf(months)).toBe(totalOf(days));
        expect(sum(days.map((one) => totalOf([one])))).toBe(totalOf(days));
        expect(sum(months.map(({ refunded }) => refunded))).toBe(sum(days.map(({ refunded }) => refunded)));
        expect(months.reduce((all, { payments }) => all + payments, 0)).toBe(given.length);
        for (const { period, coins } of days)
          expect(fiat(Object.values(coins)[0]!, 'USD', 'en'), period).toMatch(/\.\d\d$/);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a tip', () => {
  it.each([
    { digits: '1240', percent: '10', tip: '124', sum: '13.64' },
    // down to a whole cent
    { digits: '415', percent: '10', tip: '41', sum: '4.56' },
    { digits: '999999999', percent: '15', tip: '149999999', sum: '11499999.98' },
    { digits: '9', percent: '10', tip: '', sum: '0.09' },
    { digits: '1240', percent: '0', tip: '', sum: '12.40' },
    { digits: '', percent: '15', tip: '', sum: '0.00' },
  ] as const)('of $percent % on $digits is $tip', ({ digits, percent, tip, sum }) => {
    expect(tipOn(digits, percent)).toBe(tip);
    expect(amountOf(`${BigInt(digits || '0') + BigInt(tip || '0')}`)).toBe(sum);
  });
});

describe('a month', () => {
  it('has its own days, in leap years too', () => {
    expect(daysOfMonth('2026-02')).toEqual({ from: '2026-02-01', to: '2026-02-28' });
    expect(daysOfMonth('2028-02')).toEqual({ from: '2028-02-01', to: '2028-02-29' });
    expect(daysOfMonth('2026-12')).toEqual({ from: '2026-12-01', to: '2026-12-31' });
    expect(daysOfMonth('')).toBeNull();
  });

  it('comes after the one before it, over the turn of the year', () => {
    const months = monthsUntil('2026-01-31');
    expect(months.slice(0, 3)).toEqual(['2026-01', '2025-12', '2025-11']);
    expect(months.at(-1)).toBe('2025-01');
  });
});

describe('the next night', () => {
  it.each([
    ['2026-11-22T12:00:00Z', 'UTC', '2026-11-23T03:00:00.000Z'],
    ['2026-11-22T12:00:00Z', 'Asia/Tokyo', '2026-11-22T18:00:00.000Z'],
    ['2026-11-22T07:59:59Z', 'America/New_York', '2026-11-22T08:00:00.000Z'],
    ['2026-11-22T08:00:00Z', 'America/New_York', '2026-11-23T08:00:00.000Z'],
    ['2026-12-31T12:00:00Z', 'UTC', '2027-01-01T03:00:00.000Z'],
    // the clocks are put forward, and back
    ['2026-03-28T12:00:00Z', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-10-24T12:00:00Z', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
  ])('after %s in %s begins at %s, wherever the browser is', (now, zone, night) => {
    expect(new Date(nextNight(Date.parse(now), zone)).toISOString()).toBe(night);
  });
});

describe('times and days', () => {
  const NEW_YEAR = '2025-12-31T23:30:00.000Z';

  it('are of the time zone of the business, wherever the browser is', () => {
    expect(['UTC', 'Asia/Tokyo', 'America/New_York'].map((zone) => dayIn(NEW_YEAR, zone))).toEqual([
      '2025-12-31',
      '2026-01-01',
      '2025-12-31',
    ]);
    expect(times('en', 'Asia/Tokyo').full(NEW_YEAR)).toBe('1 Jan 2026, 08:30:00');
    expect(times('de', 'Europe/Berlin').clock(NEW_YEAR, true)).toBe('00:30:00');
  });

  it.each([
    ['en', '31 Dec 2025', 'Wednesday, 31 December 2025', '15 Nov', 'Sunday 15 November'],
    ['de', '31. Dez. 2025', 'Mittwoch, 31. Dezember 2025', '15. Nov.', 'Sonntag, 15. November'],
  ] as const)(
    'of another year name it in %s, so that an address of years ago is not taken for one of this',
    (...row) => {
      vi.useFakeTimers({ now: Date.parse('2026-11-30T12:00:00Z'), toFake: ['Date'] });
      try {
        const [language, former, formerLong, present, presentLong] = row;
        const { day, long, short } = times(language, 'UTC');
        expect([day(NEW_YEAR), short(NEW_YEAR), long(NEW_YEAR)]).toEqual([former, former, formerLong]);
        const now = '2026-11-15T12:00:00Z';
        expect([day(now), short(now), long(now)]).toEqual([present, present, presentLong]);
        // in Tokyo it was this year
        expect(times('en', 'Asia/Tokyo').day(NEW_YEAR)).toBe('1 Jan');
      } finally {
        vi.useRealTimers();
      }
    },
  );

  it('have 24 hours in English, too', () => {
    expect(times('en', 'UTC').clock(NEW_YEAR)).toBe('23:30');
  });
});

describe('what money is worth', () => {
  const asked = (listed: Parameters<typeof moneyOf>[0]['listed']) => ({ listed, isRead: true });
  const listed = {
    rates: [{ network: 'mainnet', crypto: 'LTC', usd: '80' }],
    currencies: [{ network: 'mainnet', currency: 'CHF', per_dollar: '0.5' }],
  } as unknown as NonNullable<Parameters<typeof moneyOf>[0]['listed']>;
  const shop = (currency: string) => ({ network: 'mainnet', currency });

  it('is in the currency of the business', () => {
    const money = moneyOf(asked(listed), shop('CHF'), 'en');
    expect([money.currency, money.fromUsd('25'), money.worth('LTC', '2')]).toEqual(['CHF', '12.50', '80.00']);
  });

  it.each([
    ['the service lists no rates', undefined, null],
    ['it has none of the currency', { ...listed, currencies: [] }, '160.00'],
  ])('is in dollars, and never nothing, if %s', (_why, rates, worth) => {
    const money = moneyOf(asked(rates), shop('CHF'), 'en');
    expect([money.currency, money.fromUsd('25'), money.textOfUsd('25')]).toEqual([
      'USD',
      '25.00',
      fiat('25', 'USD', 'en'),
    ]);
    expect(money.worth('LTC', '2')).toBe(worth);
    const days = [{ period: '2026-11-30', payments: 1, coins: [{ crypto: 'LTC', usd: '25' }], refunds: { usd: '0' } }];
    expect(totalOf(daysOf(days as never, money.fromUsd))).toMatch(/^25(\.00)?$/);
  });

  it('is not known before the rates are read', () => {
    const money = moneyOf({ listed: undefined, isRead: false }, shop('CHF'), 'en');
    expect([money.currency, money.fromUsd('25'), money.worth('LTC', '2')]).toEqual(['CHF', null, null]);
  });

  it('of balances together is what is known, and not zero if nothing is', () => {
    const held = [
      { crypto: 'LTC', amount: '2' },
      { crypto: 'BTC', amount: '0' },
    ];
    const of = (rates: typeof listed | undefined, balances = held) =>
      worthOf(balances, moneyOf(asked(rates), shop('USD'), 'en'));
    expect(of(listed)).toEqual({ total: '160', whole: true });
    expect(of(undefined)).toEqual({ total: null, whole: false });
    expect(of(undefined, [{ crypto: 'LTC', amount: '0' }])).toEqual({ total: '0', whole: true });
    expect(of(listed, [...held, { crypto: 'XMR', amount: '1' }])).toEqual({ total: '160', whole: false });
  });
});
