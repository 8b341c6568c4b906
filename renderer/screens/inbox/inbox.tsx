/** The inbox: money that no invoice claims, and the decision about each piece. */
import { type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { Choices, Field } from '../../parts/controls.tsx';
import { fiat, useTimes } from '../../parts/format.ts';
import { useMoney } from '../../parts/money.ts';
import { Answer, Coin, Empty, Facts, Hash, Head, Problem, State, shortName } from '../../parts/parts.tsx';
import PARTS from '../../parts/texts.ts';
import { go, href, useHashRoute } from '../../router.ts';
import './inbox.css';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type Item = Result<'inbox.list'>['items'][number];

const READ_MAX = 200;
const READ_EVERY_MS = 15_000;
const REASONS = ['late', 'extra', 'short', 'deleted', 'unexpected', 'wrong-network', 'unassigned', 'locked'] as const;
const STATES = ['accepted', 'refunded', 'kept'] as const;

/** No invoice counts another coin or network by itself. */
const isElsewhere = ({ reason }: Item): boolean => reason === 'wrong-network' || reason === 'unexpected';

/** With its network, where that matters. */
const coinOf = (item: Item): string => (isElsewhere(item) ? item.crypto : shortName(item.crypto));

const reasonOf = (item: Item) => REASONS.find((known) => known === item.reason) ?? 'unexpected';

export default function Inbox(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  const { parts } = useHashRoute();
  const list = useCall('inbox.list', { limit: READ_MAX }, { every: READ_EVERY_MS });
  const chosen = parts[0];
  return (
    <Page title={t('inbox')} note={<span className="wide-only">{t('about')}</span>} flush>
      <Answer of={list}>
        {({ items }) => {
          const own = items.filter(({ business_id }) => business_id === business?.id);
          if (own.length === 0) return <Empty title={t('empty')}>{t('emptyNote')}</Empty>;
          const open = own.filter(({ state }) => state === 'open');
          const item = own.find(({ id }) => `${id}` === chosen) ?? (chosen === undefined ? open[0] : undefined);
          return (
            <div className={chosen === undefined ? 'inbox' : 'inbox open'}>
              <List items={own} current={item?.id} t={t} />
              {item ? (
                <Detail key={item.id} item={item} t={t} />
              ) : (
                <Empty title={t(chosen ? 'notThere' : 'empty')}>{t('pick')}</Empty>
              )}
            </div>
          );
        }}
      </Answer>
      {business && <Tokens business={business.id} t={t} />}
    </Page>
  );
}

/** Tokens that strangers made. Their names are other people's text, and may be those of real tokens. */
function Tokens({ business, t }: { business: number; t: T }): ReactNode {
  const found = useCall('inbox.unknownTokens', { limit: READ_MAX }, { every: READ_EVERY_MS });
  const tokens = found.data?.tokens.filter(({ business_id }) => business_id === business) ?? [];
  if (tokens.length === 0) return null;
  return (
    <details className="inbox-tokens">
      <summary>{t('tokens', { n: tokens.length })}</summary>
      <p className="quiet">{t('tokensNote')}</p>
      <div className="table-box scroll">
        <table className="table">
          <Head columns={[t('callsItself'), t('contract'), t('address'), t('given')]} />
          <tbody>
            {tokens.map(({ id, symbol, contract, address, invoice }) => (
              <tr key={id}>
                <td>{symbol === null ? <span className="quiet">{t('noName')}</span> : <bdi>“{symbol}”</bdi>}</td>
                <td>
                  <Hash text={contract} />
                </td>
                <td>
                  <Hash text={address} />
                </td>
                <td>{invoice && <a href={href('invoices', invoice)}>{invoice}</a>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function List({ items, current, t }: { items: Item[]; current: number | undefined; t: T }): ReactNode {
  const { short } = useTimes();
  const part = (title: string, shown: Item[]): ReactNode =>
    shown.length > 0 && (
      <>
        <h2>{title}</h2>
        <ul>
          {shown.map((item) => (
            <li key={item.id}>
              <a href={href('inbox', `${item.id}`)} aria-current={item.id === current ? 'true' : undefined}>
                <strong>
                  <Coin amount={item.amount} crypto={shortName(item.crypto)} />
                </strong>
                <span className="quiet">{short(item.created_at)}</span>
                <span className="quiet">{stateText(item, t)}</span>
              </a>
            </li>
          ))}
        </ul>
      </>
    );
  return (
    <nav className="inbox-list" aria-label={t('inbox')}>
      {part(
        t('toDecide'),
        items.filter(({ state }) => state === 'open'),
      )}
      {part(
        t('decided'),
        items.filter(({ state }) => state !== 'open'),
      )}
    </nav>
  );
}

function stateText(item: Item, t: T): string {
  const state = STATES.find((known) => known === item.state);
  return state ? t(`s_${state}`) : t(`r_${reasonOf(item)}`);
}

function Detail({ item, t }: { item: Item; t: T }): ReactNode {
  const language = useLanguage();
  const parts = useText(PARTS);
  const money = useMoney();
  const { full } = useTimes();
  const worth = money.worth(item.crypto, item.amount);
  const state = item.gone ? 'gone' : item.confirmed ? 'confirmed' : 'unconfirmed';
  const look = { gone: ['failed', 'bad'], confirmed: ['done', 'good'], unconfirmed: ['seen', 'main'] } as const;
  return (
    <article className="inbox-item">
      <a className="narrow-only" href={href('inbox')}>
        {parts('back')}
      </a>
      <p className="quiet">{t('arrived', { time: full(item.created_at) })}</p>
      <p className="inbox-amount">
        <Coin amount={item.amount} crypto={coinOf(item)} whole />{' '}
        {worth !== null && <span className="quiet">{fiat(worth, money.currency, language)}</span>}
      </p>
      <p className="inbox-reason">
        <strong>{t(`r_${reasonOf(item)}`)}</strong> {t(`r_${reasonOf(item)}_n`)}{' '}
        {isElsewhere(item) && item.invoice !== null && t('countElse')}
      </p>
      <Facts
        rows={[
          [
            t('state'),
            <State key="s" shape={look[state][0]} tone={look[state][1]}>
              {t(state)}
            </State>,
          ],
          ...(item.invoice
            ? [
                [
                  t('given'),
                  <a key="i" className="mono" href={href('invoices', item.invoice)}>
                    {item.invoice}
                  </a>,
                ] as [ReactNode, ReactNode],
              ]
            : []),
          [t('address'), <Hash key="a" text={item.address} />],
          [t('transaction'), <Hash key="t" text={item.outpoint.split(':')[0]!} />],
        ]}
      />
      {item.state === 'open' ? (
        <Decide item={item} t={t} />
      ) : (
        <p>
          <State shape="done" tone="good">
            {stateText(item, t)}
          </State>
        </p>
      )}
    </article>
  );
}

type Choice = 'back' | 'count' | 'keep';
const BUTTON = { back: 'prepare', count: 'countIt', keep: 'keepIt' } as const;

function Decide({ item, t }: { item: Item; t: T }): ReactNode {
  const { up } = useConnection();
  const [choice, setChoice] = useState<Choice>('back');
  const [address, setAddress] = useState('');
  const [tried, setTried] = useState(false);
  const refund = useChange('inbox.refund', 'inbox.', 'withdrawal.');
  const accept = useChange('inbox.accept', 'inbox.', 'invoice.', 'takings.');
  const keep = useChange('inbox.keep', 'inbox.');
  const error = refund.error ?? accept.error ?? keep.error;
  const busy = refund.isPending || accept.isPending || keep.isPending;
  const decide = (): void => {
    setTried(true);
    if (choice === 'count') accept.mutate({ id: item.id });
    else if (choice === 'keep') keep.mutate({ id: item.id });
    else if (address.trim() !== '') {
      const sent = { id: item.id, address: address.trim() };
      refund.mutate(sent, { onSuccess: ({ withdrawal }) => go(href('withdrawals', `${withdrawal.id}`)) });
    }
  };
  const field = (
    <Field
      className="mono"
      label={t('customer', { coin: coinOf(item) })}
      value={address}
      maxLength={200}
      spellCheck={false}
      hint={t('notFrom')}
      error={tried && choice === 'back' && address.trim() === '' ? t('addressNeeded') : undefined}
      onChange={(event) => setAddress(event.target.value)}
    />
  );
  const options = [
    { value: 'back' as const, title: t('back'), text: t('backNote'), more: field },
    {
      value: 'count' as const,
      title: t('count'),
      text: item.invoice ? t('countNote', { invoice: item.invoice }) : t('countNone'),
    },
    { value: 'keep' as const, title: t('keep'), text: t('keepNote') },
  ].filter(({ value }) => value !== 'count' || (item.invoice !== null && !isElsewhere(item)));
  return (
    <section className="inbox-decide">
      <h2>{t('question')}</h2>
      <Choices<Choice> label={t('question')} value={choice} options={options} onChange={setChoice} />
      {error && <Problem error={error} />}
      <div className="actions">
        <button type="button" className="button filled large" disabled={!up || busy} onClick={decide}>
          {t(BUTTON[choice])}
        </button>
        <a className="button large" href={href('home')}>
          {t('later')}
        </a>
        <span className="quiet">{t('stays')}</span>
      </div>
    </section>
  );
}
