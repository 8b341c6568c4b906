/** When a node counts as caught up with its network: what one says that was just started, is alone, or still loads. */
import { describe, expect, it } from 'vitest';
import { until } from './conformance.ts';
import { core28 } from './fixtures/dialects.ts';
import { adapterOf, closeAfterEach, ready, signal } from './fixtures/fake-setup.ts';

closeAfterEach();

const GENESIS = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';
const HOUR_S = 3_600;

type State = { headersAhead?: number; peers?: number | null; tipAgeS?: number; loaded?: boolean };

/** The fake node as one of the main network, in such a state. */
async function publicNode({ headersAhead = 0, peers = 8, tipAgeS = 600, loaded = true }: State) {
  const { node, book } = await ready(core28);
  const chain = node.answer('getblockchaininfo', []) as { blocks: number };
  const mempool = node.answer('getmempoolinfo', []) as object;
  const time = Math.floor(Date.now() / 1_000) - tipAgeS;
  node.overrides.set('getblockhash', ([height]) => (height === 0 ? GENESIS : undefined));
  node.overrides.set('validateaddress', () => ({ isvalid: true }));
  node.overrides.set('getblockchaininfo', () => ({ ...chain, headers: chain.blocks + headersAhead }));
  node.overrides.set('getmempoolinfo', () => ({ ...mempool, loaded }));
  node.overrides.set('getblockheader', () => ({ height: chain.blocks, time, mediantime: time - HOUR_S }));
  if (peers !== null) node.overrides.set('getconnectioncount', () => peers);
  return { node, book, adapter: adapterOf(node, book, { network: 'mainnet' }), medianTime: (time - HOUR_S) * 1_000 };
}

describe('a node of a public network', () => {
  it.each<[string, State, 'complete' | 'unknown']>([
    ['that has every block, and others around it', {}, 'complete'],
    ['that does not say how many others it knows', { peers: null }, 'complete'],
    ['with headers whose blocks it lacks', { headersAhead: 1 }, 'unknown'],
    ['that was away, with 70 headers ahead', { headersAhead: 70 }, 'unknown'],
    ['that knows nobody yet', { peers: 0 }, 'unknown'],
    ['whose tip is of yesterday', { tipAgeS: 24 * HOUR_S }, 'unknown'],
    ['that still reads its mempool', { loaded: false }, 'unknown'],
  ])('%s', async (_, state, mempool) => {
    const { book, adapter, medianTime } = await publicNode(state);
    const update = await adapter.sync(book.checkpoint, signal());
    expect(update).toMatchObject({ mempool, tipMedianTime: medianTime, more: false });
    if (state.headersAhead === 70 || state.peers === 0 || state.tipAgeS) expect(adapter.health().lagging).toBe(true);
  });

  it('of tests is caught up though it knows nobody, and has no time of its own', async () => {
    const { book, adapter } = await ready(core28);
    const update = await adapter.sync(book.checkpoint, signal());
    expect(update).toMatchObject({ mempool: 'complete', more: false });
    expect(update).not.toHaveProperty('tipMedianTime');
  });
});

it('one that cannot tell all of its mempool says whether there is more to fetch', async () => {
  const { node, book, adapter } = await ready(core28, { mempoolLimits: { fetchedPerLookMax: 50 } });
  for (let i = 0; i < 120; i++) node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
  const told: unknown[] = [];
  await until(async () => {
    const update = await adapter.sync(book.checkpoint, signal());
    told.push(update?.more);
    return update?.mempool === 'complete';
  }, 'all of the mempool');
  expect(told).toContain(true);
  expect(told.at(-1)).toBe(false);
});
