/** Withdrawals as text. */
import type { Result } from '../contract/operator.ts';
import { textIn, textOf } from './said.ts';
import { indent, pairs, table, when } from './table.ts';

type Withdrawal = Result<'withdrawal.show'>['withdrawal'];

export function withdrawalText(withdrawal: Withdrawal): string {
  const { crypto, versions } = withdrawal;
  const state = [withdrawal.state, ...(withdrawal.canceling ? ['being canceled'] : [])].join(', ');
  const parts = [
    pairs([
      ['Withdrawal', `${withdrawal.id}`],
      ['Business', `${withdrawal.business} (${withdrawal.network})`],
      ['State', withdrawal.reason === null ? state : `${state}: ${textOf(withdrawal.reason)}`],
      ['Waits', textIn(withdrawal.problem)],
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
      textIn(version.problem) ?? '',
    ]);
    parts.push(`Versions\n${indent(table(['>NO', 'KIND', '>FEE', 'SENT', 'TRANSACTION', ''], rows, ''))}`);
  }
  const proof = versions.find(({ tx_id }) => tx_id !== null && tx_id === withdrawal.tx_id)?.proof;
  if (proof) parts.push(proofText(withdrawal, proof));
  return parts.join('\n');
}

/** Monero shows nobody whom a transaction paid, so its recipient may want a proof. */
function proofText({ tx_id, address }: Withdrawal, proof: string): string {
  return (
    `Proof of payment\n  The transaction key is ${proof}\n` +
    '  It shows whoever has it what this transaction paid to this address, and spends nothing. Check it in a wallet of Monero:\n' +
    `  check_tx_key ${tx_id} ${proof} ${address}\n`
  );
}

const refundText = ({ invoice, order_id }: NonNullable<Withdrawal['refund_of']>): string =>
  `invoice ${invoice}${order_id === null ? '' : `, order ${order_id}`}`;

function approvedText({ approved_by, approved_at }: Withdrawal): string | null {
  if (approved_by === null) return null;
  return `${approved_by}, ${when(approved_at)}`;
}
