/**
 * bcoin takes our BTC and bcash our BCH transactions, signed as the product signs them. Their RPC reports success for
 * a rejected one: what counts is what is in the mempool, and in the block after it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptOf } from '../../daemon/chains/utxo/address.ts';
import type { Coin, SpendRequest, UtxoPlan } from '../../daemon/domain/spend.ts';
import { hasNpmNodes, NpmNode, npmNodesTitle } from '../nodes/npm-node.ts';
import { DESTINATIONS } from '../unit/chains/spend-kit.ts';
import { SpendWallet } from './spend-wallet.ts';

describe.skipIf(!hasNpmNodes).each([
  ['bcoin', 'BTC', 440],
  ['bcash', 'BCH', 110],
] as const)(npmNodesTitle('spending on %s'), (kind, chain, blocks) => {
  let node: NpmNode;
  let wallet: SpendWallet;

  beforeAll(async () => {
    node = await NpmNode.start(kind);
    // Segwit is active from height 432.
    await node.mine(blocks);
    wallet = await SpendWallet.open(chain, 'regtest');
  });

  afterAll(() => node?.remove());

  const height = () => node.rpc<number>('getblockcount');

  const payout = (address: string, units: bigint | null): SpendRequest['payouts'][number] => {
    const script = scriptOf(address, chain, 'regtest');
    if (!script) throw new Error(`no address: ${address}`);
    return { address, script, units };
  };

  async function funded(...units: bigint[]): Promise<Coin[]> {
    const txid = await node.pay(units.map((each, i) => ({ address: wallet.target(0, i % 4).address, units: each })));
    const raw = await node.rpc<string>('getrawtransaction', [txid]);
    await node.mine(1);
    return wallet.coinsIn(raw, 1);
  }

  async function send(plan: UtxoPlan): Promise<string> {
    const { raw, txid } = wallet.sign(plan);
    await node.submit(raw);
    expect(await node.mempool()).toContain(txid);
    return txid;
  }

  /** The ids in the newest block. */
  async function mined(): Promise<string[]> {
    await node.mine(1);
    const { tx } = await node.rpc<{ tx: string[] }>('getblock', [await node.rpc<string>('getbestblockhash'), true]);
    return tx;
  }

  it('pays every type of address, and is mined', async () => {
    const coins = await funded(10_000_000n, 20_000_000n, 5_000_000n);
    const payouts = DESTINATIONS[chain].map((address, i) => payout(address, 1_000_000n + BigInt(i)));
    const plan = wallet.plan(coins, { payouts, tipHeight: await height() });
    const txid = await send(plan);
    expect(await mined()).toContain(txid);
    expect(await node.mempool()).toEqual([]);
  });

  it('spends all coins of a wallet, its own change among them', async () => {
    const coins = await funded(...new Array<bigint>(30).fill(100_000n));
    const first = wallet.plan(coins, {
      payouts: [payout(DESTINATIONS[chain][0]!, 550_000n)],
      tipHeight: await height(),
    });
    const signed = wallet.sign(first);
    await send(first);
    const change = wallet.coinsIn(signed.raw, 0);
    const spent = new Set(first.inputs.map(({ outpoint }) => outpoint));
    const left = [...coins.filter(({ outpoint }) => !spent.has(outpoint)), ...change];
    const sweep = wallet.plan(left, { payouts: [payout(DESTINATIONS[chain][0]!, null)], tipHeight: await height() });
    expect(sweep.inputs).toHaveLength(left.length);
    const txid = await send(sweep);
    expect(await mined()).toEqual(expect.arrayContaining([signed.txid, txid]));
  });

  it('is refused with a wrong amount, and in a second version while the first is known', async () => {
    const coins = await funded(10_000_000n);
    const asked = { payouts: [payout(DESTINATIONS[chain][0]!, 5_000_000n)], tipHeight: await height() };
    const plan = wallet.plan(coins, asked);
    // The amount is part of what is signed on both chains (BIP-143, and BCH's digest made after it).
    const lie = plan.inputs.map((input) => ({ ...input, units: input.units + 1n }));
    await expect(node.submit(wallet.sign({ ...plan, inputs: lie }).raw)).rejects.toThrow('script-verify-flag');
    expect(await node.mempool()).toEqual([]);
    const txid = await send(plan);
    const requiredInputs = plan.inputs.map(({ outpoint }) => outpoint);
    const cancel = wallet.sign(wallet.plan(coins, { ...asked, payouts: [], requiredInputs, feeMin: plan.fee }));
    // These nodes know no replacement (BIP-125): both versions spend the required input, so that one at most is taken.
    await expect(node.submit(cancel.raw)).rejects.toThrow('bad-txns-inputs-spent');
    expect(await node.mempool()).toEqual([txid]);
    expect(await mined()).toContain(txid);
    await expect(node.submit(cancel.raw)).rejects.toThrow();
  });
});
