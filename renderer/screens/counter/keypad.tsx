/** The keypad: digits fill the amount from the cents, as tills do. */
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { useConnection } from '../../data.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { Segments } from '../../parts/controls.tsx';
import { fiat, useTimes } from '../../parts/format.ts';
import { Icon, type Shape } from '../../parts/icons.tsx';
import { TILL_CURRENCY } from '../../parts/money.ts';
import { Fiat, State, type Tone } from '../../parts/parts.tsx';
import PARTS from '../../parts/texts.ts';
import { useHashRoute } from '../../router.ts';
import { amountOf, CENTS, digitsOf, press } from './amount.ts';
import type { Shop, T } from './counter.tsx';
import { Pending } from './pending.tsx';
import type { Selling } from './selling.ts';
import { useTip } from './tip.tsx';

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '00', '0'] as const;
const CURRENCY = 'countinghouse-till-currency';
const NOTE_CHARS_MAX = 200;

const decimalsOf = (currency: string): number => FIAT[currency] ?? CENTS;

type KeypadProps = { shop: Shop; selling: Selling; onSale(slug: string): void; t: T };

export function Keypad({ shop, selling, onSale, t }: KeypadProps): ReactNode {
  const language = useLanguage();
  const { up } = useConnection();
  const { query } = useHashRoute();
  const [note, setNote] = useState('');
  const [chosen, setChosen] = useState(() => localStorage.getItem(CURRENCY) ?? shop.currencies[0] ?? TILL_CURRENCY);
  // that of the business may change while the till is open
  const currency = shop.currency ?? chosen;
  const decimals = decimalsOf(currency);
  const [digits, setDigits] = useState(() => digitsOf(query.get('amount') ?? '', decimals));
  const { tip, field } = useTip(BigInt(digits || '0'), currency, decimals, t);
  const amount = amountOf(`${BigInt(digits || '0') + tip}`, decimals);
  const tipText = amountOf(`${tip}`, decimals);
  const can = digits !== '' && up && !selling.pending && shop.cryptos.some(({ ready }) => ready);
  const { sell } = selling;
  const submit = useCallback((): void => {
    if (!can) return;
    sell({ business: shop.business, amount, currency, note: note.trim() || null, tip: tipText });
  }, [can, shop.business, amount, currency, note, tipText, sell]);
  useDigits((key) => setDigits((now) => press(now, key)), submit);
  const choose = (wanted: string): void => {
    localStorage.setItem(CURRENCY, wanted);
    setChosen(wanted);
  };
  const shown = fiat(amount, currency, language);
  return (
    <main className="till-keypad" id="content">
      <section className="till-sale">
        <div className="till-amount-head">
          <h2>{t('amount')}</h2>
          {shop.currency === null && (
            <Segments<string>
              label={t('currency')}
              value={currency}
              options={shop.currencies.map((one) => [one, one] as const)}
              onChange={choose}
            />
          )}
        </div>
        <p className={digits === '' ? 'till-amount quiet-amount' : 'till-amount'} aria-live="polite">
          {shown}
        </p>
        <input
          className="input till-note"
          aria-label={t('note')}
          placeholder={t('note')}
          value={note}
          maxLength={NOTE_CHARS_MAX}
          onChange={(event) => setNote(event.target.value)}
        />
        {field}
        <Pending selling={selling} t={t} />
        <Sales shop={shop} onSale={onSale} t={t} />
      </section>
      <section className="till-keys" aria-label={t('keypad')}>
        <Keys press={(key) => setDigits(press(digits, key))} t={t} />
        <button type="button" className="button filled till-go" disabled={!can} onClick={submit}>
          {digits === '' ? t('type') : t('show', { amount: shown })}
        </button>
      </section>
    </main>
  );
}

export function Keys({ press: onPress, t }: { press(key: string): void; t: T }): ReactNode {
  return (
    <>
      {KEYS.map((key) => (
        <button key={key} type="button" className="till-key" onClick={() => onPress(key)}>
          {key}
        </button>
      ))}
      <button type="button" className="till-key" aria-label={t('erase')} onClick={() => onPress('Backspace')}>
        <Icon name="erase" size={28} />
      </button>
    </>
  );
}

/** Digits, Backspace and Enter work the counter, unless a note is typed. */
export function useDigits(onKey: (key: string) => void, onEnter: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = event.target instanceof HTMLInputElement && event.target.type !== 'radio';
      if (event.key === 'Enter' && !(event.target instanceof HTMLButtonElement)) onEnter();
      else if (!typing && (/^\d$/.test(event.key) || event.key === 'Backspace')) onKey(event.key);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [onKey, onEnter]);
}

type Sale = Shop['sales'][number];
type Look = { shape: Shape; tone: Tone; word: 'paid' | 'cancelled' | 'expired' | 'short' | 'seen' | 'waiting' };

function lookOf(sale: Sale): Look {
  if (sale.status === 'paid') return { shape: 'done', tone: 'good', word: 'paid' };
  if (sale.status === 'canceled') return { shape: 'ended', tone: 'quiet', word: 'cancelled' };
  if (sale.underpaid) return { shape: 'warning', tone: 'warn', word: 'short' };
  if (Number(sale.received_value) > 0) return { shape: 'seen', tone: 'main', word: 'seen' };
  if (sale.status === 'overdue') return { shape: 'ended', tone: 'quiet', word: 'expired' };
  return { shape: 'waiting', tone: 'quiet', word: 'waiting' };
}

export function Sales({ shop, onSale, t }: { shop: Shop; onSale(slug: string): void; t: T }): ReactNode {
  const parts = useText(PARTS);
  const { short } = useTimes();
  return (
    <div className="till-sales">
      <h2>{t('lastSales')}</h2>
      {shop.sales.length === 0 && <p className="quiet">{t('noSales')}</p>}
      <ul>
        {shop.sales.map((sale) => {
          const { word, ...look } = lookOf(sale);
          return (
            <li key={sale.invoice}>
              <button type="button" onClick={() => onSale(sale.invoice)}>
                <span className="quiet">{short(sale.created_at)}</span>
                <State {...look}>{parts(word)}</State>
                <Fiat amount={sale.amount} currency={sale.currency} />
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
