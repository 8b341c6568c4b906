/** Spending on a real litecoind: what we build is taken, mined and replaced; what we refuse, the node refuses too. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChainAdapter, CoinSource } from '../../daemon/chains/adapter.ts';
import { scriptOf } from '../../daemon/chains/utxo/address.ts';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { replacementRate } from '../../daemon/chains/utxo/spend/fees.ts';
import { dustOf } from '../../daemon/chains/utxo/spend/sizes.ts';
import { withoutWitnesses } from '../../daemon/chains/utxo/spend/transaction.ts';
import type { Coin, SpendRequest, UtxoPlan } from '../../daemon/domain/spend.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { DESTINATIONS } from '../unit/chains/spend-kit.ts';
import { coinSource } from './coin-source.ts';
import { FactBook } from './fact-book.ts';
import { SpendWallet } from './spend-wallet.ts';
import { type SpendingControls, spendingConformance } from './spending-conformance.ts';

const signal = () => AbortSignal.timeout(25_000);

const payout = (address: string, units: bigint | null): SpendRequest['payouts'][number] => {
  const script = scriptOf(address, 'LTC', 'regtest');
  if (!script) throw new Error(`no address: ${address}`);
  return { address, script, units };
};

describe.skipIf(!hasLitecoind)(litecoindTitle('spending on litecoind'), () => {
  let node: Litecoind;
  let adapter: ChainAdapter;
  let spending: CoinSource;
  let wallet: SpendWallet;
  let height = 0;

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    connect();
    wallet = await SpendWallet.open('LTC', 'regtest');
    height = await node.rpc<number>('getblockcount', []);
  });

  afterAll(async () => {
    await adapter?.close();
    await node?.remove();
  });

  function connect(): void {
    adapter = coreAdapter({ chain: 'LTC', network: 'regtest', url: node.url, watch: new FactBook() });
    spending = coinSource(adapter);
  }

  /** Has the node down while `use` runs, then starts it with these options. It ends only when nobody is connected. */
  async function restarted(options: string[], use: () => Promise<void>): Promise<void> {
    await adapter.close();
    await node.stop();
    connect();
    await use();
    await node.launch(options);
  }

  const rawOf = (txid: string) => node.rpc<string>('getrawtransaction', [txid]);
  const mempool = () => node.rpc<string[]>('getrawmempool', []);

  async function mine(count: number): Promise<string> {
    await node.mine(count);
    height += count;
    return node.rpc<string>('getbestblockhash', []);
  }

  /** Coins of ours in one transaction, by now in a block. */
  async function funded(...units: bigint[]): Promise<{ coins: Coin[]; txid: string; blockHash: string }> {
    const txid = await node.pay(units.map((each, i) => ({ address: wallet.target(0, i % 4).address, units: each })));
    const raw = await rawOf(txid);
    return { coins: wallet.coinsIn(raw, 1), txid, blockHash: await mine(1) };
  }

  async function send(plan: UtxoPlan): Promise<string> {
    const { raw, txid } = wallet.sign(plan);
    await spending.broadcast(raw, signal());
    return txid;
  }

  /** What the node says of a transaction without taking it: null when it would. */
  async function verdict(plan: UtxoPlan): Promise<string | null> {
    const [answer] = await node.rpc<{ allowed: boolean; 'reject-reason'?: string }[]>('testmempoolaccept', [
      [wallet.sign(plan).raw],
    ]);
    return answer?.allowed ? null : (answer?.['reject-reason'] ?? 'no reason');
  }

  it('pays every type of address, is mined, and is known however often it is sent', async () => {
    const { coins } = await funded(10_000_000n, 20_000_000n);
    const payouts = DESTINATIONS.LTC.map((address, i) => payout(address, 1_000_000n + BigInt(i)));
    const plan = wallet.plan(coins, { payouts, tipHeight: height, feeRate: await spending.feeRate(6, signal()) });
    const { raw, txid } = wallet.sign(plan);
    await spending.broadcast(raw, signal());
    expect(await mempool()).toContain(txid);
    const { vsize, fees } = await node.rpc<{ vsize: number; fees: { base: number } }>('getmempoolentry', [txid]);
    expect(vsize).toBeLessThanOrEqual(plan.vsize);
    expect(BigInt(Math.round(fees.base * 1e8))).toBe(plan.fee);
    await spending.broadcast(raw, signal());
    await mine(1);
    const decoded = await node.rpc<{ confirmations: number; vout: { scriptPubKey: { addresses?: string[] } }[] }>(
      'getrawtransaction',
      [txid, true, await node.rpc<string>('getbestblockhash', [])],
    );
    expect(decoded.confirmations).toBe(1);
    const paid = decoded.vout.flatMap(({ scriptPubKey }) => scriptPubKey.addresses ?? []);
    // This node has no words for taproot yet; it is among the outputs all the same.
    expect(paid).toEqual(expect.arrayContaining(DESTINATIONS.LTC.filter((address) => !address.startsWith('rltc1p'))));
    expect(decoded.vout).toHaveLength(plan.outputs.length);
    await spending.broadcast(raw, signal());
    expect(await mempool()).not.toContain(txid);
  });

  it('has the dust limits of the node', async () => {
    const { coins } = await funded(10_000_000n);
    for (const address of DESTINATIONS.LTC) {
      const script = scriptOf(address, 'LTC', 'regtest')!;
      const limit = dustOf('LTC', script);
      const plan = wallet.plan(coins, { payouts: [payout(address, limit)], tipHeight: height });
      expect(await verdict(plan), address).toBeNull();
      const below = plan.outputs.map((output) => (output.units === limit ? { ...output, units: limit - 1n } : output));
      expect(await verdict({ ...plan, outputs: below, fee: plan.fee + 1n }), address).toBe('dust');
      expect(() => wallet.plan(coins, { payouts: [payout(address, limit - 1n)], tipHeight: height })).toThrow(
        'relays no payment',
      );
    }
  });

  it('replaces with the least that the node takes, and cancels the same way', async () => {
    const { coins } = await funded(10_000_000n, 9_000_000n);
    const asked = { payouts: [payout(DESTINATIONS.LTC[0]!, 5_000_000n)], tipHeight: height, feeRate: 3_000n };
    const first = wallet.plan(coins, asked);
    const firstId = await send(first);
    const requiredInputs = first.inputs.map(({ outpoint }) => outpoint);
    const again = { ...asked, requiredInputs, feeMin: first.fee, feeRate: replacementRate('LTC', [first]) };
    const second = wallet.plan(coins, again);
    const short = { ...second, fee: second.fee - 200n, outputs: second.outputs.map(withChange(200n)) };
    expect(await verdict(short)).toContain('insufficient fee');
    const secondId = await send(second);
    expect(await mempool()).toContain(secondId);
    expect(await mempool()).not.toContain(firstId);

    // So much that a second coin is needed.
    const third = wallet.plan(coins, {
      ...asked,
      requiredInputs,
      payouts: [payout(DESTINATIONS.LTC[0]!, 9_990_000n)],
      feeMin: second.fee,
      feeRate: replacementRate('LTC', [first, second]),
    });
    expect(third.inputs).toHaveLength(2);
    await send(third);

    const cancel = wallet.plan(coins, {
      tipHeight: height,
      requiredInputs,
      feeMin: third.fee,
      feeRate: replacementRate('LTC', [first, second, third]),
    });
    const cancelId = await send(cancel);
    expect(await mempool()).toEqual([cancelId]);
    await mine(1);
    await expect(send(second)).rejects.toMatchObject({ code: 'broadcast.refused' });
  });

  it('brings a stuck payment to us and its child to the rate', async () => {
    const txid = await node.pay([{ address: wallet.target(0, 0).address, units: 3_000_000n }]);
    const raw = await rawOf(txid);
    expect(await spending.transaction(txid, null, signal())).toBe(withoutWitnesses(raw, txid, 'LTC'));
    const parents = await spending.unconfirmed(txid, signal());
    expect(parents).toMatchObject({ fee: 20_000n });
    const coins = wallet.coinsIn(raw, 0);
    const requiredInputs = coins.map(({ outpoint }) => outpoint);
    const child = wallet.plan(coins, { requiredInputs, feeRate: 400_000n, tipHeight: height, parents: parents! });
    const childId = await send(child);
    const whole = await spending.unconfirmed(childId, signal());
    expect((whole!.fee * 1_000n) / BigInt(whole!.vsize)).toBeGreaterThanOrEqual(400_000n);
    expect((whole!.fee * 1_000n) / BigInt(whole!.vsize)).toBeLessThan(410_000n);
    await mine(1);
    expect(await spending.unconfirmed(txid, signal())).toBeNull();
  });

  it('finds previous transactions by their block', async () => {
    const { txid, blockHash } = await funded(1_000_000n);
    const base = await spending.transaction(txid, blockHash, signal());
    const raw = await node.rpc<string>('getrawtransaction', [txid, false, blockHash]);
    expect(base).toBe(withoutWitnesses(raw, txid, 'LTC'));
    expect(base.length).toBeLessThan(raw.length);
    await expect(spending.transaction(txid, null, signal())).rejects.toMatchObject({ name: 'Unavailable' });
    await expect(spending.transaction('11'.repeat(32), blockHash, signal())).rejects.toThrow('does not have');
  });

  it('is refused with the reason of the node, and may be sent again when there was no answer', async () => {
    const { coins } = await funded(2_000_000n);
    const plan = wallet.plan(coins, { payouts: [payout(DESTINATIONS.LTC[0]!, 500_000n)], tipHeight: height });
    const refused = async (raw: string) => {
      const error = await spending.broadcast(raw, signal()).then(
        () => null,
        (caught: unknown) => caught as { code: string; message: string },
      );
      return `${error?.code}: ${error?.message}`;
    };
    const early = wallet.sign({ ...plan, lockTime: height + 1 });
    expect(await refused(early.raw)).toBe('broadcast.refused: non-final');
    const worthless = { ...plan, fee: 0n, outputs: plan.outputs.map(withChange(plan.fee)) };
    expect(await refused(wallet.sign(worthless).raw)).toContain('min relay fee not met');
    const { raw, txid } = wallet.sign(plan);
    // One bit of the signature.
    const at = raw.length - 2 * 4 - 2 * 34 - 10;
    const flipped = raw.slice(0, at) + (raw[at] === '0' ? '1' : '0') + raw.slice(at + 1);
    expect(await refused(flipped)).toContain('broadcast.refused: ');
    expect(await refused('00')).toContain('broadcast.refused: TX decode failed');
    // A node that asks for more than its estimate, or than ours where it has none.
    await restarted(['-minrelaytxfee=0.0007'], async () => {
      await expect(spending.broadcast(raw, signal())).rejects.toMatchObject({ name: 'Unavailable' });
      await expect(spending.feeRate(6, signal())).rejects.toMatchObject({ name: 'Unavailable' });
    });
    expect(await spending.feeRate(6, signal())).toBe(70_000n);
    expect(await refused(raw)).toContain('min relay fee not met');
    await restarted([], async () => {});
    expect(await spending.feeRate(6, signal())).toBe(10_000n);
    await spending.broadcast(raw, signal());
    expect(await mempool()).toContain(txid);
    await mine(1);
  });

  it('consolidates as many coins as one transaction may spend', async () => {
    const coins: Coin[] = [];
    for (let i = 0; i < 5; i++) coins.push(...(await funded(...new Array<bigint>(100).fill(20_000n))).coins);
    expect(coins).toHaveLength(500);
    const to = wallet.target(1, 1).address;
    const plan = wallet.plan(coins, { payouts: [payout(to, null)], feeRate: 10_000n, tipHeight: height });
    const began = performance.now();
    const { raw, txid } = wallet.sign(plan);
    console.info(`500 coins signed in ${(performance.now() - began).toFixed(0)} ms, ${plan.vsize} vB`);
    await spending.broadcast(raw, signal());
    expect(await mempool()).toEqual([txid]);
    await mine(1);
    expect(await mempool()).toEqual([]);
  });

  /** The change, and some units more. */
  function withChange(more: bigint) {
    return (output: UtxoPlan['outputs'][number]) =>
      output.kind === 'change' ? { ...output, units: output.units + more } : output;
  }
});

if (hasLitecoind) {
  spendingConformance({ name: 'litecoind', start: litecoindSpending });
}

async function litecoindSpending(): Promise<SpendingControls> {
  const node = await Litecoind.start();
  await node.fund();
  const wallet = await SpendWallet.open('LTC', 'regtest');
  const inCoins = (units: number): bigint => BigInt(Math.round(units * 1e8));
  return {
    asset: 'LTC',
    account: wallet.account,
    units: 10_000_000n,
    connect: (watch) => coreAdapter({ chain: 'LTC', network: 'regtest', url: node.url, watch }),
    async pay(to) {
      await node.pay([to]);
    },
    mine: (count) => node.mine(count),
    reorg: (depth) => node.reorg(depth, false),
    async sign({ plan }) {
      if (plan.kind !== 'utxo') throw new Error('a plan of coins');
      return wallet.sign(plan);
    },
    stranger: () => node.newAddress(),
    received: async (address) => inCoins(await node.rpc<number>('getreceivedbyaddress', [address, 1])),
    disconnect: () => node.stop(),
    reconnect: () => node.launch(),
    stop: () => node.remove(),
  };
}
