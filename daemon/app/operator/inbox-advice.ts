/** Advice to the operator about a deposit that its payer sent by mistake. */
import type { AssetId } from '../../domain/assets.ts';
import { assetOf } from '../../domain/assets.ts';
import type { InboxReason } from '../../domain/payment.ts';

/** Null where the reason itself says enough. `slug`: of the invoice that was probably meant. */
export function adviceOn(reason: InboxReason, crypto: AssetId, slug: string | null): string | null {
  const { symbol, networkName } = assetOf(crypto);
  const choices =
    `\`invoice mark-paid ${slug ?? 'SLUG'}\` counts the invoice as paid, and \`inbox keep\` keeps the money; ` +
    `\`inbox refund\` sends it to an address that the payer names, on ${networkName}. Do not use the sender's address ` +
    'without asking: an exchange may have sent it.';
  switch (reason) {
    case 'wrong-network':
      return (
        `The payer sent ${symbol} on ${networkName}, and the invoice has this address on another network. The wallet has ` +
        `the same key on both, so the money is yours. ${choices}`
      );
    case 'unexpected':
      return `The payer sent ${symbol}, which the invoice did not ask for. The money is yours. ${choices}`;
    case 'overpaid':
      return (
        `Invoice ${slug ?? 'SLUG'} is paid, and got this much more than it asked. \`inbox refund\` sends the difference to an ` +
        'address that the payer names; `inbox keep` keeps it.'
      );
    default:
      return null;
  }
}
