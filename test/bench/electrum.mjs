/**
 * The light client in the built daemon, on two Electrum servers in front of a real litecoind: from a server's
 * notification to the stored fact, catching up after a restart, memory, and failover when the asked server freezes.
 * Servers, node and daemon share this machine. Prints one line of JSON.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { HDKey } from '@scure/bip32';
import Database from 'better-sqlite3';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { LATENCIES_MS, lineOf } from '../nodes/link.ts';
import { hasLitecoind, Litecoind } from '../nodes/litecoind.ts';
import { cleanUp, DATABASE, residentMb, startDaemon, workFolder } from './servers.mjs';

const { dist, addresses: ADDRESSES, payments: PAYMENTS } = JSON.parse(process.argv[2] ?? '{}');
const POOL = 1_000;
const AT_ONCE = 32;
const PAID_WHILE_AWAY = 200;
const PAID_PER_TRANSACTION = 50;
const UNITS = 100_000n;
const WAIT_MS = 120_000;
const LOOK_MS = 0.5;
const PAYMENTS_FAR = 10;

const { operatorClient } = await import(pathToFileURL(join(dist, '..', 'daemon', 'contract', 'client.ts')).href);

async function until(what, look, everyMs = LOOK_MS) {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`waited ${WAIT_MS} ms in vain until ${what}`);
    await pause(everyMs);
  }
}

const percentile = (values, part) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
};

const hex = (bytes) => Buffer.from(bytes).toString('hex');
function account() {
  const { publicKey, chainCode } = HDKey.fromMasterSeed(randomBytes(32)).derive("m/84'/1'/0'");
  return { kind: 'secp256k1', publicKey: hex(publicKey), chainCode: hex(chainCode) };
}

const node = await Litecoind.start();
await node.fund();
const followed = await FollowedChain.start(node, { pollMs: 50 });
/** Here and far away, by changing the line. */
const line = { latencyMs: 0, jitterMs: 0 };
const servers = [await ElectrumServer.start(followed, { line }), await ElectrumServer.start(followed, { line })];
/** When each script was told of last, by any server. */
const toldAtMs = new Map();
const noting = {
  notify: (method, params) => {
    if (method === 'blockchain.scripthash.subscribe' && !toldAtMs.has(params[0]))
      toldAtMs.set(params[0], performance.now());
    return params;
  },
};
for (const server of servers) server.behaviour = noting;

process.env.COUNTINGHOUSE_NETWORKS_REGTEST_LTC_ELECTRUM = servers.map(({ url }) => url).join();
process.env.COUNTINGHOUSE_NETWORKS_REGTEST_RATES_LTC = '80';
const dataDir = workFolder();
let daemon = await startDaemon(dist, dataDir, POOL);
const before = residentMb(daemon.pid);
const added = await operatorClient(dataDir)('business.add', {
  name: 'Shop',
  network: 'regtest',
  account_no: 0,
  accounts: { LTC: account() },
  key: { name: 'shop', scopes: ['invoices'] },
});
const database = new Database(join(dataDir, DATABASE), { readonly: true });
const creditOf = database.prepare('SELECT 1 FROM credit JOIN target ON target.id = credit.target_id WHERE address = ?');
const credits = database.prepare('SELECT COUNT(*) AS n FROM credit WHERE block_height IS NOT NULL');

async function post(path, body) {
  const response = await fetch(`${daemon.url}/api/v1/merchant${path}`, {
    method: 'POST',
    headers: { 'mb-api-key': added.key.key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

/** The address of a new invoice's payment. */
async function requested() {
  const { body } = await post('/invoice', { amount: 80, crypto: 'LTC' });
  const answer = await until('LTC is offered', async () => {
    const asked = await post(`/invoice/rp/${body.id}`, {});
    return asked.status < 400 && asked;
  });
  return answer.body.address;
}

async function requestMany(count) {
  const found = [];
  const lane = async () => {
    while (found.length < count) found.push(await requested());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return found;
}

const source = async () => {
  const { sources } = await operatorClient(dataDir)('source.list', {});
  return sources.find(({ network, chain }) => network === 'regtest' && chain === 'LTC');
};
const watchedBy = async (count) =>
  (await source()).servers.every(({ state, watched }) => state === 'ready' && watched >= count);

/** From the first server's word to the committed row, for one payment after the other. */
async function measureNotifications() {
  const took = [];
  const paidTo = await requestMany(PAYMENTS);
  await until('they are watched', () => watchedBy(PAYMENTS), 50);
  for (const address of paidTo) {
    toldAtMs.clear();
    await node.pay([{ address, units: UNITS }]);
    await until('it is stored', () => creditOf.get(address));
    const storedAtMs = performance.now();
    took.push(storedAtMs - Math.min(...toldAtMs.values()));
    if (took.length % 5 === 0) {
      await node.mine(1);
      await until('the block is stored', () => credits.get().n === took.length, 5);
    }
  }
  return { p50: percentile(took, 0.5), p99: percentile(took, 0.99) };
}

/** From the node's mempool to the committed row, at several distances between the daemon and its servers. */
async function measureDistances() {
  const distances = [];
  for (const latencyMs of LATENCIES_MS) {
    Object.assign(line, lineOf(latencyMs));
    const took = [];
    for (let i = 0; i < PAYMENTS_FAR; i++) {
      const address = await requested();
      await node.pay([{ address, units: UNITS }]);
      const paidAtMs = performance.now();
      await until('it is stored', () => creditOf.get(address));
      took.push(performance.now() - paidAtMs);
    }
    await node.mine(1);
    distances.push({ latencyMs, p50: percentile(took, 0.5), most: Math.max(...took) });
  }
  Object.assign(line, lineOf(0));
  return distances;
}

async function measureCatchUp() {
  const paidTo = await requestMany(ADDRESSES);
  await until('all are watched', () => watchedBy(ADDRESSES), 100);
  const memory = residentMb(daemon.pid);
  const confirmed = credits.get().n;
  await daemon.stop();
  for (let i = 0; i < PAID_WHILE_AWAY; i += PAID_PER_TRANSACTION) {
    await node.pay(paidTo.slice(i, i + PAID_PER_TRANSACTION).map((address) => ({ address, units: UNITS })));
  }
  await node.mine(1);
  await followed.update();
  daemon = await startDaemon(dist, dataDir, POOL);
  const beganAt = performance.now();
  await until(
    'all is found',
    async () => {
      if (credits.get().n < confirmed + PAID_WHILE_AWAY) return false;
      const { chains } = await operatorClient(dataDir)('status', {});
      return chains.some(({ network, chain, synced_at, withheld }) => {
        return network === 'regtest' && chain === 'LTC' && synced_at !== null && withheld === null;
      });
    },
    20,
  );
  return { seconds: (performance.now() - beganAt) / 1_000, memory };
}

/** From the freeze of the asked server to the stored fact of a payment made right after. */
async function measureFailover() {
  const address = await requested();
  await until('both are asked for all', () => watchedBy(ADDRESSES), 100);
  const { source: asked } = await source();
  servers.find(({ url }) => url === asked)?.freeze();
  const frozenAtMs = performance.now();
  await node.pay([{ address, units: UNITS }]);
  await until('it is stored', () => creditOf.get(address), 5);
  return (performance.now() - frozenAtMs) / 1_000;
}

let result = { missing: 'litecoind' };
try {
  if (hasLitecoind) {
    const notification = await measureNotifications();
    const distances = await measureDistances();
    const { seconds: catchUpSeconds, memory } = await measureCatchUp();
    const failoverSeconds = await measureFailover();
    result = {
      notification,
      distances,
      catchUpSeconds,
      failoverSeconds,
      memoryMb: memory - before,
      addresses: ADDRESSES,
    };
  }
  await daemon.stop();
} finally {
  database.close();
  for (const server of servers) await server.stop();
  await followed.stop();
  await node.remove();
  cleanUp();
}
process.stdout.write(`${JSON.stringify(result)}\n`);
