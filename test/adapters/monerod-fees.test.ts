/**
 * Whether a fee tells which program made a payment of Monero: ours beside those of monero-wallet-rpc, on a real node. Its formula is
 * written here from its definition (`wallet2::calculate_fee_from_weight`, `get_transaction_weight_clawback`).
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { MoneroAdapter } from '../../daemon/chains/xmr/adapter.ts';
import { parseSigned } from '../../daemon/monero/transaction.ts';
import { hasMonerod, monerodTitle } from '../nodes/monerod.ts';
import { MoneroScene, sign } from './monerod-controls.ts';
import { SpendingBook } from './spending-book.ts';

const COIN = 10n ** 12n;
const MASK = 10_000n;
const signal = () => AbortSignal.timeout(25_000);
const STANDARD = '42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm';

type Sample = { fee: bigint; weight: bigint; outputs: number; inputs: number; raw: Buffer };

/** The bytes, and for more than two outputs four fifths of what their common proof saves. */
function weightIn(raw: Buffer, outputs: number): bigint {
  if (outputs <= 2) return BigInt(raw.length);
  let padded = 1;
  while (padded < outputs) padded *= 2;
  const rounds = 6 + Math.log2(padded);
  const saved = (32 * (6 + 7 * 2)) / 2;
  return BigInt(raw.length) + BigInt(Math.floor(((saved * padded - 32 * (6 + 2 * rounds)) * 4) / 5));
}

const feeOf = (weight: bigint, perByte: bigint): bigint => ((weight * perByte + MASK - 1n) / MASK) * MASK;

it.skipIf(!hasMonerod)(monerodTitle('Monero: a fee does not tell which program made it'), async () => {
  const made = [...(await ofOurs()), ...(await ofTheirs())];
  const perByte = BigInt((await scene.node.rpc<{ fees: number[] }>('get_fee_estimate', { grace_blocks: 10 })).fees[1]!);
  for (const { sample } of made) {
    // the node counts as is written here
    expect(sample.weight).toBe(weightIn(sample.raw, sample.outputs));
  }
  // an observer has the fee and the bytes, and asks whether the one follows from the other as in wallet2
  const off = made.map(({ by, takesAll, sample }) => {
    const { weight, inputs, outputs } = sample;
    const estimate = takesAll ? 0n : estimated(inputs, outputs);
    return [by, sample.fee - feeOf(weight > estimate ? weight : estimate, perByte)];
  });
  expect(off).toEqual(made.map(({ by }) => [by, 0n]));
  const ofTwo = (wanted: string) => made.filter(({ by, sample }) => by === wanted && sample.outputs === 2);
  const extras = (wanted: string) => new Set(ofTwo(wanted).map(({ sample }) => extraIn(sample)));
  expect(extras('ours')).toEqual(extras('theirs'));
  // a fee of the rate alone, without the bytes, would be the same for all: the sample has different ones
  expect(new Set(made.map(({ sample }) => sample.weight)).size).toBeGreaterThan(3);
});

/** `wallet2::estimate_rct_tx_size` and the surcharge: 16 ring members, CLSAG, Bulletproofs+, view tags, no extra field of its own. */
function estimated(inputs: number, outputs: number): bigint {
  let log = 0;
  while (1 << log < outputs) log++;
  let size = 1 + 6;
  size += inputs * (1 + 6 + 16 * 2 + 32);
  size += outputs * (6 + 32);
  size += 1;
  size += (2 * (6 + log) + 6) * 32 + 3;
  size += inputs * (32 * 16 + 64);
  size += outputs;
  size += 32 * inputs;
  size += 8 * outputs;
  size += 32 * outputs;
  size += 4;
  return weightIn(Buffer.alloc(size), outputs);
}

/** The bytes of the extra field of a transaction of two outputs. */
function extraIn({ raw }: Sample): string {
  const { transaction } = parseSigned(raw);
  return [
    transaction.publicKeys.length,
    transaction.outputKeys.length,
    transaction.nonces.map(({ length }) => length),
  ].join();
}

let scene: MoneroScene;
let book: SpendingBook;
let adapter: MoneroAdapter;
beforeAll(async () => {
  if (!hasMonerod) return;
  scene = await MoneroScene.start();
  book = new SpendingBook();
  adapter = scene.connect(book);
  book.checkpoint = await adapter.begin(null, signal());
  for (const branch of [1, 0] as const) {
    book.own({ ...(await adapter.deriveAddress(scene.account, branch, 0)), branch, index: 0 });
  }
});
afterAll(async () => {
  await adapter?.close();
  await scene?.stop();
});

/** What the node has in its pool, as an observer sees it. */
async function seen(txid: string): Promise<Sample> {
  type Pool = { transactions: { id_hash: string; fee: number; weight: number; tx_blob: string }[] };
  const { transactions } = await scene.node.other<Pool>('/get_transaction_pool', {});
  const found = transactions.find(({ id_hash }) => id_hash === txid)!;
  const [hex = ''] = await scene.node.raw([txid]);
  const raw = Buffer.from(hex, 'hex');
  const { transaction } = parseSigned(raw);
  const { outputs, keyImages } = transaction;
  return {
    fee: BigInt(found.fee),
    weight: BigInt(found.weight),
    raw,
    outputs: outputs.length,
    inputs: keyImages.length,
  };
}

/** `takesAll`: it leaves no change, so that its maker adds nothing for what it did not know. */
type Made = { by: 'ours' | 'theirs'; takesAll: boolean; sample: Sample };

/** One input, several, several receivers with and without a subaddress, everything, and back to ourselves. */
async function ofOurs(): Promise<Made[]> {
  const own = [...book.addresses.values()].find(({ branch }) => branch === 0)!;
  await scene.node.pay(Array.from({ length: 8 }, () => ({ address: own.address, units: COIN })));
  await scene.node.mine(10);
  await book.catchUp(adapter);
  const { spending } = adapter;
  const pay = (address: string, units: bigint | null) => ({ address, units });
  const theirs = () => scene.node.newAddress();
  const change = [...book.addresses.values()].find(({ branch }) => branch === 1)!;
  const wishes = [
    [pay(await theirs(), COIN / 3n)],
    [pay(STANDARD, COIN / 3n)],
    [pay(await theirs(), COIN + COIN / 2n)],
    [pay(await theirs(), COIN / 4n), pay(STANDARD, COIN / 4n), pay(await theirs(), COIN / 8n)],
    [],
    [pay(await theirs(), null)],
  ];
  const made: Made[] = [];
  for (const payouts of wishes) {
    const holdings = book.holdings('XMR', 'XMR');
    const [coin] = holdings.coins()[0]!;
    const plan = await spending.plan(
      {
        accountNo: 0,
        asset: 'XMR',
        payouts,
        holdings,
        change: { ...change, index: 0 },
        tipHeight: book.tip.height,
        conflictKeys: payouts.length === 0 ? [coin!.outpoint] : [],
        feeRate: await spending.feeRate(6, signal()),
        feeMin: 0n,
        feeMax: COIN,
      },
      signal,
    );
    for (const key of spending.conflictKeys(plan)) book.reserved.add(key);
    const tx = await sign((await spending.unsigned(plan, book.kept)) as Parameters<typeof sign>[0]);
    for (const [outpoint, image] of Object.entries(tx.keyImages ?? {})) book.keyImages.set(image, outpoint);
    await spending.broadcast(tx.raw, signal());
    const sample = await seen(tx.txid);
    expect([sample.fee, sample.weight]).toEqual([tx.fee, BigInt(tx.size)]);
    made.push({ by: 'ours', takesAll: payouts.every(({ units }) => units === null), sample });
  }
  return made;
}

async function ofTheirs(): Promise<Made[]> {
  const made: Made[] = [];
  const wishes: string[][] = [
    [STANDARD],
    [await scene.node.newAddress()],
    [STANDARD, await scene.node.newAddress()],
    [STANDARD],
  ];
  for (const addresses of wishes) {
    const outputs = addresses.map((address) => ({ address, units: COIN / 5n }));
    const sample = await seen(await scene.node.pay(outputs, { priority: 2 }));
    made.push({ by: 'theirs', takesAll: false, sample });
  }
  for (const { raw } of await scene.node.rivals([STANDARD, await scene.node.newAddress()], { priority: 2 })) {
    await scene.node.flush();
    await scene.node.submit(raw);
    const { id } = parseSigned(Buffer.from(raw, 'hex')).transaction;
    made.push({ by: 'theirs', takesAll: true, sample: await seen(id) });
  }
  return made;
}
