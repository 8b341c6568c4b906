/** The amount, as large as it deserves. */
import type { CSSProperties, ReactNode } from 'react';
import type { ReviewView, Sum } from '../../../daemon/operator/view.ts';
import { useLanguage, useText } from '../../i18n.ts';
import { fiat, splitZeros } from '../../parts/format.ts';
import { chainName } from '../../parts/names.ts';
import { Coin, Fiat, networkOf, shortName, useCoinText } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

const LABEL = { payment: 'youSend', cancellation: 'youKeep', self: 'toYourself' } as const;

/** The sum that the recipients get; of a transaction that pays nobody, the sum that comes back. */
export const headlineSum = ({ kind, paid, back, leaves }: ReviewView): Sum =>
  kind === 'payment' ? paid : (back ?? leaves);

/** An amount on one line, with every decimal; a token with its network. */
export function BigSum({
  amount,
  crypto,
  small = false,
}: {
  amount: string;
  crypto: string;
  small?: boolean;
}): ReactNode {
  const t = useText(TEXTS);
  const { digits, zeros } = splitZeros(amount, useLanguage(), true);
  const letters = `${digits}${zeros} ${shortName(crypto)}`.length;
  const network = networkOf(crypto);
  return (
    <>
      <p className={small ? 'headline-sum small' : 'headline-sum'} style={{ '--letters': letters } as CSSProperties}>
        <Coin amount={amount} crypto={crypto} whole />
      </p>
      {network && <p className="headline-network">{t('onNetwork', { network: chainName(network) })}</p>}
    </>
  );
}

export function Headline({ view }: { view: ReviewView }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const coinText = useCoinText();
  const sum = headlineSum(view);
  const upTo = view.payments.find((one) => one.upTo);
  return (
    <section className="section headline">
      <p className="quiet">{t(LABEL[view.kind])}</p>
      <BigSum amount={sum.text} crypto={sum.asset} />
      <p className="headline-worth">
        {sum.worth !== null && (
          <>
            {t('about')} <Fiat amount={sum.worth} currency={view.currency} />
          </>
        )}{' '}
        {view.rate !== null && (
          <span className="quiet">
            {t('atRate', { rate: fiat(view.rate, view.currency, language), crypto: shortName(sum.asset) })}
          </span>
        )}
      </p>
      {upTo && <p className="warn">{t('upTo', { most: coinText(upTo.allowed.text, upTo.allowed.asset) })}</p>}
    </section>
  );
}
