/** Moving to a new tank, because a token blocks the address of the one of now; and what former tanks still hold. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useConnection, useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Coin, Hash, Problem, shortName } from '../../parts/parts.tsx';
import { useTries } from '../../tries.ts';
import { type Desk, useSigning } from './desks.ts';
import { isWrongPassphrase, Passphrase } from './passphrase.tsx';
import TEXTS from './texts.ts';

export function FormerTanks({ desk }: { desk: Desk }): ReactNode {
  const t = useText(TEXTS);
  if (desk.former_tanks.length === 0) return null;
  return (
    <div className="gas-items">
      <h3>{t('formerTanks')}</h3>
      <ul>
        {desk.former_tanks.map(({ address, held }) => (
          <li key={address}>
            <Hash text={address} />
            {held.map(({ crypto, amount, blocked }) => (
              <span className="gas-item" key={crypto}>
                <Coin amount={amount} crypto={shortName(crypto)} />
                <span className={blocked ? 'warn' : 'quiet'}>{t(blocked ? 'left_blocked' : 'formerMoves')}</span>
              </span>
            ))}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The passphrase signs which tank the wallet collects into; it ends the plan. */
export function NewTank({ desk }: { desk: Desk }): ReactNode {
  const t = useText(TEXTS);
  const { bridge, client, session } = useData();
  const connection = useConnection();
  const sign = useSigning();
  const isReal = desk.network !== 'sandbox';
  const tries = useTries(isReal);
  const [passphrase, setPassphrase] = useState('');
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  if (isReal && !session.approvals) return null;
  async function move(): Promise<void> {
    const { network, account_no: accountNo, chain } = desk;
    const index = desk.tank.index + 1;
    const word = { network, accountNo, chain, feeMax: 0n, until: Date.now(), tank: index };
    const [signed = null] = await sign(passphrase, [word]);
    await bridge.call('gas.tank', { business: `${desk.business_id}`, chain, index, signed });
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setWorking(true);
    setError(null);
    void move()
      .catch((failed: Error) => {
        setError(failed);
        tries.read();
      })
      .then(() => client.invalidateQueries({ queryKey: ['gas.desks'] }))
      .finally(() => {
        setPassphrase('');
        setWorking(false);
      });
  };
  return (
    <details className="gas-items">
      <summary>{t('newTank')}</summary>
      <form className="gas-form" onSubmit={submit}>
        <p>{t('newTankText')}</p>
        {isReal && (
          <Passphrase label={t('passphrase')} value={passphrase} type={setPassphrase} error={error} wait={tries.wait} />
        )}
        {error && !isWrongPassphrase(error) && <Problem error={error} means={t('begunShown')} />}
        <div className="actions">
          <button
            type="submit"
            className="button"
            disabled={working || !connection.up || (isReal && passphrase === '')}
          >
            {t('newTankYes')}
          </button>
        </div>
      </form>
    </details>
  );
}
