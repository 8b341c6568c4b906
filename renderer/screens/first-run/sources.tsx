/** The chains of a business as their sources connect. */
import type { ReactNode } from 'react';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { Answer, byCoin, Foreign, State } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

const READ_EVERY_MS = 2_000;

export function Sources({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const sources = useCall('source.list', {}, { every: READ_EVERY_MS });
  return (
    <Answer of={sources}>
      {({ sources: all }) => {
        const own = all.filter(({ network }) => network === business.network);
        if (own.length === 0) return <p className="quiet">{t('noSources', { network: business.network })}</p>;
        return (
          <ul className="rows">
            {own
              .sort((a, b) => byCoin(a.chain, b.chain))
              .map((source) => {
                const fine = source.error === null && source.withheld === null;
                return (
                  <li key={source.chain}>
                    <strong>{source.chain}</strong>
                    <State shape={fine ? 'done' : 'warning'} tone={fine ? 'good' : 'warn'}>
                      {t(fine ? 'upToDate' : 'notYet')}
                    </State>
                    <span className="quiet">
                      <Foreign text={source.error ?? source.withheld ?? source.source} />
                    </span>
                    <span className="figure">{source.tip?.height.toLocaleString(language) ?? '–'}</span>
                  </li>
                );
              })}
          </ul>
        );
      }}
    </Answer>
  );
}
