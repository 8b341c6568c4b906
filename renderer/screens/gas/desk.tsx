/** One network: its money, its gas, and the forecast for each address. */
import { type ReactNode, useState } from 'react';
import { useLanguage, useText } from '../../i18n.ts';
import { decimal, exact, groups, isZero } from '../../parts/format.ts';
import { useMoney } from '../../parts/money.ts';
import {
  Coin,
  CoinMark,
  Copy,
  Facts,
  Fiat,
  Hash,
  Head,
  Notice,
  Section,
  State,
  shortName,
} from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import { type Desk, type DeskForecast, type Forecast, MIN_USD } from './desks.ts';
import { GasPrices } from './prices.tsx';
import { FormerTanks, NewTank } from './tank.tsx';
import TEXTS from './texts.ts';

const ITEMS_SHOWN_MAX = 20;
/** Of ETH and BNB: what is to be sent is shown whole. */

export function DeskSection({ desk, forecast }: DeskForecast): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const money = useMoney();
  const { coin, tank } = desk;
  const { needs } = forecast;
  const cost = money.worth(coin, forecast.cost);
  const costText = t('costText', { cost: `${decimal(forecast.cost, language)} ${coin}`, n: forecast.worth });
  return (
    <Section
      title={t(`chain_${desk.chain}`)}
      side={
        <State shape={needs ? 'warning' : 'done'} tone={needs ? 'warn' : 'good'}>
          {needs
            ? t('missing', { amount: `${exact(needs.amount, language)} ${coin}` })
            : t(forecast.worth > 0 ? 'enough' : 'idle')}
        </State>
      }
    >
      {needs && <Missing desk={desk} needs={needs} />}
      <Assets desk={desk} />
      <Facts
        rows={[
          [
            t('cost'),
            forecast.worth === 0 ? (
              t('costNone')
            ) : (
              <>
                {costText}
                {cost && (
                  <span className="quiet">
                    {' '}
                    (<Fiat amount={cost} currency={money.currency} />)
                  </span>
                )}
              </>
            ),
          ],
          [t('price'), t('priceNow', { price: decimal(forecast.price, language) })],
          [t('tank'), <Coin key="tank" amount={tank.amount} crypto={coin} />],
          [t('tankAddress'), <Hash key="address" text={tank.address} />],
        ]}
      />
      <GasPrices prices={desk.prices} />
      <FormerTanks desk={desk} />
      <Items forecast={forecast} />
      <NewTank desk={desk} />
    </Section>
  );
}

/** The words for missing gas, and the way to send it. */
function Missing({ desk, needs }: { desk: Desk; needs: NonNullable<Forecast['needs']> }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const money = useMoney();
  const [isCode, setCode] = useState(false);
  const worth = money.worth(desk.coin, needs.amount);
  const chain = t(`chain_${desk.chain}`);
  return (
    <Notice
      tone="warn"
      title={
        <>
          {t('first', { amount: `${exact(needs.amount, language)} ${desk.coin}` })}
          {worth && (
            <span>
              (<Fiat amount={worth} currency={money.currency} />)
            </span>
          )}
        </>
      }
    >
      <p>{t('firstText', { chain })}</p>
      <p className="mono gas-address">{groups(needs.address).join(' ')}</p>
      <div className="actions gas-send">
        <Copy text={needs.address} />
        <button type="button" className="button" aria-expanded={isCode} onClick={() => setCode(!isCode)}>
          {t('qr')}
        </button>
      </div>
      {isCode && (
        <div className="gas-code">
          <QrCode text={needs.address} label={t('qr')} />
        </div>
      )}
    </Notice>
  );
}

function Assets({ desk }: { desk: Desk }): ReactNode {
  const t = useText(TEXTS);
  const money = useMoney();
  const assets = desk.assets.filter(({ amount }) => !isZero(amount));
  if (assets.length === 0) return <p className="quiet spaced">{t('nothingReceived')}</p>;
  return (
    <table className="table gas-assets">
      <Head
        columns={[
          t('coin'),
          [t('received'), 'number wide-only'],
          [t('spendable'), 'number'],
          [t('elsewhere'), 'number'],
        ]}
      />
      <tbody>
        {assets.map((one) => {
          const worth = one.usd_value === null ? null : money.fromUsd(one.usd_value);
          return (
            <tr key={one.crypto}>
              <td>
                <CoinMark crypto={one.crypto} />
                {shortName(one.crypto)}
              </td>
              <td className="number wide-only">
                <Coin amount={one.amount} />
                {worth && (
                  <div className="quiet">
                    <Fiat amount={worth} currency={money.currency} />
                  </div>
                )}
              </td>
              <td className="number">
                <Coin amount={one.in_tank} />
              </td>
              <td className="number">
                <Coin amount={one.on_addresses} />
                <div className="quiet">{t('onAddresses', { n: one.addresses })}</div>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Items({ forecast }: { forecast: Forecast }): ReactNode {
  const t = useText(TEXTS);
  const money = useMoney();
  const { items, coin } = forecast;
  const language = useLanguage();
  if (items.length === 0) return null;
  const shown = items.slice(0, ITEMS_SHOWN_MAX);
  return (
    <details className="gas-items">
      <summary>{t('each')}</summary>
      <ul>
        {shown.map((one) => (
          <li key={`${one.address} ${one.crypto}`}>
            <Hash text={one.address} />
            <span className="gas-item">
              <Coin amount={one.amount} crypto={shortName(one.crypto)} />
              <span className="quiet">{t('feeOf', { fee: `${decimal(one.cost, language)} ${coin}` })}</span>
              {one.left !== null ? (
                <span className="quiet">{t(`left_${one.left}`, { min: money.textOfUsd(MIN_USD) })}</span>
              ) : (
                one.dear && <span className="warn">{t('dear')}</span>
              )}
            </span>
          </li>
        ))}
      </ul>
      {items.length > shown.length && <p className="quiet">{t('more', { n: items.length - shown.length })}</p>}
    </details>
  );
}
