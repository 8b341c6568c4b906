/** The loudest alarm that there is: a server shows payers an address that is not of this computer's keys. */
import { type ReactNode, useState } from 'react';
import type { Foreign as Seen, Alarm as Standing } from '../../../daemon/contract/signing-machine.ts';
import { cellsOf } from '../../../daemon/operator/address.ts';
import { useDesk } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { ShapeIcon } from '../../parts/icons.tsx';
import { coinName, Problem } from '../../parts/parts.tsx';
import { pageOf } from '../../place.ts';
import '../withdrawals/approve.css';
import { Cells } from '../withdrawals/recipient.tsx';
import { find, take, useServers } from './known.ts';
import { Money } from './money.tsx';
import { usePassphrase } from './passphrase.ts';
import TEXTS from './texts.ts';

const STEPS = [
  ['switchOff', 'switchOffText'],
  ['warn', 'warnText'],
  ['newServer', 'newServerText'],
] as const;
/** More are counted. */
const SHOWN_MAX = 5;

/** The address of a step of the guide. */
export const guideAt = (name: string, step: string): string =>
  pageOf(null, `servers/alarm/${encodeURIComponent(name)}/guide/${step}`);

/** Fills the width. Nothing else may look like it. */
export function AlarmHead({ name, alarm: { seen } }: { name: string; alarm: Standing }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  return (
    <div className="desk-alarm-head" role="alert">
      <ShapeIcon shape="failed" size={36} />
      <div>
        <h1>{t('alarmTitle', { server: name })}</h1>
        <p>{t('alarmText')}</p>
      </div>
      {seen[0] && <p>{t('found', { time: times.full(seen[0].at) })}</p>}
    </div>
  );
}

export function Alarm({ name }: { name: string }): ReactNode {
  const t = useText(TEXTS);
  const server = find(useServers(), name);
  if (!server) return null;
  const { alarm } = server;
  if (!alarm) {
    return (
      <main className="desk-page" id="content" tabIndex={-1}>
        <p role="status">{t('alarmOver', { server: name })}</p>
      </main>
    );
  }
  const { seen, more } = alarm;
  const hidden = more + Math.max(0, seen.length - SHOWN_MAX);
  return (
    <>
      <AlarmHead name={name} alarm={alarm} />
      <main className="desk-page" id="content" tabIndex={-1}>
        <div>
          <h2>{t('sawTitle')}</h2>
          {seen.length === 0 && <p>{t('alarmDamaged')}</p>}
          {seen.slice(0, SHOWN_MAX).map((one) => (
            <One key={JSON.stringify(one)} seen={one} />
          ))}
          {hidden > 0 && <p>{t('more', { n: hidden })}</p>}
          <Money name={name} alarm={alarm} />
        </div>
        <aside className="desk-aside">
          <h2>{t('doNow')}</h2>
          <ol className="desk-steps">
            {STEPS.map(([title, text]) => (
              <li key={title}>
                <div>
                  <strong>{t(title)}</strong>
                  <p>{t(text)}</p>
                </div>
              </li>
            ))}
          </ol>
          <a className="button filled large" href={guideAt(name, 'off')}>
            {t('guideMe')}
          </a>
          <button type="button" className="button" onClick={() => print()}>
            {t('printSteps')}
          </button>
          <SignAgain name={name} shown={seen.length + more} />
        </aside>
      </main>
    </>
  );
}

function One({ seen: { where, invoice, chain, own, shown, account_no, index } }: { seen: Seen }): ReactNode {
  const t = useText(TEXTS);
  const { prefix, cells } = cellsOf(shown, own);
  return (
    <section className="section">
      <p>
        {t(`where_${where}`, { invoice: invoice ?? '–' })} {coinName(chain)}
      </p>
      <p>
        <strong>{t('upperLine')}</strong>{' '}
        {own === null ? t('noAccount', { n: account_no }) : t('lowerLine', { n: index })}
      </p>
      <Cells prefix={prefix} cells={cells} compared={own !== null} kind="lookalike" />
    </section>
  );
}

/** A small link: nobody shall press it to be rid of the red. */
function SignAgain({ name, shown }: SignProps): ReactNode {
  const t = useText(TEXTS);
  const [asking, setAsking] = useState(false);
  if (!asking) {
    return (
      <p className="quiet">
        {t('harmless')}{' '}
        <button type="button" className="link" onClick={() => setAsking(true)}>
          {t('signAgain')}
        </button>
      </p>
    );
  }
  return (
    <>
      <p>{t('harmlessSure')}</p>
      <SignForm name={name} shown={shown} />
    </>
  );
}

/** `shown`: how many foreign addresses the page told of. */
type SignProps = { name: string; shown: number };

/** Has this computer sign for a server again. */
export function SignForm({ name, shown }: SignProps): ReactNode {
  const t = useText(TEXTS);
  const { desktop } = useDesk();
  const work = (typed: string) => desktop.signAgain({ server: name, passphrase: typed, shown });
  const { passphrase, setPassphrase, error, busy, submit } = usePassphrase(work, take);
  return (
    <form className="form" onSubmit={submit}>
      <Field
        label={t('passphrase')}
        type="password"
        value={passphrase}
        onChange={(event) => setPassphrase(event.target.value)}
      />
      {error && <Problem error={error} />}
      <button type="submit" className="button" disabled={busy || passphrase === ''}>
        {t('signAgain')}
      </button>
    </form>
  );
}
