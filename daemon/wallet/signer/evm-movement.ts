/** The movement of money by a transaction of Ethereum or BNB Smart Chain. The signer and the operator's program read it with this. */
import { hex as hexOf } from '@scure/base';
import { type AssetId, assetOf, type Network } from '../../domain/assets.ts';
import type { EvmChain } from '../../domain/evm.ts';
import { type EvmTransaction, transferOf } from '../../domain/evm-transaction.ts';

/** The movement by a transaction. `to`: the recipient, not the contract; hex. `contract`: lower-case hex with 0x, or null. */
export type Movement = { contract: string | null; to: string; units: bigint };

/** Reads what a transaction moves. Null for every call that is no transfer. */
export function movementOf({ to, value, data }: Pick<EvmTransaction, 'to' | 'value' | 'data'>): Movement | null {
  if (data.length === 0) return { contract: null, to: hexOf.encode(to), units: value };
  const transfer = transferOf(data);
  if (!transfer || value !== 0n) return null;
  return { contract: `0x${hexOf.encode(to)}`, to: hexOf.encode(transfer.to), units: transfer.units };
}

/**
 * Whether a contract of a chain is the one of an asset; null stands for no contract, which is the chain's coin. Both chains have the
 * same addresses, so an asset of one is none of the other. The registry has the contracts of mainnet; elsewhere tokens are
 * worthless and any contract will do.
 */
export function isContractOf(
  asset: AssetId,
  { network, chain }: { network: Network; chain: EvmChain },
  contract: string | null,
): boolean {
  const known = assetOf(asset);
  if (known.chain !== chain) return false;
  if (known.contract === undefined || contract === null) return known.contract === undefined && contract === null;
  return network !== 'mainnet' || known.contract.toLowerCase() === contract;
}
