/**
 * A grant of gas, as the operator's own program makes it: from the operator's limits alone, so that there is nothing to
 * compare with the service's words but the decimals of the coin, which are in the registry.
 */
import { assetOf, type Network } from '../domain/assets.ts';
import { type EvmChain, NATIVE_COIN } from '../domain/evm.ts';
import { formatUnits } from '../domain/money.ts';
import type { GasGrant } from '../wallet/signer/port.ts';

/** `feeMax`: smallest units of the chain's coin. `until`: milliseconds since 1970. */
export type GasLimits = { network: Network; accountNo: number; chain: EvmChain; feeMax: bigint; until: number };

export const gasGrantOf = ({ feeMax, ...limits }: GasLimits, now: number): GasGrant => ({
  kind: 'gas',
  ...limits,
  feeMax: feeMax.toString(),
  issuedAt: now,
});

/** The powers that the wallet has under it. */
export function gasGrantText({ network, accountNo, chain, feeMax, until }: GasGrant): string {
  const coin = NATIVE_COIN[chain];
  return [
    `${chain}, ${network}, account ${accountNo}`,
    'The wallet may move money between its own addresses, and pays nobody else.',
    `All that together costs at most ${formatUnits(BigInt(feeMax), assetOf(coin))} ${coin} in fees`,
    `until ${new Date(until).toISOString()}`,
  ].join('\n');
}
