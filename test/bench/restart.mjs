/**
 * The light client after a restart with many addresses: up to 10,000 of them listed (open payments, the latest ones), the others old.
 * How long until a first view is complete, until every address was asked for once more by a rescan, and until money at an old address that comes
 * meanwhile is reported; on a server of this machine, and on one that slows costly clients down as ElectrumX does by default. The server has
 * no node behind it and shares this process, and so its memory. Prints one line of JSON.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { CostAccount, ELECTRUMX_LIMITS } from '../nodes/cost-limit.ts';
import { StubServer } from '../nodes/stub-server.ts';

const LISTED_MAX = 10_000;
const { dist, addresses, limitedMs } = JSON.parse(process.argv[2] ?? '{}');
const LISTED = Math.min(addresses / 10, LISTED_MAX);
/** Old, and asked for late. */
const PAID = Math.floor(addresses * 0.8);
const PAGE = 1_000;
const UNITS = 100_000;
const LOOK_MS = 20;
const SYNC_MS = 60_000;
const BYTES_PER_MB = 1_000_000;

const { ElectrumAdapter } = await import(pathToFileURL(join(dist, '../daemon/chains/utxo/electrum/electrum.ts')).href);
const sha256 = (bytes) => createHash('sha256').update(bytes).digest();
const reversedHex = (bytes) => Buffer.from(bytes).reverse().toString('hex');

const scriptOf = (id) => Buffer.concat([Buffer.from('0014', 'hex'), createHash('sha1').update(`${id}`).digest()]);
const page = (after, limit, last) =>
  Array.from({ length: Math.max(0, Math.min(limit, last - after)) }, (_, i) => ({
    id: after + 1 + i,
    script: scriptOf(after + 1 + i),
  }));

/** The listed ones are the newest. */
function* listed() {
  for (let after = addresses - LISTED; after < addresses; after += PAGE) yield page(after, PAGE, addresses);
}

const idOf = new Map();
for (let id = 1; id <= addresses; id++) idOf.set(scriptOf(id).toString('hex'), id);
const list = {
  targetIdOf: (script) => idOf.get(Buffer.from(script).toString('hex')),
  isOurCoin: () => false,
  stamp: () => '',
  active: listed,
  page: (after, limit) => page(after, limit, addresses),
  inBlock: () => [],
  hadMoney: () => false,
  coinsOf: () => [],
  coin: () => undefined,
};

/** A transaction of a stranger that pays a script. */
function payment(script) {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(BigInt(UNITS));
  const input = Buffer.concat([randomBytes(32), Buffer.from('00000000' + '00' + 'ffffffff', 'hex')]);
  const output = Buffer.concat([amount, Buffer.from([script.length]), script]);
  const bytes = Buffer.concat([Buffer.from('0200000001', 'hex'), input, Buffer.from([1]), output, Buffer.alloc(4)]);
  return { bytes, txid: reversedHex(sha256(sha256(bytes))) };
}

/** `limits`: of the server; null: none. `withinMs`: how long the old addresses are waited for. */
async function restart(limits, withinMs) {
  const paid = payment(scriptOf(PAID));
  const server = await StubServer.start();
  const account = limits && new CostAccount(limits, () => server.calls.get('blockchain.scripthash.subscribe') ?? 0);
  server.answer = async (method, [first]) => {
    const admission = (await account?.admit(method, () => {})) ?? 'served';
    if (admission !== 'served') throw new Error(admission);
    return method === 'blockchain.transaction.get' && first === paid.txid ? paid.bytes.toString('hex') : undefined;
  };
  const folder = mkdtempSync(join(tmpdir(), 'restart-'));
  const memoryBefore = process.memoryUsage.rss();
  const adapter = new ElectrumAdapter({ chain: 'BTC', network: 'regtest', folder, list, servers: [server.url] });
  const asked = () => [...server.calls.values()].reduce((sum, calls) => sum + calls, 0);
  const beganAtMs = performance.now();
  const seconds = () => (performance.now() - beganAtMs) / 1_000;
  const result = { usableSeconds: null, foundSeconds: null, allSeconds: null };
  let memory = 0;
  try {
    let checkpoint = await adapter.begin(null, AbortSignal.timeout(SYNC_MS));
    let endMs = beganAtMs + withinMs;
    while (performance.now() < endMs && (result.allSeconds === null || result.foundSeconds === null)) {
      const update = await adapter.sync(checkpoint, AbortSignal.timeout(SYNC_MS)).catch(() => null);
      memory = Math.max(memory, process.memoryUsage.rss());
      if (update) checkpoint = update.checkpoint;
      if (result.usableSeconds === null && update?.mempool === 'complete') {
        result.usableSeconds = seconds();
        result.usableRequests = asked();
        adapter.rescan();
        // nobody subscribed to it, so nobody is told
        server.histories.set(reversedHex(sha256(scriptOf(PAID))), [{ tx_hash: paid.txid, height: 0, fee: 200 }]);
        endMs = performance.now() + withinMs;
      }
      if (update?.credits.some(({ targetId }) => targetId === PAID)) result.foundSeconds ??= seconds();
      if (result.usableSeconds !== null && !adapter.rescanning()) result.allSeconds ??= seconds();
      await pause(LOOK_MS);
    }
    const later = result.usableSeconds === null ? Number.NaN : seconds() - result.usableSeconds;
    result.perSecond = (asked() - (result.usableRequests ?? 0)) / later;
    return { ...result, requests: asked(), memoryMb: (memory - memoryBefore) / BYTES_PER_MB };
  } finally {
    await adapter.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const WITHOUT_END_MS = 1_200_000;
const unlimited = await restart(null, WITHOUT_END_MS);
const limited = await restart(ELECTRUMX_LIMITS, limitedMs);
process.stdout.write(`${JSON.stringify({ addresses, listed: LISTED, unlimited, limited })}\n`);
