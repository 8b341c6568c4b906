/** The numbers of outputs that a node of mainnet tells: none before RingCT, of which monerod answers with an error alone. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { straight } from '../../../daemon/chains/xmr/reach.ts';
import type { Network } from '../../../daemon/domain/assets.ts';

/** `mainnet_hard_forks[3].height` and `stagenet_hard_forks[3].height` of monerod. */
const STARTS = { mainnet: 1_220_516, testnet: 34_000 } as const;
const PER_BLOCK = 3;
const asked: [from: number, to: number][] = [];
let server: Server;
let url: string;
let start: number;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { params } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const { from_height, to_height } = params;
    asked.push([from_height, to_height]);
    const first = Math.max(from_height, start);
    // std::vector::reserve of a negative number of heights
    const error = { code: -5, message: 'Failed to get output distribution' };
    const distribution = { base: (first - start) * PER_BLOCK, start_height: first, distribution: [] as number[] };
    distribution.distribution = new Array<number>(Math.max(0, to_height - first + 1)).fill(PER_BLOCK);
    const answer = to_height < start ? { error } : { result: { status: 'OK', distributions: [distribution] } };
    response.end(JSON.stringify({ id: '0', jsonrpc: '2.0', ...answer }));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => {
  asked.length = 0;
});

async function counted(network: Network, from: number, to: number) {
  const node = new MoneroNode({ url, label: 'monerod', network, reach: straight() });
  try {
    return await node.outputCounts(from, to, AbortSignal.timeout(20_000));
  } finally {
    node.close();
  }
}

it.each(['mainnet', 'testnet'] as const)('are none before RingCT on %s, without a question', async (network) => {
  start = STARTS[network];
  expect(await counted(network, 0, start - 1)).toEqual({ base: 0, counts: new Array(start).fill(0) });
  expect(asked).toEqual([]);
});

it.each(['mainnet', 'testnet'] as const)(
  'begin with it in the page that has it on %s, and are whole behind it',
  async (network) => {
    start = STARTS[network];
    const { base, counts } = await counted(network, start - 4, start + 2);
    expect([base, counts]).toEqual([0, [0, 0, 0, 0, PER_BLOCK, PER_BLOCK, PER_BLOCK]]);
    expect(await counted(network, start + 10, start + 11)).toEqual({
      base: 10 * PER_BLOCK,
      counts: [PER_BLOCK, PER_BLOCK],
    });
    expect(asked).toEqual([
      [start, start + 2],
      [start + 10, start + 11],
    ]);
  },
);

it('are asked for from the first block on in regtest', async () => {
  start = 0;
  expect(await counted('regtest', 0, 2)).toEqual({ base: 0, counts: [PER_BLOCK, PER_BLOCK, PER_BLOCK] });
});
