/** Closing the counter's day: what was sold, paid with, and taxed; printed and exported. */
import { type ReactNode, useState } from 'react';
import { type Closing, closingCsv } from '../../../daemon/contract/closing-table.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { type Business, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { exact, fiat, foreign, useTimes } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { Answer, CoinName, Empty, Head, Notice, Problem, Section, State, Told } from '../../parts/parts.tsx';
import { saveText } from '../../parts/save.ts';
import { href, useHashRoute } from '../../router.ts';
import { percentOf } from '../items/rate.ts';
import './closing.css';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type Part = Closing['parts'][number];

const MAILED = {
  waiting: { shape: 'part', tone: 'main', text: 'mailWaits' },
  sending: { shape: 'part', tone: 'main', text: 'mailWaits' },
  sent: { shape: 'done', tone: 'good', text: 'mailSent' },
  unknown: { shape: 'warning', tone: 'warn', text: 'mailUnknown' },
  failed: { shape: 'warning', tone: 'warn', text: 'mailFailed' },
} as const;
const READ_EVERY_MS = 15_000;
const NUMBER = (name: string) => [name, 'number'] as const;

export default function ClosingScreen(): ReactNode {
  const business = useBusiness();
  return business && <Closings key={business.id} business={business} />;
}

function Closings({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const { parts } = useHashRoute();
  const ref = { business: `${business.id}` };
  const next = useCall('closing.next', ref, { every: READ_EVERY_MS });
  const list = useCall('closing.list', ref, { every: READ_EVERY_MS });
  const { up } = useConnection();
  const language = useLanguage();
  const make = useChange('closing.make', 'closing.');
  const [made, setMade] = useState<Closing | null>(null);
  const wanted = parts[0] ?? (made && `${made.number}`);
  const chosen = [...(list.data?.closings ?? []), ...(made ? [made] : [])].find(({ number }) => `${number}` === wanted);
  const isOpen = wanted === null;
  const shown = isOpen ? next.data?.closing : chosen;
  const mailTo = next.data?.mail_to ?? [];
  const close = (): void =>
    make.mutate(
      { ...ref, number: next.data?.closing.number ?? 0, language },
      { onSuccess: ({ closing }) => setMade(closing) },
    );
  const actions = isOpen && shown && shown.parts.length > 0 && (
    <button type="button" className="button filled" disabled={!up || make.isPending} onClick={close}>
      {t('close')}
    </button>
  );
  return (
    <Page title={t('title')} back={{ to: href('counter'), name: t('counter') }} actions={actions}>
      {make.error && <Problem error={make.error} />}
      {made && chosen?.number === made.number && <Notice tone="good" title={t('closed', { n: made.number })} />}
      {!isOpen && shown && <Mail business={business} closing={shown} canSend={mailTo.length > 0} t={t} />}
      <Answer of={next}>{() => shown && <Shown closing={shown} mailTo={isOpen ? mailTo : null} t={t} />}</Answer>
      <Earlier closings={list.data?.closings ?? []} t={t} />
      <p className="closing-files">
        <a href={href('statement')}>{t('statement')}</a>
      </p>
    </Page>
  );
}

type MailProps = { business: Business; closing: Closing; canSend: boolean; t: T };

/** The state of the e-mail about a closing, and the button that sends it again. */
function Mail({ business, closing: { number, mail }, canSend, t }: MailProps): ReactNode {
  const language = useLanguage();
  const { full } = useTimes();
  const send = useChange('closing.mail', 'closing.');
  const isUnderWay = mail?.state === 'waiting' || mail?.state === 'sending';
  const ask = (): void => send.mutate({ business: `${business.id}`, number, language });
  const said = mail && MAILED[mail.state];
  return (
    <div className="closing-mail">
      {send.error && <Problem error={send.error} />}
      {said && (
        <p>
          <State shape={said.shape} tone={said.tone} share={0.5}>
            {t(said.text, { to: mail.to.join(', ') })}
          </State>
          {mail.problem && (
            <span className="quiet">
              <Told said={mail.problem} />
              {mail.next_at && ` · ${t('again', { at: full(mail.next_at) })}`}
            </span>
          )}
        </p>
      )}
      {canSend && !isUnderWay && (
        <button type="button" className="button" disabled={send.isPending} onClick={ask}>
          {t(mail ? 'sendAgain' : 'send')}
        </button>
      )}
    </div>
  );
}

/** `mailTo`: who gets the next closing by e-mail; null: the day is closed. */
type ShownProps = { closing: Closing; mailTo: readonly string[] | null; t: T };

function Shown({ closing, mailTo, t }: ShownProps): ReactNode {
  const { full } = useTimes();
  const language = useLanguage();
  const { parts, books, waiting } = closing;
  if (parts.length === 0)
    return <Empty title={t('nothing')}>{t(waiting.length > 0 ? 'nothingWaits' : 'nothingNote')}</Empty>;
  const sum = waiting.map(({ amount, currency }) => fiat(amount, currency, language)).join(', ');
  return (
    <>
      <p className="quiet">
        {t('about', { n: closing.number, from: full(closing.from ?? closing.to), to: full(closing.to) })}
      </p>
      {parts.map((part) => (
        <Sums key={part.currency} part={part} t={t} />
      ))}
      <div className="actions closing-files">
        <button
          type="button"
          className="button"
          onClick={() => saveText(`closing-${closing.number}.csv`, closingCsv(closing))}
        >
          {t('export')}
        </button>
        <button type="button" className="button" onClick={() => print()}>
          <Icon name="print" /> {t('print')}
        </button>
      </div>
      <Section title={t(mailTo ? 'before' : 'checked')}>
        <ul className="closing-checks">
          <li>
            {books.differ.length === 0 ? (
              <State shape="done" tone="good">
                {t('agrees', { n: books.agree })}
              </State>
            ) : (
              <State shape="warning" tone="warn">
                {t('differs', { n: books.differ.length, invoices: books.differ.join(', ') })}
              </State>
            )}
          </li>
          {waiting.length > 0 && (
            <li>
              <State shape="part" tone="main" share={0.5}>
                {t('waits', { n: waiting.length, amounts: sum })}
              </State>
            </li>
          )}
          {mailTo && mailTo.length > 0 && <li className="quiet">{t('mailTo', { to: mailTo.join(', ') })}</li>}
        </ul>
      </Section>
      {parts.map((part) => (
        <Tables key={part.currency} part={part} t={t} />
      ))}
    </>
  );
}

function Sums({ part, t }: { part: Part; t: T }): ReactNode {
  const language = useLanguage();
  const money = (amount: string): string => fiat(amount, part.currency, language);
  const cells: [string, string, string | null][] = [
    [t('taken'), money(part.taken), t('count', { n: part.sales.count })],
    [t('sales'), money(part.sales.sum), null],
    [t('plusTips'), money(part.tips), null],
    [
      t('lessRefunds'),
      money(part.refunds.sum),
      part.refunds.count === 0 ? null : t('refunds', { n: part.refunds.count }),
    ],
  ];
  return (
    <dl className="closing-sums">
      {cells.map(([name, amount, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{amount}</dd>
          {note && <dd className="quiet">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

function Tables({ part, t }: { part: Part; t: T }): ReactNode {
  const language = useLanguage();
  const money = (amount: string): string => fiat(amount, part.currency, language);
  // a part of a cent is no difference that anybody sees
  const amount = money(part.difference.replace('-', ''));
  return (
    <div className="closing-columns">
      <Section title={t('sold')}>
        <table className="table">
          <Head columns={[t('item'), NUMBER(t('number')), NUMBER(t('price')), NUMBER(t('sum'))]} />
          <tbody>
            {part.items.map(({ name, price, quantity, sum }) => (
              <tr key={`${price} ${name}`}>
                <td>{name === '' ? t('typed') : foreign(name)}</td>
                <td className="number">{quantity}</td>
                <td className="number quiet">{name === '' ? '' : money(price)}</td>
                <td className="number">{money(sum)}</td>
              </tr>
            ))}
            <tr className="closing-total">
              <td colSpan={3}>{t('sales')}</td>
              <td className="number">{money(part.sales.sum)}</td>
            </tr>
          </tbody>
        </table>
      </Section>
      <div>
        <Section title={t('paidWith')}>
          <table className="table">
            <Head columns={[t('coin'), NUMBER(t('payments')), NUMBER(t('asked'))]} />
            <tbody>
              {part.coins.map(({ crypto, payments, sum }) => (
                <tr key={crypto}>
                  <td>{crypto === null ? t('byHand') : <CoinName crypto={crypto} />}</td>
                  <td className="number">{payments}</td>
                  <td className="number">{money(sum)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {amount !== money('0') && (
            <p className="quiet">{t(part.difference.startsWith('-') ? 'differenceLess' : 'difference', { amount })}</p>
          )}
          {part.fees.map(({ crypto, amount }) => (
            <p key={crypto} className="quiet">
              {t('fees', { amount: `${exact(amount, language)} ${crypto}` })}
            </p>
          ))}
          {part.refunds.unvalued > 0 && <p className="quiet">{t('unvalued', { n: part.refunds.unvalued })}</p>}
        </Section>
        <Tax part={part} money={money} t={t} />
      </div>
    </div>
  );
}

function Tax({ part, money, t }: { part: Part; money(amount: string): string; t: T }): ReactNode {
  const language = useLanguage();
  return (
    <Section title={t('tax')} note={t('taxNote')}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it */}
      <section className="table-box" tabIndex={0} aria-label={t('tax')}>
        <table className="table">
          <Head columns={[t('rate'), NUMBER(t('net')), NUMBER(t('tax')), NUMBER(t('gross'))]} />
          <tbody>
            {part.taxes.map(({ rate, net, tax, gross }) => (
              <tr key={rate}>
                <td>{rate === null ? t('noRate') : percentOf(rate, language)}</td>
                <td className="number">{money(net)}</td>
                <td className="number">{money(tax)}</td>
                <td className="number">{money(gross)}</td>
              </tr>
            ))}
            <tr>
              <td>{t('tips')}</td>
              <td className="number">{money(part.kept_tips)}</td>
              <td className="number">{money('0')}</td>
              <td className="number">{money(part.kept_tips)}</td>
            </tr>
            <tr className="closing-total">
              <td colSpan={3}>{t('taken')}</td>
              <td className="number">{money(part.taken)}</td>
            </tr>
          </tbody>
        </table>
      </section>
    </Section>
  );
}

function Earlier({ closings, t }: { closings: Closing[]; t: T }): ReactNode {
  const { full } = useTimes();
  const language = useLanguage();
  if (closings.length === 0) return null;
  return (
    <Section title={t('earlier')}>
      <ul className="rows closing-earlier">
        {closings.map(({ number, to, parts }) => (
          <li key={number}>
            <a href={href('closing', `${number}`)}>{t('closing', { n: number })}</a>{' '}
            <span className="quiet">{full(to)}</span>{' '}
            <span className="figure">
              {parts.map(({ taken, currency }) => fiat(taken, currency, language)).join(', ')}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
