/** Where a sale's code would be: why there is none, and what the till can do. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useNow } from '../../frame/page.tsx';
import { shortName } from '../../parts/parts.tsx';
import type { Shop, T } from './counter.tsx';

type Props = { data: Result<'counter.sale'>; shop: Shop; failed: boolean; short: boolean; t: T };

export function NoCode({ data, shop, failed, short, t }: Props): ReactNode {
  const now = useNow();
  if (data.crypto !== null && data.price_until !== null && Date.parse(data.price_until) <= now) {
    return (
      <div className="till-no-code" role="status">
        <p>
          <strong>{t('ended', { coin: shortName(data.crypto) })}</strong>
        </p>
        <p>{t(short ? 'endedShort' : 'endedNote')}</p>
      </div>
    );
  }
  const none = data.crypto === null && !shop.cryptos.some(({ ready }) => ready);
  // why the service refused the address is beside it
  return (
    <p className="till-no-code" role="status">
      {t(none ? 'noCoin' : failed ? 'noAddress' : 'choosing')}
    </p>
  );
}
