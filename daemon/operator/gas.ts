/**
 * A grant of gas, made by the operator's own program from the operator's limits alone. It uses no statement of the
 * service: even the decimals of the coin are this program's.
 */
import { assetOf, type Network } from '../domain/assets.ts';
import { type EvmChain, NATIVE_COIN } from '../domain/evm.ts';
import { formatUnits } from '../domain/money.ts';
import type { GasGrant } from '../wallet/signer/port.ts';

/** `feeMax`: smallest units of the chain's coin. `until`: milliseconds since 1970. */
export type GasLimits = {
  network: Network;
  accountNo: number;
  chain: EvmChain;
  feeMax: bigint;
  until: number;
  /** The index of a new tank; absent: the tank stays. */
  tank?: number;
};

export const gasGrantOf = ({ feeMax, ...limits }: GasLimits, now: number): GasGrant => ({
  kind: 'gas',
  ...limits,
  feeMax: feeMax.toString(),
  issuedAt: now,
});

/** The actions that the grant permits to the wallet. */
export function gasGrantText({ network, accountNo, chain, feeMax, until, tank }: GasGrant): string {
  const coin = NATIVE_COIN[chain];
  const account = `${chain}, ${network}, account ${accountNo}`;
  if (tank !== undefined) {
    return [
      account,
      `From now on the wallet collects money into its tank number ${tank + 1} only. It pays nobody, and the plan ends.`,
    ].join('\n');
  }
  return [
    account,
    'The wallet may move money between its own addresses, and pays nobody else.',
    `All that together costs at most ${formatUnits(BigInt(feeMax), assetOf(coin))} ${coin} in fees`,
    `until ${new Date(until).toISOString()}`,
  ].join('\n');
}
