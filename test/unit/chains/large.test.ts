/** Nothing that a node, a server or a miner sends holds the event loop for long, however large it is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsedList } from '../../../daemon/chains/json-list.ts';
import { slices } from '../../../daemon/chains/slices.ts';
import { ParseError, parseAnyTransaction, parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import { findInBlock } from '../../../daemon/chains/utxo/match.ts';
import { writeBlock, writeCoinbase, writeTransaction } from '../../adapters/fixtures/serial.ts';
import { slowness, turnsOf } from '../../bench/turns.ts';

const TURN_CPU_MS_MAX = 50;
const nothing = Buffer.alloc(0);
const input = { txid: '11'.repeat(32), vout: 0 };
const output = { units: 1n, script: nothing };

describe('a list in JSON', () => {
  const withSpaces = fc.constantFrom(undefined, 1, '\t');
  it('is taken apart as JSON.parse does it, whatever it holds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), withSpaces, async (list, spaces) => {
        const text = ` ${JSON.stringify(list, null, spaces)}\n`;
        expect(await parsedList(Buffer.from(text), slices(0))).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    '',
    '{}',
    '[',
    '[1',
    '[1,',
    '[1,]',
    '[,]',
    '[1 2]',
    '["a]',
    '["a\\"]',
    '[1]]',
    '[{]',
    '[}',
    '[1] 2',
    'null',
  ])('that is none is left to who knows what to say of it: %s', async (text) => {
    expect(await parsedList(Buffer.from(text), slices())).toBeNull();
  });

  it('of 20 MB lets others have their turn', async () => {
    const list = Array.from({ length: 25 }, (_, id) => ({
      result: '0123456789abcdef'.repeat(50_000),
      error: null,
      id,
    }));
    const body = Buffer.from(JSON.stringify(list));
    let taken: unknown[] | null = null;
    const { longest } = await turnsOf(
      parsedList(body, slices()).then((found) => {
        taken = found;
      }),
    );
    expect(taken).toEqual(list);
    expect(longest / slowness()).toBeLessThan(TURN_CPU_MS_MAX);
  });
});

describe('a transaction of 4 MB', () => {
  const kinds = {
    outputs: { inputs: [input], outputs: Array.from({ length: 400_000 }, () => output) },
    inputs: { inputs: Array.from({ length: 95_000 }, (_, vout) => ({ ...input, vout })), outputs: [output] },
    witnesses: {
      inputs: [{ ...input, witness: Array.from({ length: 3_900_000 }, () => nothing) }],
      outputs: [output],
    },
  };

  it.each(Object.entries(kinds))('of %s lets others have their turn, in a block', async (_, transaction) => {
    const transactions = [writeTransaction(writeCoinbase(1, Buffer.of(0x51))), writeTransaction(transaction)];
    const { bytes } = writeBlock({ previous: '00'.repeat(32), timeSeconds: 1, salt: 1, transactions });
    const watch = { isOurCoin: () => false, targetIdOf: () => undefined } as never;
    const finder = { chain: 'BTC' as const, watch, fresh: new Set<string>(), pause: slices() };
    const found = { credits: [], spends: [] };
    const { longest } = await turnsOf(findInBlock(finder, bytes, { height: 1, hash: '00'.repeat(32) }, 0, found));
    expect(longest / slowness()).toBeLessThan(TURN_CPU_MS_MAX);
  });

  it('is read the same in many turns as in one, and refused the same', async () => {
    const bytes = writeTransaction({
      inputs: Array.from({ length: 600 }, (_, vout) => ({ ...input, vout, witness: [Buffer.of(vout % 256), nothing] })),
      outputs: Array.from({ length: 1_000 }, (_, n) => ({ units: BigInt(n), script: Buffer.alloc(n % 30) })),
    });
    const [one, many] = [parseTransaction(bytes, 'BTC'), await parseAnyTransaction(bytes, 'BTC', slices(0))];
    expect(many.outputs).toHaveLength(1_000);
    expect(many.inputs.map(({ vout }) => vout)).toEqual(Array.from({ length: 600 }, (_, vout) => vout));
    expect([many.txid(), many.outputs, many.lockTime]).toEqual([one.txid(), one.outputs, one.lockTime]);
    for (const cut of [1, 5, 1_000, 3_000]) {
      const short = bytes.subarray(0, -cut);
      expect(() => parseTransaction(short, 'BTC')).toThrow(ParseError);
      await expect(parseAnyTransaction(short, 'BTC', slices(0))).rejects.toThrow(ParseError);
    }
  });
});
