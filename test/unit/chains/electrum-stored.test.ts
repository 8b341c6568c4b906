/** When a transaction of a history counts as stored, so that its history is not read again. */
import { expect, it } from 'vitest';
import type { ScriptList, StoredCoin } from '../../../daemon/chains/adapter.ts';
import type { HeaderSync } from '../../../daemon/chains/utxo/electrum/headers/sync.ts';
import type { Headers } from '../../../daemon/chains/utxo/electrum/headers/types.ts';
import { HistoryReader } from '../../../daemon/chains/utxo/electrum/histories/reader.ts';
import type { Scripts } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import type { UnstoredTransactions } from '../../../daemon/chains/utxo/electrum/histories/unstored.ts';

const [COIN, SPENDER] = ['aa'.repeat(32), 'bb'.repeat(32)];
const at = (height: number) => ({ blockHeight: height, blockHash: `block ${height}` });
const spentAt = (height: number | null) => ({
  spentTxid: SPENDER,
  spentBlockHeight: height,
  spentBlockHash: height === null ? null : `block ${height}`,
});
const coin = (n: number, over: Partial<StoredCoin>): StoredCoin => ({
  targetId: 1,
  outpoint: `${COIN}:${n}`,
  txid: COIN,
  asset: 'BTC',
  units: 1_000n,
  ...at(5),
  locked: false,
  spentTxid: null,
  spentBlockHeight: null,
  spentBlockHash: null,
  ...over,
});

/** Which of the two are stored, where both are in a history, at 5 and at 7; and how often the coins were read for that. */
function stored(coins: readonly StoredCoin[], partial: string | null = null): { are: boolean[]; reads: number } {
  let reads = 0;
  const coinsOf = () => {
    reads++;
    return coins;
  };
  const list = { coinsOf, isPartial: (txid: string) => txid === partial } as unknown as ScriptList;
  const headers = { lowest: 0, hashAt: (height: number) => `block ${height}` } as unknown as Headers;
  const reader = new HistoryReader({
    chain: 'BTC',
    list,
    headers,
    headerSync: {} as HeaderSync,
    unstored: {} as UnstoredTransactions,
    scripts: {} as Scripts,
    listener: { wake: () => {}, log: () => {}, bug: () => {}, alert: () => {}, leftOut: () => {} },
  });
  const script = { id: 1, script: Uint8Array.of(1) };
  const history = [
    { txid: COIN, height: 5 },
    { txid: SPENDER, height: 7 },
  ];
  const missing = reader.notStored(script, history);
  return { are: history.map((entry) => !missing.includes(entry)), reads };
}

it.each([
  ['coins and their spends in blocks', [coin(0, spentAt(7)), coin(1, spentAt(7))], null, [true, true]],
  [
    'a spend of which one part is not in its block yet',
    [coin(0, spentAt(7)), coin(1, spentAt(null))],
    null,
    [true, false],
  ],
  [
    'a spend of which one part was in another block',
    [coin(0, spentAt(7)), coin(1, { ...spentAt(7), spentBlockHash: 'gone' })],
    null,
    [true, false],
  ],
  [
    'a payment of which one part is not in its block yet',
    [coin(0, {}), coin(1, { blockHeight: null, blockHash: null })],
    null,
    [false, false],
  ],
  ['a payment whose outputs are not all stored', [coin(0, spentAt(7))], COIN, [false, true]],
] as const)('%s', (_name, coins, partial, expected) => {
  expect(stored(coins, partial)).toEqual({ are: expected, reads: 1 });
});
