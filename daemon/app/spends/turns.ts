/**
 * Addresses from which an asset could not be sent, as a token may block one. They come behind the others, so that however many of them keep
 * nobody waiting.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { ChainRuntime } from '../chains/chains.ts';

type Place = { asset: AssetId; address: string };

/** By chain, asset and address: the number of the last failure. After a restart they take their turns anew. */
const failures = new WeakMap<ChainRuntime, Map<string, number>>();
let count = 0;

const nameOf = ({ asset, address }: Place): string => `${asset} ${address}`;

export function noteFailed(chain: ChainRuntime, place: Place): void {
  failures.set(chain, (failures.get(chain) ?? new Map<string, number>()).set(nameOf(place), ++count));
}

export function noteBegun(chain: ChainRuntime, place: Place): void {
  failures.get(chain)?.delete(nameOf(place));
}

/** In their order, but those that failed come last: first those that failed longest ago. */
export function failedLast<T>(chain: ChainRuntime, items: readonly T[], placeOf: (item: T) => Place): T[] {
  const lastOf = (item: T): number => failures.get(chain)?.get(nameOf(placeOf(item))) ?? 0;
  return items.toSorted((a, b) => lastOf(a) - lastOf(b));
}
