/** The amount, as large as it deserves. */
import type { ReactNode } from 'react';
import type { ReviewView, Sum } from '../../../daemon/operator/view.ts';
import { useText } from '../../i18n.ts';
import { Coin, Fiat } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

const LABEL = { payment: 'youSend', cancellation: 'youKeep', self: 'toYourself' } as const;

/** The sum that the recipients get; of a transaction that pays nobody, the sum that comes back. */
export const headlineSum = ({ kind, paid, back, leaves }: ReviewView): Sum =>
  kind === 'payment' ? paid : (back ?? leaves);

export function Headline({ view }: { view: ReviewView }): ReactNode {
  const t = useText(TEXTS);
  const sum = headlineSum(view);
  return (
    <section className="section headline">
      <p className="quiet">{t(LABEL[view.kind])}</p>
      <p className="headline-sum">
        <Coin amount={sum.text} crypto={sum.asset} whole />
      </p>
      <p className="headline-worth">
        {sum.usd !== null && <Fiat amount={sum.usd} currency="USD" />}{' '}
        {view.usdRate !== null && (
          <span className="quiet">{t('atRate', { rate: `$${view.usdRate}`, crypto: sum.asset })}</span>
        )}
      </p>
      {view.payments.some(({ upTo }) => upTo) && (
        <p className="warn">{t('upTo', { most: view.payments[0]!.allowed.text })}</p>
      )}
    </section>
  );
}
