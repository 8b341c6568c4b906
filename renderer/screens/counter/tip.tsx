/** The tip on a sale: a separate figure. */
import { type ReactNode, useState } from 'react';
import { useLanguage } from '../../i18n.ts';
import { Segments } from '../../parts/controls.tsx';
import { fiat } from '../../parts/format.ts';
import { amountOf, asksTips, TIPS, type Tip, tipOn } from './amount.ts';
import type { T } from './counter.tsx';

/** `sum`: in the currency's smallest unit. */
export function useTip(sum: bigint, currency: string, decimals: number, t: T): { tip: bigint; field: ReactNode } {
  const language = useLanguage();
  const [percent, setPercent] = useState<Tip>('0');
  const tip = asksTips() ? BigInt(tipOn(`${sum}`, percent) || '0') : 0n;
  const field = asksTips() && (
    <div className="till-tip">
      <Segments<Tip>
        label={t('tip')}
        value={percent}
        options={TIPS.map((one) => [one, one === '0' ? t('noTip') : t('tipPercent', { percent: one })] as const)}
        onChange={setPercent}
      />
      <span aria-live="polite">
        {tip > 0n && t('tipOf', { amount: fiat(amountOf(`${tip}`, decimals), currency, language) })}
      </span>
    </div>
  );
  return { tip, field };
}
