/**
 * What a QR code says and a wallet link opens. A URI only where wallets read it alike; on account chains the plain
 * address, since many wallets take the contract in a token's URI (EIP-681) for the recipient.
 */
import type { Asset } from '../../domain/assets.ts';
import { formatUnits } from '../../domain/money.ts';

/**
 * The payment URI of `units` to an address, with the amount as an exact decimal, or null where the address alone is the
 * better thing. Sources: BIP-21 (BTC, LTC and BCH, whose CashAddr prefix is the scheme); for XMR the `monero:` URI
 * scheme of the Monero project (`tx_amount`).
 */
export function paymentUri(asset: Asset, address: string, units: bigint): string | null {
  const amount = formatUnits(units, asset);
  switch (asset.symbol) {
    case 'BTC':
      return `bitcoin:${address}?amount=${amount}`;
    case 'LTC':
      return `litecoin:${address}?amount=${amount}`;
    case 'BCH':
      return `${address}?amount=${amount}`;
    case 'XMR':
      return `monero:${address}?tx_amount=${amount}`;
    default:
      return null;
  }
}

/** A link's target when it is an absolute http or https URL, in its normal form; else null. */
export function webUrl(text: string | null): string | null {
  if (text === null || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
}
