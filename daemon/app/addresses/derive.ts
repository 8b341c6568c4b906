/** Derivations of many addresses: in a thread, or here in turns of a few milliseconds. */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import type { ChainAdapter } from '../../chains/adapter.ts';
import type { AccountKey, Branch, DerivedAddress } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import type { App } from '../app.ts';

const TURN_MS_MAX = 3;
/** The start of the thread costs more than fewer addresses do. */
const BY_THREAD_MIN = 40;

/** `paced`: where they are derived here, with a pause after each turn, as long as the turn. */
type Range = { branch: Branch; from: number; count: number; paced: boolean };

/** The addresses of a range of indices. Throws if the thread has another first address than the adapter. */
export async function deriveRange(
  app: Pick<App, 'addressThread' | 'log' | 'now'>,
  adapter: ChainAdapter,
  key: AccountKey,
  range: Range,
): Promise<DerivedAddress[]> {
  const { addressThread } = app;
  if (!addressThread || range.count < BY_THREAD_MIN) return deriveHere(adapter, key, range);
  const { branch, from, count } = range;
  const { chain, network } = adapter;
  const derived = await addressThread.derive({ chain, network, key, branch, from, count }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    if (addressThread.noteFailure(reason, app.now()))
      app.log.warn({ reason }, 'addresses are derived in the event loop');
    return null;
  });
  if (!derived) return deriveHere(adapter, key, range);
  addressThread.noteSuccess();
  const { address } = await adapter.deriveAddress(key, branch, from);
  assert(derived.length === count && derived[0]?.address === address, 'the thread derives what is derived here');
  return derived;
}

/** With a turn for other work every few milliseconds. */
async function deriveHere(
  adapter: ChainAdapter,
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
