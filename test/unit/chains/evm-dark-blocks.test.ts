/** How far blocks are read whose state no endpoint has. */
import { expect, it } from 'vitest';
import { DarkBlocks } from '../../../daemon/chains/evm/dark-blocks.ts';
import type { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { BLOCK_MS } from '../../../daemon/chains/evm/params.ts';

type WholeBlock = Awaited<ReturnType<EvmEndpoint['wholeBlocks']>>[number];

it('reads an hour of BNB Smart Chain and no block more', async () => {
  const [ours, payer] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`];
  const hour = 3_600_000 / BLOCK_MS.BSC;
  const sending = { from: payer, to: ours, nonce: 0n, value: 1n, transfer: null };
  const dark = new DarkBlocks({
    endpoint: {
      sendings: async () => [],
      wholeBlocks: async (heights) =>
        heights.map((height) => {
          const sendings = height === hour || height === hour + 1 ? [{ ...sending, txid: `in ${height}` }] : [];
          return { height, hash: `${height}`, parent: `${height - 1}`, sendings } as WholeBlock;
        }),
    },
    checkpoint: [{ height: 2 * hour, hash: `${2 * hour}` }],
    addresses: new Set([ours]),
    pause: () => undefined,
    signal: AbortSignal.timeout(5_000),
  });
  const found = await dark.sendings(ours, { from: 1, to: 2 * hour }, 2n, () => false);
  expect(found.map(({ txid }) => txid)).toEqual([`in ${hour}`]);
});
