/** The panel that decides: what speaks for and against it, the passphrase, and what became of it. */
import { type ReactNode, useState } from 'react';
import { isGroup } from '../../../daemon/operator/address.ts';
import type { ApprovalRequest } from '../../../daemon/operator/request.ts';
import { NotConnected, type Result } from '../../bridge.ts';
import { useConnection, useData, useServerName } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useKeyholder } from '../../keyholder.ts';
import { Field } from '../../parts/controls.tsx';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { Coin, Fiat, Problem, Reason, useCoinText } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import { useTries } from '../../tries.ts';
import type { Task } from './approve.tsx';
import { Checks } from './checks.tsx';
import { headlineSum } from './headline.tsx';
import { KeptApproval } from './kept.tsx';
import { Outcome } from './outcome.tsx';
import type { Verdict } from './recipient.tsx';
import TEXTS from './texts.ts';

type DecisionProps = {
  task: Task;
  request: ApprovalRequest;
  /** Of each payment; null: not known yet. */
  verdicts: readonly (Verdict | null)[];
  left: ReactNode;
  busy: boolean;
};

type End = { type: 'approved'; result: Result<'withdrawal.approve'> } | { type: 'unknown' };

export function Decision({ task, request, verdicts, left, busy }: DecisionProps): ReactNode {
  const t = useText(TEXTS);
  const [ended, setEnded] = useState<End | null>(null);
  const [isSure, setSure] = useState(false);
  const { view } = request;
  const lookalikes = verdicts.filter((one) => one?.kind === 'lookalike');
  if (ended) return <Outcome task={task} view={view} ended={ended} />;
  const isApart = view.fee.asset !== view.leaves.asset;
  const fees = view.collect?.total ?? view.feeMax;
  const warns = lookalikes.length > 0;
  return (
    <aside className="panel decision" aria-labelledby="decision-title">
      <h2 id="decision-title">{t(warns ? 'doNotApprove' : 'beforeYouSign')}</h2>
      <Checks view={view} verdicts={verdicts} />
      <dl className="decision-sums">
        <dt>{t(view.kind !== 'payment' ? 'offBalanceFee' : isApart ? 'offBalanceApart' : 'offBalance')}</dt>
        <dd>
          <strong>
            <Coin amount={view.leaves.text} crypto={view.leaves.asset} whole />
          </strong>{' '}
          {view.leaves.worth !== null && <Fiat amount={view.leaves.worth} currency={view.currency} />}
        </dd>
        {isApart && (
          <>
            <dt>{t('feesApart')}</dt>
            <dd>
              <Coin amount={fees.text} crypto={fees.asset} whole />
            </dd>
          </>
        )}
        {view.kind === 'payment' && left && (
          <>
            <dt>{t('leftAfterwards')}</dt>
            <dd>{left}</dd>
          </>
        )}
      </dl>
      {warns && !isSure ? (
        <Doubt task={task} verdicts={lookalikes as Verdict[]} sure={() => setSure(true)} />
      ) : (
        <Sign task={task} request={request} verdicts={verdicts} busy={busy} warned={warns} end={setEnded} />
      )}
    </aside>
  );
}

/** Two groups of a lookalike, as the recipient reads them out: from the middle, where it differs. */
function askedGroups({ cells }: Verdict): number[] {
  const differing = cells.filter(({ isSame }) => !isSame);
  const step = Math.max(1, Math.floor(differing.length / 3));
  return [...new Set([differing[step], differing[2 * step] ?? differing.at(-1)].flatMap((cell) => cell?.number ?? []))];
}

function Doubt({ task, verdicts, sure }: { task: Task; verdicts: Verdict[]; sure(): void }): ReactNode {
  const t = useText(TEXTS);
  const [typed, setTyped] = useState<Record<number, string>>({});
  const [only, ...more] = verdicts;
  if (!only) return null;
  const asked = askedGroups(only);
  const isRight = asked.every((number) => isGroup(typed[number] ?? '', only.cells[number - 1]?.text ?? ''));
  return (
    <>
      <Reject task={task} filled />
      {more.length === 0 && task.kind === 'pay' && (
        <form
          className="doubt"
          onSubmit={(event) => {
            event.preventDefault();
            if (isRight) sure();
          }}
        >
          <p>
            <strong>{t('sureQuestion')}</strong> {t('sureText')}
          </p>
          <div className="doubt-groups">
            {asked.map((number) => (
              <Field
                key={number}
                label={t('group', { n: number })}
                className="mono"
                spellCheck={false}
                value={typed[number] ?? ''}
                onChange={(event) => setTyped({ ...typed, [number]: event.target.value })}
              />
            ))}
          </div>
          <button type="submit" className="button" disabled={!isRight}>
            {t('goOn')}
          </button>
        </form>
      )}
    </>
  );
}

type Approval = {
  passphrase: string;
  type(text: string): void;
  working: boolean;
  error: Error | null;
  /** Seconds until the next passphrase may be tried. */
  wait: number;
  approve(): Promise<void>;
};

function useApproval(request: ApprovalRequest, end: (ended: End) => void): Approval {
  const { bridge, client } = useData();
  const keyholder = useKeyholder();
  const { needsPassphrase } = request;
  const tries = useTries(needsPassphrase);
  const [passphrase, setPassphrase] = useState('');
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  // an approved payment is sent only while the wallet is open
  const open = async (): Promise<void> => {
    const { wallet } = await bridge.call('wallet.status', {});
    if (wallet.state === 'locked') await keyholder.unlock(passphrase);
  };
  const approve = async (): Promise<void> => {
    setWorking(true);
    setError(null);
    try {
      if (request.needsUnlocked) await open();
      const result = await request.approve(keyholder, passphrase);
      if (needsPassphrase) await open().catch(() => {});
      // another transaction of the same state is no event, but it is another one to sign
      void client.invalidateQueries({ queryKey: ['withdrawal.show'] });
      end({ type: 'approved', result });
    } catch (failed) {
      if (failed instanceof NotConnected) return end({ type: 'unknown' });
      setError(failed as Error);
      setWorking(false);
      setPassphrase('');
      tries.read();
    }
  };
  return { passphrase, type: setPassphrase, working, error, wait: tries.wait, approve };
}

type SignProps = Omit<DecisionProps, 'left'> & { warned: boolean; end(ended: End): void };

function Sign({ task, request, verdicts, busy, warned, end }: SignProps): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const connection = useConnection();
  const [compared, setCompared] = useState(false);
  const approval = useApproval(request, end);
  const { needsPassphrase, view } = request;
  const amount = useCoinText()(headlineSum(view).text, view.takes.asset);
  const known = verdicts.every((one) => one !== null);
  const isSaid = useServerName() !== null;
  // by a server that may be in the hands of a thief
  const isGiven = isSaid && request.isGiven;
  const open = verdicts.filter(
    (one) => one && one.kind !== 'lookalike' && (one.kind !== 'same' || isSaid),
  ) as Verdict[];
  const groups = open.reduce((sum, { cells }) => sum + cells.length, 0);
  const isTyped = !needsPassphrase || approval.passphrase !== '';
  const isFree = connection.up && !busy && !approval.working && approval.wait === 0;
  const ready = known && isFree && isTyped && (groups === 0 || compared);
  // a PSBT is signed in another wallet, wherever this one's keys are
  const isOff = needsPassphrase || (request.isOutside && session.home === null);
  if (!session.approvals && isOff) {
    return <Elsewhere commands={[`withdrawal approve ${'id' in task ? task.id : '…'}`]} />;
  }
  return (
    <form
      className="sign"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) void approval.approve();
      }}
    >
      {groups > 0 && (
        <label className="check">
          <input type="checkbox" checked={compared} onChange={(event) => setCompared(event.target.checked)} />
          <span>{t('iCompared', { n: groups })}</span>
        </label>
      )}
      {needsPassphrase && <Passphrase approval={approval} isGiven={isGiven} />}
      {approval.error && (isGiven || !isPassphrase(approval.error)) && (
        <Problem error={approval.error} {...(isGiven ? {} : { means: t('nothingMoved') })} />
      )}
      {approval.error && isGiven && <KeptApproval />}
      <button type="submit" className={warned ? 'button large' : 'button filled large'} disabled={!ready}>
        {approval.working
          ? t('approving')
          : t(request.isOutside ? 'approveOutside' : BUTTON[task.kind], { amount, n: view.payments.length })}
      </button>
      {task.kind === 'pay' && <Reject task={task} filled={warned} />}
      {'id' in task && task.kind !== 'pay' && (
        <a className="button" href={href('withdrawals', task.id)}>
          {t('leaveIt')}
        </a>
      )}
    </form>
  );
}

function Passphrase({ approval, isGiven }: { approval: Approval; isGiven: boolean }): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const { error, wait } = approval;
  const wrong = error && !isGiven && isPassphrase(error) ? <WhyNot error={error} /> : null;
  return (
    <Field
      label={t('passphrase')}
      type="password"
      autoComplete="off"
      value={approval.passphrase}
      onChange={(event) => approval.type(event.target.value)}
      hint={session.place === 'browser' ? t('inBrowser', { host: location.host }) : t('onDesktop')}
      error={wait > 0 ? t('waitNow', { n: wait }) : wrong}
    />
  );
}

const BUTTON = {
  pay: 'approveAndSend',
  batch: 'approveBatch',
  'speed-up': 'approveSpeed',
  anew: 'approveAndSend',
  cancel: 'approveCancel',
  reclaim: 'approveCancel',
} as const;

const isPassphrase = (error: Error): boolean =>
  'code' in error && ['vault.passphrase', 'unavailable'].includes(String(error.code));

function WhyNot({ error }: { error: Error }): ReactNode {
  const t = useText(TEXTS);
  return 'code' in error && error.code === 'vault.passphrase' ? t('wrongPassphrase') : <Reason error={error} />;
}

/** Refusing is confirmed, since it is final; nothing is paid by it. */
function Reject({ task, filled }: { task: Task; filled: boolean }): ReactNode {
  const t = useText(TEXTS);
  const { bridge, client } = useData();
  const connection = useConnection();
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  if (task.kind !== 'pay') return null;
  const { id } = task;
  async function reject(): Promise<void> {
    try {
      await bridge.call('withdrawal.reject', { id });
      await client.invalidateQueries();
      go(href('withdrawals', id));
    } catch (failed) {
      setError(failed as Error);
    }
  }
  const look = filled ? 'button filled large' : 'button large plain';
  return (
    <>
      {error && <Problem error={error} />}
      {asking ? (
        <fieldset className="asking">
          <legend>{t('rejectSure')}</legend>
          <KeptApproval />
          <div className="actions">
            <button type="button" className="button" onClick={() => void reject()} disabled={!connection.up}>
              {t('rejectYes')}
            </button>
            <button type="button" className="link" onClick={() => setAsking(false)}>
              {t('rejectNo')}
            </button>
          </div>
        </fieldset>
      ) : (
        <button type="button" className={look} onClick={() => setAsking(true)}>
          {t(filled ? 'rejectThis' : 'reject')}
        </button>
      )}
    </>
  );
}
