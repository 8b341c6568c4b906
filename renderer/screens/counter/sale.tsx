/** One sale: its code until a payment is seen, then what was seen, then paid. */

import { type ReactNode, useEffect, useRef, useState } from 'react';
import { MS_PER_SECOND } from '../../../daemon/domain/time.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection, useData } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { useNow } from '../../frame/page.tsx';
import { useLanguage } from '../../i18n.ts';
import { exact, fiat, isZero, useTimes } from '../../parts/format.ts';
import { Icon, ShapeIcon } from '../../parts/icons.tsx';
import { Answer, byCoin, coinName, Problem, shortName } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import type { Shop, T } from './counter.tsx';
import { NoCode } from './no-code.tsx';
import { Refund } from './refund.tsx';
import { playPaid } from './sound.ts';

type Sale = Result<'counter.sale'>;
type Found = { error: Error | null; refetch(): unknown };
type Props = { slug: string; shop: Shop; sound: boolean; onNext(): void; t: T };

const READ_EVERY_MS = 5_000;

const COIN = 'countinghouse-till-coin';

/**
 * The coin whose own code a sale shows, because customers may not be able to open the payment page: the one of its payment, else the one
 * that this till showed last. Null: the payment page's code is shown, on which the customer chooses.
 */
function ownCodeOf({ reach, cryptos }: Shop, sale: Sale): string | null {
  if (reach === 'everybody' || reach === 'onion') return null;
  if (sale.crypto !== null) return sale.crypto;
  const ready = cryptos
    .filter((one) => one.ready)
    .map((one) => one.crypto)
    .sort(byCoin);
  const last = localStorage.getItem(COIN);
  return ready.find((one) => one === last) ?? ready[0] ?? null;
}

export function SaleScreen({ slug, shop, sound, onNext, t }: Props): ReactNode {
  const [crypto, setCrypto] = useState<string | undefined>();
  const input = { invoice: slug, ...(crypto === undefined ? {} : { crypto }) };
  const found = useCall('counter.sale', input, { every: READ_EVERY_MS });
  const own = found.data === undefined ? null : ownCodeOf(shop, found.data);
  const choose = useChange('counter.choose', 'counter.', 'invoice.');
  const chosen = (wanted: string | undefined): void => {
    if (wanted === undefined) setCrypto(undefined);
    else {
      localStorage.setItem(COIN, wanted);
      choose.mutate({ invoice: slug, crypto: wanted }, { onSuccess: () => setCrypto(wanted) });
    }
  };
  const begun = useRef(false);
  useEffect(() => {
    if (begun.current || own === null) return;
    begun.current = true;
    choose.mutate({ invoice: slug, crypto: own }, { onSuccess: () => setCrypto(own) });
  }, [own, slug, choose.mutate]);
  const paid = found.data?.sale.status === 'paid';
  const played = useRef(false);
  useEffect(() => {
    if (!paid || played.current) return;
    played.current = true;
    if (sound) playPaid();
  }, [paid, sound]);
  if (found.error && found.data === undefined) return <Unknown found={found} onNext={onNext} t={t} />;
  return (
    <Answer of={found}>
      {(data) => {
        if (data.sale.status === 'paid') return <Paid data={data} shop={shop} onNext={onNext} t={t} />;
        if (data.sale.status === 'canceled') return <Ended data={data} onNext={onNext} t={t} />;
        const arrived = data.received !== null && !isZero(data.received);
        const whole = arrived && (data.missing === null || isZero(data.missing));
        if (whole) return <Seen data={data} onNext={onNext} t={t} />;
        return (
          <Code
            data={data}
            shop={shop}
            crypto={crypto}
            onCrypto={chosen}
            refused={choose.error}
            onAgain={() => chosen(choose.variables?.crypto)}
            error={found.error}
            onNext={onNext}
            t={t}
          />
        );
      }}
    </Answer>
  );
}

const isPageLink = (code: string): boolean => /^https?:/.test(code);

type CodeProps = {
  data: Sale;
  shop: Shop;
  crypto: string | undefined;
  onCrypto(crypto: string | undefined): void;
  /** Why the service gave no address of the coin that was wanted last. */
  refused: Error | null;
  onAgain(): void;
  error: Error | null;
  onNext(): void;
  t: T;
};

function Code({ data, shop, crypto, onCrypto, refused, onAgain, error, onNext, t }: CodeProps): ReactNode {
  const language = useLanguage();
  const { up } = useConnection();
  const cancel = useChange('counter.cancel', 'counter.', 'invoice.');
  const short = data.received !== null && !isZero(data.received);
  const amount = fiat(data.sale.amount, data.sale.currency, language);
  const none = shop.reach === 'computer' && isPageLink(data.code);
  const cancelSale = (): void => cancel.mutate({ invoice: data.sale.invoice }, { onSuccess: onNext });
  return (
    <main className="till-code" id="content">
      <div className="till-qr">
        {none ? (
          <NoCode data={data} shop={shop} failed={refused !== null} short={short} t={t} />
        ) : (
          <QrCode text={data.code} label={t('scan')} />
        )}
      </div>
      <div className="till-side">
        <p className="till-price">{amount}</p>
        {!none && <p className="till-scan quiet">{t('scan')}</p>}
        {!short && <Coins shop={shop} crypto={crypto} onCrypto={onCrypto} t={t} />}
        {shop.reach === 'computer' && <p className="quiet">{t('coinOnly')}</p>}
        {!short && !none && crypto !== undefined && data.crypto === crypto && data.crypto_amount && (
          <p className="figure">
            {exact(data.crypto_amount, language)} {shortName(crypto)}
          </p>
        )}
        {short ? <Short data={data} t={t} /> : !none && <Waiting data={data} t={t} />}
        <Practice data={data} shop={shop} crypto={crypto} t={t} />
        {refused ? <Problem error={refused} retry={onAgain} /> : error && <Problem error={error} />}
        {cancel.error && <Problem error={cancel.error} />}
        <div className="till-actions">
          {short ? (
            <button type="button" className="button large" onClick={onNext}>
              {t('next')}
            </button>
          ) : (
            <button type="button" className="button large" disabled={!up || cancel.isPending} onClick={cancelSale}>
              {t('cancelSale')}
            </button>
          )}
          {!none && (
            <button type="button" className="button large till-print" onClick={() => print()}>
              <Icon name="print" /> {t('print')}
            </button>
          )}
        </div>
      </div>
    </main>
  );
}

/** In the sandbox nobody has coins to pay with: this pays. A device that is locked to the counter may only sell. */
function Practice({ data, shop, crypto, t }: Pick<CodeProps, 'data' | 'shop' | 'crypto' | 't'>): ReactNode {
  const { session } = useData();
  const business = useBusiness();
  const { up } = useConnection();
  const play = useChange('sandbox.play', 'invoice.', 'counter.');
  if (shop.network !== 'sandbox' || session.scope === 'counter' || !business) return null;
  const pay = (): void =>
    play.mutate({
      action: 'pay' as const,
      business: `${business.id}`,
      invoice: data.sale.invoice,
      crypto: crypto ?? data.crypto ?? shop.cryptos.find(({ ready }) => ready)?.crypto ?? 'BTC',
    });
  return (
    <>
      <button type="button" className="button" disabled={!up || play.isPending} onClick={pay}>
        {t('payNow')}
      </button>
      {play.error && <Problem error={play.error} />}
    </>
  );
}

type CoinsProps = Pick<CodeProps, 'shop' | 'crypto' | 'onCrypto' | 't'>;

function Coins({ shop, crypto, onCrypto, t }: CoinsProps): ReactNode {
  const sorted = [...shop.cryptos].sort((a, b) => byCoin(a.crypto, b.crypto));
  const names = sorted.map((one) => shortName(one.crypto));
  // a token on several networks is named in full
  const nameOf = (one: string): string =>
    names.filter((name) => name === shortName(one)).length > 1 ? coinName(one) : shortName(one);
  return (
    <fieldset className="till-coins">
      <legend className="unseen">{t('coins')}</legend>
      {shop.reach !== 'computer' && (
        <button type="button" aria-pressed={crypto === undefined} onClick={() => onCrypto(undefined)}>
          {t('anyCoin')}
        </button>
      )}
      {sorted.map((one) => (
        <button
          key={one.crypto}
          type="button"
          disabled={!one.ready}
          aria-pressed={crypto === one.crypto}
          onClick={() => onCrypto(one.crypto)}
        >
          {one.ready ? nameOf(one.crypto) : t('notNow', { coin: nameOf(one.crypto) })}
        </button>
      ))}
    </fieldset>
  );
}

const SECONDS_PER_MINUTE = 60;

function clockOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / MS_PER_SECOND));
  return `${Math.floor(seconds / SECONDS_PER_MINUTE)}:${`${seconds % SECONDS_PER_MINUTE}`.padStart(2, '0')}`;
}

function Waiting({ data, t }: { data: Sale; t: T }): ReactNode {
  const now = useNow();
  const left = data.price_until === null ? null : Date.parse(data.price_until) - now;
  return (
    <div className="till-waiting" role="status">
      <ShapeIcon shape="waiting" size={28} />
      <div>
        <p>
          <strong>{t('waiting')}</strong>
        </p>
        {left !== null && (
          <p className="quiet figure">{left > 0 ? t('held', { time: clockOf(left) }) : t('expires')}</p>
        )}
      </div>
    </div>
  );
}

function Short({ data, t }: { data: Sale; t: T }): ReactNode {
  const language = useLanguage();
  const amount = exact(data.missing ?? '0', language);
  return (
    <div className="till-waiting warn" role="alert">
      <ShapeIcon shape="warning" size={28} />
      <div>
        <p>
          <strong>{t('short')}</strong>
        </p>
        <p>{t('shortNote', { amount, coin: shortName(data.crypto ?? '') })}</p>
      </div>
    </div>
  );
}

function Seen({ data, onNext, t }: { data: Sale; onNext(): void; t: T }): ReactNode {
  const language = useLanguage();
  const amount = exact(data.received ?? '0', language);
  const values = { amount, coin: shortName(data.crypto ?? ''), n: data.required_confirmations };
  return (
    <main className="till-done" id="content">
      <div className="till-big">
        <svg className="till-sign seen" viewBox="0 0 100 100" aria-hidden="true">
          <circle cx="50" cy="50" r="46" />
          <circle className="inside" cx="50" cy="50" r="15" />
        </svg>
        <p className="till-word-big" role="status">
          {t('seen')}
        </p>
        <p className="till-price">{fiat(data.sale.amount, data.sale.currency, language)}</p>
        <p className="quiet till-text">{t('seenNote', values)}</p>
        {data.confirmations > 0 && (
          <p className="till-text">
            {t('confirmations', { have: data.confirmations, need: data.required_confirmations })}
          </p>
        )}
      </div>
      <Next onNext={onNext} t={t} />
    </main>
  );
}

function Next({ onNext, t }: { onNext(): void; t: T }): ReactNode {
  return (
    <div className="till-next">
      <button type="button" className="button filled large" onClick={onNext}>
        {t('next')}
      </button>
    </div>
  );
}

/** The sale that this device kept cannot be read: it may be another shop's, or from before a restore. */
function Unknown({ found, onNext, t }: { found: Found; onNext(): void; t: T }): ReactNode {
  return (
    <main className="till-done" id="content">
      <Problem error={found.error!} retry={() => void found.refetch()} />
      <Next onNext={onNext} t={t} />
    </main>
  );
}

/** It was canceled here, elsewhere, or because its time was over: nobody is to pay it. */
function Ended({ data, onNext, t }: { data: Sale; onNext(): void; t: T }): ReactNode {
  const language = useLanguage();
  return (
    <main className="till-done" id="content">
      <div className="till-big">
        <p className="till-word-big" role="status">
          {t('cancelled')}
        </p>
        <p className="till-price">{fiat(data.sale.amount, data.sale.currency, language)}</p>
      </div>
      <Next onNext={onNext} t={t} />
    </main>
  );
}

function Paid({ data, shop, onNext, t }: { data: Sale; shop: Shop; onNext(): void; t: T }): ReactNode {
  const language = useLanguage();
  const { clock, full } = useTimes();
  const price = fiat(data.sale.amount, data.sale.currency, language);
  const amount = exact(data.received ?? '0', language);
  const coin = shortName(data.crypto ?? '');
  return (
    <main className="till-done paid" id="content">
      <div className="till-big">
        <svg className="till-sign" viewBox="0 0 100 100" aria-hidden="true">
          <circle cx="50" cy="50" r="46" />
          <path d="M27 51 42 66 72 34" />
        </svg>
        <p className="till-word-big" role="status">
          {t('paid')}
        </p>
        <p className="till-price">{price}</p>
        <p className="till-text">{t('paidAt', { amount, coin, time: clock(data.updated_at, true) })}</p>
      </div>
      <div className="till-next">
        <button type="button" className="button large inverse" onClick={onNext}>
          {t('next')}
        </button>
        <button type="button" className="button large outline" onClick={() => print()}>
          {t('printReceipt')}
        </button>
        {data.received !== null && !isZero(data.received) && <Refund data={data} shop={shop} t={t} />}
      </div>
      <section className="receipt">
        <h2>{t('receipt')}</h2>
        <p>{shop.name}</p>
        <p>
          {price} · {amount} {coin}
        </p>
        <p>{full(data.updated_at)}</p>
        <p>{data.sale.invoice}</p>
      </section>
    </main>
  );
}
