/** A business as payers see it, and the coins that it takes. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage } from '../../i18n.ts';
import { Field, Select } from '../../parts/controls.tsx';
import { currencyOf } from '../../parts/currencies.ts';
import { byCoin, CoinName, Problem, Section } from '../../parts/parts.tsx';
import { base64Of } from '../../parts/save.ts';
import { LookPreview } from './look.tsx';
import type { T } from './settings.tsx';

const DEFAULT_ACCENT = '#1c57c8';

type Props = { business: Business; t: T };

export function BusinessForm({ business, t }: Props): ReactNode {
  const { up } = useConnection();
  const change = useChange('business.change', 'business.', 'counter.', 'status');
  const toggle = (crypto: string, on: boolean): void =>
    change.mutate({ business: `${business.id}`, ...(on ? { enable: [crypto] } : { disable: [crypto] }) });
  return (
    <Section title={t('business')} note={`${t('timeZone')}: ${business.time_zone}`}>
      <div className="settings-columns">
        <BrandForm business={business} t={t} />
        <fieldset className="settings-coins">
          <legend>{t('coins')}</legend>
          {[...new Set([...business.cryptos, ...business.possible_cryptos])].sort(byCoin).map((crypto) => (
            <label key={crypto} className="check">
              <input
                type="checkbox"
                checked={business.cryptos.includes(crypto)}
                disabled={!up || change.isPending}
                onChange={(event) => toggle(crypto, event.target.checked)}
              />
              <CoinName crypto={crypto} />
            </label>
          ))}
        </fieldset>
      </div>
      {change.error && <Problem error={change.error} />}
    </Section>
  );
}

type LogoProps = {
  has: boolean;
  chosen: string | null | undefined;
  choose(logo: string | null | undefined): void;
  t: T;
};

/** The picture that payers see: replaced, or taken away, with the next save. */
function Logo({ has, chosen, choose, t }: LogoProps): ReactNode {
  const stays = has && chosen === undefined;
  return (
    <>
      <Field
        label={t('logo')}
        hint={t(stays ? 'logoThere' : 'logoHint')}
        type="file"
        accept="image/png,image/jpeg,image/webp"
        onChange={(event) => void base64Of(event.target.files?.[0]).then(choose)}
      />
      {stays && (
        <button type="button" className="link" onClick={() => choose(null)}>
          {t('logoRemove')}
        </button>
      )}
    </>
  );
}

/** The currency in which the business reckons, by its name in the reader's language. */
function Currency({ value, choose, t }: { value: string; choose(currency: string): void; t: T }): ReactNode {
  const names = new Intl.DisplayNames(useLanguage(), { type: 'currency' });
  const options = Object.keys(FIAT).map((one) => {
    const name = names.of(one) ?? one;
    return [one, name === one ? one : `${one} · ${name}`] as const;
  });
  return (
    <Select<string> label={t('currency')} hint={t('currencyNote')} value={value} options={options} onChange={choose} />
  );
}

/** `step`: an id for a button elsewhere that saves it, and where saving leads. Without it the form has its own button. */
type BrandProps = Props & { step?: { id: string; onSaved(): void } };

/** A business as payers see it. */
export function BrandForm({ business, t, step }: BrandProps): ReactNode {
  const { up } = useConnection();
  const [name, setName] = useState(business.brand.name ?? business.name);
  const [accent, setAccent] = useState(business.brand.accent ?? DEFAULT_ACCENT);
  const [contact, setContact] = useState(business.brand.contact ?? '');
  // undefined: as it is; null: none
  const [logo, setLogo] = useState<string | null | undefined>();
  const [currency, setCurrency] = useState(business.brand.currency ?? currencyOf(navigator.language));
  const brand = useChange('business.brand', 'business.', 'counter.', 'rates.');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const wanted = {
      ...(logo === undefined ? {} : { logo }),
      name: name.trim() || null,
      accent: accent === DEFAULT_ACCENT ? null : accent,
      contact: contact.trim() || null,
      currency,
    };
    brand.mutate({ business: `${business.id}`, ...wanted }, { onSuccess: () => step?.onSaved() });
  };
  return (
    <form className="form" id={step?.id} onSubmit={submit}>
      <Field
        label={t('name')}
        autoFocus={step !== undefined}
        value={name}
        maxLength={60}
        onChange={(event) => setName(event.target.value)}
      />
      <Currency value={currency} choose={setCurrency} t={t} />
      <Field
        label={t('contact')}
        hint={t('contactHint')}
        value={contact}
        maxLength={200}
        onChange={(event) => setContact(event.target.value)}
      />
      <Field
        label={t('accent')}
        hint={t('accentHint')}
        type="color"
        className="settings-colour"
        value={accent}
        onChange={(event) => setAccent(event.target.value)}
      />
      <Logo has={business.brand.logo !== null} chosen={logo} choose={setLogo} t={t} />
      <LookPreview
        look={{ name, accent, contact, logo, has: business.brand.logo !== null }}
        currency={currency}
        t={t}
      />
      {brand.error && <Problem error={brand.error} />}
      {!step && (
        <div className="actions">
          <button type="submit" className="button" disabled={!up || brand.isPending}>
            {t('save')}
          </button>
          <span className="good" role="status">
            {brand.isSuccess && t('saved')}
          </span>
        </div>
      )}
    </form>
  );
}
