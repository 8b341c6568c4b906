/** Which blocks are read to prove what they pay, at an address that thousands of payments reached. */
import { expect, it } from 'vitest';
import type { ScriptList, StoredCoin } from '../../../daemon/chains/adapter.ts';
import type { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { BlockProofs } from '../../../daemon/chains/evm/block-proofs.ts';
import type { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { tokensOf } from '../../../daemon/chains/evm/params.ts';
import type { Incoming } from '../../../daemon/chains/evm/transfers.ts';

const [token] = tokensOf('mainnet', 'ETH', {});
const idOf = (kind: string, n: number): string => `0x${kind}${n.toString(16).padStart(62, '0')}`;

/** An event of a block of its own. */
const eventIn = (height: number): Incoming => {
  const place = { txid: idOf('aa', height), blockHash: idOf('bb', height), height };
  return {
    log: { ...place, contract: token!.contract, topics: [], data: '0x', index: 0 },
    token: token!,
    targetId: 1,
    moved: false,
  };
};

it('reads its payments in the books once for all blocks of a step', async () => {
  const coins = [1, 2].map((height) => {
    const { txid, blockHash } = eventIn(height).log;
    return { txid, blockHash } as StoredCoin;
  });
  let read = 0;
  const list: Partial<ScriptList> = {
    coinsOf: () => {
      read++;
      return coins;
    },
  };
  const asked: string[] = [];
  const teller: Partial<EvmEndpoint> = {
    provedBlock: async (hash) => {
      asked.push(hash);
      return new Map();
    },
  };
  const endpoints = { other: async () => undefined } as unknown as Endpoints<EvmEndpoint>;
  const proofs = new BlockProofs({ endpoints, list: list as ScriptList, tokens: [], log: () => {} });
  proofs.begin();
  const incoming = Array.from({ length: 1_000 }, (_, i) => eventIn(i + 1));
  expect(await proofs.receipts(teller as EvmEndpoint, incoming, AbortSignal.timeout(5_000))).toEqual(new Map());
  expect(read).toBe(1);
  // those that the books have are left out
  expect(asked).toEqual([3, 4, 5, 6, 7, 8, 9, 10].map((height) => idOf('bb', height)));
});
