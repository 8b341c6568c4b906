/** The counter with items: tiles on one side, the cart on the other. */
import { type ReactNode, useState } from 'react';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { useConnection } from '../../data.tsx';
import { useLanguage } from '../../i18n.ts';
import { Segments, Select, Sheet } from '../../parts/controls.tsx';
import { fiat, foreign } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { TILL_CURRENCY } from '../../parts/money.ts';
import { State } from '../../parts/parts.tsx';
import { amountOf, CENTS, press } from './amount.ts';
import {
  again,
  type Cart,
  type CartLine,
  changed,
  countOf,
  type Item,
  linesOf,
  totalOf,
  withItem,
  withTyped,
} from './cart.ts';
import type { Shop, T } from './counter.tsx';
import { Keys, Sales, useDigits } from './keypad.tsx';
import { Pending } from './pending.tsx';
import type { Selling } from './selling.ts';
import { useTip } from './tip.tsx';

/** More are found by their category or their name. */
const SHOWN_MAX = 60;
const CATEGORIES_MAX = 6;
/** Of each currency, whose smallest units its prices are in. */
const lastOf = (currency: string): string => `countinghouse-till-last-${currency}${location.search}`;

type Props = { shop: Shop; items: Item[]; selling: Selling; onSale(slug: string): void; t: T };

function lastCart(currency: string): Cart {
  try {
    const kept = JSON.parse(localStorage.getItem(lastOf(currency)) ?? '[]') as (Omit<CartLine, 'unit'> & {
      unit: string;
    })[];
    return kept.map((line) => ({ ...line, unit: BigInt(line.unit) }));
  } catch {
    return [];
  }
}
const keepCart = (cart: Cart, currency: string): void =>
  localStorage.setItem(lastOf(currency), JSON.stringify(cart.map((line) => ({ ...line, unit: `${line.unit}` }))));

export function Tiles({ shop, items, selling, onSale, t }: Props): ReactNode {
  const language = useLanguage();
  const [cart, setCart] = useState<Cart>([]);
  const [typing, setTyping] = useState(false);
  const currency = shop.currency ?? TILL_CURRENCY;
  const decimals = FIAT[currency] ?? CENTS;
  const money = (units: bigint): string => fiat(amountOf(`${units}`, decimals), currency, language);
  return (
    <main className="till-items" id="content">
      <Shelf
        items={items}
        countFor={(id) => cart.find(({ item }) => item === id)?.quantity ?? 0}
        priceOf={(price) => fiat(price, currency, language)}
        onItem={(item) => setCart(withItem(cart, item, decimals))}
        onType={() => setTyping(true)}
        t={t}
      />
      <CartPane
        shop={shop}
        items={items}
        selling={selling}
        onSale={onSale}
        cart={cart}
        setCart={setCart}
        money={money}
        t={t}
        currency={currency}
        decimals={decimals}
      />
      <Sheet title={t('type')} open={typing} onClose={() => setTyping(false)}>
        <Typing
          money={money}
          rates={[...new Set(items.flatMap(({ vat }) => vat ?? []))].sort((a, b) => b - a)}
          onDone={(unit, vat) => {
            setCart(withTyped(cart, unit, vat));
            setTyping(false);
          }}
          t={t}
        />
      </Sheet>
    </main>
  );
}

type PaneProps = Props & {
  cart: Cart;
  setCart(cart: Cart): void;
  money(units: bigint): string;
  currency: string;
  decimals: number;
};

function CartPane(props: PaneProps): ReactNode {
  const { shop, items, selling, onSale, cart, setCart, money, currency, decimals, t } = props;
  const { up } = useConnection();
  const sum = totalOf(cart);
  const { tip, field } = useTip(sum, currency, decimals, t);
  const can = sum > 0n && up && !selling.pending && shop.cryptos.some(({ ready }) => ready);
  const sell = (): void => {
    keepCart(cart, currency);
    selling.sell({
      business: shop.business,
      currency,
      note: null,
      amount: amountOf(`${sum + tip}`, decimals),
      tip: amountOf(`${tip}`, decimals),
      lines: linesOf(cart, decimals),
    });
  };
  const last = cart.length === 0 ? again(lastCart(currency), items, decimals) : [];
  return (
    <section className="till-cart" aria-label={t('cart')}>
      <ul className="till-lines">
        {cart.map((line) => (
          <Line
            key={line.key}
            line={line}
            money={money}
            onChange={(by) => setCart(changed(cart, line.key, by))}
            t={t}
          />
        ))}
      </ul>
      {last.length > 0 && (
        <button type="button" className="button" onClick={() => setCart(last)}>
          {t('again', { amount: money(totalOf(last)) })}
        </button>
      )}
      {cart.length === 0 && <Sales shop={shop} onSale={onSale} t={t} />}
      <div className="till-sum">
        {cart.length > 0 && field}
        <Pending selling={selling} t={t} />
        <p className="till-together">
          <span>
            {t('together')} <span className="quiet">{t('count', { n: countOf(cart) })}</span>
          </span>
          <strong aria-live="polite">{money(sum + tip)}</strong>
        </p>
        <button type="button" className="button filled till-go" disabled={!can} onClick={sell}>
          {t('showCode')}
        </button>
      </div>
    </section>
  );
}

type ShelfProps = {
  items: Item[];
  countFor(id: number): number;
  priceOf(price: string): string;
  onItem(item: Item): void;
  onType(): void;
  t: T;
};

function Shelf({ items, countFor, priceOf, onItem, onType, t }: ShelfProps): ReactNode {
  const [category, setCategory] = useState('');
  const [text, setText] = useState('');
  const categories = [...new Set(items.map((one) => one.category).filter((name) => name !== ''))];
  const wanted = text.trim().toLowerCase();
  const found = items.filter(
    (one) => (category === '' || one.category === category) && one.name.toLowerCase().includes(wanted),
  );
  const options = [['', t('all')], ...categories.map((name) => [name, foreign(name)])] as [string, string][];
  const Control = categories.length > CATEGORIES_MAX ? Select<string> : Segments<string>;
  return (
    <section className="till-shelf" aria-label={t('items')}>
      <div className="till-shelf-head">
        {categories.length > 0 && (
          <Control label={t('category')} hideLabel value={category} options={options} onChange={setCategory} />
        )}
        {items.length > SHOWN_MAX && (
          <input
            className="input"
            type="search"
            aria-label={t('find')}
            placeholder={t('find')}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
        <button type="button" className="link" onClick={onType}>
          {t('type')}
        </button>
      </div>
      <div className="till-tiles">
        {found.slice(0, SHOWN_MAX).map((item) => {
          const count = countFor(item.id);
          return (
            <button
              key={item.id}
              type="button"
              className={count > 0 ? 'till-tile chosen' : 'till-tile'}
              disabled={item.sold_out}
              onClick={() => onItem(item)}
            >
              <span className="till-tile-name">{foreign(item.name)}</span>
              {item.sold_out ? (
                <State shape="ended" tone="quiet">
                  {t('soldOut')}
                </State>
              ) : (
                <span className="quiet">{priceOf(item.price)}</span>
              )}
              {count > 0 && <span className="till-count">{count}</span>}
            </button>
          );
        })}
      </div>
      {found.length > SHOWN_MAX && <p className="quiet">{t('moreItems', { n: found.length - SHOWN_MAX })}</p>}
    </section>
  );
}

type LineProps = { line: CartLine; money(units: bigint): string; onChange(by: number): void; t: T };

function Line({ line, money, onChange, t }: LineProps): ReactNode {
  const name = line.name === '' ? t('typed') : foreign(line.name);
  return (
    <li>
      <span className="till-stepper">
        <button type="button" aria-label={t('less', { name })} onClick={() => onChange(-1)}>
          −
        </button>
        <span className="figure">{line.quantity}</span>
        <button type="button" aria-label={t('more', { name })} onClick={() => onChange(1)}>
          +
        </button>
      </span>
      <span className="till-line-name">
        {name}
        <span className="quiet">{t('each', { amount: money(line.unit) })}</span>
      </span>
      <strong className="figure">{money(line.unit * BigInt(line.quantity))}</strong>
    </li>
  );
}

type TypingProps = {
  money(units: bigint): string;
  rates: number[];
  onDone(unit: bigint, vat: number | null): void;
  t: T;
};
const PERCENT = 100;

function Typing({ money, rates, onDone, t }: TypingProps): ReactNode {
  const language = useLanguage();
  const [digits, setDigits] = useState('');
  const [vat, setVat] = useState('');
  const done = (): void => {
    if (digits !== '') onDone(BigInt(digits), vat === '' ? null : Number(vat));
  };
  useDigits((key) => setDigits((now) => press(now, key)), done);
  const rateText = (rate: number): string => `${(rate / PERCENT).toLocaleString(language)} %`;
  return (
    <div className="till-typing">
      <p className="till-price" aria-live="polite">
        {money(BigInt(digits || '0'))}
      </p>
      {rates.length > 0 && (
        <Segments<string>
          label={t('vat')}
          value={vat}
          options={[['', t('noVat')], ...rates.map((rate) => [`${rate}`, rateText(rate)] as const)]}
          onChange={setVat}
        />
      )}
      <section className="till-keys" aria-label={t('keypad')}>
        <Keys press={(key) => setDigits(press(digits, key))} t={t} />
        <button type="button" className="button filled till-go" disabled={digits === ''} onClick={done}>
          <Icon name="plus" /> {t('addTyped')}
        </button>
      </section>
    </div>
  );
}
