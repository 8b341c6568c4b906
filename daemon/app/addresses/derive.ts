/** Derivations of many addresses in turns of a few milliseconds. */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import type { ChainAdapter } from '../../chains/adapter.ts';
import type { AccountKey, Branch, DerivedAddress } from '../../domain/chain.ts';

const TURN_MS_MAX = 3;

/** `paced`: with a pause after each turn, as long as the turn. */
type Range = { branch: Branch; from: number; count: number; paced: boolean };

/** The addresses of a range of indices, with a turn for other work every few milliseconds. */
export async function deriveRange(
  adapter: Pick<ChainAdapter, 'deriveAddress'>,
  key: AccountKey,
  { branch, from, count, paced }: Range,
): Promise<DerivedAddress[]> {
  const addresses: DerivedAddress[] = [];
  let began = performance.now();
  while (addresses.length < count) {
    addresses.push(await adapter.deriveAddress(key, branch, from + addresses.length));
    const tookMs = performance.now() - began;
    if (tookMs < TURN_MS_MAX) continue;
    await (paced ? pause(tookMs) : turn());
    began = performance.now();
  }
  return addresses;
}
