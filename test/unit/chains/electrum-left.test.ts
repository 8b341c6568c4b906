/** A server that names transactions and does not show them: its node may be busy, or it lies again and again. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { HeaderSync } from '../../../daemon/chains/utxo/electrum/headers/sync.ts';
import { Lookup } from '../../../daemon/chains/utxo/electrum/histories/lookup.ts';
import type { HistoryReader } from '../../../daemon/chains/utxo/electrum/histories/reader.ts';
import { Connection, TIMEOUTS } from '../../../daemon/chains/utxo/electrum/servers/connection.ts';
import { endpointOf } from '../../../daemon/chains/utxo/electrum/servers/endpoint.ts';
import type { Pins } from '../../../daemon/chains/utxo/electrum/servers/pins.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import { type Lack, ServerSet } from '../../../daemon/chains/utxo/electrum/servers/server-set.ts';
import { MS_PER_HOUR } from '../../../daemon/domain/time.ts';
import { hashOf, REGTEST_GENESIS } from './headers-kit.ts';

const WHY = 'it does not show what it names';
/** Longer than what a server may be doubted for, and than what clears other failures. */
const LONG_MS = 31_000;

let set: ServerSet;
let alerts: string[];
let primaries: (Server | null)[];

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const answers: Record<string, unknown> = {
    'blockchain.block.header': REGTEST_GENESIS,
    'blockchain.scripthash.get_history': [{ txid: 'ab'.repeat(32), height: 7 }],
  };
  vi.spyOn(Connection, 'open').mockImplementation(
    async () =>
      ({
        software: 'a server',
        protocol: '1.4',
        close: () => {},
        request: async (method: string) => answers[method] ?? null,
      }) as unknown as Connection,
  );
});
afterEach(() => {
  set.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** So many strangers' servers, all connected and at the tip. */
async function connected(count: number): Promise<readonly Server[]> {
  alerts = [];
  primaries = [];
  set = new ServerSet({
    endpoints: Array.from({ length: count }, (_, i) => endpointOf(`tcp://a.server${i}.org:50001`)),
    own: false,
    genesis: [hashOf(REGTEST_GENESIS)],
    proxy: null,
    proxyForAll: false,
    pins: {} as Pins,
    timeouts: TIMEOUTS,
    behind: () => 0,
    events: {
      onTip: () => {},
      onStatus: () => {},
      onReady: () => {},
      onGone: () => {},
      onPrimary: (server) => void primaries.push(server),
      onDropped: (_, reason) => alerts.push(reason),
    },
  });
  set.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(set.servers.map(({ state }) => state)).toEqual(set.servers.map(() => 'ready'));
  return set.servers;
}

/** How long a server is away after it was connected for long and then left. */
async function pauseOf(server: Server): Promise<number> {
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(server.state).toBe('ready');
  server.leave(WHY);
  const leftAtMs = performance.now();
  while (server.state !== 'ready') await vi.advanceTimersByTimeAsync(250);
  return Math.round((performance.now() - leftAtMs) / 1_000);
}

it('is away for longer each time, however long it was connected, and is no liar', async () => {
  const [server] = await connected(2);
  expect([await pauseOf(server!), await pauseOf(server!), await pauseOf(server!)]).toEqual([8, 60, 60]);
  expect(alerts).toEqual([]);
  await vi.advanceTimersByTimeAsync(MS_PER_HOUR);
  expect(await pauseOf(server!)).toBe(8);
});

it('is told of once it was left five times within an hour, and still tried again', async () => {
  const [server] = await connected(2);
  for (let i = 0; i < 4; i++) await pauseOf(server!);
  expect(alerts).toEqual([]);
  expect(await pauseOf(server!)).toBe(60);
  expect(alerts).toEqual([`it was left 5 times within an hour, the last time because ${WHY}`]);
});

it('comes after the others, also when the primary is changed by chance', async () => {
  const servers = await connected(3);
  const left = set.primary!;
  await pauseOf(left);
  expect(set.ready().at(-1)).toBe(left);
  // the last of those that can be the next primary
  vi.mocked(Math.random).mockReturnValue(0.999);
  primaries = [];
  await vi.advanceTimersByTimeAsync(MS_PER_HOUR / 2);
  for (let hour = 0; hour < 5; hour++) {
    await pauseOf(left);
    await vi.advanceTimersByTimeAsync(MS_PER_HOUR - 2 * LONG_MS - 60_000);
  }
  expect(primaries).toHaveLength(1);
  expect(servers.filter((one) => one !== left)).toContain(primaries[0]);
});

it.each<[what: string, lack: Lack, perStep: { own: number; other: number }, changes: number]>([
  ['is told of thousands of scripts', 'watching', { own: 100, other: 0 }, 0],
  ['waits for others that are told of thousands', 'rest', { own: 0, other: 100 }, 0],
  ['watches hardly more after a while', 'watching', { own: 5, other: 100 }, 1],
  ['waits for others that hardly watch more', 'rest', { own: 0, other: 5 }, 1],
  ['only reads', 'reading', { own: 100, other: 100 }, 1],
])(
  'without a complete view for three minutes, one that %s keeps or ends its turn',
  async (_, lack, perStep, changes) => {
    await connected(2);
    const primary = set.primary!;
    const [other] = set.others(primary);
    // the other one watches as much already
    for (let n = 0; n < 10_000; n++) other!.statuses.set(`rest ${n}`, null);
    const watchMore = ({ statuses }: Server, count: number): void => {
      for (let n = 0; n < count; n++) statuses.set(`more ${statuses.size}`, null);
    };
    primaries = [];
    for (let seconds = 0; seconds < 180; seconds += 5) {
      watchMore(primary, perStep.own);
      watchMore(other!, perStep.other);
      set.viewed(primary, lack);
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect(primaries).toHaveLength(changes);
  },
);

it('is left by a search of the words, too, and not dropped', async () => {
  const [server] = await connected(1);
  const reader = { paysIn: async () => 'unknown' } as unknown as HistoryReader;
  const lookup = new Lookup({ set, headerSync: { behind: () => 0 } as unknown as HeaderSync, reader });
  vi.spyOn(server!, 'history').mockResolvedValue([{ txid: 'ab'.repeat(32), height: 7 }]);
  const ask = () => lookup.areUsed([Uint8Array.of(1)]).catch(({ message }: Error) => message);
  expect(await ask()).toContain('it does not prove transaction abab');
  expect(server!.state).toBe('ready');
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(await ask()).toContain('it does not show transaction abab');
  expect([server!.state, alerts]).toEqual(['waiting', []]);
});
