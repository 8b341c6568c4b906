/**
 * How fast Monero's blocks are read, beside monero-wallet-rpc, whose wallet has the same keys: a chain of near-empty blocks, one of
 * full ones, the near-empty one over links of two lengths, and the search for spends in it. Adapter and wallet take turns, and all
 * programs share this machine. Prints one line of JSON.
 */
import { readFileSync } from 'node:fs';
import { FactBook } from '../adapters/fact-book.ts';
import { MoneroScene } from '../adapters/monerod-controls.ts';
import { Link, lineOf } from '../nodes/link.ts';
import { hasMonerod } from '../nodes/monerod.ts';
import { cleanUp } from './servers.mjs';
import { turnsOf } from './turns.ts';

const {
  blocks: BLOCKS,
  fullBlocks: FULL_BLOCKS,
  transactions: TRANSACTIONS,
  rounds: ROUNDS,
} = JSON.parse(process.argv[2] ?? '{}');
const LIMIT_MS = 600_000;
const LATENCIES_MS = { far: 40, farther: 100 };
const MINED_AT_ONCE = 100;
const COIN = 10n ** 12n;
/** Outputs of a transaction, less its change: monerod takes 16. */
const OUTPUTS_MAX = 15;

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** The unit of `/proc/PID/stat`: Linux has 100 a second. */
const TICK_MS = 10;

/** The processor time of all threads of a process, ms. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

const heightOf = async (node) => (await node.rpc('get_info', {})).height - 1;

/** Blocks that are full of transactions, one after the other. Returns the height below them. */
async function fillBlocks(node) {
  const self = await node.newAddress();
  const count = FULL_BLOCKS * TRANSACTIONS;
  const outputs = Array.from({ length: OUTPUTS_MAX }, () => ({ address: self, amount: Number(COIN / 20n) }));
  await node.wallet('refresh', {});
  // a payment takes two of them
  for (let made = 0; made < 2 * count; made += OUTPUTS_MAX) await node.wallet('transfer', { destinations: outputs });
  await node.mine(10);
  await node.wallet('refresh', {});
  const from = await heightOf(node);
  for (let i = 0; i < FULL_BLOCKS; i++) {
    for (let n = 0; n < TRANSACTIONS; n++) {
      await node.wallet('transfer', { destinations: [{ address: self, amount: Number(COIN / 50n) }] });
    }
    await node.mine(1);
  }
  return from;
}

/** An adapter that reads everything above a height, any number of times, as a program that runs already. */
async function readerOf(scene, from, url) {
  const book = new FactBook();
  const adapter = scene.connect(book, [url], { pollMs: 3_600_000, blocksPerStep: undefined });
  book.watch(await adapter.deriveAddress(scene.account, 0, 0));
  const { block_header: header } = await scene.node.rpc('get_block_header_by_height', { height: from });
  const signal = AbortSignal.timeout(LIMIT_MS);
  /** `image`: searched for in all blocks. */
  const read = async (image = null) => {
    let searched = image === null;
    let next = 0;
    book.coinOfKeyImage = (one) => (one === image ? 'coin' : undefined);
    book.unsearched = () => (searched ? null : { from: next, newest: 1 });
    book.checkpoint = [{ height: from, hash: header.hash }];
    for (;;) {
      const update = await adapter.sync(book.checkpoint, signal);
      if (!update) continue;
      book.checkpoint = update.checkpoint;
      if (update.searched) {
        next = update.searched.to + 1;
        searched = update.searched.isWhole;
      }
      if (update.mempool === 'complete' && searched) return;
    }
  };
  return { read, close: () => adapter.close() };
}

let wallets = 0;
/**
 * The same by a new wallet of monero-wallet-rpc with the same view key. Returns how long it reads and its processor
 * time, ms: making its files is no part of that.
 */
async function walletReads(scene, from, url) {
  const { account, node } = scene;
  // what it reads by itself meanwhile would be measured as read in no time
  await node.wallet('auto_refresh', { enable: false });
  const { address } = await scene.standard();
  await node.wallet('generate_from_keys', {
    filename: `restored-${wallets++}`,
    password: '',
    restore_height: from + 1,
    address,
    viewkey: account.privateViewKey,
  });
  // a new wallet has the node that the program was started with
  await node.wallet('set_daemon', { address: url, trusted: true, ssl_support: 'disabled' });
  const used = cpuOf(node.walletPid);
  const ms = await timed(() => node.wallet('refresh', {}));
  return { ms, cpuMs: cpuOf(node.walletPid) - used };
}

/** Blocks per second of both, in turns. */
async function race(scene, from, url) {
  const count = (await heightOf(scene.node)) - from;
  const took = { ours: [], theirs: [], oursCpu: [], theirsCpu: [] };
  const reader = await readerOf(scene, from, url);
  await reader.read();
  // what looks at each turn keeps a processor busy: it has a run of its own
  const { longest: longestTurnMs } = await turnsOf(reader.read());
  for (let round = 0; round < ROUNDS; round++) {
    const used = cpuOf(process.pid);
    took.ours.push(await timed(() => reader.read()));
    took.oursCpu.push(cpuOf(process.pid) - used);
    const { ms, cpuMs } = await walletReads(scene, from, url);
    took.theirs.push(ms);
    took.theirsCpu.push(cpuMs);
  }
  await reader.close();
  const each = (ms) => (count / median(ms)) * 1_000;
  const cpu = { ours: median(took.oursCpu) / count, theirs: median(took.theirsCpu) / count };
  return { blocks: count, ours: each(took.ours), theirs: each(took.theirs), cpu, longestTurnMs };
}

let result = { missing: 'monerod' };
if (hasMonerod) {
  const scene = await MoneroScene.start();
  try {
    const { node } = scene;
    const above = await fillBlocks(node);
    const full = await race(scene, above, node.url);
    process.stderr.write(`full blocks: ${JSON.stringify(full)}\n`);
    const from = await heightOf(node);
    // one request may last five minutes
    for (let mined = 0; mined < BLOCKS; mined += MINED_AT_ONCE)
      await node.mine(Math.min(MINED_AT_ONCE, BLOCKS - mined));
    const empty = await race(scene, from, node.url);
    const links = {};
    for (const [kind, latencyMs] of Object.entries(LATENCIES_MS)) {
      const link = await Link.start(node.port, lineOf(latencyMs));
      links[kind] = { ...(await race(scene, from, `http://127.0.0.1:${link.port}`)), latencyMs };
      await link.stop();
    }
    const tip = await heightOf(node);
    const reader = await readerOf(scene, tip, node.url);
    const searchMs = await timed(() => reader.read('an image'));
    await reader.close();
    result = {
      empty,
      full: { ...full, transactions: FULL_BLOCKS * TRANSACTIONS },
      ...links,
      search: { blocks: tip + 1, each: ((tip + 1) / searchMs) * 1_000 },
    };
  } finally {
    await scene.stop();
    cleanUp();
  }
}
process.stdout.write(`${JSON.stringify(result)}\n`);
