/**
 * Monero in the built daemon on a real monerod: a payment from the pool to the API's answer, payment requests beside
 * monero-wallet-rpc's addresses, a withdrawal from its approval to the node's pool, memory; and the adapter alone: reading a
 * block with few and many subaddresses, and the longest turn of the event loop (CPU). Node, payer and daemon share this
 * machine. Prints one line of JSON.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { FactBook } from '../adapters/fact-book.ts';
import { MoneroScene } from '../adapters/monerod-controls.ts';
import { hasMonerod } from '../nodes/monerod.ts';
import { openShop } from '../support/shop.ts';
import { cleanUp, residentMb, startDaemon, workFolder } from './servers.mjs';
import { turnsOf } from './turns.ts';

const {
  dist,
  payments: PAYMENTS,
  requests: REQUESTS,
  blocks: BLOCKS,
  withdrawals: WITHDRAWALS,
} = JSON.parse(process.argv[2] ?? '{}');
const POOL = 1_000;
const COIN = 10n ** 12n;
/** monero-wallet-rpc takes 25 connections at the most. */
const AT_ONCE = 16;
const WAIT_MS = 120_000;
/** The unit of `/proc/PID/stat`: Linux has 100 a second. */
const TICK_MS = 10;
/** Outputs of one block, as a busy one of mainnet has them. */
const FULL = { transactions: 10, outputs: 10 };

async function until(what, look, everyMs = 10) {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`waited ${WAIT_MS} ms in vain until ${what}`);
    await pause(everyMs);
  }
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** A process and those that it started. */
function withChildren(pid) {
  const isChild = (name) => {
    try {
      return readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(pid);
    } catch {
      return false;
    }
  };
  return [pid, ...readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isChild(name))];
}

/** Resident memory, MB: of the daemon, and together with its signer. */
function memoryOf(pid) {
  const all = withChildren(pid).reduce((sum, one) => sum + (residentMb(one) ?? 0), 0);
  return { daemon: residentMb(pid), all };
}

/** The processor time that a process and those that it started have used, ms. */
function cpuOf(pid) {
  const used = withChildren(pid).map((one) => {
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  });
  return used.reduce((sum, one) => sum + one, 0);
}

/** An adapter at the tip that watches so many subaddresses. */
async function watching(scene, count) {
  const book = new FactBook();
  const adapter = scene.connect(book, [scene.node.url], { pollMs: 3_600_000, blocksPerStep: 50 });
  const first = await adapter.deriveAddress(scene.account, 0, 0);
  book.watch(first);
  // the others are never paid, and need no keys
  for (let others = count - 1; others > 0; others--)
    book.watch({ address: '', script: randomBytes(first.script.length) });
  book.checkpoint = await adapter.begin(null, AbortSignal.timeout(WAIT_MS));
  await book.catchUp(adapter);
  return { adapter, book, address: first.address };
}

/** Reads the same blocks with few and many subaddresses: the median of a block, and the longest turn. */
async function measureBlocks(scene) {
  const few = await watching(scene, 100);
  const many = await watching(scene, 10_000);
  const took = { few: [], many: [] };
  let longest = 0;
  const read = async ({ adapter, book }) => {
    const { whole, longest: turn } = await turnsOf(book.catchUp(adapter));
    longest = Math.max(longest, turn);
    return whole;
  };
  for (let i = 0; i < BLOCKS; i++) {
    await scene.node.pay([{ address: few.address, units: 1_000n }]);
    await scene.node.mine(1);
    took.few.push(await read(few));
    took.many.push(await read(many));
  }
  const outputs = Array.from({ length: FULL.outputs }, () => ({ address: few.address, units: 1_000n }));
  for (let i = 0; i < FULL.transactions; i++) await scene.node.pay(outputs);
  const fullPoolMs = await read(few);
  await scene.node.mine(1);
  const fullBlockMs = await read(few);
  await few.adapter.close();
  await many.adapter.close();
  return { few: median(took.few), many: median(took.many), fullPoolMs, fullBlockMs, longestTurnMs: longest };
}

/** A shop on the built daemon, as a test's service is used. */
async function openService(scene) {
  process.env.COUNTINGHOUSE_NETWORKS_REGTEST_XMR_MONEROD = scene.node.url;
  process.env.COUNTINGHOUSE_NETWORKS_REGTEST_RATES_XMR = '200';
  const dataDir = workFolder();
  const daemon = await startDaemon(dist, dataDir, POOL);
  const service = { dataDir };
  const { key, operator } = await openShop(service, ['invoices', 'balance', 'withdraw']);
  const call = async (method, path, body) => {
    const response = await fetch(`${daemon.url}/api/v1/merchant${path}`, {
      method,
      headers: { 'mb-api-key': key, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  return { daemon, operator, call };
}

async function requested({ call }, amount) {
  const { body } = await call('POST', '/invoice', { amount, crypto: 'XMR' });
  await until('the chain is followed', async () => (await call('POST', `/invoice/rp/${body.id}`)).status === 201);
  return body.id;
}

async function measurePayments(scene, service) {
  const took = [];
  for (let i = 0; i < PAYMENTS; i++) {
    const id = await requested(service, 50 + i);
    const read = async () => (await service.call('GET', `/invoice/${id}`)).body.payment;
    const { address } = await read();
    // the payer's change is locked for ten blocks
    await scene.node.mine(10);
    await scene.node.pay([{ address, units: COIN / 4n }]);
    took.push(await timed(() => until('it is seen', async () => (await read()).received !== '0')));
  }
  return { median: median(took), longest: Math.max(...took) };
}

/** Does something for each item, so many at a time. Returns the time of the clock and of the server's processor, ms. */
async function inParallel(items, pid, work) {
  const rest = [...items];
  const cpu = cpuOf(pid);
  const ms = await timed(() =>
    Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item);
      }),
    ),
  );
  return { ms, cpuMs: cpuOf(pid) - cpu };
}

/** As many clients ask for them at a time. */
async function measureRequests(scene, { call, daemon }) {
  const ids = [];
  for (let i = 0; i < REQUESTS; i++) ids.push((await call('POST', '/invoice', { amount: 20, crypto: 'XMR' })).body.id);
  const ours = await inParallel(ids, daemon.pid, async (id) => {
    const { status } = await call('POST', `/invoice/rp/${id}`);
    if (status !== 201) throw new Error(`a payment request was answered with ${status}`);
  });
  const theirs = await inParallel(ids, scene.node.walletPid, () => scene.node.newAddress());
  return { requests: REQUESTS, ours, theirs };
}

/** From the operator's approval to the node's pool, the first with a wallet that was just unlocked. */
async function measureWithdrawals(scene, { call, operator, daemon }) {
  await scene.node.mine(10);
  await operator.unlock();
  const took = [];
  const cpu = [];
  for (let i = 0; i < WITHDRAWALS; i++) {
    const asked = { amount: '0.05', crypto: 'XMR', address: await scene.node.newAddress() };
    const { id } = await until('there is money', async () => {
      const { status, body } = await call('POST', '/withdraw', asked);
      return status === 201 && body;
    });
    const preview = await operator.preview(id);
    const approvals = await operator.approvals(preview);
    const before = (await scene.node.pool()).length;
    const used = cpuOf(daemon.pid);
    took.push(
      await timed(async () => {
        await operator.call('withdrawal.approve', { proposal: { kind: 'pay', id }, approvals });
        await until('it is in the pool', async () => (await scene.node.pool()).length > before);
      }),
    );
    cpu.push(cpuOf(daemon.pid) - used);
    await scene.node.mine(1);
    await until('it is completed', async () => (await operator.show(id)).state === 'completed');
  }
  return { first: took[0], median: median(took), longest: Math.max(...took), cpuMs: median(cpu) };
}

let result = { missing: 'monerod' };
if (hasMonerod) {
  const scene = await MoneroScene.start();
  try {
    const blocks = await measureBlocks(scene);
    const service = await openService(scene);
    const payments = await measurePayments(scene, service);
    const requests = await measureRequests(scene, service);
    const memory = memoryOf(service.daemon.pid);
    const withdrawals = await measureWithdrawals(scene, service);
    const memoryAfter = memoryOf(service.daemon.pid);
    await service.daemon.stop();
    result = { blocks, payments, requests, withdrawals, memory, memoryAfter };
  } finally {
    await scene.stop();
    cleanUp();
  }
}
process.stdout.write(`${JSON.stringify(result)}\n`);
