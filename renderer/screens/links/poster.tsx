/** A poster with the code of a payment link, to print on one sheet. */
import type { ReactNode } from 'react';
import { useCall } from '../../data.tsx';
import { nameOf, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { foreign } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { Answer, coinName, Foreign } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import { href } from '../../router.ts';
import type { Link, T } from './state.tsx';

const NAMED = 3;

export function Poster({ link: name, t }: { link: string; t: T }): ReactNode {
  const found = useCall('link.show', { link: name });
  const action = (
    <button type="button" className="button filled" onClick={() => print()}>
      <Icon name="print" /> {t('print')}
    </button>
  );
  return (
    <Page title={t('poster')} back={{ to: href('links', name), name: found.data?.link.name ?? name }} actions={action}>
      <p className="quiet print-hide">{t('paper')}</p>
      <Answer of={found}>{({ link }) => <Sheet link={link} t={t} />}</Answer>
    </Page>
  );
}

function Sheet({ link, t }: { link: Link; t: T }): ReactNode {
  const business = useBusiness();
  const names = [...new Set((business?.cryptos ?? []).map(coinName))];
  const some = names.slice(0, NAMED).join(', ');
  const more = names.length - NAMED;
  const coins = more > 0 ? t('andMore', { coins: some, n: more }) : some;
  const steps = [
    [t('step1'), t('step1Note')],
    [t('step2'), t('step2Note')],
    [t('step3'), t('step3Note')],
  ];
  return (
    <article className="poster">
      <p className="poster-shop">{business && <Foreign text={nameOf(business)} />}</p>
      <h2>
        <Foreign text={link.name} />
      </h2>
      <p className="poster-coins">{t('payWith', { coins })}</p>
      <QrCode text={link.url} label={t('qrLabel', { link: foreign(link.name) })} />
      <ol>
        {steps.map(([title, note], at) => (
          <li key={title}>
            <strong>
              {at + 1} {title}
            </strong>
            <span>{note}</span>
          </li>
        ))}
      </ol>
      <p>
        {t('noCamera')} <span className="mono">{link.url.replace(/^https?:\/\//, '')}</span>
      </p>
    </article>
  );
}
