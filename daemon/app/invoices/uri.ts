/**
 * The content of QR codes and wallet links. Chains whose wallets agree on a URI use it. Account chains use the plain
 * address, because many wallets take the contract in a token's URI (EIP-681) for the recipient; that URI is shown only
 * on request.
 */
import type { Asset, Network } from '../../domain/assets.ts';
import { chainIdOf, isEvm } from '../../domain/evm.ts';
import { formatUnits } from '../../domain/money.ts';

/**
 * The payment URI of `units` to an address, with the amount as an exact decimal; null if the plain address works
 * better. Sources: BIP-21 (BTC, LTC and BCH, whose CashAddr prefix is the scheme); for XMR the `monero:` URI scheme of
 * the Monero project (`tx_amount`).
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

/** The contract that payers are shown: the one on mainnet, which the sandbox imitates. Test networks have others. */
export const contractOf = (asset: Asset, network: Network): string | null =>
  network === 'mainnet' || network === 'sandbox' ? (asset.contract ?? null) : null;

/**
 * The EIP-681 URI of a payment on an account chain: a transfer of the coin, or a call of the token's `transfer`. Null
 * on other chains, and for a token whose contract on this network is not known.
 */
export function ethereumUri(asset: Asset, network: Network, address: string, units: bigint): string | null {
  if (!isEvm(asset.chain)) return null;
  const chainId = chainIdOf(network, asset.chain);
  if (asset.symbol === 'ETH' || asset.symbol === 'BNB') return `ethereum:${address}@${chainId}?value=${units}`;
  const contract = contractOf(asset, network);
  if (contract === null) return null;
  return `ethereum:${contract}@${chainId}/transfer?address=${address}&uint256=${units}`;
}

/** An absolute http or https URL in its normal form; null for any other text. */
export function webUrl(text: string | null): string | null {
  if (text === null || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
}
