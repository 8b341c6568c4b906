/** The inbox: money that no invoice claims, and the decision about each piece. */
import type { ReactNode } from 'react';
import { groupsOf, sumOf } from '../../../daemon/operator/inbox-groups.ts';
import { useCall } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { fiat, useTimes } from '../../parts/format.ts';
import { useInbox } from '../../parts/inbox.ts';
import { useMoney } from '../../parts/money.ts';
import { Answer, Coin, Empty, Facts, Hash, Head, State, shortName } from '../../parts/parts.tsx';
import { RefundState } from '../../parts/refund-state.tsx';
import PARTS from '../../parts/texts.ts';
import { href, useHashRoute } from '../../router.ts';
import { Decide, Decided } from './decide.tsx';
import { coinOf, type Item, isElsewhere, type T } from './item.ts';
import './inbox.css';
import TEXTS from './texts.ts';

const READ_MAX = 200;
const READ_EVERY_MS = 15_000;
const REASONS = [
  'late',
  'extra',
  'short',
  'deleted',
  'unexpected',
  'wrong-network',
  'unassigned',
  'locked',
  'overpaid',
] as const;

const reasonOf = (item: Item) => REASONS.find((known) => known === item.reason) ?? 'unexpected';

export default function Inbox(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  const { parts } = useHashRoute();
  const list = useInbox(business?.id, { newest: READ_MAX, every: READ_EVERY_MS });
  const chosen = parts[0];
  return (
    <Page title={t('inbox')} note={<span className="wide-only">{t('about')}</span>} flush>
      <Answer of={list}>
        {(own) => {
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
  const row = (item: Item): ReactNode => (
    <a href={href('inbox', `${item.id}`)} aria-current={item.id === current ? 'true' : undefined}>
      <strong>
        <Coin amount={item.amount} crypto={shortName(item.crypto)} />
      </strong>
      <span className="quiet">{short(item.created_at)}</span>
      <span className="quiet">{item.refund ? <RefundState state={item.refund.state} /> : stateText(item, t)}</span>
    </a>
  );
  const part = (title: string, shown: Item[]): ReactNode =>
    shown.length > 0 && (
      <>
        <h2>{title}</h2>
        <ul>
          {groupsOf(shown).map((group) => (
            <li key={group[0]?.id}>
              {group.length === 1 ? row(group[0]!) : <Together group={group} current={current} row={row} t={t} />}
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
        t('notDone'),
        items.filter(({ state }) => state === 'refunding'),
      )}
      {part(
        t('done'),
        items.filter(({ state }) => state !== 'open' && state !== 'refunding'),
      )}
    </nav>
  );
}

type TogetherProps = { group: Item[]; current: number | undefined; row: (item: Item) => ReactNode; t: T };

/** The deposits of one transaction: one row, which opens to its parts. */
function Together({ group, current, row, t }: TogetherProps): ReactNode {
  const [first] = group as [Item];
  return (
    <details className="inbox-together" open={group.some(({ id }, i) => i > 0 && id === current)}>
      <summary>
        <strong>
          <Coin amount={sumOf(group)} crypto={shortName(first.crypto)} />
        </strong>
        <span className="quiet">{t('together', { n: group.length })}</span>
        <span className="quiet">{stateText(first, t)}</span>
      </summary>
      <ul>
        {group.map((item) => (
          <li key={item.id}>{row(item)}</li>
        ))}
      </ul>
    </details>
  );
}

const stateText = (item: Item, t: T): string =>
  item.state === 'open' ? t(`r_${reasonOf(item)}`) : t(`s_${item.state}`);

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
      ) : item.refund ? (
        <Decided refund={item.refund} decidedAt={item.decided_at} t={t} />
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
