/** Fifteen languages, none of which may lack a sentence, a gap in one, or a plural. */
import { describe, expect, it } from 'vitest';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { en, type Plural } from '../../../daemon/payment-page/languages/en.ts';
import { LANGUAGES } from '../../../daemon/payment-page/languages/index.ts';
import { DEFAULT_LOCALE, fill, localeFor, plural, rich } from '../../../daemon/payment-page/locale.ts';
import type { InvoicePage } from '../../../daemon/payment-page/model.ts';
import { renderPage } from '../../../daemon/payment-page/render.ts';

type Entry = string | Plural;
const entries = (words: object): [string, Entry][] => Object.entries(words);
const gapsOf = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => `${name}`);
const textsOf = (entry: Entry): string[] => (typeof entry === 'string' ? [entry] : Object.values(entry));
/** No payment needs more confirmations. */
const COUNTS = Array.from({ length: 121 }, (_, count) => count);

describe.each(LANGUAGES)('$name', ({ language, words }) => {
  it('has every text, and none besides', () => {
    expect(Object.keys(words).sort()).toEqual(Object.keys(en).sort());
    const empty = entries(words).filter(([, entry]) => textsOf(entry).some((text) => text.trim() === ''));
    expect(empty).toEqual([]);
  });

  it('fills the same gaps as English', () => {
    const gaps = ([name, entry]: [string, Entry]): [string, string[][]] => [
      name,
      [...new Set(textsOf(entry).map((text) => gapsOf(text).sort().join()))].map((text) => text.split(',')),
    ];
    expect(Object.fromEntries(entries(words).map(gaps))).toEqual(Object.fromEntries(entries(en).map(gaps)));
  });

  it('has every plural that a count can ask for, and no other', () => {
    const rules = new Intl.PluralRules(language);
    const wanted = [...new Set(COUNTS.map((count) => rules.select(count)))];
    for (const [name, entry] of entries(words)) {
      if (typeof entry === 'string') continue;
      expect([name, Object.keys(entry).sort()]).toEqual([name, [...new Set([...wanted, 'other'])].sort()]);
    }
  });

  it('says nothing that English says', () => {
    if (language === 'en') return;
    const same = entries(words).filter(([name, entry]) => entry === en[name as keyof typeof en]);
    // words that other languages share
    const shared = ['date', 'transactions', 'network', 'website'];
    expect(same.map(([name]) => name).filter((name) => !shared.includes(name))).toEqual([]);
  });

  it('names a copy button by what stands on it', () => {
    for (const label of [words.copyAmount, words.copyAddress]) {
      expect(label.toLocaleLowerCase(language)).toContain(words.copy.toLocaleLowerCase(language));
    }
  });

  it('is what the page is in', () => {
    const locale = localeFor(language, undefined);
    const page: InvoicePage = {
      page: 'invoice',
      root: '../pay/',
      query: `?lang=${language}`,
      slug: 'aB3dE6gH9jK2',
      business: { name: 'Corner Shop', accent: null, logo: null, contact: null },
      order: { id: 'A-1001', description: null },
      network: 'mainnet',
      amount: 4_990_000_000n,
      currency: 'EUR',
      dueAt: 0,
      now: 0,
      state: {
        is: 'detected',
        funds: {
          asset: assetOf('LTC'),
          received: 62_375_000n,
          confirmations: 1,
          required: 3,
          transactions: [],
          overpaid: true,
          late: true,
          expectedSeconds: 300,
        },
      },
      others: [],
      changing: false,
      watching: false,
      mail: null,
      notice: null,
      payableUntil: null,
      behind: true,
      backUrl: 'https://shop.example/',
      credits: [],
      sandbox: null,
    };
    const markup = renderPage(page, locale, 'n0nce');
    expect(markup).toContain(`<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`);
    expect(markup).toContain(`>${words.detected}</h2>`);
    expect(markup).toContain(`<option value="${language}" lang="${language}" selected>`);
    expect(markup).toContain(`/status?lang=${language}"`);
    // amounts stand as the reader writes them, in digits that every wallet knows
    const sign = new Intl.NumberFormat(locale.tag).format(0.5)[1];
    expect(markup).toContain(`<bdi dir="ltr">0${sign}62375\u00a0LTC</bdi>`);
    expect(markup).not.toMatch(/[{}]|undefined|\[object/);
  });
});

describe('the language of a payer', () => {
  it.each([
    [undefined, undefined, 'en-GB-u-nu-latn', false],
    [undefined, 'de-AT,de;q=0.9,en;q=0.8', 'de-AT-u-nu-latn', false],
    [undefined, 'en-US', 'en-US-u-nu-latn', false],
    [undefined, 'sv, fr;q=0.5, ru;q=0.7', 'ru-RU-u-nu-latn', false],
    [undefined, 'ar', 'ar-EG-u-nu-latn', false],
    [undefined, 'zh-Hant-TW', 'zh-TW-u-nu-latn', false],
    [undefined, 'pt', 'pt-BR-u-nu-latn', false],
    [undefined, 'de;q=0, fr', 'fr-FR-u-nu-latn', false],
    [undefined, '*', 'en-GB-u-nu-latn', false],
    [undefined, ';;;,,q=1,de;q=2', 'en-GB-u-nu-latn', false],
    [undefined, 'x'.repeat(9_000), 'en-GB-u-nu-latn', false],
    ['ja', 'de', 'ja-JP-u-nu-latn', true],
    ['en', 'de, en-US;q=0.5', 'en-US-u-nu-latn', true],
    ['xx', 'de', 'de-DE-u-nu-latn', false],
    [['de', 'fr'], 'it', 'it-IT-u-nu-latn', false],
    ['__proto__', '', 'en-GB-u-nu-latn', false],
  ])('chosen %j, accepted %j: %s', (chosen, accepted, tag, kept) => {
    const locale = localeFor(chosen, accepted);
    expect([locale.tag, locale.chosen]).toEqual([tag, kept]);
    expect(() => new Intl.NumberFormat(locale.tag)).not.toThrow();
  });
});

describe('texts with gaps', () => {
  it('are filled in, each value isolated and escaped', () => {
    expect(fill('{a} of {b}', { a: 1, b: 'two' })).toBe('1 of two');
    expect(rich('<i> {a}!', { a: '<b>' }).markup).toBe('&lt;i&gt; <bdi>&lt;b&gt;</bdi>!');
  });

  it('take the plural of their language', () => {
    const locale = localeFor('pl', undefined);
    const forms = { one: 'one', few: 'few', many: 'many', other: 'other' };
    expect([1, 3, 5, 22].map((count) => plural(forms, count, locale))).toEqual(['one', 'few', 'many', 'few']);
    expect(plural({ other: 'only' }, 1, DEFAULT_LOCALE)).toBe('only');
  });
});
