/** One withdrawal: its state, its transactions, and what can still be done about it. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useConnection } from '../../data.tsx';
import { Page } from '../../frame/page.tsx';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { useMoney } from '../../parts/money.ts';
import { Answer, Coin, Facts, Hash, Head, Notice, Section, Told, useCoinText } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { BigSum } from './headline.tsx';
import { Outside } from './outside.tsx';
import { isOutside, isWaiting, WithdrawalState } from './state.tsx';
import TEXTS from './texts.ts';

type Detail = Result<'withdrawal.show'>['withdrawal'];
type Row = [ReactNode, ReactNode];

export function One({ id }: { id: string }): ReactNode {
  const t = useText(TEXTS);
  const found = useCall('withdrawal.show', { id });
  const one = found.data?.withdrawal;
  return (
    <Page
      title={t('oneTitle', { id })}
      back={{ to: href('withdrawals'), name: t('title') }}
      actions={one && <Actions one={one} />}
    >
      <Answer of={found}>{({ withdrawal }) => <Body one={withdrawal} />}</Answer>
    </Page>
  );
}

/** Whether no node has what a lost machine signed. */
const isLost = ({ problem }: Detail): boolean => problem?.code === 'wait.lost';

/** The same, or the wallet refused another transaction: a restored one does not know what the lost machine signed. */
const isUnknown = (one: Detail): boolean => isLost(one) || (one.problem?.code === 'signer.approval' && !one.canceling);

/** The decision that replaces its transaction by one with a higher fee. */
const fasterOf = (one: Detail): 'reclaim' | 'anew' | 'speed-up' =>
  one.reclaimed ? 'reclaim' : isUnknown(one) ? 'anew' : 'speed-up';

function Actions({ one }: { one: Detail }): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  if (!connection.up) return null;
  if (isWaiting(one)) {
    return (
      <a className="button filled" href={href('withdrawals', `${one.id}`, 'approve')}>
        {t('review')}
      </a>
    );
  }
  if (one.replacements.length === 0) return null;
  return (
    <>
      {(isLost(one) || one.replacements.includes('cancel')) && (
        <a className="button" href={href('withdrawals', `${one.id}`, isLost(one) ? 'reclaim' : 'cancel')}>
          {t('cancelIt')}
        </a>
      )}
      <a className="button" href={href('withdrawals', `${one.id}`, fasterOf(one))}>
        {t(fasterOf(one) === 'anew' ? 'approveAnew' : 'speedUp')}
      </a>
    </>
  );
}

function Body({ one }: { one: Detail }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const coinText = useCoinText();
  const { textOfUsd } = useMoney();
  const proof = one.tx_id && one.versions.find(({ tx_id }) => tx_id === one.tx_id)?.proof;
  const fee = (amount: string): string => coinText(amount, one.fee_crypto);
  const rows: Row[] = [
    [t('state'), <WithdrawalState key="state" of={one} />],
    [t('to'), <Hash key="to" text={one.address} />],
    [t('networkFee'), one.fee === null ? t('feeAtMost', { fee: fee(one.fee_max) }) : fee(one.fee)],
    [t('asked'), `${times.full(one.created_at)}, ${t(`by_${originOf(one.origin)}`)}`],
    ...(one.refund_of
      ? [
          [
            t('refundOf'),
            <a key="refund" href={href('invoices', one.refund_of.invoice)}>
              {one.refund_of.invoice}
            </a>,
          ] as Row,
        ]
      : []),
    ...(one.approved_at
      ? [[t('approvedOn'), `${times.full(one.approved_at)}, ${t(`by_${approverOf(one.approved_by)}`)}`] as Row]
      : []),
    ...(one.tx_id ? [[t('transaction'), <Hash key="tx" text={one.tx_id} />] as Row] : []),
    ...(proof
      ? [
          [
            t('proof'),
            <span key="proof">
              <Hash text={proof} /> <span className="quiet">{t('proofNote')}</span>
            </span>,
          ] as Row,
        ]
      : []),
  ];
  return (
    <>
      <section className="section headline">
        <p className="quiet">{t(one.sweep ? 'everything' : 'amount')}</p>
        <BigSum amount={one.amount} crypto={one.crypto} small />
        {one.usd_value !== null && <p className="quiet">{t('whenAsked', { worth: textOfUsd(one.usd_value) })}</p>}
      </section>
      {isOutside(one) && <Outside one={one} />}
      {one.problem && !isOutside(one) && (
        <Notice tone="warn" title={t('whyItWaits')}>
          <Told said={one.problem} />
        </Notice>
      )}
      {one.reason && (
        <Notice tone="quiet" title={t('whyItEnded')}>
          <p>
            <Told said={one.reason} />
          </p>
          {!one.reason.code.startsWith('ended.unsigned') && <p>{t('nothingPaid')}</p>}
        </Notice>
      )}
      <Section title={t('details')}>
        <Facts rows={rows} />
      </Section>
      {one.versions.length > 0 && <Versions one={one} />}
    </>
  );
}

const APPROVERS = ['policy', 'forward', 'sandbox', 'restore'] as const;
const approverOf = (name: string | null): (typeof APPROVERS)[number] | 'operator' =>
  APPROVERS.find((one) => one === name) ?? 'operator';

const ORIGINS = ['merchant', 'inbox', 'refund', 'forward'] as const;
const originOf = (origin: string): (typeof ORIGINS)[number] | 'operator' =>
  ORIGINS.find((one) => one === origin) ?? 'operator';

function Versions({ one }: { one: Detail }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  return (
    <Section title={t('versions')} note={t('versionsNote')}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, by the keyboard, too */}
      <section className="table-box scroll" tabIndex={0} aria-label={t('versions')}>
        <table className="table">
          <Head columns={[t('kind'), t('sentAt'), [t('networkFee'), 'number'], t('transaction')]} />
          <tbody>
            {one.versions.map((version) => (
              <tr key={version.id}>
                <td>{t(kindOf(version.kind))}</td>
                <td>{version.sent_at === null ? t('notSent') : times.short(version.sent_at)}</td>
                <td className="number">
                  <Coin amount={version.fee} crypto={one.fee_crypto} />
                </td>
                <td>
                  {version.tx_id && <Hash text={version.tx_id} />}
                  {version.problem && (
                    <p className={version.problem.code === 'wait.outside' ? 'quiet' : 'warn'}>
                      <Told said={version.problem} />
                    </p>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Section>
  );
}

const kindOf = (kind: string): 'kind_pay' | 'kind_cancel' | 'kind_other' =>
  kind === 'pay' ? 'kind_pay' : kind === 'cancel' ? 'kind_cancel' : 'kind_other';
