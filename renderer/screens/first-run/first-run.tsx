/** The first steps in the sandbox: business, coins, shop, and a payment that arrives while one watches. */
import { type ReactNode, useState } from 'react';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { type Business, useBusinesses } from '../../frame/business.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { fiat } from '../../parts/format.ts';
import { Answer, Notice, Problem } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import { go, href, useHashRoute } from '../../router.ts';
import { button, Code, curl } from '../developers/connect.tsx';
import INVOICES from '../invoices/texts.ts';
import { Timeline } from '../invoices/timeline.tsx';
import { BusinessForm } from '../settings/business.tsx';
import SETTINGS from '../settings/texts.ts';
import '../developers/developers.css';
import '../invoices/invoices.css';
import '../settings/settings.css';
import { Live } from './live.tsx';
import { Sources } from './sources.tsx';
import { Head, Steps } from './steps.tsx';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type StepProps = { business: Business; t: T };

const STEPS = ['business', 'coins', 'connect', 'payment', 'live'] as const;
const READ_EVERY_MS = 5_000;

export default function FirstRun(): ReactNode {
  const [live] = useHashRoute().parts;
  return live === 'live' ? <Live /> : <SandboxSteps />;
}

function SandboxSteps(): ReactNode {
  const t = useText(TEXTS);
  const { all } = useBusinesses();
  const [at, setAt] = useState(0);
  const business = all.find(({ network }) => network === 'sandbox') ?? all[0];
  const step = STEPS[at]!;
  const last = at === STEPS.length - 1;
  const foot = (
    <>
      {at > 0 && (
        <button type="button" className="link" onClick={() => setAt(at - 1)}>
          {t('back')}
        </button>
      )}
      <button
        type="button"
        className={last ? 'button large' : 'button filled large'}
        onClick={() => (last ? go(href('home')) : setAt(at + 1))}
      >
        {t(last ? 'stay' : 'next')}
      </button>
    </>
  );
  return (
    <Steps
      title={t('title')}
      names={STEPS.map((name) => t(name))}
      at={at}
      network={business?.network}
      leave={t('skip')}
      foot={foot}
    >
      {business && step === 'business' && <YourBusiness business={business} t={t} />}
      {business && step === 'coins' && <Coins business={business} t={t} />}
      {business && step === 'connect' && <Connect business={business} t={t} />}
      {business && step === 'payment' && <Payment business={business} t={t} />}
      {step === 'live' && <GoLive t={t} />}
    </Steps>
  );
}

function YourBusiness({ business, t }: StepProps): ReactNode {
  const settings = useText(SETTINGS);
  return (
    <>
      <Head title={t('businessTitle')} note={t('businessNote')} />
      <BusinessForm key={business.id} business={business} t={settings} />
    </>
  );
}

function Coins({ business, t }: StepProps): ReactNode {
  return (
    <>
      <Head title={t('coinsTitle')} note={t('coinsNote')} />
      <Sources business={business} />
    </>
  );
}

function Connect({ business, t }: StepProps): ReactNode {
  const { up } = useConnection();
  const url = useCall('status', {}).data?.url ?? '';
  const client = useCall('client.list', { business: `${business.id}` }).data?.clients[0];
  const add = useChange('key.add', 'key.');
  return (
    <>
      <Head title={t('connectTitle')} note={t('connectNote')} />
      {client && (
        <>
          <h3>{t('clientId')}</h3>
          <Code text={client.client_id} />
          <p>{t('pasteButton')}</p>
          <Code text={button(url, client.client_id)} />
        </>
      )}
      {add.data ? (
        <Notice tone="good" title={t('keyOnce')}>
          <Code text={add.data.key.key} />
          <p>{t('paste')}</p>
          <Code text={curl(url, add.data.key.key)} />
        </Notice>
      ) : (
        <button
          type="button"
          className="button"
          disabled={!up || add.isPending}
          onClick={() => add.mutate({ business: `${business.id}`, name: 'shop' })}
        >
          {t('makeKey')}
        </button>
      )}
      {add.error && <Problem error={add.error} />}
    </>
  );
}

const AMOUNT = '25';
const CURRENCY = 'EUR';

function Payment({ business, t }: StepProps): ReactNode {
  const { up } = useConnection();
  const [slug, setSlug] = useState<string | null>(null);
  const make = useChange('invoice.create', 'invoice.');
  const create = (): void =>
    make.mutate(
      { business: `${business.id}`, amount: AMOUNT, currency: CURRENCY },
      { onSuccess: ({ invoice }) => setSlug(invoice.slug) },
    );
  return (
    <>
      <Head title={t('paymentTitle')} note={t('paymentNote')} />
      {slug === null ? (
        <button type="button" className="button large" disabled={!up || make.isPending} onClick={create}>
          {t('make')}
        </button>
      ) : (
        <Watched key={slug} slug={slug} business={business} onAgain={create} t={t} />
      )}
      {make.error && <Problem error={make.error} />}
    </>
  );
}

type WatchedProps = StepProps & { slug: string; onAgain(): void };

function Watched({ slug, business, onAgain, t }: WatchedProps): ReactNode {
  const language = useLanguage();
  const texts = useText(INVOICES);
  const { up } = useConnection();
  const found = useCall('invoice.show', { invoice: slug }, { every: READ_EVERY_MS });
  const play = useChange('sandbox.play', 'invoice.');
  const crypto = business.cryptos.includes('LTC') ? 'LTC' : (business.cryptos[0] ?? 'BTC');
  return (
    <Answer of={found}>
      {({ invoice }) => {
        const amount = fiat(invoice.amount, invoice.currency, language);
        const paid = invoice.status === 'paid';
        const begun = play.isPending || invoice.credits.length > 0;
        return (
          <div className="first-columns">
            <div className="panel first-customer">
              <p className="first-amount">{amount}</p>
              <QrCode text={invoice.invoice_url} label={t('saw')} />
              <p className="quiet">{t('saw')}</p>
              {paid ? (
                <button type="button" className="button" disabled={!up} onClick={onAgain}>
                  {t('again')}
                </button>
              ) : (
                <button
                  type="button"
                  className="button"
                  disabled={!up || begun}
                  onClick={() => play.mutate({ action: 'pay', business: `${business.id}`, invoice: slug, crypto })}
                >
                  {t('payNow')}
                </button>
              )}
              {play.error && <Problem error={play.error} />}
            </div>
            <div>
              {paid && (
                <Notice tone="good" title={t('arrived')}>
                  {t('arrivedNote', { amount })}
                </Notice>
              )}
              <Timeline invoice={invoice} t={texts} />
            </div>
          </div>
        );
      }}
    </Answer>
  );
}

function GoLive({ t }: { t: T }): ReactNode {
  return (
    <>
      <Head title={t('liveTitle')} note={t('liveNote')} />
      <a className="button filled large" href={href('first', 'live')}>
        {t('goLive')}
      </a>
      <p className="quiet">{t('liveOr')}</p>
    </>
  );
}
