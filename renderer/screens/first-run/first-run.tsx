/** The first steps in the sandbox: business, coins, shop, and a payment that arrives while one watches. */
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection, useData } from '../../data.tsx';
import { type Business, nameOf, useBusinesses } from '../../frame/business.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { fiat } from '../../parts/format.ts';
import { ShapeIcon } from '../../parts/icons.tsx';
import { useExample } from '../../parts/money.ts';
import { Answer, Foreign, Notice, Problem } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import { go, href, useHashRoute } from '../../router.ts';
import { button, Code, curl } from '../developers/connect.tsx';
import INVOICES from '../invoices/texts.ts';
import { Timeline } from '../invoices/timeline.tsx';
import { BrandForm } from '../settings/business.tsx';
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
const BRAND = 'brand';

export default function FirstRun(): ReactNode {
  const [live] = useHashRoute().parts;
  return live === 'live' ? <Live /> : <SandboxSteps />;
}

function SandboxSteps(): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const { all } = useBusinesses();
  const [at, setAt] = useState(0);
  const [slug, setSlug] = useState<string | null>(null);
  const invoice = useCall('invoice.show', { invoice: slug ?? '' }, { enabled: slug !== null, every: READ_EVERY_MS });
  const business = all.find(({ network }) => network === 'sandbox') ?? all[0];
  const step = STEPS[at]!;
  const isPaid = invoice.data?.invoice.status === 'paid';
  const next = (): void => setAt(at + 1);
  return (
    <Steps
      title={t('title')}
      names={STEPS.map((name) => t(name))}
      at={at}
      network={business?.network}
      leave={t('skip')}
      foot={
        <>
          {at > 0 && (
            <button type="button" className="link" onClick={() => setAt(at - 1)}>
              {t('back')}
            </button>
          )}
          {step === 'business' && (
            <button type="submit" form={BRAND} className="button filled large" disabled={!up}>
              {t('next')}
            </button>
          )}
          {(step === 'coins' || step === 'connect') && (
            <button type="button" className="button filled large" onClick={next}>
              {t('next')}
            </button>
          )}
          {step === 'payment' && (
            <button type="button" className={isPaid ? 'button filled large' : 'button large'} onClick={next}>
              {t(isPaid ? 'next' : 'skipStep')}
            </button>
          )}
          {step === 'live' && (
            <button type="button" className="button large" onClick={() => go(href('home'))}>
              {t('stay')}
            </button>
          )}
        </>
      }
    >
      {business && step === 'business' && <YourBusiness business={business} onSaved={next} t={t} />}
      {business && step === 'coins' && <Coins business={business} t={t} />}
      {business && step === 'connect' && <Connect business={business} t={t} />}
      {business && step === 'payment' && (
        <Payment business={business} found={slug === null ? null : invoice} onMade={setSlug} t={t} />
      )}
      {business && step === 'live' && <GoLive business={business} t={t} />}
    </Steps>
  );
}

function YourBusiness({ business, onSaved, t }: StepProps & { onSaved(): void }): ReactNode {
  const settings = useText(SETTINGS);
  return (
    <>
      <Head title={t('businessTitle')} note={t('businessNote')} />
      <BrandForm key={business.id} business={business} t={settings} step={{ id: BRAND, onSaved }} />
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
  const example = useExample(business);
  const client = useCall('client.list', { business: `${business.id}` }).data?.clients[0];
  const add = useChange('key.add', 'key.');
  return (
    <>
      <Head title={t('connectTitle')} note={t('connectNote')} />
      <section className="first-part">
        <h3>{t('forServer')}</h3>
        {add.data ? (
          <Notice tone="good" title={t('keyOnce')}>
            <Code text={add.data.key.key} />
            <p>{t('paste', { price: example.text })}</p>
            <Code text={curl(url, add.data.key.key, example)} />
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
      </section>
      {client && (
        <section className="first-part">
          <h3>{t('forPage')}</h3>
          <Code text={button(url, client.client_id, example)} />
        </section>
      )}
    </>
  );
}

type InvoiceQuery = UseQueryResult<Result<'invoice.show'>>;

function Payment({
  business,
  found,
  onMade,
  t,
}: StepProps & { found: InvoiceQuery | null; onMade(slug: string): void }) {
  const { up } = useConnection();
  const make = useChange('invoice.create', 'invoice.');
  const { amount, currency, text } = useExample(business);
  const create = (): void =>
    make.mutate({ business: `${business.id}`, amount, currency }, { onSuccess: ({ invoice }) => onMade(invoice.slug) });
  return (
    <>
      <Head title={t('paymentTitle')} note={t('paymentNote')} />
      {found === null ? (
        <button type="button" className="button filled large" disabled={!up || make.isPending} onClick={create}>
          {t('make', { amount: text })}
        </button>
      ) : (
        <Answer of={found}>
          {({ invoice }) => <Watched key={invoice.slug} invoice={invoice} business={business} onAgain={create} t={t} />}
        </Answer>
      )}
      {make.error && <Problem error={make.error} />}
    </>
  );
}

type WatchedProps = StepProps & { invoice: Result<'invoice.show'>['invoice']; onAgain(): void };

function Watched({ invoice, business, onAgain, t }: WatchedProps): ReactNode {
  const language = useLanguage();
  const texts = useText(INVOICES);
  const { up } = useConnection();
  const { session } = useData();
  const play = useChange('sandbox.play', 'invoice.');
  const crypto = business.cryptos.includes('LTC') ? 'LTC' : (business.cryptos[0] ?? 'BTC');
  const amount = fiat(invoice.amount, invoice.currency, language);
  const paid = invoice.status === 'paid';
  const begun = play.isPending || invoice.credits.length > 0;
  return (
    <div className="first-columns">
      <div className="panel first-customer">
        <p>
          <Foreign text={nameOf(business)} />
        </p>
        <p className="first-amount">{amount}</p>
        {begun ? (
          <p className={`first-seen ${paid ? 'good' : 'main'}`}>
            <ShapeIcon shape={paid ? 'done' : 'seen'} size={72} />
          </p>
        ) : (
          <QrCode text={invoice.invoice_url} label={t('saw')} />
        )}
        {!begun && <p className="quiet">{t('saw')}</p>}
        {session.place === 'browser' && (
          <a href={invoice.invoice_url} target="_blank" rel="noreferrer">
            {t('openPage')}
          </a>
        )}
        {paid ? (
          <button type="button" className="button" disabled={!up} onClick={onAgain}>
            {t('again')}
          </button>
        ) : (
          <button
            type="button"
            className="button filled large"
            disabled={!up || begun}
            onClick={() => play.mutate({ action: 'pay', business: `${business.id}`, invoice: invoice.slug, crypto })}
          >
            {t(begun ? 'wasPaid' : 'payNow')}
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
        {begun && !paid && (
          <Notice tone="main" title={t('onItsWay')}>
            {t('onItsWayNote')}
          </Notice>
        )}
        <Timeline invoice={invoice} t={texts} />
      </div>
    </div>
  );
}

function GoLive({ business, t }: StepProps): ReactNode {
  const { up } = useConnection();
  const ask = useChange('policy.set', 'policy.');
  const practise = (): void => {
    const wanted = { business: `${business.id}`, mode: 'manual' as const, grants: [] };
    ask.mutate(wanted, { onSuccess: () => go(href('withdrawals', 'new')) });
  };
  return (
    <>
      <Head title={t('liveTitle')} note={t('liveNote')} />
      <a className="button filled large" href={href('first', 'live')}>
        {t('goLive')}
      </a>
      <p className="quiet">{t('liveOr')}</p>
      <section className="first-part">
        <h3>{t('practise')}</h3>
        <p>{t('practiseNote')}</p>
        <button type="button" className="button" disabled={!up || ask.isPending} onClick={practise}>
          {t('practiseGo')}
        </button>
        {ask.error && <Problem error={ask.error} />}
      </section>
    </>
  );
}
