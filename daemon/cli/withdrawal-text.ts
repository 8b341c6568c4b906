/** Withdrawals and requests for approval as text. */
import type { Result } from '../contract/operator.ts';
import { clean } from './io.ts';
import { pairs, table, when } from './table.ts';

type Withdrawal = Result<'withdrawal.show'>['withdrawal'];
type Preview = NonNullable<Result<'withdrawal.propose'>['preview']>;

const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ');

export function withdrawalText(withdrawal: Withdrawal): string {
  const { crypto, versions } = withdrawal;
  const state = [withdrawal.state, ...(withdrawal.canceling ? ['being canceled'] : [])].join(', ');
  const parts = [
    pairs([
      ['Withdrawal', `${withdrawal.id}`],
      ['Business', `${withdrawal.business} (${withdrawal.network})`],
      ['State', withdrawal.reason === null ? state : `${state}: ${withdrawal.reason}`],
      ['Waits', withdrawal.problem],
      ['Refund of', withdrawal.refund_of && refundText(withdrawal.refund_of)],
      ['Amount', `${withdrawal.amount} ${crypto}${withdrawal.sweep ? ' (everything)' : ''}`],
      ['Worth', withdrawal.usd_value === null ? null : `${withdrawal.usd_value} USD when it was asked for`],
      ['Address', withdrawal.address],
      ['Fee', `${withdrawal.fee ?? '-'} (at most ${withdrawal.fee_max}) ${withdrawal.fee_crypto}`],
      ['Approved', approvedText(withdrawal)],
      ['Until', withdrawal.deadline_at === null ? null : when(withdrawal.deadline_at)],
      ['Transaction', withdrawal.tx_id],
      ['Asked for', `${when(withdrawal.created_at)} by ${withdrawal.origin}`],
    ]),
  ];
  if (versions.length > 0) {
    const rows = versions.map((version) => [
      `${version.id}`,
      version.kind,
      `${version.fee} ${withdrawal.fee_crypto}`,
      when(version.sent_at),
      version.tx_id ?? '-',
      version.problem ?? '',
    ]);
    parts.push(`Versions\n${indent(table(['>NO', 'KIND', '>FEE', 'SENT', 'TRANSACTION', ''], rows, ''))}`);
  }
  return parts.join('\n');
}

const refundText = ({ invoice, order_id }: NonNullable<Withdrawal['refund_of']>): string =>
  `invoice ${invoice}${order_id === null ? '' : `, order ${order_id}`}`;

function approvedText({ approved_by, approved_at }: Withdrawal): string | null {
  if (approved_by === null) return null;
  return `${approved_by}, ${when(approved_at)}`;
}

const worth = (usd: string | null): string => (usd === null ? '' : ` (${usd} USD)`);

/** For wallets without signed approvals: every output as the service states it, the fee, and warnings. */
export function previewText(preview: Preview): string {
  const { crypto } = preview;
  const outputs = preview.outputs.map(({ address, groups, amount, usd_value, change }) => {
    const to = change ? 'back to ourselves' : 'to';
    const lines = [
      `${amount} ${crypto}${worth(usd_value)} ${to}`,
      `  ${address ?? 'a script without address'}`,
      `  ${groups}`,
    ];
    return lines.map((line) => `${line.replace(/\S.*/, clean)}\n`).join('');
  });
  const fee = pairs([
    ['Fee', `${preview.fee} ${preview.fee_crypto}${worth(preview.fee_usd)}, ${preview.fee_rate} a byte`],
    ['At most', `${preview.fee_max} ${preview.fee_crypto}${worth(preview.fee_max_usd)} with this approval`],
  ]);
  const warnings = preview.warnings.map(({ text }) => `WARNING: ${clean(text)}.\n`);
  return [...outputs, fee, ...warnings].join('');
}
