/** The outcome of an approval, and its meaning for the money. */
import { type ReactNode, useState } from 'react';
import type { ReviewView } from '../../../daemon/operator/view.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useConnection } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Hash, Notice, Told, useCoinText } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import type { Task } from './approve.tsx';
import { headlineSum } from './headline.tsx';
import { KeptApproval } from './kept.tsx';
import { isWaiting } from './state.tsx';
import TEXTS from './texts.ts';

type End = { type: 'approved'; result: Result<'withdrawal.approve'> } | { type: 'unknown' };
const LOOK_MS = 2_000;

export function Outcome({ task, view, ended }: { task: Task; view: ReviewView; ended: End }): ReactNode {
  const id = 'id' in task ? task.id : (task.ids[0] ?? '');
  const found = useCall('withdrawal.show', { id }, { every: LOOK_MS });
  const [shownAt] = useState(Date.now);
  const one = found.data?.withdrawal ?? null;
  // an answer from before the approval says nothing of it
  const isFresh = found.dataUpdatedAt > shownAt && !found.error;
  return (
    <aside className="panel decision" aria-live="polite">
      {ended.type === 'unknown' ? (
        <Unknown id={id} task={task} view={view} one={one} isFresh={isFresh} />
      ) : (
        <Approved task={task} view={view} id={id} one={one} outcome={ended.result.outcome} />
      )}
    </aside>
  );
}

type One = Result<'withdrawal.show'>['withdrawal'] | null;
type OutcomeJson = Result<'withdrawal.approve'>['outcome'];

type ApprovedProps = { task: Task; view: ReviewView; id: string; one: One; outcome: OutcomeJson };

function Approved({ task, view, id, one, outcome }: ApprovedProps): ReactNode {
  const t = useText(TEXTS);
  const problem = outcome?.problem ?? one?.problem;
  const outside = problem?.code === 'wait.outside';
  // a cancellation that is sped up, too; of a batch, it pays the others
  const cancels = view.kind !== 'payment' || (one?.canceling ?? false);
  const isDone = one?.state === 'completed';
  const isSent = outcome?.sent || one?.state === 'broadcast' || isDone;
  if (isSent) {
    return (
      <>
        <Notice tone="good" title={t(cancels ? 'cancelSent' : isDone ? 'isPaid' : 'isSent')}>
          {t(isDone ? 'isConfirmed' : cancels ? 'cancelCertain' : 'waitsForBlock')}
        </Notice>
        {one?.tx_id && <Hash text={one.tx_id} />}
        <Back id={id} task={task} />
      </>
    );
  }
  return (
    <>
      <Notice
        tone={problem && !outside ? 'warn' : 'main'}
        title={t(outside ? 'outsideState' : problem ? 'approvedWaits' : 'approvedNow')}
      >
        {problem ? <Told said={problem} /> : t('beingSigned')}
      </Notice>
      <Back id={id} task={task} />
    </>
  );
}

type UnknownProps = { id: string; task: Task; view: ReviewView; one: One; isFresh: boolean };

/** The service ended in the middle: the answer is missing, and the truth is read as soon as it answers again. */
function Unknown({ id, task, view, one, isFresh }: UnknownProps): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  const amount = useCoinText()(headlineSum(view).text, view.takes.asset);
  if (connection.up && isFresh && one) {
    // the withdrawal was sent before: its state does not say whether it was replaced
    if (task.kind !== 'pay' && task.kind !== 'batch') {
      return (
        <>
          <Notice tone="warn" title={t('backTitle')}>
            {t('backText')}
          </Notice>
          <Back id={id} task={task} />
        </>
      );
    }
    const arrived = !isWaiting(one);
    return (
      <>
        <Notice tone={arrived ? 'good' : 'warn'} title={t(arrived ? 'didArrive' : 'didNotArrive')}>
          {t(arrived ? 'didArriveText' : 'didNotArriveText')}
        </Notice>
        {!arrived && <KeptApproval />}
        <Back id={id} />
      </>
    );
  }
  return (
    <Notice tone="bad" title={t('stoppedTitle')}>
      <p>{t('stoppedText')}</p>
      <p>{t('stoppedMoney', { amount })}</p>
      <p>{t('stoppedDo')}</p>
    </Notice>
  );
}

function Back({ id, task }: { id: string; task?: Task }): ReactNode {
  const t = useText(TEXTS);
  const to = task?.kind === 'batch' ? href('withdrawals') : href('withdrawals', id);
  return (
    <a className="button large" href={to}>
      {task?.kind === 'batch' ? t('title') : t('toWithdrawal', { id })}
    </a>
  );
}
