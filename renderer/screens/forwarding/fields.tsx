/** The fields of a plan's terms. */
import type { ReactNode } from 'react';
import type { Asset } from '../../../daemon/domain/assets.ts';
import { inGroups } from '../../../daemon/domain/policy.ts';
import { useLanguage } from '../../i18n.ts';
import { Field, Segments, Select } from '../../parts/controls.tsx';
import { typed as shownAs } from '../../parts/format.ts';
import { Reason, shortName } from '../../parts/parts.tsx';
import type { DestinationOrFault } from './destination.ts';
import { feeCoinOf, hasGas, useWords, WEEKDAYS } from './plans.ts';
import { isAmount, isIndex, shareOf, type Typed } from './terms.ts';

type FieldsProps = { asset: Asset; typed: Typed; type(change: Partial<Typed>): void };
type AmountProps = { label: string; value: string; of: Asset; type(text: string): void; hint?: string };

function AmountField({ label, value, of, type, hint }: AmountProps): ReactNode {
  const { t } = useWords();
  const language = useLanguage();
  return (
    <Field
      label={label}
      inputMode="decimal"
      value={shownAs(value, language)}
      onChange={(event) => type(event.target.value.trim().replace(',', '.'))}
      hint={hint}
      error={isAmount(value, of) ? undefined : t('noAmount', { coin: shortName(of.symbol) })}
    />
  );
}

export function WhatFields({ asset, typed, type, coin }: FieldsProps & { coin: ReactNode }): ReactNode {
  const { t } = useWords();
  return (
    <section className="section">
      <h2>{t('what')}</h2>
      <div className="forward-fields">
        {coin}
        <AmountField
          label={t('keep', { coin: shortName(asset.symbol) })}
          value={typed.keep}
          of={asset}
          type={(keep) => type({ keep })}
        />
      </div>
      <p className="quiet">{t('keepHint')}</p>
    </section>
  );
}

/** The extended public key, and the addresses of it that are paid first. */
export function KeyFields({
  typed,
  type,
  found,
}: Pick<FieldsProps, 'typed' | 'type'> & { found: DestinationOrFault }): ReactNode {
  const { t } = useWords();
  const error = found.fault && <Reason error={found.fault} />;
  return (
    <>
      <Field
        label={t('key')}
        className="mono"
        value={typed.address}
        onChange={(event) => type({ address: event.target.value.trim() })}
        hint={t('keyHint')}
        error={error ?? undefined}
      />
      <Field
        label={t('firstIndex')}
        inputMode="numeric"
        value={typed.from}
        onChange={(event) => type({ from: event.target.value.trim() })}
        error={isIndex(typed.from) ? undefined : t('noIndex')}
      />
      {found.next.length > 0 && (
        <>
          <p>{t('compareKey')}</p>
          <ol start={Number(typed.from)}>
            {found.next.map((address) => (
              <li key={address}>
                <code>{inGroups(address).join(' ')}</code>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}

export function TimeFields({ asset, typed, type, timeZone }: FieldsProps & { timeZone: string }): ReactNode {
  const { t, dayName } = useWords();
  const { every } = typed;
  return (
    <section className="section">
      <h2>{t('when')}</h2>
      <Segments<Typed['every']>
        label={t('when')}
        value={every}
        options={[
          ['day', t('day')],
          ['week', t('week')],
          ['reached', t('reached')],
        ]}
        onChange={(chosen) => type({ every: chosen })}
      />
      <div className="forward-fields">
        {every === 'week' && (
          <Select<Typed['weekday']>
            label={t('weekday')}
            value={typed.weekday}
            options={WEEKDAYS.map((day) => [day, dayName(day)] as const)}
            onChange={(weekday) => type({ weekday })}
          />
        )}
        {every !== 'reached' && (
          <Field
            label={t('at', { zone: timeZone })}
            type="time"
            required
            value={typed.at}
            onChange={(event) => type({ at: event.target.value })}
          />
        )}
        <AmountField
          label={t('least', { coin: shortName(asset.symbol) })}
          value={typed.least}
          of={asset}
          type={(least) => type({ least })}
        />
      </div>
      {hasGas(asset) && (
        <label className="check">
          <input type="checkbox" checked={typed.cheap} onChange={(event) => type({ cheap: event.target.checked })} />
          <span>{t('cheap')}</span>
        </label>
      )}
    </section>
  );
}

export function FeeFields({ asset, typed, type }: FieldsProps): ReactNode {
  const { t } = useWords();
  const language = useLanguage();
  const coin = feeCoinOf(asset);
  const isOwn = coin === asset;
  return (
    <section className="section">
      <h2>{t('fees')}</h2>
      <div className="forward-fields">
        {isOwn && (
          <Field
            label={t('share')}
            inputMode="decimal"
            value={shownAs(typed.share, language)}
            onChange={(event) => type({ share: event.target.value.trim().replace(',', '.') })}
            error={typed.share === '' || shareOf(typed.share) !== null ? undefined : t('noShare')}
          />
        )}
        <AmountField
          label={t('feeMax', { coin: coin.symbol })}
          value={typed.feeMax}
          of={coin}
          type={(feeMax) => type({ feeMax })}
        />
        <AmountField
          label={t('feeDay', { coin: coin.symbol })}
          value={typed.feeDay}
          of={coin}
          type={(feeDay) => type({ feeDay })}
        />
      </div>
      <p className="quiet">{isOwn ? t('feeHint') : t('feeTokenHint', { coin: coin.symbol })}</p>
    </section>
  );
}
