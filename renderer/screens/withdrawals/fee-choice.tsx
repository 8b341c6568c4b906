/** How soon, and what it costs. */
import { type ReactNode, useId } from 'react';
import type { Speed } from '../../../daemon/domain/withdrawal.ts';
import type { ReviewView, Sum } from '../../../daemon/operator/view.ts';
import { useText } from '../../i18n.ts';
import { Coin, Fiat } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

const MINUTES_MAX = 90;

type FeeChoiceProps = { view: ReviewView; speed: Speed; choose(speed: Speed): void; busy: boolean; crypto: string };

export function FeeChoice({ view, speed, choose, busy, crypto }: FeeChoiceProps): ReactNode {
  const t = useText(TEXTS);
  const name = useId();
  const wait = (minutes: number): string =>
    minutes <= MINUTES_MAX ? t('aboutMinutes', { n: minutes }) : t('aboutHours', { n: Math.round(minutes / 60) });
  return (
    <section className="section">
      <header className="section-head">
        <h2>{t('networkFee')}</h2>
        <span className="quiet">{t('feeNote')}</span>
      </header>
      <fieldset className="choices speeds" aria-busy={busy}>
        <legend className="unseen">{t('networkFee')}</legend>
        {view.speeds.map(({ speed: one, minutes, fee }) => (
          <label key={one} className={one === speed ? 'choice speed chosen' : 'choice speed'}>
            <input type="radio" name={name} checked={one === speed} onChange={() => choose(one)} />
            <strong>{t(`speed_${one}`)}</strong>
            <span className="speed-wait">{wait(minutes)}</span>
            <span className="speed-coin">
              <Coin amount={one === speed ? view.fee.text : fee.text} crypto={crypto} whole />
            </span>
            <strong className="speed-fiat">
              <FeeWorth of={one === speed ? view.fee : fee} currency={view.currency} />
            </strong>
          </label>
        ))}
      </fieldset>
    </section>
  );
}

const FeeWorth = ({ of, currency }: { of: Sum; currency: string }): ReactNode =>
  of.worth !== null && <Fiat amount={of.worth} currency={currency} />;
