/** Addresses derived in a thread are those that are derived here, whatever was asked before. */
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import { AddressThread } from '../../../daemon/chains/address-thread.ts';
import { deriveAddress } from '../../../daemon/chains/derive.ts';
import { INDEX_MAX } from '../../../daemon/chains/hd.ts';
import { CHAINS, type ChainId, NETWORKS, type Network } from '../../../daemon/domain/assets.ts';
import type { AccountKey, Branch, DerivedAddress } from '../../../daemon/domain/chain.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';

const SEED = Buffer.alloc(64, 7);
const KEY = accountKey(SEED, 'BTC', 'mainnet', 0);
let thread = new AddressThread();

afterEach(async () => {
  vi.restoreAllMocks();
  await thread.stop();
  thread = new AddressThread();
});

const text = (addresses: readonly DerivedAddress[]): string[] =>
  addresses.map(({ script, address }) => `${address} ${Buffer.from(script).toString('hex')}`);

function here(
  [chain, network, branch, from, count]: [ChainId, Network, Branch, number, number],
  key: AccountKey,
): string[] {
  return text(Array.from({ length: count }, (_, i) => deriveAddress(chain, network, key, branch, from + i)));
}

const btc = (from: number, count: number) =>
  ({ chain: 'BTC', network: 'mainnet', key: KEY, branch: 0, from, count }) as const;

it('are the same on every chain and network, and on both branches', async () => {
  for (const chain of CHAINS) {
    const key = accountKey(SEED, chain, 'mainnet', 3);
    for (const [no, network] of NETWORKS.entries()) {
      const branch = (no % 2) as Branch;
      const derived = await thread.derive({ chain, network, key, branch, from: 3, count: 2 });
      expect(text(derived), `${network} ${chain} ${branch}`).toEqual(here([chain, network, branch, 3, 2], key));
    }
  }
});

it('are those of a watch-only account in its own form', async () => {
  const watched: AccountKey = { ...KEY, kind: 'secp256k1', watch: { form: 'p2tr' } } as AccountKey;
  const range = { ...btc(0, 2), key: watched };
  expect(text(await thread.derive(range))).toEqual(here(['BTC', 'mainnet', 0, 0, 2], watched));
  expect(text(await thread.derive(btc(0, 2)))).toEqual(here(['BTC', 'mainnet', 0, 0, 2], KEY));
});

it('are derived once for ranges that overlap, which get each what they asked for', async () => {
  const asked = vi.spyOn(Worker.prototype, 'postMessage');
  const [long, short] = await Promise.all([thread.derive(btc(40, 120)), thread.derive(btc(60, 40))]);
  expect(text(long)).toEqual(here(['BTC', 'mainnet', 0, 40, 120], KEY));
  expect(text(short)).toEqual(text(long.slice(20, 60)));
  expect(text(await thread.derive(btc(100, 1)))).toEqual(text(long.slice(60, 61)));
  expect(asked.mock.calls.map(([task]) => task.from)).toEqual([0, 50, 100, 150, 200]);
});

it('are derived ahead of the next range of a caller that takes many, and of no other', async () => {
  const asked = vi.spyOn(Worker.prototype, 'postMessage');
  const froms = () => asked.mock.calls.map(([task]) => task.from);
  await thread.derive(btc(0, 50));
  expect(froms()).toEqual([0]);
  await thread.derive(btc(50, 100));
  expect(froms()).toEqual([0, 50, 100, 150]);
  expect(text(await thread.derive(btc(150, 50)))).toEqual(here(['BTC', 'mainnet', 0, 150, 50], KEY));
  expect(froms()).toEqual([0, 50, 100, 150]);
  await thread.derive(btc(INDEX_MAX - 60, 61));
  expect(froms().at(-1)).toBe(INDEX_MAX - 47);
});

it('end with the last index, and an index above it is refused', async () => {
  expect(text(await thread.derive(btc(INDEX_MAX - 1, 2)))).toEqual(here(['BTC', 'mainnet', 0, INDEX_MAX - 1, 2], KEY));
  await expect(thread.derive(btc(INDEX_MAX, 2))).rejects.toThrow('indices are from 0 to 2^31 - 1');
  await expect(thread.derive(btc(-1, 2))).rejects.toThrow('indices are from 0 to 2^31 - 1');
  await expect(thread.derive({ ...btc(0, 1), chain: 'XMR' })).rejects.toThrow();
});

it('are asked of another thread when one has ended, and what that one had is refused', async () => {
  await thread.derive(btc(0, 1));
  const lost = thread.derive(btc(1_000, 50));
  const refused = expect(lost).rejects.toThrow('the thread that derives addresses ended');
  await thread.stop();
  await refused;
  expect(text(await thread.derive(btc(1_000, 1)))).toEqual(here(['BTC', 'mainnet', 0, 1_000, 1], KEY));
});

it('leave no thread behind once there is nothing to derive', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const ended = vi.spyOn(Worker.prototype, 'terminate');
    await thread.derive(btc(0, 1));
    vi.advanceTimersByTime(1_900);
    await thread.derive(btc(100, 1));
    vi.advanceTimersByTime(1_900);
    expect(ended).not.toHaveBeenCalled();
    vi.advanceTimersByTime(200);
    expect(ended).toHaveBeenCalledTimes(1);
  } finally {
    vi.useRealTimers();
  }
});
