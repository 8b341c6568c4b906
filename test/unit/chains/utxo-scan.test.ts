import { describe, expect, it } from 'vitest';
import { parseTransaction, transactionsOf } from '../../../daemon/chains/utxo/block.ts';
import { type Finder, findInBlock, findInTransaction, type MatchResult } from '../../../daemon/chains/utxo/match.ts';
import type { UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import { hogExBlock } from '../../adapters/fixtures/hogex-block.ts';
import { idOf, type Written, writeBlock, writeCoinbase, writeTransaction } from '../../adapters/fixtures/serial.ts';

const OURS = Buffer.from(`0014${'11'.repeat(20)}`, 'hex');
const THEIRS = Buffer.from(`0014${'22'.repeat(20)}`, 'hex');
const BLOCK = { height: 7, hash: 'bb'.repeat(32) };
const TIME_MS = 1_700_000_000_000;
const coin = (digit: string, vout = 0) => ({ txid: digit.repeat(64), vout });

/** A finder that watches `scripts` in their order from 1, and counts what it is asked. */
function finderOf(chain: UtxoChain, scripts: Uint8Array[] = [OURS], coins: string[] = []) {
  const asked = { scripts: 0, outpoints: 0, pauses: 0 };
  const finder: Finder = {
    chain,
    fresh: new Set(),
    watch: {
      targetIdOf(script) {
        asked.scripts++;
        const at = scripts.findIndex((known) => Buffer.from(known).equals(script));
        return at < 0 ? undefined : at + 1;
      },
      accountOf: () => undefined,
      isOurCoin(outpoint) {
        asked.outpoints++;
        return coins.includes(outpoint);
      },
    },
    pause() {
      asked.pauses++;
      return undefined;
    },
  };
  return { finder, asked };
}

async function scanBlock(finder: Finder, transactions: Written[], reward: Uint8Array = THEIRS): Promise<MatchResult> {
  const all = [writeCoinbase(1, reward), ...transactions].map(writeTransaction);
  const { bytes } = writeBlock({ previous: '00'.repeat(32), timeSeconds: 1, salt: 1, transactions: all });
  const found: MatchResult = { credits: [], spends: [] };
  await findInBlock(finder, bytes, BLOCK, TIME_MS, found);
  return found;
}

describe('a transaction', () => {
  it('with very many outputs to us is told in part while it is unconfirmed, always the same, and whole in a block', async () => {
    const outputs = Array.from({ length: 12_900 }, () => ({ units: 546n, script: OURS }));
    const transaction: Written = { inputs: [coin('a')], outputs };
    const look = async (): Promise<string[]> => {
      const found: MatchResult = { credits: [], spends: [] };
      const { finder } = finderOf('BTC');
      await findInTransaction(finder, parseTransaction(writeTransaction(transaction), 'BTC'), null, found);
      return found.credits.map(({ id }) => id);
    };
    expect(await look()).toEqual(Array.from({ length: 50 }, (_, n) => `${idOf(transaction)}:${n}`));
    expect(await look()).toEqual(await look());
    const { credits } = await scanBlock(finderOf('BTC').finder, [transaction]);
    expect(credits).toHaveLength(12_900);
    // what all of them share is there once
    expect(new Set(credits.map(({ inputs }) => inputs)).size).toBe(1);
  });

  it('unconfirmed: credits of ours with their inputs, and spends of ours', async () => {
    const transaction: Written = {
      inputs: [coin('a', 3), coin('c')],
      outputs: [
        { units: 5n, script: THEIRS },
        { units: 6n, script: OURS },
      ],
    };
    const { finder, asked } = finderOf('LTC', [OURS], [`${'c'.repeat(64)}:0`]);
    const found: MatchResult = { credits: [], spends: [] };
    await findInTransaction(finder, parseTransaction(writeTransaction(transaction), 'LTC'), null, found);
    const txid = idOf(transaction);
    expect(found).toEqual({
      credits: [
        {
          id: `${txid}:1`,
          txid,
          targetId: 1,
          amount: { asset: 'LTC', units: 6n },
          block: null,
          inputs: [`${'a'.repeat(64)}:3`, `${'c'.repeat(64)}:0`],
        },
      ],
      spends: [{ outpoint: `${'c'.repeat(64)}:0`, txid, block: null }],
    });
    expect(asked).toMatchObject({ scripts: 2, outpoints: 2 });
  });

  it('keeps a hundred inputs, and counts no output of nothing', async () => {
    const { finder } = finderOf('BTC');
    const inputs = Array.from({ length: 130 }, (_, vout) => coin('d', vout));
    const { credits } = await scanBlock(finder, [
      {
        inputs,
        outputs: [
          { units: 0n, script: OURS },
          { units: 1n, script: OURS },
        ],
      },
    ]);
    expect(credits.map(({ id, inputs: kept }) => [id.split(':')[1], kept.length])).toEqual([['1', 100]]);
  });
});

describe('a block', () => {
  it('gives its credits their block, time and a reward its maturity', async () => {
    const { finder } = finderOf('BTC', [OURS, THEIRS]);
    const { credits } = await scanBlock(finder, [{ inputs: [coin('a')], outputs: [{ units: 9n, script: OURS }] }]);
    expect(
      credits.map(({ targetId, block, blockTime, maturity }) => ({ targetId, block, blockTime, maturity })),
    ).toEqual([
      { targetId: 2, block: BLOCK, blockTime: TIME_MS, maturity: 100 },
      { targetId: 1, block: BLOCK, blockTime: TIME_MS, maturity: undefined },
    ]);
    expect(credits[0]?.inputs).toEqual([]);
  });

  it.each([
    { chain: 'BTC' as const, order: 'before' },
    { chain: 'BCH' as const, order: 'before' },
    { chain: 'BCH' as const, order: 'after' },
  ])('on $chain gives both a coin and its spend when the coin stands $order it', async ({ chain, order }) => {
    const parent: Written = { inputs: [coin('a')], outputs: [{ units: 9n, script: OURS }] };
    const child: Written = { inputs: [{ txid: idOf(parent), vout: 0 }], outputs: [{ units: 8n, script: THEIRS }] };
    const { finder } = finderOf(chain);
    const { credits, spends } = await scanBlock(finder, order === 'before' ? [parent, child] : [child, parent]);
    expect(credits.map(({ id }) => id)).toEqual([`${idOf(parent)}:0`]);
    expect(spends).toEqual([{ outpoint: `${idOf(parent)}:0`, txid: idOf(child), block: BLOCK, blockTime: TIME_MS }]);
  });

  /** A block as a node sends it that was started with -rpcserialversion=1. */
  const withoutExtension = (block: Buffer): Buffer => {
    const bases = [...transactionsOf(block, 'LTC')].map((one) => one?.base() ?? Buffer.alloc(0));
    return Buffer.concat([block.subarray(0, 80), Buffer.of(bases.length), ...bases]);
  };

  it.each([
    ['as it is', (block: Buffer) => block],
    ['without the extension', withoutExtension],
  ])("gives a Litecoin peg-out its maturity, a block's other payments none: %s", async (_, sent) => {
    const [, payment, hogEx] = hogExBlock.transactions;
    const scripts = [payment?.outputs[1]?.script ?? '', hogEx?.outputs[1]?.script ?? ''];
    const { finder } = finderOf(
      'LTC',
      scripts.map((script) => Buffer.from(script, 'hex')),
    );
    const found: MatchResult = { credits: [], spends: [] };
    await findInBlock(finder, sent(Buffer.from(hogExBlock.hex, 'hex')), BLOCK, TIME_MS, found);
    expect(found.credits.map(({ id, amount, maturity }) => ({ id, units: amount.units, maturity }))).toEqual([
      { id: `${payment?.txid}:1`, units: 200_000_000n, maturity: undefined },
      { id: `${hogEx?.txid}:1`, units: 50_000_000n, maturity: 6 },
    ]);
  });

  it('is looked up once for each output and input, with a chance to rest at each transaction and within long ones', async () => {
    const small = Array.from({ length: 200 }, (_, vout) => ({
      inputs: [coin('a', vout)],
      outputs: [{ units: 1n, script: THEIRS }],
    }));
    const large = { inputs: [coin('b')], outputs: Array.from({ length: 960 }, () => ({ units: 1n, script: THEIRS })) };
    const { finder, asked } = finderOf('BTC', []);
    await scanBlock(finder, [...small, large]);
    expect(asked).toMatchObject({ scripts: 1 + 200 + 960, outpoints: 200 + 1 });
    expect(asked.pauses).toBeGreaterThanOrEqual(200 + 960 / 32);
  });
});
