/** Home's rows of what the plans will send next. */
import type { ReactNode } from 'react';
import { useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { ShapeIcon } from '../../parts/icons.tsx';
import { Foreign, Section, Told } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { isCalmWait, type Plan, usePlans, usePreview, useWords } from './plans.ts';
import './forwarding.css';

/** Shows nothing where nothing is forwarded. */
export default function SentNext({ business }: { business: Business }): ReactNode {
  const { t } = useWords();
  const plans = usePlans(business).data?.plans ?? [];
  if (plans.length === 0) return null;
  return (
    <Section
      title={t('homeTitle')}
      note={t('homeNote')}
      side={<a href={href('withdrawals', 'forwarding')}>{t('allPlans')}</a>}
    >
      <ul className="forward-next">
        {plans.map((plan) => (
          <Row key={plan.crypto} plan={plan} />
        ))}
      </ul>
    </Section>
  );
}

function Row({ plan }: { plan: Plan }): ReactNode {
  const { t, coinText, moment, share } = useWords();
  const connection = useConnection();
  const preview = usePreview(plan).data;
  const skip = useChange('forwarding.skip', 'forwarding.');
  const { crypto, withdrawal, next_at } = plan;
  const problem = plan.problem ?? preview?.problem ?? null;
  const isCalm = isCalmWait(problem);
  const kept = preview ? coinText(preview.kept, crypto) : '';
  const name = plan.label ?? plan.next_address ?? plan.address;
  return (
    <li>
      <span className={`state ${problem && !isCalm ? 'warn' : 'quiet'}`}>
        <ShapeIcon shape={problem && !isCalm ? 'warning' : withdrawal === null ? 'waiting' : 'seen'} size={20} />
      </span>
      <strong>{withdrawal !== null ? t('underWay') : next_at === null ? t('whenReached') : moment(next_at)}</strong>
      <span>
        {problem ? (
          <>
            {t(isCalm ? 'waits' : 'cannot')} <Told said={problem} />
          </>
        ) : withdrawal !== null ? (
          <a href={href('withdrawals', `${withdrawal}`)}>{t('seeIt', { id: `${withdrawal}` })}</a>
        ) : preview?.amount ? (
          <Foreign text={t('homeRow', { amount: coinText(preview.amount, crypto), name })} />
        ) : (
          `${crypto}: ${t('nothingNow')}`
        )}
      </span>
      <span className="quiet">
        {preview?.amount && !problem && withdrawal === null
          ? preview.fee_share === null
            ? t('homeKept', { kept })
            : t('homeFee', { share: share(preview.fee_share), kept })
          : ''}
      </span>
      {next_at !== null && withdrawal === null && (
        <button
          type="button"
          className="link"
          aria-label={t('skipLabel', { coin: crypto })}
          disabled={!connection.up || skip.isPending}
          onClick={() => skip.mutate({ business: `${plan.business_id}`, crypto })}
        >
          {t('skip')}
        </button>
      )}
    </li>
  );
}
