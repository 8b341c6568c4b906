/**
 * Accounts whose private keys are in another wallet, as an operator gives them: read by the operator's own program, with the first addresses
 * to compare with that wallet before anything is added.
 *
 * Invariant: a private key is refused, and neither it nor a view key is in an error.
 */
import type { ChainId, Network } from '../domain/assets.ts';
import type { AccountKey, ScriptForm } from '../domain/chain.ts';
import { EVM_CHAINS, type EvmChain, isEvm } from '../domain/evm.ts';
import { COMPARED } from '../wallet/forward-key.ts';
import { ownAddress } from '../wallet/own-address.ts';
import { readPrimary, readViewOnly } from '../wallet/view-only.ts';
import { FORMS, readWatchOnly } from '../wallet/watch-only.ts';
import { readEvmWatchOnly } from '../wallet/watch-only-evm.ts';

export { FORM_NAMES, FORMS } from '../wallet/watch-only.ts';

export type CoinChain = keyof typeof FORMS;
export type Watchable = CoinChain | EvmChain | 'XMR';

export const COIN_CHAINS = Object.keys(FORMS) as CoinChain[];
export const WATCHABLE: readonly Watchable[] = [...COIN_CHAINS, ...EVM_CHAINS, 'XMR'];

/** Whether the accounts of a chain are of coins, and have one of several kinds of address. */
export const isOfCoins = (chain: Watchable): chain is CoinChain => COIN_CHAINS.some((one) => one === chain);

/** `form`: the addresses that its owner says it has; null: as the key says. Throws `Rejected` as `readWatchOnly` and `readEvmWatchOnly`. */
export const readExtendedAccount = (
  text: string,
  chain: CoinChain | EvmChain,
  network: Network,
  form: ScriptForm | null,
): AccountKey => (isEvm(chain) ? readEvmWatchOnly(text, chain, network) : readWatchOnly(text, chain, network, form));

/** Throws `Rejected` as `readViewOnly`, for what is no primary address of the network. */
export function checkMoneroAddress(address: string, network: Network): void {
  readPrimary(address.trim(), network);
}

/** Throws `Rejected` as `readViewOnly`. */
export const readMoneroAccount = (address: string, viewKey: string, network: Network): AccountKey =>
  readViewOnly(address, viewKey, network);

export type FirstAddress = { number: number; address: string };

/** The first receiving addresses, numbered as the other wallet numbers them: Monero's primary address is 0 there. */
export function firstAddresses(chain: ChainId, network: Network, key: AccountKey): FirstAddress[] {
  const first = chain === 'XMR' ? 1 : 0;
  return Array.from({ length: COMPARED }, (_, at) => ({
    number: at + first,
    address: ownAddress(key, chain, network, at),
  }));
}
