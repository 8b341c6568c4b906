/** Payments as their blocks prove them, and how often the books are read for it at an address that thousands of payments reached. */
import { expect, it } from 'vitest';
import type { ScriptList, StoredCoin } from '../../../daemon/chains/adapter.ts';
import type { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { BlockProofs } from '../../../daemon/chains/evm/block-proofs.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { tokensOf } from '../../../daemon/chains/evm/params.ts';
import type { ProvedBlock } from '../../../daemon/chains/evm/proved-block.ts';
import { type Incoming, paddedAddress, TRANSFER } from '../../../daemon/chains/evm/transfers.ts';
import type { Credit } from '../../../daemon/domain/chain.ts';

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

it('refuses a payment of a stranger that is called a transfer of our own, and the opposite', async () => {
  const [target, tank, stranger] = [1, 2, 3].map((byte) => Buffer.alloc(20, byte)) as [Buffer, Buffer, Buffer];
  const list: Partial<ScriptList> = {
    coin: () => undefined,
    page: () => [{ id: 1, script: target }],
    targetIdOf: (script) => [target, tank].findIndex((one) => one.equals(script)) + 1 || undefined,
    accountOf: () => 7,
  };
  const { txid, blockHash, height } = eventIn(5).log;
  /** Whether coins and tokens that this address sent are taken for what they are told to be. */
  const isTaken = async (from: Buffer, moved: boolean): Promise<boolean[]> => {
    const topics = [TRANSFER, paddedAddress(hexOfScript(from)), paddedAddress(hexOfScript(target))];
    const log = { ...eventIn(5).log, topics, data: `0x${'9'.padStart(64, '0')}` };
    const receipt = { txid, succeeded: true, height, blockHash, fee: 1n, logs: [log] };
    // the node always names the tank as the sender; `sender` is the one who signed
    const sending = { txid, from: hexOfScript(tank), nonce: 0n, to: hexOfScript(target), value: 5n, transfer: null };
    const block: ProvedBlock = new Map([[txid, { receipt, sending, sender: () => hexOfScript(from) }]]);
    const teller: Partial<EvmEndpoint> = { provedBlock: async () => block };
    const endpoints = { other: async () => undefined } as unknown as Endpoints<EvmEndpoint>;
    const proofs = new BlockProofs({ endpoints, list: list as ScriptList, tokens: [token!], log: () => {} });
    const base = { txid, targetId: 1, block: { height, hash: blockHash }, inputs: [], moved, replaceable: true };
    const coins: Credit = { ...base, id: `${txid}:0`, amount: { asset: 'ETH', units: 5n } };
    const tokens: Credit = { ...base, id: `${txid}:1`, amount: { asset: token!.asset, units: 9n } };
    const checked = [coins, tokens].map((one) =>
      proofs.check(teller as EvmEndpoint, [one], AbortSignal.timeout(5_000)).then(
        () => true,
        () => false,
      ),
    );
    return Promise.all(checked);
  };
  expect(await isTaken(tank, true)).toEqual([true, true]);
  expect(await isTaken(stranger, true)).toEqual([false, false]);
  expect(await isTaken(tank, false)).toEqual([false, false]);
  expect(await isTaken(stranger, false)).toEqual([true, true]);
});

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
