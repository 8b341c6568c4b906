/**
 * Blocks of BNB Smart Chain's test network, as its nodes tell them. At their end the validator pays itself and the network by transactions
 * without a price; so do builders. The base fee is zero, `mixHash` has milliseconds, and the first of an epoch names validators.
 *
 * Of no block both lists were published: four have their transactions, and one its receipts.
 */
import { describe, expect, it } from 'vitest';
import { headerOf } from '../../../daemon/chains/evm/answers.ts';
import { type Fields, receiptBytes, senderOf, transactionBytes } from '../../../daemon/chains/evm/envelopes.ts';
import { provedBlock } from '../../../daemon/chains/evm/proved-block.ts';
import { trieRoot } from '../../../daemon/chains/evm/trie.ts';
import told from './bsc-blocks.json' with { type: 'json' };

const pause = () => undefined;
const blocks = told.blocks as unknown as (Fields & { transactions: Fields[] })[];
const { receipts, ...withReceipts } = told.withReceipts;
const VALIDATORS = '0x0000000000000000000000000000000000001000';

describe('a block of BNB Smart Chain', () => {
  it.each(blocks.map((block) => [Number(block.number), block] as const))(
    'is proved by its hash and by the root of its transactions: %s',
    async (_, block) => {
      const { hash, transactions, transactionsRoot } = block;
      expect(headerOf(block)).toMatchObject({ hash, isProved: true });
      expect(await trieRoot(transactions.map(transactionBytes), pause)).toBe(transactionsRoot);
      expect(transactions.map(senderOf)).toEqual(transactions.map(({ from }) => from));
    },
  );

  it('has blobs, prices of zero and transactions of the validator among its transactions', () => {
    const all = blocks.flatMap(({ miner, transactions }) => transactions.map((one): Fields => ({ ...one, miner })));
    expect(new Set(all.map(({ type }) => type))).toEqual(new Set(['0x0', '0x2', '0x3']));
    const system = all.filter(({ to }) => to === VALIDATORS);
    expect(system.map(({ gasPrice, from, miner }) => [gasPrice, from === miner])).toEqual(Array(4).fill(['0x0', true]));
    expect(all.filter(({ gasPrice, to }) => gasPrice === '0x0' && to !== VALIDATORS)).not.toEqual([]);
  });

  it('is proved by the root of its receipts, that of the validator with them', async () => {
    expect(headerOf(withReceipts)).toMatchObject({ hash: withReceipts.hash, isProved: true });
    expect(await trieRoot(receipts.map(receiptBytes), pause)).toBe(withReceipts.receiptsRoot);
    const gas = receipts.map(({ gasUsed }) => Number(gasUsed));
    expect(receipts.map(({ cumulativeGasUsed }) => Number(cumulativeGasUsed))).toEqual(
      gas.map((_, at) => gas.slice(0, at + 1).reduce((sum, one) => sum + one)),
    );
    expect(Number(withReceipts.gasUsed)).toBe(Number(receipts.at(-1)?.cumulativeGasUsed));
  });

  it.each<[string, (all: typeof receipts) => Fields[]]>([
    ['a failure of the validator', (all) => all.with(-1, { ...all.at(-1)!, status: '0x0' })],
    ['more gas of the validator', (all) => all.with(-1, { ...all.at(-1)!, cumulativeGasUsed: '0x911f6' })],
    ['another log', (all) => all.with(2, { ...all[2]!, logs: all[3]!.logs })],
    ['a success of what failed', (all) => all.with(8, { ...all[8]!, status: '0x1' })],
    ['no receipt of the validator', (all) => all.slice(0, -1)],
    ['two receipts exchanged', (all) => all.with(0, all[1]!).with(1, all[0]!)],
  ])('has other receipts than these: %s', async (_, change) => {
    expect(await trieRoot(change(receipts).map(receiptBytes), pause)).not.toBe(withReceipts.receiptsRoot);
  });

  it('without transactions is proved as a whole', async () => {
    const empty = blocks.find(({ transactions }) => transactions.length === 0)!;
    expect((await provedBlock(String(empty.hash), empty, [], pause)).size).toBe(0);
    const other = { ...empty, receiptsRoot: withReceipts.receiptsRoot };
    await expect(provedBlock(String(empty.hash), other, [], pause)).rejects.toThrow(/header/);
  });
});
