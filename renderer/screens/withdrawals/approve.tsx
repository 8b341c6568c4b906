/**
 * The screen on which money is approved. Everything that the approval covers is read from the transaction's own bytes by
 * the operator's client, which runs in this page; the service's statements are named as such.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import type { Speed } from '../../../daemon/domain/withdrawal.ts';
import { differs } from '../../../daemon/operator/reading.ts';
import { ApprovalRequest, type Proposal } from '../../../daemon/operator/request.ts';
import type { OperatorRequest } from '../../../daemon/operator/review.ts';
import type { ReviewView, ShownIn } from '../../../daemon/operator/view.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useData } from '../../data.tsx';
import { NoBusiness, useBusinesses } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { ownCurrency } from '../../parts/money.ts';
import { Coin, Notice, Problem, Said, Told } from '../../parts/parts.tsx';
import { perDollar } from '../../parts/worth.ts';
import { href } from '../../router.ts';
import { Decision } from './decision.tsx';
import { FeeChoice } from './fee-choice.tsx';
import { Headline } from './headline.tsx';
import { Recipient, type Verdict } from './recipient.tsx';
import { isWaiting } from './state.tsx';
import TEXTS from './texts.ts';
import { Transaction } from './transaction.tsx';
import { typedOf } from './typed.ts';
import './approve.css';

export type Task =
  | { kind: 'pay'; id: string }
  | { kind: 'speed-up' | 'cancel'; id: string }
  /** A speed-up that is approved as a first payment is, of what a lost machine signed. */
  | { kind: 'anew'; id: string }
  /** A cancellation of that, which is a payment to ourselves. */
  | { kind: 'reclaim'; id: string }
  | { kind: 'batch'; ids: string[] };

type Proposed = Result<'withdrawal.propose'>;
type ProposalQuery = { proposed: Proposed; request: ApprovalRequest | null };

function proposalOf(task: Task, speed: Speed): Proposal {
  if (task.kind === 'anew') return { kind: 'speed-up', id: task.id, anew: true };
  if (task.kind === 'reclaim') return { kind: 'cancel', id: task.id, anew: true };
  return task.kind === 'pay' ? { ...task, speed } : task;
}

function askedOf(task: Task): OperatorRequest {
  if (task.kind === 'pay') return { kind: 'approve', expected: typedOf(task.id) };
  return task.kind === 'batch' ? { kind: 'batch', count: task.ids.length } : { kind: task.kind };
}

export default function Approve({ task }: { task: Task }): ReactNode {
  const t = useText(TEXTS);
  const { bridge } = useData();
  const { all } = useBusinesses();
  const shownInOf = useShownIn();
  const [speed, setSpeed] = useState<Speed>('normal');
  // read once: what stands here does not change while somebody reads it
  const read = useQuery<ProposalQuery>({
    queryKey: ['approve', task, speed],
    queryFn: async ({ signal }) => {
      const proposal = proposalOf(task, speed);
      const proposed = await bridge.call('withdrawal.propose', proposal, signal);
      const shownIn = await shownInOf(proposed);
      const request = ApprovalRequest.of(bridge.call, proposal, proposed, askedOf(task), Date.now(), shownIn);
      return { proposed, request };
    },
    // the businesses say in which currency
    enabled: all.length > 0,
    placeholderData: keepPreviousData,
    staleTime: 'static', // a restart of the service makes every other answer stale
    gcTime: 0,
  });
  const title = titleOf(task, t);
  const back = { to: task.kind === 'pay' ? href('withdrawals') : backOf(task), name: t('title') };
  const { data } = read;
  const other = useOwnBusiness(data);
  const error = read.error ?? other;
  const isRefused = error !== null && 'code' in error && String(error.code).startsWith('review.');
  return (
    <Page title={title} back={back} note={data && <AskedFor proposed={data.proposed} />}>
      {error ? (
        isRefused ? (
          <Refused text={error.message} />
        ) : (
          <Problem error={error} means={t('nothingMoved')} retry={() => void read.refetch()} />
        )
      ) : data && all.length > 0 ? (
        <Body
          key={speed}
          task={task}
          read={data}
          speed={speed}
          chooseSpeed={setSpeed}
          busy={read.isPlaceholderData}
          again={() => void read.refetch()}
        />
      ) : (
        <NoBusiness rows={8} />
      )}
    </Page>
  );
}

/** The currency of the withdrawal's business, at the rates of its network; dollars where there is none. */
function useShownIn(): (proposed: Proposed) => Promise<ShownIn | undefined> {
  const { bridge } = useData();
  const { all } = useBusinesses();
  return async ({ withdrawals }) => {
    const own = all.find(({ id }) => id === withdrawals[0]?.business_id) ?? null;
    const currency = ownCurrency(own);
    const found = await bridge.call('rates.list', {}).catch(() => null);
    const rate = found && perDollar(found, own?.network, currency);
    return rate === null ? undefined : { currency, perDollar: rate };
  };
}

/** The frame says whose money it is and whether it is real: it must be the withdrawal's business. Why not, if something else would be signed. */
function useOwnBusiness(read: ProposalQuery | undefined): Error | null {
  const { business, all, choose } = useBusinesses();
  const id = read?.proposed.withdrawals[0]?.business_id;
  const isOther = id !== undefined && business !== null && business.id !== id;
  useEffect(() => {
    if (isOther) choose(id);
  }, [isOther, id, choose]);
  const signed = read?.request?.view.decoded;
  if (!signed || all.length === 0) return null;
  const own = all.find((one) => one.id === id);
  if (own?.network === signed.network && own.account_no === signed.accountNo) return null;
  return differs(`it is of account ${signed.accountNo} of ${signed.network}`);
}

const backOf = (task: Task): string => ('id' in task ? href('withdrawals', task.id) : href('withdrawals'));

function titleOf(task: Task, t: ReturnType<typeof useText<keyof (typeof TEXTS)['en']>>): string {
  if (task.kind === 'pay' || task.kind === 'anew') return t('approveTitle', { id: task.id });
  if (task.kind === 'batch') return t('batchTitle', { n: task.ids.length });
  return t(task.kind === 'speed-up' ? 'speedTitle' : 'cancelTitle', { id: task.id });
}

function AskedFor({ proposed }: { proposed: Proposed }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const [one, ...more] = proposed.withdrawals;
  if (!one || more.length > 0) return null;
  return t('askedBy', { by: t(`by_${originOf(one.origin)}`), at: times.short(one.created_at) });
}

const ORIGINS = ['merchant', 'inbox', 'refund', 'forward'] as const;
const originOf = (origin: string): (typeof ORIGINS)[number] | 'operator' =>
  ORIGINS.find((one) => one === origin) ?? 'operator';

/** The service shows something else than what would be signed: a bug, or somebody has taken it over. */
function Refused({ text }: { text: string }): ReactNode {
  const t = useText(TEXTS);
  return (
    <div className="section">
      <Notice tone="bad" title={t('refusedTitle')}>
        <p>
          <Said text={`${text}.`} />
        </p>
        <p>{t('refusedText')}</p>
      </Notice>
    </div>
  );
}

type BodyProps = {
  task: Task;
  read: ProposalQuery;
  speed: Speed;
  chooseSpeed(speed: Speed): void;
  busy: boolean;
  again(): void;
};

function Body({ task, read, speed, chooseSpeed, busy, again }: BodyProps): ReactNode {
  const t = useText(TEXTS);
  const { request, proposed } = read;
  const [verdicts, setVerdicts] = useState<Record<string, Verdict>>({});
  const judged = useCallback(
    (address: string, verdict: Verdict) => setVerdicts((known) => ({ ...known, [address]: verdict })),
    [],
  );
  const decided = task.kind === 'pay' && proposed.withdrawals.some((one) => !isWaiting(one));
  if (decided) return <Decided id={task.id} />;
  if (!request) {
    return (
      <div className="section">
        <Notice
          tone="warn"
          title={t('notYet')}
          actions={
            <button type="button" className="button" onClick={again}>
              {t('readAgain')}
            </button>
          }
        >
          {proposed.why && <Told said={proposed.why} />}. {t('nothingMoved')}
        </Notice>
      </div>
    );
  }
  const { view, withdrawals } = request;
  const pays = view.kind === 'payment' && task.kind !== 'speed-up';
  return (
    <div className="approve">
      <div className="approve-read">
        <Headline view={view} />
        {view.payments.map((payment) => (
          <Recipient
            key={payment.address}
            payment={payment}
            place={withdrawals[0] ? { business: `${withdrawals[0].business_id}`, crypto: withdrawals[0].crypto } : null}
            compares={pays}
            canceled={view.kind === 'cancellation'}
            judged={judged}
          />
        ))}
        {view.speeds.length > 0 && (
          <FeeChoice view={view} speed={speed} choose={chooseSpeed} busy={busy} crypto={view.fee.asset} />
        )}
        <Transaction view={view} raw={proposed.preview?.raw ?? null} verdicts={verdicts} />
      </div>
      <Decision
        // what was compared and typed for the former proposal counts for no other one
        key={busy ? 'former' : 'read'}
        task={task}
        request={request}
        verdicts={pays ? view.payments.map(({ address }) => verdicts[address] ?? null) : []}
        left={<Left view={view} business={withdrawals[0]?.business_id ?? null} />}
        busy={busy}
      />
    </div>
  );
}

/** The amount that stays free for other withdrawals, by the service's word. */
function Left({ view, business }: { view: ReviewView; business: number | null }): ReactNode {
  const { all } = useBusinesses();
  const balance = all.find(({ id }) => id === business)?.balances.find(({ crypto }) => crypto === view.takes.asset);
  return balance ? <Coin amount={balance.amount} crypto={balance.crypto} whole /> : null;
}

/** Somebody decided it before. */
function Decided({ id }: { id: string }): ReactNode {
  const t = useText(TEXTS);
  const found = useCall('withdrawal.show', { id });
  const state = found.data?.withdrawal.state;
  return (
    <div className="section">
      <Notice
        tone="main"
        title={t('decidedTitle', { id })}
        actions={
          <a className="button" href={href('withdrawals', id)}>
            {t('look')}
          </a>
        }
      >
        {state ? t('decidedText', { state: t(state) }) : ''}
      </Notice>
    </div>
  );
}
