/** Payment links: the list, and by the address the editor or the poster of one. */
import { type ReactNode, useState } from 'react';
import { useCall } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { fiat } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { Answer, Copy, Empty, Foreign, Head } from '../../parts/parts.tsx';
import { href, useHashRoute } from '../../router.ts';
import { EditLink, NewLink } from './editor.tsx';
import { Poster } from './poster.tsx';
import { type Link, LinkState, type T } from './state.tsx';
import TEXTS from './texts.ts';
import './links.css';

const PAGE = 50;

export default function Links(): ReactNode {
  const t = useText(TEXTS);
  const { parts } = useHashRoute();
  const [name, what] = parts;
  if (name === 'new') return <NewLink t={t} />;
  if (name && what === 'poster') return <Poster link={name} t={t} />;
  if (name) return <EditLink link={name} t={t} />;
  return <List t={t} />;
}

function List({ t }: { t: T }): ReactNode {
  const business = useBusiness();
  const [before, setBefore] = useState<number | null>(null);
  const of = business ? { business: `${business.id}` } : {};
  const found = useCall('link.list', { ...of, limit: PAGE, ...(before === null ? {} : { before }) });
  const add = (look: string): ReactNode => (
    <a className={look} href={href('links', 'new')}>
      <Icon name="plus" /> {t('newLink')}
    </a>
  );
  return (
    <Page title={t('links')} actions={add('button filled')}>
      <Answer of={found}>
        {({ links, next }) => {
          if (links.length === 0 && before === null) {
            return (
              <Empty title={t('empty')} action={add('button')}>
                {t('emptyNote')}
              </Empty>
            );
          }
          return (
            <section className="section">
              <p className="links-about">{t('about')}</p>
              <table className="table links-table">
                <Head
                  columns={[t('link'), [t('pays'), 'wide-only'], t('state'), [t('paid'), 'number wide-only'], '']}
                />
                <tbody>
                  {links.map((link) => (
                    <Row key={link.id} link={link} t={t} />
                  ))}
                </tbody>
              </table>
              {next !== null && (
                <button type="button" className="button" onClick={() => setBefore(next)}>
                  {t('more')}
                </button>
              )}
            </section>
          );
        }}
      </Answer>
    </Page>
  );
}

function Row({ link, t }: { link: Link; t: T }): ReactNode {
  const language = useLanguage();
  const count = t(link.paid === 1 ? 'payments_one' : 'payments_other', { n: link.paid });
  const stocked = link.items.filter(({ stock }) => stock !== null);
  const sum = (values: (number | null)[]): number => values.reduce<number>((all, one) => all + (one ?? 0), 0);
  const sold = t('ofStock', {
    taken: sum(stocked.map(({ taken }) => taken)),
    stock: sum(stocked.map(({ stock }) => stock)),
  });
  return (
    <tr>
      <th scope="row">
        <a href={href('links', link.link)}>
          <Foreign text={link.name} />
        </a>
        <span className="quiet mono">…/l/{link.link}</span>
      </th>
      <td className="wide-only">
        <Pays link={link} t={t} />
      </td>
      <td>
        <LinkState link={link} t={t} />
        {link.state === 'open' && link.ends_on && (
          <span className="quiet">{t('until', { day: dayText(link.ends_on, language) })}</span>
        )}
      </td>
      <td className="number wide-only">
        {fiat(link.paid_amount, link.currency, language)}
        <span className="quiet">{stocked.length > 0 ? sold : count}</span>
      </td>
      <td className="links-do">
        <Copy text={link.url} label={t('copyLink')} />
        <a href={href('links', link.link, 'poster')}>{t('poster')}</a>
      </td>
    </tr>
  );
}

/** A day such as 2026-12-03 in the reader's language. */
const dayText = (day: string, language: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(Date.parse(`${day}T00:00:00Z`));

/** In one line, and a second one below it. */
function Pays({ link, t }: { link: Link; t: T }): ReactNode {
  const language = useLanguage();
  const money = (amount: string): string => fiat(amount, link.currency, language);
  const [only] = link.items;
  if (link.kind === 'fixed' && only) {
    return (
      <>
        {money(only.price)}
        <span className="quiet">{t('fixed')}</span>
      </>
    );
  }
  if (link.kind === 'open') {
    const amount = money(link.least ?? '0.01');
    const amounts = link.suggested.map(money).join(' · ');
    return (
      <>
        {t('any')}
        <span className="quiet">{amounts === '' ? t('anyFrom', { amount }) : t('suggests', { amount, amounts })}</span>
      </>
    );
  }
  const cheapest = link.items.reduce(
    (low, { price }) => (Number(price) < Number(low) ? price : low),
    only?.price ?? '0',
  );
  const few = link.items.map(({ name, price }) => `${name} ${money(price)}`).join(' · ');
  const text = link.items.length > 2 ? t('itemsFrom', { n: link.items.length, amount: money(cheapest) }) : few;
  return (
    <>
      {t('items')}
      <span className="quiet">
        <Foreign text={text} />
      </span>
    </>
  );
}
