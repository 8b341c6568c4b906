/**
 * Receiving on Ethereum's family, on a real anvil: from a mined transfer to the API's answer, what a block costs in requests and
 * bytes with few and many open addresses, catching up, and the longest turn of the event loop (CPU); and the gas of collecting.
 * Anvil and daemon share this machine. Prints one line of JSON; `--tell` prints a table instead.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import { createWallet, deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { FactBook } from '../adapters/fact-book.ts';
import { callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon, until } from '../support/daemon.ts';
import { ETHER, EvmShop } from '../support/evm-shop.ts';
import { turnsOf } from './turns.ts';

const BLOCKS_COUNTED = 20;
const BLOCKS_BEHIND = 10_000;
const FLOOD = 10_000;
const PAYMENTS = 15;
const UNIT = 10n ** 6n;
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

/** An adapter at the tip that watches so many addresses. */
async function watching(scene: EvmScene, addresses: number) {
  const book = new FactBook();
  const targets = Array.from({ length: addresses }, strange);
  const ids = targets.map((target) => book.watch(target));
  const adapter = scene.connect(book, [scene.proxy.url], () => false, 3_600_000);
  book.checkpoint = await adapter.begin(null, signal());
  await book.catchUp(adapter, signal());
  return { adapter, book, first: { address: targets[0]!.address, id: ids[0]! } };
}

async function costOfABlock(addresses: number) {
  const scene = await EvmScene.start('ETH');
  const { adapter, book } = await watching(scene, addresses);
  await scene.anvil.mine();
  await book.catchUp(adapter, signal());
  const { proxy } = scene;
  const [requests, bytes] = [proxy.requests, proxy.bytes];
  let longest = 0;
  for (let i = 0; i < BLOCKS_COUNTED; i++) {
    await scene.payTokens([{ address: strange().address, units: UNIT }]);
    await scene.anvil.mine();
    longest = Math.max(longest, (await turnsOf(book.catchUp(adapter, signal()))).longest);
  }
  const each = (sum: number): number => Math.round(sum / BLOCKS_COUNTED);
  const cost = { requests: each(proxy.requests - requests), bytes: each(proxy.bytes - bytes), longestTurnMs: longest };
  await adapter.close();
  await scene.stop();
  return cost;
}

async function catchingUp() {
  const scene = await EvmScene.start('ETH');
  const { adapter, book, first } = await watching(scene, 100);
  await scene.payTokens([{ address: first.address, units: UNIT }]);
  await scene.anvil.mine(BLOCKS_BEHIND);
  const { ms, longestTurnMs } = await measuredCatchUp(adapter, book);
  if (book.paid(first.id).length !== 1) throw new Error('the payment was not found');
  await adapter.close();
  await scene.stop();
  return { blocks: BLOCKS_BEHIND, ms, longestTurnMs };
}

async function flooded() {
  const scene = await EvmScene.start('ETH');
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
  await scene.stop();
  return { transfers: FLOOD, ms, longestTurnMs };
}

/** Catches up, and measures the adapter without the book that keeps the facts for it. */
async function measuredCatchUp(adapter: EvmAdapter, book: FactBook) {
  let [ms, longestTurnMs] = [0, 0];
  for (;;) {
    const work = adapter.sync(book.checkpoint, signal());
    const { whole, longest } = await turnsOf(work);
    [ms, longestTurnMs] = [ms + whole, Math.max(longestTurnMs, longest)];
    const update = await work;
    if (update) book.apply(update);
    if (update?.mempool === 'complete') return { ms, longestTurnMs };
  }
}

/** From the mined block to the answer of Get invoice, with and without hints over a WebSocket. */
async function transferToApi(hints: boolean) {
  const scene = await EvmScene.start('ETH');
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
    ...{ name: 'Shop', network: 'regtest', account_no: 0, accounts },
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
  await scene.stop();
  return { medianMs: median(took), longestMs: Math.max(...took) };
}

const SWEPT = 5;

/** The gas of collecting tokens into the tank, funding included, for each address; beside that of a plain transfer. */
async function sweeping() {
  const scene = await EvmScene.start('ETH');
  const shop = await EvmShop.open(scene, scene.settings(scene.asset, 'ETH'));
  await shop.fillTank(ETHER / 10n);
  for (let i = 0; i < SWEPT; i++) await shop.invoicePaid(scene.asset, 50n * UNIT, 50);
  const { tank } = await shop.desk();
  // the first tokens of an address cost more storage: a shop's tank has some after the first collection
  await scene.payTokens([{ address: tank.address, units: UNIT }]);
  const from = Number(await scene.anvil.rpc<string>('eth_blockNumber', []));
  await shop.collect(ETHER / 20n);
  await shop.mining('all is swept', async () => (await shop.asset(scene.asset)).in_tank === `${SWEPT * 50 + 1}`);
  const to = Number(await scene.anvil.rpc<string>('eth_blockNumber', []));
  let gas = 0;
  for (let height = from + 1; height <= to; height++) gas += await gasOfOurs(scene, height);
  await scene.payTokens([{ address: tank.address, units: UNIT }]);
  await scene.anvil.mine(1);
  const plain = await gasUsedAt(scene, to + 1);
  await shop.stop();
  await scene.stop();
  return { addresses: SWEPT, gasEach: gas / SWEPT, plainTransferGas: plain.reduce((sum, one) => sum + one.gas, 0) };
}

async function gasUsedAt(scene: EvmScene, height: number): Promise<{ from: string; gas: number }[]> {
  const receipts = await scene.anvil.rpc<{ from: string; gasUsed: string }[]>('eth_getBlockReceipts', [
    `0x${height.toString(16)}`,
  ]);
  return receipts.map(({ from, gasUsed }) => ({ from, gas: Number(gasUsed) }));
}

/** Of the transactions in a block that the tests' payer did not make. */
async function gasOfOurs(scene: EvmScene, height: number): Promise<number> {
  const all = await gasUsedAt(scene, height);
  return all.reduce(
    (sum, { from, gas }) => sum + (from.toLowerCase() === scene.anvil.payer.toLowerCase() ? 0 : gas),
    0,
  );
}

const measured = {
  transferToApi: await transferToApi(false),
  transferToApiWithHints: await transferToApi(true),
  blockWith10: await costOfABlock(10),
  blockWith10000: await costOfABlock(10_000),
  catchUp: await catchingUp(),
  flood: await flooded(),
  sweeping: await sweeping(),
};
const rounded = JSON.parse(
  JSON.stringify(measured, (_, value: unknown) => (typeof value === 'number' ? Math.round(value) : value)),
);
if (process.argv.includes('--tell')) console.table(rounded);
else console.log(JSON.stringify(rounded));
process.exit(0);
