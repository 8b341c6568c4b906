/**
 * How fast blocks are scanned: from a node's answer in hex, through the real parser and finder, with the real lookups in
 * the store's tables. Each number of watched addresses is measured in turn, on the same blocks. Prints MB of block per
 * second.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeBlock, writeCoinbase, writeTransaction } from '../adapters/fixtures/serial.ts';

const { dist, folder, watched, blocks: BLOCKS, rounds: ROUNDS } = JSON.parse(process.argv[2] ?? '{}');
const TRANSACTIONS_PER_BLOCK = 3_500;
/** Of each block, when any is watched. */
const OURS_PER_BLOCK = 10;
const CHAIN = 'BTC';
const CHAIN_KEY = 'mainnet:BTC';
const BYTES_PER_MB = 1_000_000;

const load = (path) => import(pathToFileURL(join(dist, '..', 'daemon', path)).href);
const { Store } = await load('store/store.ts');
const { insertTarget } = await load('store/queries/credits.ts');
const { watchList } = await load('app/addresses/watch.ts');
const { findInBlock } = await load('chains/utxo/match.ts');
const { parseHeader } = await load('chains/utxo/block.ts');
const { hexResult } = await load('chains/utxo/hex.ts');
const { slices } = await load('chains/slices.ts');

const script = () => Buffer.concat([Buffer.from([0, 20]), randomBytes(20)]);
const ours = Array.from({ length: OURS_PER_BLOCK }, script);

/** One or two inputs with their witnesses, two outputs: most of what blocks hold. */
function transaction(n) {
  const inputs = Array.from({ length: 1 + (n % 2) }, () => ({
    txid: randomBytes(32).toString('hex'),
    vout: n % 4,
    witness: [randomBytes(72), randomBytes(33)],
  }));
  const mine = n < OURS_PER_BLOCK ? ours[n] : script();
  const outputs = [mine, script()].map((to) => ({ units: 100_000n, script: to }));
  return writeTransaction({ inputs, outputs });
}

function block(salt) {
  const coinbase = writeTransaction(writeCoinbase(salt, script()));
  const transactions = [coinbase, ...Array.from({ length: TRANSACTIONS_PER_BLOCK }, (_, n) => transaction(n))];
  const { bytes } = writeBlock({ previous: '00'.repeat(32), timeSeconds: 1_700_000_000, salt, transactions });
  return { size: bytes.length, answer: Buffer.from(`{"result":"${bytes.toString('hex')}","error":null,"id":1}`) };
}

async function openStore(count) {
  const dataDir = mkdtempSync(join(folder, 'scan-'));
  const store = await Store.open(dataDir);
  const scripts = count === 0 ? [] : [...ours, ...Array.from({ length: count - ours.length }, script)];
  await store.write((tx) => {
    for (const [idx, bytes] of scripts.entries()) {
      const row = { account_id: 1, chain_key: CHAIN_KEY, branch: 0, idx, script: bytes };
      tx.run(insertTarget, { ...row, address: `address-${idx}`, invoice_id: null });
    }
  });
  const close = async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { count, watch: watchList(store, CHAIN_KEY), close, seconds: [] };
}

/** Scans every block once and gives the seconds that it took. */
async function scanAll(blocks, { count, watch }) {
  const beganAt = performance.now();
  for (const [height, { answer }] of blocks.entries()) {
    const pause = slices();
    const finder = { chain: CHAIN, watch, fresh: new Set(), pause };
    const found = { credits: [], spends: [] };
    const bytes = await hexResult(answer, pause);
    const { hash, timeSeconds } = parseHeader(bytes);
    await findInBlock(finder, bytes, { height, hash }, timeSeconds * 1_000, found);
    const expected = count === 0 ? 0 : OURS_PER_BLOCK;
    if (found.credits.length !== expected) throw new Error(`found ${found.credits.length} deposits of ${expected}`);
  }
  return (performance.now() - beganAt) / 1_000;
}

const blocks = Array.from({ length: BLOCKS }, (_, n) => block(n));
const megabytes = blocks.reduce((sum, { size }) => sum + size, 0) / BYTES_PER_MB;
const stores = [];
for (const count of watched) stores.push(await openStore(count));
for (const store of stores) await scanAll(blocks, store);
for (let round = 0; round < ROUNDS; round++) {
  for (const store of stores) store.seconds.push(await scanAll(blocks, store));
}
const results = stores.map(({ count, seconds }) => ({
  watched: count,
  megabytesPerSecond: megabytes / seconds.sort((a, b) => a - b)[Math.floor(seconds.length / 2)],
}));
for (const store of stores) await store.close();
process.stdout.write(`${JSON.stringify({ blockMegabytes: megabytes / BLOCKS, results })}\n`);
