/** The chains of a business as their sources connect, and the coins on them that it takes. */
import type { ReactNode } from 'react';
import { findAsset } from '../../../daemon/domain/assets.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { chainName } from '../../parts/names.ts';
import { Answer, byCoin, CoinMark, Head, Problem, Said, State, shortName } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type Source = Result<'source.list'>['sources'][number];

const READ_EVERY_MS = 2_000;

const chainOf = (crypto: string): string => findAsset(crypto)?.chain ?? crypto;

export function Sources({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const sources = useCall('source.list', {}, { every: READ_EVERY_MS });
  const change = useChange('business.change', 'business.', 'counter.', 'status', 'source.');
  const cryptos = [...new Set([...business.cryptos, ...business.possible_cryptos])].sort(byCoin);
  const chains = [...new Set(cryptos.map(chainOf))].sort(byCoin);
  const coin = (crypto: string): ReactNode => (
    <label key={crypto} className="check">
      <input
        type="checkbox"
        checked={business.cryptos.includes(crypto)}
        disabled={!up || change.isPending}
        onChange={({ target }) =>
          change.mutate({
            business: `${business.id}`,
            ...(target.checked ? { enable: [crypto] } : { disable: [crypto] }),
          })
        }
      />
      <span>
        <CoinMark crypto={crypto} />
        {shortName(crypto)}
      </span>
    </label>
  );
  return (
    <>
      <Answer of={sources}>
        {({ sources: all }) => (
          <table className="table first-chains">
            <Head columns={[t('chain'), t('coinsTaken'), t('state')]} />
            <tbody>
              {chains.map((chain) => {
                const on = cryptos.filter((crypto) => chainOf(crypto) === chain);
                const source = all.find((one) => one.network === business.network && one.chain === chain);
                const isTaken = on.some((crypto) => business.cryptos.includes(crypto));
                return (
                  <tr key={chain}>
                    <th scope="row">{chainName(chain)}</th>
                    <td>
                      <div className="first-coins">{on.map(coin)}</div>
                    </td>
                    <td>
                      <ChainState source={source} isTaken={isTaken} t={t} />
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </Answer>
      {change.error && <Problem error={change.error} />}
    </>
  );
}

function ChainState({ source, isTaken, t }: { source: Source | undefined; isTaken: boolean; t: T }): ReactNode {
  const language = useLanguage();
  if (!source) {
    return (
      <State shape={isTaken ? 'warning' : 'ended'} tone={isTaken ? 'warn' : 'quiet'}>
        {t(isTaken ? 'noSource' : 'off')}
      </State>
    );
  }
  if (source.error === null && source.withheld === null) {
    return (
      <>
        <State shape="done" tone="good">
          {t('upToDate')}
        </State>
        <div className="quiet">
          {source.tip && t('block', { n: source.tip.height.toLocaleString(language) })}
          {source.network !== 'sandbox' && ` · ${source.source}`}
        </div>
      </>
    );
  }
  return (
    <>
      <State shape="waiting" tone="warn">
        {t(source.error === null ? 'catchingUp' : 'connecting')}
      </State>
      {source.error !== null && (
        <details className="quiet">
          <summary>{t('why')}</summary>
          <Said text={source.error} />
        </details>
      )}
    </>
  );
}
