/** The e-mail about a closed day: its sums in words, and every figure as an attached file. */
import type { MailText } from '../../app/notifications/closing-mail.ts';
import type { Business } from '../../app/shops/directory.ts';
import { type Closing, closingCsv } from '../../contract/closing-table.ts';
import { inFull } from '../../domain/currencies.ts';

type Language = 'en' | 'de';
type Words = Record<
  | 'title'
  | 'span'
  | 'nothing'
  | 'taken'
  | 'sales'
  | 'tips'
  | 'refunds'
  | 'unvalued'
  | 'paidWith'
  | 'byHand'
  | 'tax'
  | 'noRate'
  | 'net'
  | 'vat'
  | 'gross'
  | 'keptTips'
  | 'fees'
  | 'more'
  | 'less'
  | 'agrees'
  | 'differs'
  | 'waits'
  | 'file',
  string
>;

const WORDS: Record<Language, Words> = {
  en: {
    title: 'closing',
    span: 'From {from} to {to} ({zone})',
    nothing: 'Nothing was paid at the counter since the closing before.',
    taken: 'Taken',
    sales: 'Sales ({n})',
    tips: 'Tips',
    refunds: 'Refunds ({n})',
    unvalued: 'Refunds whose worth is not known, in no sum',
    paidWith: 'Paid with',
    byHand: 'marked as paid by hand',
    tax: 'Tax, after the refunds',
    noRate: 'No rate given',
    net: 'net',
    vat: 'tax',
    gross: 'gross',
    keptTips: 'Tips, no tax',
    fees: 'Network fees of the refunds',
    more: 'The payments are worth more than that, by',
    less: 'The payments are worth less than that, by',
    agrees: 'The books agree: the deposits are what the sales count ({n}).',
    differs: 'The deposits of these sales are not what they count: {invoices}. Prove the books in the wallet.',
    waits: 'Payments that still confirm, in the next closing: {n}',
    file: 'The attached file has every figure.',
  },
  de: {
    title: 'Abschluss',
    span: 'Von {from} bis {to} ({zone})',
    nothing: 'Seit dem Abschluss davor wurde an der Kasse nichts bezahlt.',
    taken: 'Eingenommen',
    sales: 'Verkäufe ({n})',
    tips: 'Trinkgeld',
    refunds: 'Erstattungen ({n})',
    unvalued: 'Erstattungen, deren Wert nicht bekannt ist, in keiner Summe',
    paidWith: 'Bezahlt mit',
    byHand: 'von Hand als bezahlt markiert',
    tax: 'Steuer, nach den Erstattungen',
    noRate: 'Ohne Satz',
    net: 'netto',
    vat: 'Steuer',
    gross: 'brutto',
    keptTips: 'Trinkgeld, ohne Steuer',
    fees: 'Netzgebühren der Erstattungen',
    more: 'Die Zahlungen sind mehr wert, um',
    less: 'Die Zahlungen sind weniger wert, um',
    agrees: 'Die Bücher stimmen: Die Einzahlungen sind, was die Verkäufe zählen ({n}).',
    differs:
      'Die Einzahlungen dieser Verkäufe sind nicht, was sie zählen: {invoices}. Prüfen Sie die Bücher unter Wallet.',
    waits: 'Zahlungen, die noch bestätigt werden, im nächsten Abschluss: {n}',
    file: 'Die angehängte Datei enthält alle Zahlen.',
  },
};
const TAGS = { en: 'en-GB', de: 'de' } as const;

/** A name on one line, without marks that are not seen or that turn the direction of the text. */
const line = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();

const filled = (text: string, values: Record<string, string | number>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => `${values[name]}`);

/** Times are of the business's time zone, sums are cut to the currency's decimals. */
export function closingMail({ name, timeZone }: Business, closing: Closing, language: Language): MailText {
  const words = WORDS[language];
  const times = new Intl.DateTimeFormat(TAGS[language], { dateStyle: 'medium', timeStyle: 'short', timeZone });
  const span = {
    from: times.format(new Date(closing.from ?? closing.to)),
    to: times.format(new Date(closing.to)),
    zone: timeZone,
  };
  const title = `${line(name)}, ${words.title} ${closing.number}`;
  const sums = closing.parts.map(({ taken, currency }) => moneyOf(taken, currency, language)).join(', ');
  const { books, waiting } = closing;
  const end = [
    books.differ.length === 0
      ? filled(words.agrees, { n: books.agree })
      : filled(words.differs, { invoices: books.differ.join(', ') }),
    ...(waiting.length === 0 ? [] : [filled(words.waits, { n: waiting.length })]),
    words.file,
  ];
  const parts = closing.parts.length === 0 ? [words.nothing] : closing.parts.map((part) => partText(part, language));
  const body = [title, filled(words.span, span), '', parts.join('\n\n\n'), '', ...end, ''].join('\n');
  return { subject: sums === '' ? title : `${title}: ${sums}`, body, file: closingCsv(closing) };
}

const moneyOf = (amount: string, currency: string, language: Language): string =>
  new Intl.NumberFormat(TAGS[language], {
    style: 'currency',
    currency,
    roundingMode: 'trunc',
    ...inFull(amount, currency),
  }).format(amount as Intl.StringNumericLiteral);

/** The figures of one currency. */
function partText(part: Closing['parts'][number], language: Language): string {
  const { currency, sales, tips, refunds, taken, coins, difference, taxes, kept_tips, fees } = part;
  const words = WORDS[language];
  const money = (amount: string): string => moneyOf(amount, currency, language);
  const rate = (of: number | null): string =>
    of === null ? words.noRate : `${(of / 100).toLocaleString(TAGS[language])} %`;
  // a part of a cent is no difference that anybody sees
  const apart = money(difference.replace('-', ''));
  return [
    `${words.taken}: ${money(taken)}`,
    `${filled(words.sales, { n: sales.count })}: ${money(sales.sum)}`,
    `${words.tips}: ${money(tips)}`,
    `${filled(words.refunds, { n: refunds.count })}: ${money(refunds.sum)}`,
    ...(refunds.unvalued === 0 ? [] : [`${words.unvalued}: ${refunds.unvalued}`]),
    '',
    words.paidWith,
    ...coins.map(({ crypto, payments, sum }) => `${crypto ?? words.byHand} (${payments}): ${money(sum)}`),
    ...(apart === money('0') ? [] : [`${difference.startsWith('-') ? words.less : words.more}: ${apart}`]),
    ...fees.map(({ crypto, amount }) => `${words.fees}: ${amount} ${crypto}`),
    '',
    words.tax,
    ...taxes.map(
      ({ rate: of, net, tax, gross }) =>
        `${rate(of)}: ${words.net} ${money(net)}, ${words.vat} ${money(tax)}, ${words.gross} ${money(gross)}`,
    ),
    `${words.keptTips}: ${money(kept_tips)}`,
  ].join('\n');
}
