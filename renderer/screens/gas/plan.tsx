/** A plan: its terms, what it waits for, and stopping it. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useConnection, useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { Coin, Facts, Problem, State, Told } from '../../parts/parts.tsx';
import { useTries } from '../../tries.ts';
import { type Desk, isOpen, useSigning } from './desks.ts';
import { isWrongPassphrase, Passphrase } from './passphrase.tsx';
import TEXTS from './texts.ts';

type PlanProps = { desk: Desk; plan: NonNullable<Desk['plan']> };

export function Plan({ desk, plan }: PlanProps): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const chain = t(`chain_${desk.chain}`);
  if (!isOpen(desk)) {
    const used = `${plan.used} ${desk.coin}`;
    return <p className="quiet">{t(plan.state === 'done' ? 'lastDone' : 'lastStopped', { chain, used })}</p>;
  }
  const at = (time: string): string => `${times.day(time)}, ${times.clock(time)}`;
  const isLater = Date.parse(plan.begins_at) > Date.now();
  return (
    <section className="gas-plan">
      <h2>{t('planTitle', { chain })}</h2>
      <State shape={plan.problem ? 'warning' : isLater ? 'waiting' : 'seen'} tone={plan.problem ? 'warn' : 'main'}>
        {plan.problem ? (
          <>
            {t('planWaits')} <Told said={plan.problem} />
          </>
        ) : (
          t(isLater ? 'planLater' : 'planRuns')
        )}
      </State>
      {plan.only_needed && <p className="quiet">{t('planNeeded')}</p>}
      <Facts
        rows={[
          [t('planFrom'), at(plan.begins_at)],
          [t('planUntil'), at(plan.ends_at)],
          ...(plan.daily ? [[t('planDaily'), t('planHours', plan.daily)] as [string, string]] : []),
          [t('planMost'), <Coin key="most" amount={plan.fee_max} crypto={desk.coin} whole />],
          [t('planUsed'), <Coin key="used" amount={plan.used} crypto={desk.coin} whole />],
        ]}
      />
      {plan.halted && <Resume desk={desk} />}
      <Stop desk={desk} />
    </section>
  );
}

/** Lets the plan go on after one of its transactions failed. */
function Resume({ desk }: { desk: Desk }): ReactNode {
  const t = useText(TEXTS);
  const { bridge, client } = useData();
  const connection = useConnection();
  const [error, setError] = useState<Error | null>(null);
  const resume = async (): Promise<void> => {
    await bridge
      .call('gas.resume', { business: `${desk.business_id}`, chain: desk.chain })
      .then(() => setError(null), setError);
    await client.invalidateQueries({ queryKey: ['gas.desks'] });
  };
  return (
    <>
      {error && <Problem error={error} means={t('begunShown')} />}
      <button type="button" className="button" disabled={!connection.up} onClick={() => void resume()}>
        {t('resume')}
      </button>
    </>
  );
}

/** Without a passphrase the daemon stops; with it, the wallet's permission ends at once too. */
function Stop({ desk }: { desk: Desk }): ReactNode {
  const t = useText(TEXTS);
  const { bridge, client, session } = useData();
  const connection = useConnection();
  const sign = useSigning();
  const needsPassphrase = desk.network !== 'sandbox' && session.approvals;
  const tries = useTries(needsPassphrase);
  const [asking, setAsking] = useState(false);
  const [passphrase, setPassphrase] = useState('');
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  async function stop(): Promise<void> {
    const { network, account_no: accountNo, chain } = desk;
    const nothing = { network, accountNo, chain, feeMax: 0n, until: Date.now() };
    const [signed = null] = passphrase === '' ? [null] : await sign(passphrase, [nothing]);
    await bridge.call('gas.stop', { business: `${desk.business_id}`, chain, signed });
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setWorking(true);
    setError(null);
    const failed = (error: Error): void => {
      setError(error);
      tries.read();
    };
    void stop()
      .catch(failed)
      .then(() => client.invalidateQueries({ queryKey: ['gas.desks'] }))
      .finally(() => {
        setPassphrase('');
        setWorking(false);
      });
  };
  if (!asking) {
    return (
      <button type="button" className="button" disabled={!connection.up} onClick={() => setAsking(true)}>
        {t('stop')}
      </button>
    );
  }
  return (
    <form className="gas-form" onSubmit={submit}>
      <p>{t('stopSure')}</p>
      {needsPassphrase && (
        <Passphrase
          label={t('stopField')}
          hint={t('stopHint')}
          value={passphrase}
          type={setPassphrase}
          error={error}
          wait={tries.wait}
        />
      )}
      {error && !isWrongPassphrase(error) && <Problem error={error} means={t('begunShown')} />}
      <div className="actions">
        <button type="submit" className="button" disabled={working || !connection.up}>
          {t('stopYes')}
        </button>
        <button type="button" className="link" onClick={() => setAsking(false)}>
          {t('stopNo')}
        </button>
      </div>
    </form>
  );
}
