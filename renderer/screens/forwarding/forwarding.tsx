/** Plans that send the takings on: what each does next, and what was sent. They are made and changed in `editor.tsx`. */
import { lazy, type ReactNode } from 'react';
import { useCall, useChange, useConnection, useData } from '../../data.tsx';
import { type Business, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { Sure } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import {
  Answer,
  Coin,
  CoinMark,
  CoinName,
  coinName,
  Empty,
  Foreign,
  Hash,
  Head,
  Problem,
  Section,
  State,
  Told,
} from '../../parts/parts.tsx';
import { href, useHashRoute } from '../../router.ts';
import { WithdrawalState } from '../withdrawals/state.tsx';
import { ListTabs } from '../withdrawals/tabs.tsx';
import { coinsOf, isCalmWait, type Plan, usePlans, usePreview, useWords } from './plans.ts';
import './forwarding.css';

const Editor = lazy(() => import('./editor.tsx'));

const RUNS_SHOWN = 6;
const RUNS_READ = 100;

export default function Forwarding(): ReactNode {
  const { parts } = useHashRoute();
  const business = useBusiness();
  const [, name = ''] = parts;
  if (!business) return null;
  return name === '' ? <Plans business={business} /> : <Editor key={`${business.id} ${name}`} name={name} />;
}

function Plans({ business }: { business: Business }): ReactNode {
  const { t } = useWords();
  const plans = usePlans(business);
  const add = (
    <a className="button filled" href={href('withdrawals', 'forwarding', 'new')}>
      <Icon name="plus" /> {t('new')}
    </a>
  );
  const isAll = plans.data && plans.data.plans.length >= coinsOf(business).length;
  return (
    <Page title={t('title')} actions={!isAll && add}>
      <ListTabs business={business} value="forwarding" />
      <Answer of={plans}>
        {({ plans: all }) =>
          all.length === 0 ? (
            <Empty title={t('emptyTitle')} action={add}>
              {t('emptyText')}
            </Empty>
          ) : (
            <>
              <p className="forward-intro">{t('intro')}</p>
              <table className="table forward-table">
                <Head columns={[t('plan'), t('to'), t('next'), [t('do'), 'row-end']]} />
                <tbody>
                  {all.map((plan) => (
                    <Row key={plan.crypto} plan={plan} />
                  ))}
                </tbody>
              </table>
            </>
          )
        }
      </Answer>
      <Runs business={business} />
    </Page>
  );
}

function Row({ plan }: { plan: Plan }): ReactNode {
  const { t, rule } = useWords();
  return (
    <tr>
      <td>
        <strong>
          <CoinName crypto={plan.crypto} />
        </strong>
        <p className="quiet">{rule(plan)}</p>
      </td>
      <td>
        <Named plan={plan} />
        <Hash text={plan.next_address ?? plan.address} />
      </td>
      <td>
        <Next plan={plan} />
      </td>
      <td className="row-end">
        <a className="button" href={href('withdrawals', 'forwarding', plan.crypto)}>
          {t('change')}
          <span className="unseen"> {coinName(plan.crypto)}</span>
        </a>
      </td>
    </tr>
  );
}

/** The name of a plan's destination: in the address book, or the number of the next address of an extended public key. */
function Named({ plan: { label, next_index } }: { plan: Plan }): ReactNode {
  const { t } = useWords();
  if (next_index !== null) return <p>{t('nextOf', { n: `${next_index}` })}</p>;
  return <p className={label === null ? 'warn' : ''}>{label === null ? t('gone') : <Foreign text={label} />}</p>;
}

/** The next run of a plan, or why it cannot run, and the ways to leave it out or to have it now. */
function Next({ plan }: { plan: Plan }): ReactNode {
  const { t, coinText, moment } = useWords();
  const { session } = useData();
  const connection = useConnection();
  const preview = usePreview(plan).data;
  const skip = useChange('forwarding.skip', 'forwarding.');
  const send = useChange('forwarding.send', 'forwarding.', 'withdrawal.', 'business.');
  const ref = { business: `${plan.business_id}`, crypto: plan.crypto };
  if (plan.withdrawal !== null) {
    return (
      <>
        <State shape="seen" tone="main">
          {t('underWay')}
        </State>
        <p>
          <a href={href('withdrawals', `${plan.withdrawal}`)}>{t('seeIt', { id: `${plan.withdrawal}` })}</a>
        </p>
      </>
    );
  }
  const problem = plan.problem ?? preview?.problem ?? null;
  const isCalm = isCalmWait(problem);
  const amount = preview?.amount ?? null;
  const fee = preview?.fee ?? null;
  const sum = amount === null ? '' : coinText(amount, plan.crypto);
  return (
    <>
      <State shape={problem && !isCalm ? 'warning' : 'waiting'} tone={problem && !isCalm ? 'warn' : 'quiet'}>
        {plan.next_at === null ? t('whenReached') : moment(plan.next_at)}
      </State>
      {problem ? (
        <p className={isCalm ? 'quiet' : 'warn'}>
          {t(isCalm ? 'waits' : 'cannot')} <Told said={problem} />
        </p>
      ) : (
        preview && (
          <p className="quiet">
            {fee === null ? t('nothingNow') : t('wouldSend', { amount: sum, fee: coinText(fee, preview.fee_crypto) })}
          </p>
        )
      )}
      {(skip.error ?? send.error) && <Problem error={(skip.error ?? send.error)!} />}
      <p className="forward-does">
        {plan.next_at !== null && (
          <button
            type="button"
            className="link"
            aria-label={t('skipLabel', { coin: coinName(plan.crypto) })}
            disabled={!connection.up || skip.isPending}
            onClick={() => skip.mutate(ref)}
          >
            {t('skip')}
          </button>
        )}
        {amount !== null && session.approvals && (
          <Sure
            label={t('sendNow')}
            question={t('sendSure', { amount: sum, to: plan.label ?? plan.next_address ?? plan.address })}
            yes={t('sendYes')}
            disabled={!connection.up || send.isPending}
            onYes={() => send.mutate(ref)}
          />
        )}
      </p>
    </>
  );
}

/** The newest payments of the plans. */
function Runs({ business }: { business: Business }): ReactNode {
  const { t } = useWords();
  const times = useTimes();
  const page = useCall('withdrawal.list', { business: `${business.id}`, limit: RUNS_READ }).data;
  const runs = page?.withdrawals.filter(({ origin }) => origin === 'forward').slice(0, RUNS_SHOWN) ?? [];
  if (runs.length === 0) return null;
  return (
    <Section title={t('runs')} side={<a href={`${href('withdrawals')}?tab=all`}>{t('allRuns')}</a>}>
      <table className="table">
        <tbody>
          {runs.map((one) => (
            <tr key={one.id}>
              <td className="quiet">
                <a href={href('withdrawals', `${one.id}`)}>{times.short(one.created_at)}</a>
              </td>
              <td>
                <WithdrawalState of={one} />
              </td>
              <td className="number">
                <CoinMark crypto={one.crypto} />
                <Coin amount={one.amount} crypto={one.crypto} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
