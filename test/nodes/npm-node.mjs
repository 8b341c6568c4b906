/**
 * The process in which bcoin or bcash runs for a test: `node npm-node.mjs bcoin|bcash port`. The node serves its own
 * RPC over HTTP, untouched; what a test does to the chain beyond that (pay, reorganise, forget) comes as messages from the
 * parent. Plain JavaScript, since these packages have no types.
 *
 * Nothing here is compiled: the packages run on their JavaScript backends, and their chain lies in memory.
 */
import { createRequire, Module } from 'node:module';

const [kind, port] = process.argv.slice(2);
const CASH = kind === 'bcash';
const FEE_UNITS = 20_000;
const REPLACEMENT_FEE_UNITS = 100_000;
const SEQUENCE_REPLACEABLE = 0xffff_fffd;
const SEQUENCE_FINAL = 0xffff_fffe;
export const API_KEY = 'secret';

// bcoin's cryptography falls back to JavaScript by this; bcash's older packages are pointed to their browser files.
if (!CASH) process.env.NODE_BACKEND = 'js';
const NATIVE_ONLY = /node_modules[\\/](?:bdb[\\/]lib[\\/]level|mrmr[\\/]lib[\\/]murmur3|bsip[\\/]lib[\\/]siphash)\.js$/;
const resolve = Module._resolveFilename;
Module._resolveFilename = function resolveWithoutCompiler(...args) {
  const file = resolve.apply(this, args);
  return NATIVE_ONLY.test(file) ? file.replace(/\.js$/, '-browser.js') : file;
};

const require = createRequire(import.meta.url);
const library = (path) => require(`${kind}/lib/${path}`);

/** Core's regtest prefixes, and soft forks that are active from the first blocks on. Before anything uses them. */
function adaptNetwork() {
  const { regtest } = library('protocol/networks');
  Object.assign(regtest.addressPrefix, { pubkeyhash: 0x6f, scripthash: 0xc4 });
  if (!CASH) Object.assign(regtest.addressPrefix, { bech32: 'bcrt', witnesspubkeyhash: 0x03, witnessscripthash: 0x28 });
  regtest.keyPrefix.privkey = 0xef;
  for (const deployment of Object.values(regtest.deployments)) Object.assign(deployment, { window: 8, threshold: 6 });
}
adaptNetwork();

const FullNode = library('node/fullnode');
const Address = library('primitives/address');
const Coin = library('primitives/coin');
const KeyRing = library('primitives/keyring');
const MTX = library('primitives/mtx');
const TX = library('primitives/tx');
const Script = library('script/script');
const Network = library('protocol/network');

const network = Network.get('regtest');
const node = new FullNode({
  network: 'regtest',
  memory: true,
  workers: false,
  listen: false,
  logLevel: 'none',
  httpHost: '127.0.0.1',
  httpPort: Number(port),
  apiKey: API_KEY,
  indexTx: true,
  replaceByFee: true,
  persistentMempool: false,
  bip37: false,
  selfish: true,
  prefix: process.cwd(),
});
const { chain, mempool, miner } = node;

const payer = KeyRing.generate(...(CASH ? [true, network] : [true]));
if (!CASH) payer.witness = true;
const newAddress = () => textOf(KeyRing.generate(...(CASH ? [true, network] : [true])));
const keyOf = (hash) => (typeof hash === 'string' ? hash : hash.toString('hex'));
/** How the library writes hashes inside: as text in bcoin, as bytes in bcash. */
const hashOf = (tx) => (CASH ? tx.hash() : tx.hash('hex'));
const insideHash = (txid) =>
  CASH ? Buffer.from(txid, 'hex').reverse() : Buffer.from(txid, 'hex').reverse().toString('hex');
const writtenOf = (tx) => Buffer.from(tx.hash()).reverse().toString('hex');

function textOf(ring) {
  if (!CASH) ring.witness = true;
  return ring.getAddress().toString(network);
}

/** The payer's coins in the chain. */
const coins = new Map();

function watch(entry, block) {
  const own = payer.getAddress().toString(network);
  for (const tx of block.txs) {
    tx.outputs.forEach((output, index) => {
      if (output.getAddress()?.toString(network) !== own) return;
      const coin = Coin.fromTX(tx, index, entry.height);
      coins.set(`${keyOf(coin.hash)}:${index}`, coin);
    });
  }
}

async function isSpendable(coin) {
  if (coin.coinbase && chain.height + 1 - coin.height < network.coinbaseMaturity) return false;
  if (mempool.isSpent(coin.hash, coin.index)) return false;
  const there = await chain.getCoin(coin.hash, coin.index);
  if (!there) coins.delete(`${keyOf(coin.hash)}:${coin.index}`);
  return Boolean(there);
}

function build(inputs, outputs, { fee = FEE_UNITS, replaceable = true } = {}) {
  const mtx = new MTX();
  mtx.version = 2;
  let left = -fee;
  for (const coin of inputs) {
    mtx.addCoin(coin);
    left += coin.value;
  }
  for (const { address, units, script } of outputs) {
    left -= Number(units);
    mtx.addOutput(
      script ? Script.fromRaw(Buffer.from(script, 'hex')) : Address.fromString(address, network),
      Number(units),
    );
  }
  if (left < 0) throw new Error('the payer has too few coins');
  if (left > 1000) mtx.addOutput(payer.getAddress(), left);
  for (const input of mtx.inputs) input.sequence = replaceable ? SEQUENCE_REPLACEABLE : SEQUENCE_FINAL;
  if (mtx.sign(payer) !== inputs.length) throw new Error('the payer cannot sign');
  return mtx.toTX();
}

async function enter(tx) {
  const missing = await mempool.addTX(tx, -1);
  if (missing) throw new Error(`the node does not know what ${writtenOf(tx)} spends`);
  return writtenOf(tx);
}

async function pay(outputs, options) {
  const wanted = outputs.reduce((sum, { units }) => sum + Number(units), FEE_UNITS);
  const inputs = [];
  let gathered = 0;
  for (const coin of coins.values()) {
    if (gathered >= wanted) break;
    if (!(await isSpendable(coin))) continue;
    inputs.push(coin);
    gathered += coin.value;
  }
  return enter(build(inputs, outputs, options));
}

/** A transaction that spends to the payer what another one of the payer's spends. */
async function conflictOf(tx, outputs = []) {
  const inputs = [];
  for (const { prevout } of tx.inputs) {
    const coin =
      coins.get(`${keyOf(prevout.hash)}:${prevout.index}`) ?? (await chain.getCoin(prevout.hash, prevout.index));
    if (coin) inputs.push(coin);
  }
  return build(inputs, outputs, { fee: REPLACEMENT_FEE_UNITS });
}

function evict(txid) {
  const entry = mempool.getEntry(insideHash(txid));
  if (!entry) throw new Error(`${txid} is not in the mempool`);
  const { tx } = entry;
  mempool.evictEntry(entry);
  return tx;
}

/** Mines a block on `tip` with exactly these transactions. */
async function mineOn(tip, txs) {
  const kept = miner.mempool;
  miner.mempool = null;
  try {
    const job = await miner.cpu.createJob(tip, Address.fromString(newAddress(), network));
    if (CASH)
      txs = [...txs].sort((a, b) => Buffer.compare(Buffer.from(a.hash()).reverse(), Buffer.from(b.hash()).reverse()));
    for (const tx of txs) job.pushTX(tx, await mempool.getCoinView(tx));
    job.refresh();
    return await chain.add(await job.mineAsync());
  } finally {
    miner.mempool = kept;
  }
}

async function reorg(depth, drop) {
  const orphaned = [];
  for (let height = chain.height - depth + 1; height <= chain.height; height++) {
    const block = await chain.getBlock(await chain.getHash(height));
    orphaned.push(...block.txs.slice(1));
  }
  const pending = [...mempool.map.values()].map(({ tx }) => tx);
  const conflicts = [];
  for (const tx of drop ? orphaned : []) conflicts.push(await conflictOf(tx));
  let tip = await chain.getEntryByHeight(chain.height - depth);
  for (let i = 0; i <= depth; i++) tip = await mineOn(tip, i === 0 ? conflicts : []);
  // Core takes the transactions of blocks that left back in; these nodes do so in part.
  for (const tx of drop ? pending : [...orphaned, ...pending]) {
    if (!mempool.hasEntry(hashOf(tx))) await mempool.addTX(tx, -1).catch(() => undefined);
  }
}

let away = [];
const commands = {
  newAddress: async () => newAddress(),
  payerAddress: async () => payer.getAddress().toString(network),
  mine: async (count, address) => {
    for (let i = 0; i < count; i++) {
      const block = await miner.mineBlock(null, address ? Address.fromString(address, network) : payer.getAddress());
      if (!(await chain.add(block))) throw new Error('the block was not taken');
    }
  },
  pay,
  conflictOf: async (txid, outputs) => {
    const tx = await conflictOf(mempool.getEntry(insideHash(txid)).tx, outputs);
    return tx.toRaw().toString('hex');
  },
  /** Neither package replaces by itself: the old transaction is taken out and the new one put in. */
  replace: async (txid, outputs) => {
    const conflict = await conflictOf(mempool.getEntry(insideHash(txid)).tx, outputs);
    evict(txid);
    return enter(conflict);
  },
  spend: async (secret, txid, vout) => {
    const ring = KeyRing.fromSecret(secret, network);
    if (!CASH) ring.witness = true;
    const hash = insideHash(txid);
    const coin = mempool.getCoin(hash, vout) ?? (await chain.getCoin(hash, vout));
    const mtx = new MTX();
    mtx.addCoin(coin);
    mtx.addOutput(Address.fromString(newAddress(), network), coin.value - FEE_UNITS);
    if (mtx.sign(ring) !== 1) throw new Error('the key does not fit the coin');
    return enter(mtx.toTX());
  },
  submit: async (raw) => enter(TX.fromRaw(Buffer.from(raw, 'hex'))),
  evictAll: () => mempool.reset(),
  reorg,
  lag: async () => {
    away = [await chain.getBlock(chain.tip.hash), ...[...mempool.map.values()].map(({ tx }) => tx)];
    await chain.reset(chain.height - 1);
  },
  catchUp: async () => {
    const [block, ...txs] = away;
    await chain.add(block);
    for (const tx of txs) await mempool.addTX(tx, -1).catch(() => undefined);
  },
  disconnect: () => node.http.close(),
  reconnect: () => node.http.open(),
};

process.on('message', async ({ id, command, params }) => {
  try {
    process.send({ id, result: (await commands[command](...params)) ?? null });
  } catch (error) {
    process.send({ id, error: String(error?.message ?? error) });
  }
});
process.on('disconnect', () => process.exit(0));
// What the packages find wrong with a transaction reaches the caller as well; without a listener it would end the process.
node.on('error', () => undefined);
chain.on('connect', watch);
await node.open();
process.send({ ready: true });
