/** Where a plan sends to: what was typed, read by this program itself. */
import type { Asset, Network } from '../../../daemon/domain/assets.ts';
import { type Destination, destinationOf } from '../../../daemon/operator/forwarding.ts';
import { isIndex, type Typed } from './terms.ts';

export type DestinationOrFault = Destination & { fault: Error | null };

/** The destination in the spelling of a grant. `fault`: why it is no extended public key. */
export function readDestination(typed: Typed, asset: Asset, network: Network): DestinationOrFault {
  const { address, byKey, from } = typed;
  if (!byKey || address === '') return { address, next: [], fault: null };
  try {
    const found = destinationOf(address, isIndex(from) ? Number(from) : 0, { asset, network });
    const fault = found.next.length === 0 ? new Error('It is an address, and no extended public key') : null;
    return { ...found, fault };
  } catch (error) {
    return { address: '', next: [], fault: error as Error };
  }
}
