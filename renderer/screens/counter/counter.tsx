/** The counter of a shop: amount, code, paid, next sale. */
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useConnection, useData } from '../../data.tsx';
import { NoBusiness, useBusiness } from '../../frame/business.tsx';
import { SandboxBanner } from '../../frame/page.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Sheet } from '../../parts/controls.tsx';
import { foreign } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { Answer, Problem, State } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { useAwake } from './awake.ts';
import type { Item } from './cart.ts';
import './counter.css';
import { Keypad } from './keypad.tsx';
import { SaleScreen } from './sale.tsx';
import { type Selling, useSelling } from './selling.ts';
import TEXTS from './texts.ts';
import { Tiles } from './tiles.tsx';

export type T = Translate<keyof (typeof TEXTS)['en']>;
export type Shop = Result<'counter.show'>;

const READ_EVERY_MS = 15_000;
/** The sale that is shown, also after a reload. */
const SALE = `countinghouse-till-sale${location.search}`;
const SOUND = 'countinghouse-sound';

export default function Counter(): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const locked = session.scope === 'counter';
  const chosen = useBusiness();
  const shop = useCall('counter.show', locked || !chosen ? {} : { business: `${chosen.id}` }, {
    every: READ_EVERY_MS,
    // without the business it would be another one's counter
    enabled: locked || chosen !== null,
  });
  const items = useCall('item.list', { business: `${shop.data?.business}` }, { enabled: shop.data !== undefined });
  const [sale, setSale] = useState(() => localStorage.getItem(SALE));
  const show = useCallback((slug: string | null): void => {
    if (slug === null) localStorage.removeItem(SALE);
    else localStorage.setItem(SALE, slug);
    setSale(slug);
  }, []);
  const selling = useSelling(show);
  useAwake();
  const [sound, setSound] = useState(localStorage.getItem(SOUND) !== 'off');
  useEffect(() => {
    document.title = `${t('counter')} · Countinghouse`;
  }, [t]);
  const toggle = (): void => {
    localStorage.setItem(SOUND, sound ? 'off' : 'on');
    setSound(!sound);
  };
  return (
    <div className="till">
      <SandboxBanner network={shop.data?.network} />
      {shop.data || locked || chosen ? (
        <Answer of={shop}>
          {(data) => (
            <>
              <Top shop={data} sound={sound} onSound={toggle} locked={locked} t={t} />
              {sale === null ? (
                <NextSale
                  // what was typed is another amount in another currency
                  key={`${data.business} ${data.currency}`}
                  shop={data}
                  items={items.data?.items ?? []}
                  selling={selling}
                  onSale={show}
                  t={t}
                />
              ) : (
                <SaleScreen key={sale} slug={sale} shop={data} sound={sound} onNext={() => show(null)} t={t} />
              )}
            </>
          )}
        </Answer>
      ) : (
        <NoBusiness />
      )}
    </div>
  );
}

type NextProps = { shop: Shop; items: Item[]; selling: Selling; onSale(slug: string): void; t: T };

function NextSale(props: NextProps): ReactNode {
  return props.items.length > 0 ? <Tiles {...props} /> : <Keypad {...props} />;
}

type TopProps = { shop: Shop; sound: boolean; onSound(): void; locked: boolean; t: T };

function Top({ shop, sound, onSound, locked, t }: TopProps): ReactNode {
  const { up } = useConnection();
  const ready = shop.cryptos.some((one) => one.ready);
  return (
    <header className="till-top">
      <h1>{foreign(shop.name)}</h1>
      <div className="till-tools">
        <button type="button" className="till-tool" aria-pressed={sound} aria-label={t('soundOn')} onClick={onSound}>
          <Icon name={sound ? 'sound' : 'silent'} />{' '}
          <span className="till-word">{t(sound ? 'soundOn' : 'soundOff')}</span>
        </button>
        {up ? (
          <State shape={ready ? 'done' : 'warning'} tone={ready ? 'good' : 'warn'}>
            {t(ready ? 'ready' : 'notReady')}
          </State>
        ) : (
          <State shape="failed" tone="bad">
            {t('offline')}
          </State>
        )}
        {locked ? (
          <span className="till-tool" role="img" aria-label={t('locked')}>
            <Icon name="lock" /> <span className="till-word">{t('locked')}</span>
          </span>
        ) : (
          <Unlocked business={shop.business} t={t} />
        )}
      </div>
    </header>
  );
}

function Unlocked({ business, t }: { business: number; t: T }): ReactNode {
  const { bridge } = useData();
  const [asking, setAsking] = useState(false);
  const [failed, setFailed] = useState<Error | null>(null);
  const lock = (): void => {
    setFailed(null);
    bridge.lockToCounter?.(business).then(() => location.reload(), setFailed);
  };
  return (
    <>
      {bridge.lockToCounter && (
        <button type="button" className="till-tool" aria-label={t('lock')} onClick={() => setAsking(true)}>
          <Icon name="unlocked" /> <span className="till-word">{t('lock')}</span>
        </button>
      )}
      <a className="till-tool" href={href('items')}>
        {t('items')}
      </a>
      <a className="till-tool" href={href('closing')}>
        {t('closeDay')}
      </a>
      <a className="till-tool till-leave" href={href('home')} aria-label={t('leave')} title={t('leave')}>
        <Icon name="close" />
      </a>
      <Sheet title={t('lockTitle')} open={asking} onClose={() => setAsking(false)}>
        <p>{t('lockNote')}</p>
        {failed && <Problem error={failed} changes />}
        <div className="actions">
          <button type="button" className="button filled" onClick={lock}>
            {t('lockNow')}
          </button>
          <button type="button" className="button" onClick={() => setAsking(false)}>
            {t('close')}
          </button>
        </div>
      </Sheet>
    </>
  );
}
