/** The worth of one coin, and the age of that price. */

import { Fragment, type ReactNode } from 'react';
import { MS_PER_SECOND } from '../../../daemon/domain/time.ts';
import { useCall } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page, useNow } from '../../frame/page.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { ago, decimal } from '../../parts/format.ts';
import { Answer, byCoin, CoinName, Empty, Head } from '../../parts/parts.tsx';
import { Sources } from './sources.tsx';
import TEXTS from './texts.ts';

const READ_EVERY_MS = 15_000;
const CENTS = 2;

/** The sources that want to be named, in their own words. */
function Credits({ of }: { of: readonly { text: string; url: string }[] }): ReactNode {
  if (of.length === 0) return null;
  return (
    <p className="quiet" lang="en">
      {of.map(({ text, url }, at) => (
        <Fragment key={url}>
          {at > 0 && ' · '}
          <a href={url} target="_blank" rel="noreferrer">
            {text}
          </a>
        </Fragment>
      ))}
    </p>
  );
}

export default function Rates(): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const business = useBusiness();
  const now = useNow();
  const rates = useCall('rates.list', {}, { every: READ_EVERY_MS });
  const status = useCall('status', {}, { every: READ_EVERY_MS });
  const foundAt = (crypto: string): string => {
    const at = status.data?.rates.find((one) => one.crypto === crypto && one.network === business?.network)?.at;
    return at ? ago((now - Date.parse(at)) / MS_PER_SECOND, language) : '–';
  };
  return (
    <Page title={t('rates')} note={<span className="wide-only">{t('about')}</span>}>
      <Answer of={rates}>
        {({ rates: all, credits }) => {
          const own = all.filter(({ network }) => network === business?.network);
          if (own.length === 0) return <Empty title={t('empty')}>{t('emptyNote')}</Empty>;
          return (
            <section className="section">
              <table className="table">
                <Head
                  columns={[
                    t('coin'),
                    ...['USD', 'EUR', 'GBP'].map((one) => [one, 'number'] as const),
                    [t('found'), 'number wide-only'],
                  ]}
                />
                <tbody>
                  {own
                    .sort((a, b) => byCoin(a.crypto, b.crypto))
                    .map(({ crypto, usd, eur, gbp }) => (
                      <tr key={crypto}>
                        <th scope="row">
                          <CoinName crypto={crypto} />
                        </th>
                        {[usd, eur, gbp].map((rate, at) => (
                          // biome-ignore lint/suspicious/noArrayIndexKey: the currencies keep their places
                          <td key={at} className="number">
                            {rate === null ? (
                              <span className="quiet">{t('none')}</span>
                            ) : (
                              decimal(rate, language, CENTS)
                            )}
                          </td>
                        ))}
                        <td className="number quiet wide-only">{foundAt(crypto)}</td>
                      </tr>
                    ))}
                </tbody>
              </table>
              <p className="quiet spaced">{t('note')}</p>
              <Credits of={credits.filter(({ network }) => network === business?.network)} />
              <Sources t={t} />
            </section>
          );
        }}
      </Answer>
    </Page>
  );
}
