/** In the sandbox: whether its withdrawals ask like real ones, and an address to practise with. */
import type { ReactNode } from 'react';
import { findAsset } from '../../../daemon/domain/assets.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { Problem } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

/** `asks`: whether withdrawals wait for an approval. */
type PracticeProps = { business: Business; asks: boolean; crypto: string; choose(address: string): void };

export function Practice({ business, asks, crypto, choose }: PracticeProps): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const set = useChange('policy.set', 'policy.');
  const chain = findAsset(crypto)?.chain ?? null;
  const place = { business: `${business.id}`, limit: 1, ...(chain ? { chain } : {}) };
  const own = useCall('address.list', place, { enabled: chain !== null }).data?.addresses[0];
  return (
    <div className="practice">
      <label className="check">
        <input
          type="checkbox"
          checked={set.isPending ? set.variables?.mode === 'manual' : asks}
          disabled={!up}
          onChange={({ target }) =>
            set.mutate({ business: `${business.id}`, mode: target.checked ? 'manual' : 'automatic', grants: [] })
          }
        />
        <span>{t('practiceAsk')}</span>
      </label>
      {own && (
        <p>
          <button type="button" className="link" onClick={() => choose(own.address)}>
            {t('practiceAddress')}
          </button>{' '}
          <span className="quiet">{t('practiceNote')}</span>
        </p>
      )}
      {set.error && <Problem error={set.error} />}
    </div>
  );
}
