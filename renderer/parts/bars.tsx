/** Stacked bars over time: zero based, at most four lines, totals in the legend, and the same as a table. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useLanguage, useText } from '../i18n.ts';
import { fiat, scaled, stepFor, sum } from './format.ts';
import { CoinName, coinClass, coinName, Head } from './parts.tsx';
import TEXTS from './texts.ts';

/** `name`: below the bar; `full`: in the table. `parts`: a decimal for each crypto. */
export type Bar = { key: string; name: string; full: string; parts: Record<string, string> };
type BarsProps = { bars: Bar[]; cryptos: string[]; currency: string; title: string; table: boolean };

const HEIGHT = 168;
const BOTTOM = 22;
const LEFT_PX_MIN = 56;
const LETTER_PX = 8;
const GAP = 1;
const NAME_EVERY_PX = 84;
const BAR_PX_MAX = 28;

/** The width of an element, in pixels. */
export function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

export function Bars({ bars, cryptos, currency, title, table }: BarsProps): ReactNode {
  const language = useLanguage();
  const totals = cryptos.map((crypto) => sum(bars.map(({ parts }) => parts[crypto] ?? '0')));
  if (table) return <BarTable bars={bars} cryptos={cryptos} currency={currency} title={title} totals={totals} />;
  return (
    <>
      <Plot bars={bars} cryptos={cryptos} currency={currency} title={title} />
      <ul className="legend">
        {cryptos.map((crypto, at) => (
          <li key={crypto}>
            <CoinName crypto={crypto} />
            <span className="quiet figure">{fiat(totals[at]!, currency, language)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

const size = (value: string): number => Number(scaled(value) / 10n ** 12n) / 1e6;

function Plot({ bars, cryptos, currency, title }: Omit<BarsProps, 'table'>): ReactNode {
  const { ref, width } = useWidth();
  const language = useLanguage();
  const id = useId();
  const heights = bars.map(({ parts }) => cryptos.map((crypto) => size(parts[crypto] ?? '0')));
  const most = Math.max(0, ...heights.map((parts) => parts.reduce((all, part) => all + part, 0)));
  const step = stepFor(most);
  const top = Math.max(step, Math.ceil(most / step) * step);
  const y = (value: number): number => HEIGHT - (value / top) * (HEIGHT - 8);
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, n) => n * step);
  const short = (value: number): string =>
    new Intl.NumberFormat(language, {
      style: 'currency',
      currency,
      notation: 'compact',
      currencyDisplay: 'narrowSymbol',
    }).format(value);
  const names = lines.map(short);
  const left = Math.max(LEFT_PX_MIN, LETTER_PX * Math.max(...names.map((name) => name.length)) + 12);
  const slot = (width - left) / Math.max(1, bars.length);
  const wide = Math.min(BAR_PX_MAX, slot * 0.66);
  const every = Math.max(1, Math.ceil(NAME_EVERY_PX / slot));
  return (
    <div ref={ref} className="plot">
      <svg width={width} height={HEIGHT + BOTTOM} role="img" aria-labelledby={id}>
        <title id={id}>{title}</title>
        <Grid lines={lines} left={left} width={width} y={y} name={short} />
        {bars.map(({ key, name }, at) => {
          const x = left + at * slot + (slot - wide) / 2;
          const fromEnd = bars.length - 1 - at;
          return (
            <g key={key}>
              <Stack x={x} wide={wide} heights={heights[at]!} cryptos={cryptos} y={y} />
              {fromEnd % every === 0 && (
                <text
                  x={fromEnd === 0 ? width : x + wide / 2}
                  y={HEIGHT + 18}
                  textAnchor={fromEnd === 0 ? 'end' : 'middle'}
                  className={fromEnd === 0 ? 'now' : ''}
                >
                  {name}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

type StackProps = { x: number; wide: number; heights: number[]; cryptos: string[]; y(value: number): number };

function Stack({ x, wide, heights, cryptos, y }: StackProps): ReactNode {
  let below = 0;
  return heights.map((part, at) => {
    if (part === 0) return null;
    const from = y(below);
    below += part;
    const height = Math.max(1, from - y(below) - GAP);
    return (
      <rect
        key={cryptos[at]}
        className={`bar coin-${coinClass(cryptos[at]!)}`}
        x={x}
        y={y(below)}
        width={wide}
        height={height}
      />
    );
  });
}

function BarTable({
  bars,
  cryptos,
  currency,
  title,
  totals,
}: Omit<BarsProps, 'table'> & { totals: string[] }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const money = (value: string): string => fiat(value, currency, language);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <section className="table-box scroll" tabIndex={0} aria-label={title}>
      <table className="table">
        <caption className="unseen">{title}</caption>
        <Head
          columns={[
            t('day'),
            ...cryptos.map((crypto) => [coinName(crypto), 'number'] as const),
            [t('total'), 'number'],
          ]}
        />
        <tbody>
          {[...bars].reverse().map(({ key, full, parts }) => (
            <tr key={key}>
              <th scope="row">{full}</th>
              {cryptos.map((crypto) => (
                <td key={crypto} className="number">
                  {money(parts[crypto] ?? '0')}
                </td>
              ))}
              <td className="number">{money(sum(cryptos.map((crypto) => parts[crypto] ?? '0')))}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t('total')}</th>
            {totals.map((total, at) => (
              <td key={cryptos[at]} className="number">
                {money(total)}
              </td>
            ))}
            <td className="number">
              <strong>{money(sum(totals))}</strong>
            </td>
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

type GridProps = {
  lines: readonly number[];
  left: number;
  width: number;
  y(value: number): number;
  name(value: number): string;
};

/** The lines of a plot and their names, left of them. The lowest is its axis. */
export function Grid({ lines, left, width, y, name }: GridProps): ReactNode {
  return lines.map((line) => (
    <g key={line}>
      <line className={line === 0 ? 'axis' : 'grid'} x1={left} x2={width} y1={y(line)} y2={y(line)} />
      <text x={left - 8} y={y(line) + 4} textAnchor="end">
        {name(line)}
      </text>
    </g>
  ));
}
