/** The price of gas in the hours that were measured: zero based, and the same as a table. */

import { type ReactNode, useId, useState } from 'react';
import { MS_PER_HOUR } from '../../../daemon/domain/time.ts';
import { useLanguage, useText } from '../../i18n.ts';
import { Grid, useWidth } from '../../parts/bars.tsx';
import { decimal, stepFor, useTimes } from '../../parts/format.ts';
import { Head } from '../../parts/parts.tsx';
import partsTexts from '../../parts/texts.ts';
import type { Desk } from './desks.ts';
import TEXTS from './texts.ts';

const HEIGHT = 120;
const BOTTOM = 22;
const LEFT = 56;
const SLOT_PX_MIN = 5;
const HOURS_SHOWN_MAX = 96;
const NAME_EVERY_PX = 84;
/** Of a price in gwei that is drawn. */
const DECIMALS = 4;

type Prices = Desk['prices'];

export function GasPrices({ prices }: { prices: Prices }): ReactNode {
  const t = useText(TEXTS);
  const parts = useText(partsTexts);
  const [table, setTable] = useState(false);
  if (prices.length < 2) return <p className="quiet gas-prices">{t('pricesNone')}</p>;
  return (
    <figure className="gas-prices">
      <figcaption>
        <span>{t('prices')}</span>
        <button type="button" className="link" aria-pressed={table} onClick={() => setTable(!table)}>
          {parts(table ? 'plot' : 'table')}
        </button>
      </figcaption>
      {table ? <PriceTable prices={prices} /> : <Plot prices={prices} title={t('prices')} />}
    </figure>
  );
}

function Plot({ prices, title }: { prices: Prices; title: string }): ReactNode {
  const t = useText(TEXTS);
  const { ref, width } = useWidth();
  const language = useLanguage();
  const times = useTimes();
  const id = useId();
  const last = Date.parse(prices.at(-1)!.at);
  const count = Math.min(HOURS_SHOWN_MAX, Math.floor((width - LEFT) / SLOT_PX_MIN));
  const first = Math.max(Date.parse(prices[0]!.at), last - (count - 1) * MS_PER_HOUR);
  const shown = prices.filter(({ at }) => Date.parse(at) >= first);
  const most = Math.max(...shown.map(({ high }) => Number(high)));
  const step = stepFor(most);
  const top = Math.max(step, Math.ceil(most / step) * step);
  const y = (value: number): number => HEIGHT - (value / top) * (HEIGHT - 8);
  // few hours do not fill the width
  const slots = Math.max((last - first) / MS_PER_HOUR + 1, count / 4);
  const slot = (width - LEFT) / slots;
  const every = Math.max(1, Math.ceil(NAME_EVERY_PX / slot));
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, n) => n * step);
  return (
    <div ref={ref} className="plot">
      <svg width={width} height={HEIGHT + BOTTOM} role="img" aria-labelledby={id}>
        <title id={id}>{title}</title>
        <Grid
          lines={lines}
          width={width}
          y={y}
          left={LEFT}
          name={(line) => decimal(`${Number(line.toPrecision(6))}`, language)}
        />
        {shown.map(({ at, low, high }) => {
          const hour = (Date.parse(at) - first) / MS_PER_HOUR;
          const [x, wide] = [LEFT + hour * slot + slot * 0.15, slot * 0.7];
          // the newest name ends with its bar, so that it stays inside
          const isEdge = (slots - hour) * slot < 40;
          const isNamed = ((last - Date.parse(at)) / MS_PER_HOUR) % every === 0;
          return (
            <g key={at}>
              <rect className="high" x={x} y={y(Number(high))} width={wide} height={HEIGHT - y(Number(high))} />
              <rect className="low" x={x} y={y(Number(low))} width={wide} height={HEIGHT - y(Number(low))} />
              {isNamed && (
                <text
                  x={x + (isEdge ? wide : wide / 2)}
                  y={HEIGHT + 18}
                  textAnchor={isEdge ? 'end' : hour * slot < 24 ? 'start' : 'middle'}
                >
                  {times.clock(at)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <ul className="legend">
        <li className="low">{t('priceLow')}</li>
        <li className="high">{t('priceHigh')}</li>
      </ul>
    </div>
  );
}

function PriceTable({ prices }: { prices: Prices }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const times = useTimes();
  return (
    <div className="table-box scroll">
      <table className="table">
        <caption className="unseen">{t('prices')}</caption>
        <Head columns={[t('hour'), [t('priceLow'), 'number'], [t('priceHigh'), 'number']]} />
        <tbody>
          {[...prices].reverse().map(({ at, low, high }) => (
            <tr key={at}>
              <th scope="row">
                {times.day(at)}, {times.clock(at)}
              </th>
              <td className="number">{decimal(low, language, 0, DECIMALS)}</td>
              <td className="number">{decimal(high, language, 0, DECIMALS)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
