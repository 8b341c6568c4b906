/** The thread that derives addresses: each message is a `Task`, and is answered with a `Derived`. It does one after the other. */
import { parentPort } from 'node:worker_threads';
import type { ChainId, Network } from '../domain/assets.ts';
import type { AccountKey, Branch, DerivedAddress } from '../domain/chain.ts';
import { deriveAddress } from './derive.ts';

/** The addresses from an index on. */
export type AddressRange = {
  chain: ChainId;
  network: Network;
  key: AccountKey;
  branch: Branch;
  from: number;
  count: number;
};
export type Task = AddressRange & { no: number };
export type Derived = { no: number; addresses: DerivedAddress[] } | { no: number; error: string };

function done({ no, chain, network, key, branch, from, count }: Task): Derived {
  try {
    const addresses = Array.from({ length: count }, (_, i) => deriveAddress(chain, network, key, branch, from + i));
    return { no, addresses };
  } catch (error) {
    return { no, error: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', (task: Task) => parentPort?.postMessage(done(task)));
