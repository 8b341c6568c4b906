import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { slices } from '../../../daemon/chains/slices.ts';
import { eachTxid, hexResult } from '../../../daemon/chains/utxo/hex.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const never = () => undefined;
const body = (text: string): Buffer => Buffer.from(text);

const listed = async (text: string): Promise<string[]> => {
  const found = new Set<string>();
  await eachTxid(body(text), never, (txid) => found.add(txid));
  return [...found];
};

describe('a result in hex', () => {
  it('is read whatever its length, and however the answer is laid out', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
        const result = Buffer.from(bytes).toString('hex');
        for (const text of [
          JSON.stringify({ result, error: null, id: 0 }),
          JSON.stringify({ jsonrpc: '2.0', result, id: 0 }),
          JSON.stringify({ id: 0, error: null, result }, null, 2),
        ]) {
          expect(await hexResult(body(text), never)).toEqual(Buffer.from(bytes));
        }
      }),
      { numRuns: 30 },
    );
  });

  it('of several slices is read with rests in between', async () => {
    const bytes = Buffer.alloc(3_000_000, 0xa7);
    let rests = 0;
    const pause = () => {
      rests++;
      return Promise.resolve();
    };
    const text = JSON.stringify({ result: bytes.toString('hex'), error: null, id: 0 });
    expect((await hexResult(body(text), pause)).equals(bytes)).toBe(true);
    expect(rests).toBeGreaterThan(10);
  });

  it.each(['{"result":"abc","error":null}', '{"result":"zz"}', '{"result":"ab', '{"result":7}', '{}', 'null', ''])(
    'is refused when it is none: %s',
    async (text) => {
      await expect(hexResult(body(text), never)).rejects.toThrow(Unavailable);
    },
  );
});

describe('a list of transaction ids', () => {
  const ids = [...'123456789abcdef'].map((digit) => digit.repeat(64));

  it.each([
    ['compact', JSON.stringify({ result: ids, error: null, id: 0 })],
    ['with version', JSON.stringify({ jsonrpc: '2.0', result: ids, id: 0 })],
    ['indented', JSON.stringify({ result: ids, error: null, id: 0 }, null, 2)],
    ['with spaces', `{"result":${JSON.stringify(ids).replaceAll(',', ', ')}}`],
    ['result last', JSON.stringify({ id: 0, error: null, result: ids })],
  ])('is read (%s)', async (_layout, text) => {
    expect(await listed(text)).toEqual(ids);
  });

  it('may be empty', async () => {
    expect(await listed('{"result":[],"error":null,"id":0}')).toEqual([]);
  });

  it.each(['{"result":["abc"]}', `{"result":["${'a'.repeat(64)}"`, '{"result":{}}', '{"result":[5]}', ''])(
    'is refused when it is none: %s',
    async (text) => {
      await expect(listed(text)).rejects.toThrow(Unavailable);
    },
  );
});

describe('a slice', () => {
  it('ends after its time, and a rest begins a new one', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    try {
      const pause = slices(5);
      clock.mockReturnValue(1_004.9);
      expect(pause()).toBeUndefined();
      clock.mockReturnValue(1_005);
      const rest = pause();
      expect(rest).toBeInstanceOf(Promise);
      clock.mockReturnValue(2_000);
      await rest;
      expect(pause()).toBeUndefined();
      clock.mockReturnValue(2_005);
      expect(pause()).toBeInstanceOf(Promise);
    } finally {
      clock.mockRestore();
    }
  });
});
