/**
 * Receiving on Ethereum's family, on a real anvil: from a mined transfer to the API's answer, what a block costs in requests and
 * bytes with few and many open addresses, catching up, and the longest turn of the event loop (CPU); and the gas of collecting.
 * Anvil and daemon share this machine, whose load is printed. Prints one line of JSON; `--tell` prints a table instead.
 */
import { randomBytes } from 'node:crypto';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { BLOCK_MS } from '../../daemon/chains/evm/params.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import { type EvmChain, NATIVE_COIN } from '../../daemon/domain/evm.ts';
import { createWallet, deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { FactBook } from '../adapters/fact-book.ts';
import { callOf, type Hardfork, hasAnvil } from '../nodes/evm/anvil.ts';
import { EndpointProxy } from '../nodes/evm/endpoint-proxy.ts';
import { startTestDaemon, until } from '../support/daemon.ts';
import { ETHER, EvmShop } from '../support/evm-shop.ts';
import { turnsOf } from './turns.ts';

const BLOCKS_COUNTED = 20;
const BLOCKS_BEHIND = 10_000;
/** Mined by one request. */
const BLOCKS_AT_ONCE = 1_000;
const FLOOD = 10_000;
const PAYMENTS = 15;
const UNIT = 10n ** 6n;
/** How long blocks come at mainnet's pace. */
const PACED_MS = 120_000;
/** From the beginning of its slot to when an endpoint has a block of Ethereum. */
const ARRIVES_MS = 3_000;
const WARM_BLOCKS = 3;
/** New addresses that a look compares. */
const NEW_PER_LOOK = 500;
/** The service looks so often without a hint. */
const PASS_MS = 10_000;
const DAY_MS = 86_400_000;
const PASSPHRASE = 'a passphrase of the bench';

if (!hasAnvil) {
  console.log(JSON.stringify({ missing: 'anvil' }));
  process.exit(0);
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const signal = () => AbortSignal.timeout(300_000);
const strange = () => {
  const script = randomBytes(20);
  return { script, address: checksumAddress(script) };
};

/** Does something on a chain of its own, whose node ends in any case. */
async function onChain<T>(chain: EvmChain, work: (scene: EvmScene) => Promise<T>, hardfork?: Hardfork): Promise<T> {
  const scene = await EvmScene.start(chain, hardfork);
  try {
    return await work(scene);
  } finally {
    await scene.stop();
  }
}

/** An adapter at the tip that watches so many addresses. `url`: the node, or the proxy that counts and works in this process. */
async function watching(scene: EvmScene, addresses: number, url = scene.anvil.url) {
  const book = new FactBook();
  const targets = Array.from({ length: addresses }, strange);
  const ids = targets.map((target) => book.watch(target));
  const adapter = scene.connect(book, [url], () => false, 3_600_000);
  book.checkpoint = await adapter.begin(null, signal());
  await book.catchUp(adapter, signal());
  return { adapter, book, first: { address: targets[0]!.address, id: ids[0]! } };
}

/** The payments of others in so many blocks, each followed by a look. Returns the longest turn (CPU). */
async function followed(scene: EvmScene, { adapter, book }: Awaited<ReturnType<typeof watching>>, blocks: number) {
  let longest = 0;
  for (let i = 0; i < blocks; i++) {
    await scene.payTokens([{ address: strange().address, units: UNIT }]);
    await scene.anvil.mine();
    longest = Math.max(longest, (await measuredCatchUp(adapter, book)).longestTurnMs);
  }
  return longest;
}

const sumOf = (map: ReadonlyMap<string, number>, isWanted: (method: string) => boolean): number =>
  [...map].reduce((sum, [method, value]) => sum + (isWanted(method) ? value : 0), 0);

/** `forTokens`: without the balances, by which the native coin is found. */
async function costOfABlock(scene: EvmScene, addresses: number) {
  const { proxy } = scene;
  const counted = await watching(scene, addresses, proxy.url);
  // until the addresses are no longer new, which are compared beside the others
  await followed(scene, counted, BLOCKS_COUNTED);
  proxy.calls.clear();
  proxy.bytesOf.clear();
  const [requests, bytes] = [proxy.requests, proxy.bytes];
  await followed(scene, counted, BLOCKS_COUNTED);
  const each = (sum: number): number => Math.round(sum / BLOCKS_COUNTED);
  const isForTokens = (method: string): boolean => method !== 'eth_getBalance';
  const cost = {
    requests: each(proxy.requests - requests),
    bytes: each(proxy.bytes - bytes),
    callsForTokens: each(sumOf(proxy.calls, isForTokens)),
    bytesForTokens: each(sumOf(proxy.bytesOf, isForTokens)),
  };
  await counted.adapter.close();
  const straight = await watching(scene, addresses);
  const longestTurnMs = await followed(scene, straight, BLOCKS_COUNTED);
  await straight.adapter.close();
  return { ...cost, longestTurnMs };
}

/**
 * Calls of a day at mainnet's pace: blocks come by the clock, and the adapter polls and looks as it does there. A second operator is
 * asked, too.
 */
async function callsOfADay(scene: EvmScene, addresses: number) {
  const second = await EndpointProxy.start(scene.anvil.url);
  const book = new FactBook();
  for (let i = 0; i < addresses; i++) book.watch(strange());
  const urls = [scene.proxy.url, second.url.replace('127.0.0.1', 'localhost')];
  const adapter = scene.paced(book, urls);
  book.checkpoint = await adapter.begin(null, signal());
  // until the addresses are no longer new
  for (let seen = 0; seen <= addresses; seen += NEW_PER_LOOK) await book.catchUp(adapter, signal());
  let isOver = false;
  let isWoken = (): void => undefined;
  adapter.onHint(() => isWoken());
  const following = (async () => {
    while (!isOver) {
      const woken = new Promise<void>((resolve) => {
        isWoken = resolve;
      });
      await Promise.race([woken, sleep(PASS_MS)]);
      await book.catchUp(adapter, signal());
    }
  })();
  const blockMs = BLOCK_MS[scene.chain];
  const lateMs = scene.chain === 'ETH' ? ARRIVES_MS : 0;
  const blocks = Math.ceil(PACED_MS / blockMs);
  const mine = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      await scene.anvil
        .rpc('anvil_setNextBlockTimestamp', [`0x${Math.floor((Date.now() - lateMs) / 1_000).toString(16)}`])
        .catch(() => null);
      await Promise.all([scene.anvil.mine(), sleep(blockMs)]);
    }
  };
  await mine(WARM_BLOCKS);
  const counted = (): number => [scene.proxy, second].reduce((sum, { calls }) => sum + sumOf(calls, () => true), 0);
  const before = counted();
  await mine(blocks);
  const calls = counted() - before;
  isOver = true;
  isWoken();
  await following;
  await adapter.close();
  await second.close();
  return { blocks, callsEach: calls / blocks, callsADay: Math.round((calls / (blocks * blockMs)) * DAY_MS) };
}

async function catchingUp(scene: EvmScene) {
  const { adapter, book, first } = await watching(scene, 100);
  await scene.payTokens([{ address: first.address, units: UNIT }]);
  for (let mined = 0; mined < BLOCKS_BEHIND; mined += BLOCKS_AT_ONCE) await scene.anvil.mine(BLOCKS_AT_ONCE);
  const { ms, longestTurnMs } = await measuredCatchUp(adapter, book);
  if (book.paid(first.id).length !== 1) throw new Error('the payment was not found');
  await adapter.close();
  return { blocks: BLOCKS_BEHIND, ms, longestTurnMs };
}

async function flooded(scene: EvmScene) {
  const { adapter, book, first } = await watching(scene, 10);
  const forger = await scene.anvil.deploy('Forger');
  await scene.anvil.send({ to: scene.token, data: callOf('TetherLike', 'mint', [forger, BigInt(FLOOD)]) });
  const times = 500;
  for (let i = 0; i < FLOOD / times; i++) {
    const data = callOf('Forger', 'flood', [scene.token, first.address, BigInt(times)]);
    await scene.anvil.send({ to: forger, data, gas: 30_000_000 });
    await scene.anvil.mine();
  }
  const { ms, longestTurnMs } = await measuredCatchUp(adapter, book);
  if (book.paid(first.id).length !== FLOOD) throw new Error('transfers are missing');
  await adapter.close();
  return { transfers: FLOOD, ms, longestTurnMs };
}

/** Catches up, and measures the adapter without the book that keeps the facts for it. */
async function measuredCatchUp(adapter: EvmAdapter, book: FactBook) {
  let [ms, longestTurnMs] = [0, 0];
  for (;;) {
    const work = adapter.sync(book.checkpoint, signal());
    const { whole, longestWithGarbage: longest } = await turnsOf(work);
    [ms, longestTurnMs] = [ms + whole, Math.max(longestTurnMs, longest)];
    const update = await work;
    if (update) book.apply(update);
    if (update?.mempool === 'complete') return { ms, longestTurnMs };
  }
}

/** From the mined block to the answer of Get invoice, with and without hints over a WebSocket. */
async function transferToApi(scene: EvmScene, hints: boolean) {
  const urls = [scene.proxy.url, ...(hints ? [scene.anvil.url.replace('http', 'ws')] : [])];
  const service = await startTestDaemon(`
[networks.regtest.ETH]
rpc = ${JSON.stringify(urls)}
[networks.regtest.USDT_ERC20]
contract = "${scene.token}"
[networks.regtest.rates]
ETH = "2000"
USDT = "1"
`);
  const vault = join(service.dataDir, 'vault');
  await createWallet(vault, { passphrase: PASSPHRASE });
  const accounts = await deriveAccounts(vault, PASSPHRASE, 'regtest', 0, ['ETH']);
  const key = { name: 'shop', scopes: ['invoices' as const] };
  const added = await operatorClient(service.dataDir)('business.add', {
    name: 'Shop',
    network: 'regtest',
    account_no: 0,
    accounts,
    key,
  });
  const headers = { 'mb-api-key': added.key.key };
  type Invoice = { id: string; payment: { address: string; received: string } };
  const took: number[] = [];
  for (let i = 0; i < PAYMENTS; i++) {
    const { body } = await service.call<Invoice>('POST', '/invoice', { amount: 25 + i, crypto: 'USDT_ERC20' }, headers);
    await until('the chain is followed', async () => {
      const { status } = await service.call('POST', `/invoice/rp/${body.id}`, undefined, headers);
      return status < 400;
    });
    const read = async (): Promise<Invoice> =>
      (await service.call<Invoice>('GET', `/invoice/${body.id}`, undefined, headers)).body;
    const { address } = (await read()).payment;
    await scene.payTokens([{ address, units: BigInt(25 + i) * UNIT }]);
    await scene.anvil.mine();
    const minedAt = performance.now();
    await until('it is seen', async () => (await read()).payment.received !== '0');
    took.push(performance.now() - minedAt);
  }
  await service.stop();
  return { medianMs: median(took), longestMs: Math.max(...took) };
}

const SWEPT = 5;

/**
 * The gas of collecting tokens into the tank, funding included, for each address; beside that of a plain transfer. `leftGas`: the
 * coin that stays at an address of what was sent there, as gas at the price that was paid.
 */
async function sweeping(scene: EvmScene) {
  const shop = await EvmShop.open(scene, scene.settings(scene.asset, NATIVE_COIN[scene.chain]));
  const unit = scene.chain === 'ETH' ? UNIT : ETHER;
  await shop.fillTank(ETHER / 10n);
  const addresses: string[] = [];
  for (let i = 0; i < SWEPT; i++) addresses.push(await shop.invoicePaid(scene.asset, 50n * unit, 50));
  const { tank } = await shop.desk();
  // the first tokens of an address cost more storage: a shop's tank has some after the first collection
  await scene.payTokens([{ address: tank.address, units: unit }]);
  const from = Number(await scene.anvil.rpc<string>('eth_blockNumber', []));
  await shop.collect(ETHER / 20n);
  await shop.mining('all is swept', async () => (await shop.asset(scene.asset)).in_tank === `${SWEPT * 50 + 1}`);
  const to = Number(await scene.anvil.rpc<string>('eth_blockNumber', []));
  const ours: Used[] = [];
  for (let height = from + 1; height <= to; height++) {
    const all = await gasUsedAt(scene, height);
    ours.push(...all.filter((one) => one.from.toLowerCase() !== scene.anvil.payer.toLowerCase()));
  }
  const gas = ours.reduce((sum, one) => sum + one.gas, 0);
  const price = ours.reduce((sum, one) => sum + one.gas * one.price, 0) / gas;
  let left = 0;
  for (const address of addresses) left += Number(await shop.coinsAt(address));
  await scene.payTokens([{ address: tank.address, units: unit }]);
  await scene.anvil.mine(1);
  const [plain] = await gasUsedAt(scene, to + 1);
  await shop.stop();
  return {
    addresses: SWEPT,
    gasEach: gas / SWEPT,
    plainTransferGas: plain?.gas ?? Number.NaN,
    leftGas: left / SWEPT / price,
  };
}

type Used = { from: string; gas: number; price: number };

async function gasUsedAt(scene: EvmScene, height: number): Promise<Used[]> {
  type Receipt = { from: string; gasUsed: string; effectiveGasPrice: string };
  const receipts = await scene.anvil.rpc<Receipt[]>('eth_getBlockReceipts', [`0x${height.toString(16)}`]);
  return receipts.map(({ from, gasUsed, effectiveGasPrice }) => ({
    from,
    gas: Number(gasUsed),
    price: Number(effectiveGasPrice),
  }));
}

/** The calls of a day alone: `--calls`. */
const days = async () => ({
  dayEthWith10: await onChain('ETH', (scene) => callsOfADay(scene, 10)),
  dayEthWith10000: await onChain('ETH', (scene) => callsOfADay(scene, 10_000)),
  dayBscWith10: await onChain('BSC', (scene) => callsOfADay(scene, 10)),
  dayBscWith10000: await onChain('BSC', (scene) => callsOfADay(scene, 10_000)),
});
if (process.argv.includes('--calls')) {
  console.table(await days());
  process.exit(0);
}

const measured = {
  transferToApi: await onChain('ETH', (scene) => transferToApi(scene, false)),
  transferToApiWithHints: await onChain('ETH', (scene) => transferToApi(scene, true)),
  blockWith10: await onChain('ETH', (scene) => costOfABlock(scene, 10)),
  blockWith10000: await onChain('ETH', (scene) => costOfABlock(scene, 10_000)),
  ...(await days()),
  catchUp: await onChain('ETH', catchingUp, 'cancun'),
  flood: await onChain('ETH', flooded),
  sweeping: await onChain('ETH', sweeping),
  sweepingStandard: await onChain('BSC', sweeping),
  load: loadavg()[0],
};
const rounded = JSON.parse(
  JSON.stringify(measured, (_, value: unknown) => (typeof value === 'number' ? Math.round(value) : value)),
);
if (process.argv.includes('--tell')) console.table(rounded);
else console.log(JSON.stringify(rounded));
process.exit(0);
