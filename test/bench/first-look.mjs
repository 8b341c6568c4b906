/**
 * How fast the light client looks at addresses for the first time: on a server of this machine, on one that slows costly
 * clients down as ElectrumX does by default, and on three of those. The servers have no node behind them and share this
 * process. Prints one line of JSON.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { CostAccount, ELECTRUMX_LIMITS } from '../nodes/cost-limit.ts';
import { StubServer } from '../nodes/stub-server.ts';

const { dist, addresses, limitedMs } = JSON.parse(process.argv[2] ?? '{}');
const HISTORY = 'blockchain.scripthash.get_history';
const LOOK_MS = 20;

const { ElectrumAdapter } = await import(pathToFileURL(join(dist, '../daemon/chains/utxo/electrum/electrum.ts')).href);

const listed = (id) => ({
  id,
  script: Buffer.concat([Buffer.from('0014', 'hex'), createHash('sha1').update(`${id}`).digest()]),
});
const list = {
  targetIdOf: () => undefined,
  isOurCoin: () => false,
  stamp: () => '',
  active: () => [],
  page: (after, limit) =>
    Array.from({ length: Math.max(0, Math.min(limit, addresses - after)) }, (_, i) => listed(after + 1 + i)),
  inBlock: () => [],
  hadMoney: () => false,
  coinsOf: () => [],
  coin: () => undefined,
};

/** Addresses a second, until all were looked at or the time is over. */
async function look(servers, withinMs) {
  const folder = mkdtempSync(join(tmpdir(), 'first-look-'));
  const urls = servers.map(({ url }) => url);
  const adapter = new ElectrumAdapter({ chain: 'BTC', network: 'regtest', folder, list, servers: urls });
  const asked = () => servers.reduce((sum, { calls }) => sum + (calls.get(HISTORY) ?? 0), 0);
  try {
    await adapter.begin(null, AbortSignal.timeout(20_000));
    while (adapter.servers().some(({ state }) => state !== 'ready')) await pause(LOOK_MS);
    const [beganAtMs, before] = [performance.now(), asked()];
    adapter.rescan();
    while (adapter.rescanning() && performance.now() - beganAtMs < withinMs) await pause(LOOK_MS);
    const seconds = (performance.now() - beganAtMs) / 1_000;
    return { perSecond: (asked() - before) / seconds, looked: asked() - before, seconds };
  } finally {
    await adapter.close();
    for (const server of servers) await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function costly() {
  const server = await StubServer.start();
  const account = new CostAccount(ELECTRUMX_LIMITS, () => server.calls.get('blockchain.scripthash.subscribe') ?? 0);
  server.answer = async (method) => {
    const admission = await account.admit(method, () => {});
    if (admission !== 'served') throw new Error(admission);
    return undefined;
  };
  return server;
}

const unlimited = await look([await StubServer.start()], limitedMs);
const limited = await look([await costly()], limitedMs);
const spread = await look([await costly(), await costly(), await costly()], limitedMs);
process.stdout.write(`${JSON.stringify({ unlimited, limited, spread })}\n`);
