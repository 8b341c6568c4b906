/** How far back, and for how long, a payment in tokens is looked for that an endpoint left out. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { LeftOut } from '../../../daemon/chains/evm/left-out.ts';
import type { Transfers } from '../../../daemon/chains/evm/transfers.ts';
import { RpcError } from '../../../daemon/chains/json-rpc.ts';
import type { AssetId } from '../../../daemon/domain/assets.ts';

const SIGNAL = new AbortController().signal;
const HELD = new Map<AssetId, bigint>([['USDT_ERC20', 7n]]);
const addressOf = (id: number) => ({ id, script: Buffer.alloc(20, id) });

describe('a payment in tokens that an endpoint left out', () => {
  const booked = new Map<number, bigint>();
  const asked: { from: number; to: number; recipients: number }[] = [];
  /** The most blocks that the endpoint tells in one answer. */
  let most = Number.POSITIVE_INFINITY;
  const transfers: Pick<Transfers, 'findFor'> = {
    findFor: async (_endpoint, range, recipients) => {
      if (range.to - range.from + 1 > most) throw new RpcError(-32_005, 'query returned more than 10000 results');
      asked.push({ ...range, recipients: recipients.length });
      return [];
    },
  };
  const list: Pick<ScriptList, 'unitsAt'> = { unitsAt: (id) => booked.get(id) ?? 0n };
  let leftOut: LeftOut;

  /** Looks in as many windows; false: nothing was left to look for before. */
  const look = async (tip: number, windows = 1): Promise<boolean> => {
    for (let i = 0; i < windows; i++) {
      const window = leftOut.next(tip);
      if (window === null) return false;
      leftOut.note(window, (await leftOut.find({} as EvmEndpoint, window, SIGNAL)).range);
    }
    return true;
  };

  beforeEach(() => {
    booked.clear();
    asked.length = 0;
    most = Number.POSITIVE_INFINITY;
    leftOut = new LeftOut(list, transfers as Transfers);
  });

  it('is looked for backwards, without a gap, down to the first block', async () => {
    leftOut.add(addressOf(1), HELD);
    expect(await look(12_000, 4)).toBe(false);
    expect(asked.map(({ from, to }) => [from, to])).toEqual([
      [7_001, 12_000],
      [2_001, 7_000],
      [0, 2_000],
    ]);
  });

  it('is looked for a million blocks back at most', async () => {
    leftOut.add(addressOf(1), HELD);
    expect(await look(9_000_000, 500)).toBe(false);
    expect(asked.at(-1)).toMatchObject({ from: 8_000_000 });
  });

  it('is not looked for where the books have as much', async () => {
    leftOut.add(addressOf(1), HELD);
    await look(100_000);
    booked.set(1, 6n);
    expect(await look(100_000)).toBe(true);
    booked.set(1, 7n);
    expect(await look(100_000)).toBe(false);
    expect(asked).toHaveLength(2);
  });

  it('is looked for once where an endpoint has more of the coin alone', async () => {
    leftOut.add(addressOf(1), new Map());
    expect(await look(100_000, 2)).toBe(false);
    expect(asked).toHaveLength(1);
  });

  it('is looked for in as many blocks as the endpoint tells, at all addresses that came as far', async () => {
    most = 2_000;
    leftOut.add(addressOf(1), HELD);
    await look(100_000);
    leftOut.add(addressOf(2), HELD);
    await look(100_000, 2);
    expect(asked).toEqual([
      { from: 98_751, to: 100_000, recipients: 1 },
      { from: 98_751, to: 100_000, recipients: 1 },
      { from: 97_501, to: 98_750, recipients: 2 },
    ]);
  });

  it('is looked for at 50 addresses at a time, each once', () => {
    expect(leftOut.add(addressOf(1), HELD)).toBe(true);
    expect(leftOut.add(addressOf(1), HELD)).toBe(false);
    for (let id = 2; id <= 50; id++) expect(leftOut.add(addressOf(id), HELD)).toBe(true);
    expect(leftOut.add(addressOf(51), HELD)).toBe(false);
  });
});
