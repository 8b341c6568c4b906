/** Ends a plan, and takes the grant back from the wallet. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Asset } from '../../../daemon/domain/assets.ts';
import { useConnection, useData } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { Problem } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import { useTries } from '../../tries.ts';
import { isWrongPassphrase, Passphrase } from '../gas/passphrase.tsx';
import { type Plan, useSigning, useWords } from './plans.ts';

export function End({ business, asset, plan }: { business: Business; asset: Asset; plan: Plan }): ReactNode {
  const { t } = useWords();
  const { bridge, client, session } = useData();
  const connection = useConnection();
  const sign = useSigning();
  const isReal = business.network !== 'sandbox';
  const tries = useTries(isReal);
  const [asking, setAsking] = useState(false);
  const [passphrase, setPassphrase] = useState('');
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  // the wallet takes nothing back without the passphrase
  if (isReal && !session.approvals) return null;
  async function end(): Promise<void> {
    const nothing = { address: plan.address, feeShare: null, feeMax: null, feeDay: '0' };
    const signed = await sign(passphrase, { business, asset }, nothing);
    await bridge.call('forwarding.end', { business: `${business.id}`, crypto: asset.symbol, signed });
    await client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('forwarding.') });
    go(href('withdrawals', 'forwarding'));
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setWorking(true);
    setError(null);
    void end()
      .catch((failed: Error) => {
        setError(failed);
        tries.read();
      })
      .finally(() => {
        setPassphrase('');
        setWorking(false);
      });
  };
  if (!asking) {
    return (
      <section className="section">
        <button type="button" className="button" disabled={!connection.up} onClick={() => setAsking(true)}>
          {t('end')}
        </button>
      </section>
    );
  }
  return (
    <section className="section">
      <form className="form" onSubmit={submit}>
        <p>{t('endSure')}</p>
        {isReal && (
          <Passphrase label={t('passphrase')} value={passphrase} type={setPassphrase} error={error} wait={tries.wait} />
        )}
        {error && !isWrongPassphrase(error) && <Problem error={error} means={t('endMeans')} />}
        <div className="actions">
          <button
            type="submit"
            className="button"
            disabled={working || !connection.up || (isReal && passphrase === '') || tries.wait > 0}
          >
            {t('endYes')}
          </button>
          <button type="button" className="link" onClick={() => setAsking(false)}>
            {t('endNo')}
          </button>
        </div>
      </form>
    </section>
  );
}
