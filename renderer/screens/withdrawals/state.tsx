/** The state of a withdrawal as shape and word. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useText } from '../../i18n.ts';
import type { Shape } from '../../parts/icons.tsx';
import { State, type Tone } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

type Withdrawal = Result<'withdrawal.list'>['withdrawals'][number];

/** Whether the operator must decide. An approved one that cannot be signed, because its fee rose, counts too. */
export const isWaiting = ({ state, problem, tx_id }: Pick<Withdrawal, 'state' | 'problem' | 'tx_id'>): boolean =>
  state === 'requested' ||
  (state === 'approved' && problem !== null && tx_id === null && !isOutside({ state, problem }));

/** Whether the wallet that has the keys must sign it. */
export const isOutside = ({ state, problem }: Pick<Withdrawal, 'state' | 'problem'>): boolean =>
  state !== 'requested' && problem?.code === 'wait.outside';

const LOOKS: Record<Withdrawal['state'], [Shape, Tone]> = {
  requested: ['approve', 'main'],
  approved: ['waiting', 'quiet'],
  signed: ['waiting', 'quiet'],
  broadcast: ['seen', 'main'],
  completed: ['done', 'good'],
  rejected: ['ended', 'quiet'],
  failed: ['failed', 'bad'],
};

export function WithdrawalState({ of }: { of: Withdrawal }): ReactNode {
  const t = useText(TEXTS);
  const [shape, tone] = isWaiting(of) ? LOOKS.requested : LOOKS[of.state];
  if (of.canceling) {
    return (
      <State shape="waiting" tone="warn">
        {t('canceling')}
      </State>
    );
  }
  if (isOutside(of)) {
    return (
      <State shape="approve" tone="main">
        {t('outsideState')}
      </State>
    );
  }
  return (
    <State shape={shape} tone={tone}>
      {t(isWaiting(of) ? 'requested' : of.state)}
    </State>
  );
}
