/** Home: whether all is well, what waits for a decision, and what came in. */
import { lazy, type ReactNode, Suspense } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall } from '../../data.tsx';
import { type Business, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { ago, exact, fiat, isZero, useTimes } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { InvoiceState } from '../../parts/invoice-state.tsx';
import { type Money, useMoney } from '../../parts/money.ts';
import { chainName, sourceName } from '../../parts/names.ts';
import {
  Answer,
  byCoin,
  Coin,
  CoinName,
  Fiat,
  Head,
  Section,
  State,
  type StateProps,
  shortName,
} from '../../parts/parts.tsx';
import { worthOf } from '../../parts/worth.ts';
import { href } from '../../router.ts';
import { Attention } from './attention.tsx';
import './home.css';
import { monthsOf, type Period, totalOf } from './periods.ts';
import { Takings, useDays } from './takings.tsx';
import TEXTS from './texts.ts';

export type T = Translate<keyof (typeof TEXTS)['en']>;

const SentNext = lazy(() => import('../forwarding/home.tsx'));

const CHAINS_EVERY_MS = 10_000;
const LATEST = 6;
const DAYS_OF_TWO_MONTHS = 62;

export default function Home(): ReactNode {
  const t = useText(TEXTS);
  const { long, clock } = useTimes();
  const business = useBusiness();
  const now = Date.now();
  const latest = useCall('invoice.list', { business: `${business?.id}`, limit: LATEST }, { enabled: !!business });
  // an empty home says below how to begin, once
  const isEmpty = latest.data?.invoices.length === 0;
  const actions = !isEmpty && (
    <>
      <a className="button wide-only" href={href('counter')}>
        <Icon name="counter" /> {t('openCounter')}
      </a>
      <a className="button" href={href('invoices', 'new')}>
        <Icon name="plus" /> {t('newInvoice')}
      </a>
    </>
  );
  return (
    <Page title={t('home')} note={<span className="wide-only">{`${long(now)}, ${clock(now)}`}</span>} actions={actions}>
      {business && <Inside business={business} isEmpty={isEmpty} t={t} />}
    </Page>
  );
}

function Inside({ business, isEmpty, t }: { business: Business; isEmpty: boolean; t: T }): ReactNode {
  const money = useMoney();
  if (isEmpty) {
    return (
      <>
        <Start business={business} t={t} />
        <Attention business={business} quiet t={t} />
        <Chains business={business} t={t} />
      </>
    );
  }
  return (
    <>
      <Figures business={business} money={money} t={t} />
      <Attention business={business} t={t} />
      <Suspense>
        <SentNext business={business} />
      </Suspense>
      <div className="home-columns">
        <Takings business={business} money={money} t={t} />
        <Balances business={business} money={money} t={t} />
        <Chains business={business} t={t} />
        <Latest business={business} t={t} />
      </div>
    </>
  );
}

/** Before the first invoice: the way to begin, instead of zeros. */
function Start({ business, t }: { business: Business; t: T }): ReactNode {
  if (business.network === 'sandbox') {
    return (
      <section className="section home-start">
        <h2>{t('start')}</h2>
        <p>{t('startNote')}</p>
        <div className="actions">
          <a className="button filled large" href={href('first')}>
            {t('begin')}
          </a>
          <a className="button large" href={href('first', 'live')}>
            {t('goLive')}
          </a>
        </div>
      </section>
    );
  }
  return (
    <section className="section home-start">
      <h2>{t('startLive')}</h2>
      <p>{t('startLiveNote')}</p>
      <div className="actions">
        <a className="button filled large" href={href('counter')}>
          {t('openCounter')}
        </a>
        <a className="button large" href={href('invoices', 'new')}>
          {t('newInvoice')}
        </a>
        <a className="button large" href={href('developers')}>
          {t('connectShop')}
        </a>
      </div>
    </section>
  );
}

type PartProps = { business: Business; money: Money; t: T };

const dayOf = (timeZone: string): string => new Intl.DateTimeFormat('sv-SE', { timeZone }).format(new Date());

/** `2026-10` for a day in November 2026. */
function monthBefore(today: string): string {
  const date = new Date(`${today.slice(0, 7)}-15T12:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() - 1);
  return date.toISOString().slice(0, 7);
}

function Figures({ business, money, t }: PartProps): ReactNode {
  const language = useLanguage();
  const read = useDays(business, money, DAYS_OF_TWO_MONTHS).data;
  const days = read ?? [];
  const months = monthsOf(days);
  const { total, whole } = worthOf(business.balances, money);
  const today = dayOf(business.time_zone);
  const day = days.find(({ period }) => period === today);
  const month = months.find(({ period }) => today.startsWith(period));
  const before = months.find(({ period }) => period === monthBefore(today));
  const nameOf = (period: string): string =>
    new Intl.DateTimeFormat(language, { month: 'long' }).format(new Date(`${period.slice(0, 7)}-15`));
  const backOf = (one: Period | undefined): string =>
    one && !isZero(one.refunded) ? ` · ${t('refunded', { amount: fiat(one.refunded, money.currency, language) })}` : '';
  return (
    <div className="home-figures">
      <Figure name={t('balance')} isRead={money.isRead} amount={total} currency={money.currency}>
        {whole ? t('confirmed') : t('noRate')}
      </Figure>
      <Figure name={t('today')} isRead={!!read} amount={totalOf([day])} currency={money.currency}>
        {t('payments', { n: day?.payments ?? 0 })}
        {backOf(day)}
      </Figure>
      <Figure name={nameOf(today)} isRead={!!read} amount={totalOf([month])} currency={money.currency}>
        {t('payments', { n: month?.payments ?? 0 })}
        {backOf(month)}
        {before &&
          ` · ${t('previous', { month: nameOf(before.period), amount: fiat(totalOf([before]), money.currency, language) })}`}
      </Figure>
    </div>
  );
}

/** `amount`: null if it is not known. `isRead`: whether that is certain. */
type FigureProps = { name: string; isRead: boolean; amount: string | null; currency: string; children: ReactNode };

function Figure({ name, isRead, amount, currency, children }: FigureProps): ReactNode {
  return (
    <div>
      <h2>{name}</h2>
      <p className="home-figure">{isRead && amount !== null ? <Fiat amount={amount} currency={currency} /> : '–'}</p>
      <p className="quiet">{isRead ? children : '\u00a0'}</p>
    </div>
  );
}

function Balances({ business, money, t }: PartProps): ReactNode {
  const language = useLanguage();
  const all = [...business.balances].sort((a, b) => byCoin(a.crypto, b.crypto));
  const held = all.filter(({ amount, locked, withheld }) => !isZero(amount) || locked || withheld !== null);
  const rows = held.length > 0 ? held : all;
  const { total } = worthOf(business.balances, money);
  const side = <a href={href('withdrawals')}>{t('withdraw')}</a>;
  return (
    <Section title={t('balances')} side={side}>
      <table className="table">
        <Head columns={[t('coin'), [t('amount'), 'number'], [t('worth'), 'number']]} />
        <tbody>
          {rows.map(({ crypto, amount, locked, withheld, unproven }) => {
            const worth = withheld === null ? money.worth(crypto, amount) : null;
            return (
              <tr key={crypto}>
                <th scope="row">
                  <CoinName crypto={crypto} />
                </th>
                <td className="number">
                  {withheld === null ? <Coin amount={amount} /> : <span className="quiet">{t('withheld')}</span>}
                  {unproven && !isZero(unproven) && <div className="quiet">{t('unproven')}</div>}
                  {locked && (
                    <div className="quiet">
                      {t('lockedCoins', { amount: exact(locked.amount, language), n: locked.last_blocks })}
                    </div>
                  )}
                </td>
                <td className="number">
                  {worth === null ? (
                    <span className="quiet">{money.isRead ? t('unknown') : '–'}</span>
                  ) : (
                    <Fiat amount={worth} currency={money.currency} />
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" className="quiet">
              {t('all')}
            </th>
            <td />
            <td className="number">
              <strong>
                {money.isRead && total !== null ? <Fiat amount={total} currency={money.currency} /> : '–'}
              </strong>
            </td>
          </tr>
        </tfoot>
      </table>
    </Section>
  );
}

type Chain = Result<'status'>['chains'][number];

function chainState(chain: Pick<Chain, 'error' | 'lagging' | 'withheld'> & { synced_at?: string | null }): Omit<
  StateProps,
  'children'
> & {
  word: 'failing' | 'lagging' | 'firstSync' | 'upToDate';
} {
  if (chain.error !== null) return { shape: 'warning', tone: 'warn', word: 'failing' };
  if (chain.synced_at === null) return { shape: 'waiting', tone: 'quiet', word: 'firstSync' };
  if (chain.lagging || chain.withheld !== null) return { shape: 'warning', tone: 'warn', word: 'lagging' };
  return { shape: 'done', tone: 'good', word: 'upToDate' };
}

function Chains({ business, t }: { business: Business; t: T }): ReactNode {
  const language = useLanguage();
  const status = useCall('status', {}, { every: CHAINS_EVERY_MS });
  return (
    <Section title={t('chains')} side={<a href={href('sources')}>{t('allSources')}</a>}>
      <Answer of={status}>
        {({ chains }) => (
          <table className="table">
            <Head
              columns={[
                t('chain'),
                t('state'),
                [t('block'), 'number wide-only'],
                [t('lastBlock'), 'number'],
                [t('source'), 'wide-only'],
              ]}
            />
            <tbody>
              {chains
                .filter(({ network }) => network === business.network)
                .sort((a, b) => byCoin(a.chain, b.chain))
                .map((chain) => {
                  const { word, ...look } = chainState(chain);
                  const age = chain.tip_age_seconds;
                  return (
                    <tr key={chain.chain}>
                      <th scope="row">{chainName(chain.chain)}</th>
                      <td>
                        <State {...look}>{t(word)}</State>
                      </td>
                      <td className="number wide-only">{chain.tip?.height.toLocaleString(language) ?? '–'}</td>
                      <td className="number">{age === null ? '–' : ago(age, language)}</td>
                      <td className="quiet wide-only">{sourceName(chain)}</td>
                    </tr>
                  );
                })}
            </tbody>
          </table>
        )}
      </Answer>
    </Section>
  );
}

function Latest({ business, t }: { business: Business; t: T }): ReactNode {
  const { short } = useTimes();
  const list = useCall('invoice.list', { business: `${business.id}`, limit: LATEST });
  return (
    <Section title={t('latest')} side={<a href={href('invoices')}>{t('allInvoices')}</a>}>
      <Answer of={list}>
        {({ invoices }) =>
          invoices.length === 0 ? (
            <p className="quiet">{t('noInvoices')}</p>
          ) : (
            <table className="table">
              <Head columns={[t('time'), t('state'), [t('amount'), 'number'], [t('inCoin'), 'number']]} />
              <tbody>
                {invoices.map((invoice) => (
                  <tr key={invoice.id}>
                    <td className="quiet">
                      <a href={href('invoices', invoice.slug)}>{short(invoice.created_at)}</a>
                    </td>
                    <td>
                      <InvoiceState invoice={invoice} />
                    </td>
                    <td className="number">
                      <Fiat amount={invoice.amount} currency={invoice.currency} />
                    </td>
                    <td className="number quiet">
                      {invoice.payment ? shortName(invoice.payment.crypto) : <span title={t('notChosen')}>–</span>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Answer>
    </Section>
  );
}
