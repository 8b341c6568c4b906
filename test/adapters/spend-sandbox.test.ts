/** Spending of the sandbox's coins, whose signatures are real. The others run the conformance suite alone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CoinSource } from '../../daemon/chains/adapter.ts';
import { planUtxo } from '../../daemon/chains/utxo/spend/plan.ts';
import { decodeTransaction } from '../../daemon/chains/utxo/spend/transaction.ts';
import type { Coin, SignedSpend, SpendRequest, UtxoPlan } from '../../daemon/domain/spend.ts';
import { scriptAt } from '../../daemon/sandbox/addresses.ts';
import { coinSource } from './coin-source.ts';
import { type Bench, openBench } from './sandbox-kit.ts';
import { SpendWallet } from './spend-wallet.ts';

const signal = () => AbortSignal.timeout(10_000);
const sum = (list: readonly { units: bigint }[]): bigint => list.reduce((total, { units }) => total + units, 0n);
const STRANGER = 9;

describe.each(['BTC', 'LTC', 'BCH'] as const)('%s', (chain) => {
  const asset = chain;
  let bench: Bench;
  let wallet: SpendWallet;
  let spending: CoinSource;
  const one = 100_000_000n;

  beforeEach(async () => {
    bench = await openBench();
    wallet = await SpendWallet.open(chain, 'sandbox');
    const adapter = bench.sandbox.adapter(chain);
    await adapter.begin(null, signal());
    spending = coinSource(adapter);
  });
  afterEach(() => bench.close());

  const ours = (branch: 0 | 1, index: number) => wallet.target(branch, index);
  const stranger = () => {
    const { address } = ours(0, STRANGER);
    return { address, script: scriptAt(chain, address)! };
  };

  /** Coins of these amounts that were paid to us, one a transaction. */
  async function funded(...units: bigint[]): Promise<Coin[]> {
    const coins: Coin[] = [];
    for (const [index, each] of units.entries()) {
      const { address, script } = ours(0, index);
      const { txid } = await bench.sandbox.pay(chain, { address, asset, units: each });
      coins.push({ outpoint: `${txid}:0`, units: each, script, branch: 0, index, confirmations: 1 });
    }
    await bench.sandbox.mine(chain, 1);
    return coins;
  }

  async function planned(free: Coin[], fields: Partial<SpendRequest>): Promise<UtxoPlan> {
    const request: SpendRequest = {
      network: 'sandbox',
      chain,
      accountNo: 0,
      asset,
      coins: free,
      payouts: [],
      requiredInputs: [],
      change: { ...ours(1, 0), index: 0 },
      feeRate: await spending.feeRate(6, signal()),
      feeMin: 0n,
      feeMax: one,
      tipHeight: bench.rows.tip(chain)?.height ?? 0,
      ...fields,
    };
    return planUtxo(request, chain);
  }

  function signed(plan: UtxoPlan): SignedSpend {
    return wallet.sign(plan);
  }

  const decoded = (raw: string) => decodeTransaction(raw, chain, 'sandbox');
  const heightOf = (txid: string) => bench.rows.transaction(chain, txid)?.height;

  it('is paid to somebody, and confirms in a block, and again after a reorganisation', async () => {
    const coins = await funded(2n * one, one);
    const plan = await planned(coins, { payouts: [{ ...stranger(), units: (5n * one) / 2n }] });
    expect(sum(plan.inputs)).toBe(sum(plan.outputs) + plan.fee);
    expect(plan.fee).toBeGreaterThan(0n);
    const { raw, txid, fee } = signed(plan);
    expect(fee).toBe(plan.fee);
    expect(decoded(raw)).toMatchObject({ txid });
    expect(decoded(raw).outputs).toContainEqual({ ...stranger(), asset, units: (5n * one) / 2n });
    await spending.broadcast(raw, signal());
    await spending.broadcast(raw, signal());
    expect(heightOf(txid)).toBeNull();
    expect(await spending.unconfirmed(txid, signal())).toMatchObject({ fee: plan.fee });
    const { height } = await bench.sandbox.mine(chain, 1);
    expect(heightOf(txid)).toBe(height);
    expect(await spending.unconfirmed(txid, signal())).toBeNull();
    await spending.broadcast(raw, signal());
    await bench.sandbox.reorg(chain, 1, false);
    expect(heightOf(txid)).toBeNull();
    await bench.sandbox.mine(chain, 1);
    expect(heightOf(txid)).toBe(height + 2);
  });

  it('can be swept', async () => {
    const coins = await funded(one, one, one);
    const plan = await planned(coins, { payouts: [{ ...stranger(), units: null }] });
    expect(plan.outputs[0]).toMatchObject({ kind: 'payout', units: 3n * one - plan.fee });
    expect(plan.outputs.length).toBe(1);
    await spending.broadcast(signed(plan).raw, signal());
    await expect(planned(coins, { payouts: [{ ...stranger(), units: 3n * one + 1n }] })).rejects.toMatchObject({
      code: 'spend.insufficient',
    });
  });

  it('is replaced by what pays more and spends the same required input, and by nothing else', async () => {
    const coins = await funded(2n * one, one);
    const first = await planned(coins, { payouts: [{ ...stranger(), units: one / 2n }] });
    const requiredInputs = first.inputs.map(({ outpoint }) => outpoint);
    const again = { requiredInputs, feeMin: first.fee, feeRate: 3n * (await spending.feeRate(6, signal())) };
    await spending.broadcast(signed(first).raw, signal());
    const worse = await planned(coins, {
      requiredInputs,
      payouts: [{ ...stranger(), units: one / 3n }],
      feeRate: 1_000n,
    });
    await expect(spending.broadcast(signed(worse).raw, signal())).rejects.toMatchObject({ code: 'broadcast.refused' });
    const second = await planned(coins, { ...again, payouts: [{ ...stranger(), units: one / 2n }] });
    const cancel = await planned(coins, { ...again, feeMin: second.fee, feeRate: 2n * again.feeRate });
    expect(cancel.outputs.every(({ kind }) => kind === 'change')).toBe(true);
    if (chain === 'BCH') {
      await expect(spending.broadcast(signed(second).raw, signal())).rejects.toMatchObject({
        code: 'broadcast.refused',
      });
      return;
    }
    expect(second.fee).toBeGreaterThan(first.fee);
    for (const plan of [second, cancel]) await spending.broadcast(signed(plan).raw, signal());
    await bench.sandbox.mine(chain, 1);
    expect(heightOf(signed(cancel).txid)).toBeTypeOf('number');
    expect(heightOf(signed(first).txid)).toBeUndefined();
    await expect(spending.broadcast(signed(first).raw, signal())).rejects.toMatchObject({ code: 'broadcast.refused' });
  });

  it('waits while the source is down', async () => {
    const coins = await funded(one);
    const plan = await planned(coins, { payouts: [{ ...stranger(), units: null }] });
    const { raw, txid } = signed(plan);
    await bench.sandbox.outage(chain, true);
    const down = { name: 'Unavailable' };
    await expect(spending.broadcast(raw, signal())).rejects.toMatchObject(down);
    await expect(spending.feeRate(6, signal())).rejects.toMatchObject(down);
    await expect(spending.unconfirmed(txid, signal())).rejects.toMatchObject(down);
    await expect(spending.transaction(coins[0]!.outpoint.split(':')[0]!, null, signal())).rejects.toMatchObject(down);
    await bench.sandbox.outage(chain, false);
    await spending.broadcast(raw, signal());
    expect(heightOf(txid)).toBeNull();
  });

  it('is refused where it does not add up, or spends what is not there', async () => {
    const coins = await funded(one);
    const plan = await planned(coins, { payouts: [{ ...stranger(), units: one / 2n }] });
    const lost = plan.inputs.map((input) => ({ ...input, outpoint: `${'ab'.repeat(32)}:0` }));
    const { raw: foreign } = signed({ ...plan, inputs: lost });
    await expect(spending.broadcast(foreign, signal())).rejects.toMatchObject({ code: 'broadcast.refused' });
    for (const raw of ['', '00', '{}', signed(plan).raw.slice(0, -2)]) {
      await expect(spending.broadcast(raw, signal())).rejects.toMatchObject({ code: 'broadcast.refused' });
    }
    expect(bench.rows.mempoolSize(chain)).toBe(0);
  });

  it('counts what an unconfirmed chain of transactions pays together', async () => {
    const coins = await funded(one);
    const first = await planned(coins, { payouts: [{ ...stranger(), units: one / 4n }] });
    const { raw, txid } = signed(first);
    await spending.broadcast(raw, signal());
    const n = first.outputs.findIndex(({ kind }) => kind === 'change');
    const change = first.outputs[n]!;
    const coin: Coin = {
      outpoint: `${txid}:${n}`,
      units: change.units,
      script: change.script,
      branch: 1,
      index: 0,
      confirmations: 0,
    };
    const second = await planned([coin], { payouts: [{ ...stranger(), units: one / 4n }] });
    const child = signed(second);
    await spending.broadcast(child.raw, signal());
    const [alone, both] = [
      await spending.unconfirmed(txid, signal()),
      await spending.unconfirmed(child.txid, signal()),
    ];
    expect(both).toEqual({
      fee: first.fee + second.fee,
      vsize: alone!.vsize + decoded(child.raw).vsize,
    });
    const previous = await spending.transaction(txid, null, signal());
    expect(decoded(previous).txid).toBe(txid);
    await expect(spending.transaction('cd'.repeat(32), null, signal())).rejects.toMatchObject({ name: 'Unavailable' });
  });
});
