/** Histories that cannot be read at the server that is asked, because of it or of another one. No node is needed. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { addressOfKey } from '../../daemon/chains/utxo/address.ts';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { scriptHashOf } from '../../daemon/chains/utxo/electrum/histories/scripts.ts';
import { StubServer } from '../nodes/stub-server.ts';
import { undoAll } from '../support/undo.ts';
import { branch, hashOf, REGTEST_GENESIS } from '../unit/chains/headers-kit.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { writeTransaction } from './fixtures/serial.ts';
import { testAccount } from './keys.ts';

const SUBSCRIBE = 'blockchain.scripthash.subscribe';
const HISTORY = 'blockchain.scripthash.get_history';
const SYNC_MS = 15_000;
const main = branch(REGTEST_GENESIS, 40, 7);
const since = [{ height: 40, hash: hashOf(main.at(-1) as Buffer) }];
const { script } = addressOfKey(childPublicKey(testAccount, 0, 0), 'BTC', 'regtest');
const scriptHash = scriptHashOf(script);
const anyStatus = (): string => randomBytes(32).toString('hex');

const opened: { close(): Promise<void> }[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unread-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await undoAll(opened.splice(0).map((one) => () => one.close()));
  await rm(folder, { recursive: true, force: true });
});

/** Two servers of different operators, both connected, of which the first is asked. */
async function pair() {
  const first = await StubServer.start({ headers: main });
  const second = await StubServer.start({ headers: main, host: 'localhost' });
  const alerts: string[] = [];
  const list = new FactBook();
  list.watch({ address: '', script });
  const adapter = new ElectrumAdapter({
    chain: 'BTC',
    network: 'regtest',
    folder,
    list,
    servers: [first.url, second.url],
    timeouts: { stallMs: 600_000, requestMs: 600_000 },
    alert: (server, message) => alerts.push(`${server}: ${message}`),
    leftOut: (_, message) => alerts.push(message),
  });
  opened.push(adapter, first, second);
  await second.close();
  adapter.onHint(() => {});
  const look = () => adapter.sync(since, AbortSignal.timeout(SYNC_MS));
  await until(async () => (await look().catch(() => null))?.mempool === 'complete', 'a first view');
  await second.listen();
  const isThere = () => adapter.servers().every(({ state, watched }) => state === 'ready' && watched === 1);
  await until(isThere, 'both to watch');
  expect(adapter.health().source).toBe(first.url);
  return { first, second, adapter, alerts, look };
}

it('reads a history whatever another server announces meanwhile', async () => {
  const { first, second, adapter, alerts, look } = await pair();
  const paid = ['1', '2'].map((digit) =>
    writeTransaction({ inputs: [{ txid: digit.repeat(64), vout: 0 }], outputs: [{ units: 70_000n, script }] }),
  );
  const history = paid.map((raw) => ({ tx_hash: hashOf(raw), height: 0, fee: 1 }));
  const raws = new Map(paid.map((raw) => [hashOf(raw), raw.toString('hex')]));
  first.answer = async (method, [asked]) => {
    if (method === 'blockchain.transaction.get') return raws.get(`${asked}`);
    if (method !== HISTORY) return undefined;
    await sleep(60);
    // before protocol 1.6 the status may be of another order
    return history.toReversed();
  };
  const timer = setInterval(() => second.tell(SUBSCRIBE, [scriptHash, anyStatus()]), 15);
  try {
    first.pay(scriptHash, history);
    const isSeen = async (): Promise<boolean> => {
      const update = await look();
      return update?.mempool === 'complete' && update.credits.length === paid.length;
    };
    await until(isSeen, 'a complete view', 8_000);
  } finally {
    clearInterval(timer);
  }
  expect(adapter.health().source).toBe(first.url);
  expect(alerts).toEqual([]);
});
