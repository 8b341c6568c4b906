/** How much one question to another operator takes about coins that contracts sent from inside, which have no receipts. */
import { afterEach, expect, it, vi } from 'vitest';
import type { ListedScript, ScriptList, StoredCoin } from '../../../daemon/chains/adapter.ts';
import { Agreed } from '../../../daemon/chains/evm/agreed.ts';
import type { Header, Sending } from '../../../daemon/chains/evm/answers.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { OutgoingReader } from '../../../daemon/chains/evm/outgoing.ts';
import type { Credit } from '../../../daemon/domain/chain.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const SIGNAL = new AbortController().signal;
const MOST = 100n;
const BLOCK = { height: 9, hash: `0x${'09'.repeat(32)}` };
const listed = (id: number): ListedScript => {
  const script = Buffer.alloc(20);
  script.writeUInt32BE(id);
  return { id, script };
};
const crumb = (targetId: number, units = MOST): Credit => ({
  id: `${BLOCK.hash}:${targetId}`,
  txid: BLOCK.hash,
  targetId,
  amount: { asset: 'ETH', units },
  block: BLOCK,
  inputs: [],
});

/** An endpoint whose balances rose by so much in the block; each answer about them takes a second. */
function scene() {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const payer = `0x${'ab'.repeat(20)}`;
  const sending = (to: string, value: bigint): Sending => ({
    txid: `0x${'cd'.repeat(32)}`,
    from: payer,
    nonce: 0n,
    to,
    value,
    transfer: null,
  });
  const sendings = vi.fn(async () => [sending(hexOfScript(listed(2).script), 1n), sending(payer, 5n)]);
  const header = { ...BLOCK, parent: `0x${'08'.repeat(32)}`, timeMs: 0, bloom: '', isProved: true } satisfies Header;
  const endpoint: Partial<EvmEndpoint> = {
    headers: async () => [header],
    headersByHash: async (hashes) => hashes.map(() => header),
    head: async () => header,
    receipts: async (txids) =>
      txids.map((txid) => ({ txid, succeeded: true, blockHash: BLOCK.hash, height: 9, fee: 0n, logs: [] })),
    balances: async (addresses, { height }) => {
      now += 1_000;
      return addresses.map(() => (height === BLOCK.height ? MOST : 0n));
    },
    sendings,
  };
  const list: Partial<ScriptList> = {
    page: (after) => [listed(after + 1)],
    coinsOf: () => [],
    targetIdOf: () => undefined,
    underId: () => [],
  };
  const reader = new OutgoingReader('ETH', [], list as ScriptList);
  const agreed = new Agreed([], list as ScriptList, reader);
  const ask = (credits: readonly Credit[], ms?: number) =>
    agreed.areThere(endpoint as EvmEndpoint, credits, SIGNAL, [], ms === undefined ? {} : { ms });
  const recover = (coins: readonly StoredCoin[]) =>
    agreed.recovered(endpoint as EvmEndpoint, coins, BLOCK.height, SIGNAL);
  return { ask, recover, sendings };
}

it('asks for the transactions of a block once, and counts those of each address', async () => {
  const { ask, sendings } = scene();
  expect(await ask([crumb(1), crumb(2), crumb(3)])).toEqual([true, false, true]);
  expect(sendings).toHaveBeenCalledTimes(1);
});

it('leaves the others for the next question when its time is over, but never all', async () => {
  const { ask } = scene();
  expect(await ask([crumb(1), crumb(3), crumb(4)], 3_000)).toEqual([true, true, null]);
  expect(await ask([crumb(1), crumb(3)], 0)).toEqual([true, null]);
});

it('looks for the largest first at a start, and for some seconds', async () => {
  const { recover } = scene();
  const coins = Array.from({ length: 40 }, (_, i): StoredCoin => {
    const { id: outpoint, txid, targetId, amount } = crumb(i + 3, BigInt(i + 1));
    const unspent = { spentTxid: null, spentBlockHeight: null, spentBlockHash: null };
    return { outpoint, txid, targetId, ...amount, blockHeight: null, blockHash: null, locked: false, ...unspent };
  });
  const found = await recover(coins);
  // two questions for each
  expect(found.map(({ amount }) => amount.units)).toEqual([40n, 39n, 38n, 37n, 36n, 35n, 34n, 33n, 32n, 31n]);
});
