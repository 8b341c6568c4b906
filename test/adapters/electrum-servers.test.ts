/** Which of several Electrum servers is asked, and what one of them may cost the others. No node is needed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ElectrumAdapter, type ElectrumOptions } from '../../daemon/chains/utxo/electrum/electrum.ts';
import type { ChainUpdate, Checkpoint } from '../../daemon/domain/chain.ts';
import { type Answer, StubServer } from '../nodes/stub-server.ts';
import { branch, hashOf, mine, REGTEST_GENESIS } from '../unit/chains/headers-kit.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';

const SYNC_MS = 15_000;
const HEADER_LATE_MS = 3_500;
/** Well below what the late server takes for one reply. */
const SOON_MS = 3_000;

const opened: { close(): Promise<void> }[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'servers-'));
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
  await rm(folder, { recursive: true, force: true });
});

async function serve(headers: readonly Buffer[], answer?: Answer): Promise<StubServer> {
  const server = await StubServer.start(answer ? { headers, answer } : { headers });
  opened.push(server);
  return server;
}

function open(servers: readonly StubServer[], options: Partial<ElectrumOptions> = {}) {
  const alerts: string[] = [];
  const adapter = new ElectrumAdapter({
    ...{ chain: 'BTC', network: 'regtest', folder, list: new FactBook() },
    servers: servers.map(({ url }) => url),
    alert: (server, message) => alerts.push(`${server}: ${message}`),
    ...options,
  });
  opened.push(adapter);
  const sync = (since: Checkpoint): Promise<ChainUpdate | null> => adapter.sync(since, AbortSignal.timeout(SYNC_MS));
  return { adapter, alerts, sync };
}

const checkpointOf = (headers: readonly Buffer[]): Checkpoint =>
  [REGTEST_GENESIS, ...headers].map((header, height) => ({ height, hash: hashOf(header) }));

const main = branch(REGTEST_GENESIS, 40, 7);
const other = branch(main[19] as Buffer, 15, 9);

/** Headers without work on top of what is there. */
function forged(count: number): Buffer[] {
  const headers: Buffer[] = [];
  let parent = main.at(-1) as Buffer;
  for (let i = 0; i < count; i++) {
    const easy = mine(parent, { timeSeconds: parent.readUInt32LE(68) + 600 });
    for (let nonce = 0; Buffer.from(hashOf(easy), 'hex')[0]! < 0x80; nonce++) easy.writeUInt32LE(nonce, 76);
    headers.push(easy);
    parent = easy;
  }
  return headers;
}

/** Sends one header a reply, each late. */
const drips =
  (server: () => StubServer, lateMs: number): Answer =>
  async (method, [from]) => {
    if (method !== 'blockchain.block.headers' || Number(from) === 0) return undefined;
    await sleep(lateMs);
    return { count: 1, hex: server().headers[Number(from)]?.toString('hex') ?? '', max: 2016 };
  };

describe('a server that sends one header a reply, each late', () => {
  it.each([
    { what: 'that have no work', headers: [...main, ...forged(30)], first: true },
    { what: 'that have no work, and is not the asked one', headers: [...main, ...forged(30)], first: false },
    { what: 'of a branch with less work', headers: [...main.slice(0, 20), ...other], first: true },
  ])('$what holds nobody up', async ({ headers, first }) => {
    const late: StubServer = await serve(headers, (...asked) => drips(() => late, HEADER_LATE_MS)(...asked));
    const honest = await serve(main);
    // Which one is asked first is chance, unless the other one is not there yet.
    const last = first ? honest : late;
    await last.close();
    const { adapter, sync } = open([late, honest]);
    adapter.onHint(() => {});
    await until(() => adapter.servers().some(({ state }) => state === 'ready'), 'a server to be connected');
    await last.listen();
    await until(() => adapter.servers().every(({ state }) => state === 'ready'), 'both to be connected');
    const since = checkpointOf(main);
    const began = performance.now();
    await until(async () => (await sync(since.slice(-1)))?.mempool === 'complete', 'a complete view', 2 * SOON_MS);
    // Between two looks nothing of the late server's may be waited for.
    honest.mined(mine(main.at(-1) as Buffer, { timeSeconds: (main.at(-1) as Buffer).readUInt32LE(68) + 600, salt: 3 }));
    await until(async () => {
      const update = await sync(since.slice(-1));
      return update?.mempool === 'complete' && update.checkpoint.at(-1)?.hash === honest.tip.hash;
    }, 'the next block');
    expect(performance.now() - began).toBeLessThan(2 * HEADER_LATE_MS);
    expect(adapter.health().source).toBe(honest.url);
  });
});

describe('a server that is behind the best chain known', () => {
  it('has not told everything, until it has caught up', async () => {
    const slow = await serve(main.slice(0, 35));
    const fast = await serve(main);
    const { adapter, sync } = open([slow, fast]);
    adapter.onHint(() => {});
    await until(() => adapter.servers().some(({ behind }) => behind === 5), 'the chain to be known');
    await fast.close();
    await until(() => adapter.health().source === slow.url, 'the slow one to be asked');
    const since = checkpointOf(main.slice(0, 30)).slice(-1);
    for (let i = 0; i < 5; i++) expect(await sync(since)).toMatchObject({ mempool: 'unknown' });
    expect((await sync(since))?.checkpoint.at(-1)?.height).toBe(35);
    for (const header of main.slice(35)) slow.mined(header);
    await until(async () => (await sync(since))?.mempool === 'complete', 'a complete view');
  });
});
