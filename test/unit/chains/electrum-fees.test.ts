/** Whose word of a fee rate counts. */
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { LightClient } from '../../../daemon/chains/utxo/electrum/client.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import { ElectrumSpending } from '../../../daemon/chains/utxo/electrum/spending.ts';

/** The rate by servers of these operators, in coins per 1,000 bytes. */
function rateBy(told: readonly (readonly [operator: string, fee: number])[]): Promise<bigint> {
  const servers = told.map(([operator, fee]) => {
    return { operator, estimateFee: async () => fee, minimumFee: async () => 0.00001 } as unknown as Server;
  });
  const client = { set: { ready: () => servers } } as unknown as LightClient;
  const source = new ElectrumSpending({
    chain: 'BTC',
    list: {} as ScriptList,
    setting: 'servers',
    withClient: (_signal, use) => use(client, servers[0] as Server),
  });
  return source.feeRate(6, AbortSignal.timeout(20_000));
}

it.each([
  ['one', [['a', 0.0002]], 20_000n],
  [
    'the middle one of three operators',
    [
      ['a', 0.0002],
      ['b', 0.009],
      ['c', 0.0003],
    ],
    30_000n,
  ],
  [
    'one of two, though that has more servers',
    [
      ['a', 0.009],
      ['a', 0.009],
      ['b', 0.0002],
    ],
    20_000n,
  ],
  [
    'the middle one of three, though another has as many servers',
    [
      ['a', 0],
      ['a', 0],
      ['b', 0.0002],
      ['c', 0.0003],
    ],
    20_000n,
  ],
  [
    'those that have a rate',
    [
      ['a', -1],
      ['b', 2_000],
      ['c', 0.0003],
    ],
    30_000n,
  ],
] as const)('%s', async (_, told, rate) => {
  expect(await rateBy(told)).toBe(rate);
});
