/** How far a refund is, named by what happened: nothing is sent back before its transaction has a confirmation. */
import type { ReactNode } from 'react';
import type { WithdrawalState } from '../../daemon/domain/withdrawal.ts';
import { useText } from '../i18n.ts';
import type { Shape } from './icons.tsx';
import { State, type Tone } from './parts.tsx';
import TEXTS from './texts.ts';

export const REFUND_LOOKS: Record<WithdrawalState, [Shape, Tone]> = {
  requested: ['approve', 'main'],
  approved: ['waiting', 'quiet'],
  signed: ['waiting', 'quiet'],
  broadcast: ['seen', 'main'],
  completed: ['done', 'good'],
  rejected: ['ended', 'quiet'],
  failed: ['failed', 'bad'],
};

export function RefundState({ state }: { state: WithdrawalState }): ReactNode {
  const t = useText(TEXTS);
  const [shape, tone] = REFUND_LOOKS[state];
  return (
    <State shape={shape} tone={tone}>
      {t(`refund_${state}`)}
    </State>
  );
}
