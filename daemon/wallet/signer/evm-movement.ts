/** The movement of money by a transaction of Ethereum or BNB Smart Chain. The signer and the operator's program read it with this. */
import { hex as hexOf } from '@scure/base';
import { type AssetId, assetOf, type Network } from '../../domain/assets.ts';
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
 * Whether a contract is the one of an asset; null stands for no contract. The registry has the contracts of mainnet;
 * elsewhere tokens are worthless and any contract will do.
 */
export function isContractOf(asset: AssetId, network: Network, contract: string | null): boolean {
  const known = assetOf(asset).contract;
  if (known === undefined || contract === null) return known === undefined && contract === null;
  return network !== 'mainnet' || known.toLowerCase() === contract;
}
