/**
 * What every family must do to pay out, whatever its source: one suite, run on the sandbox and on real nodes. It plans from
 * books that the adapter's own updates make, signs as the product does, and asserts on what the chain then says.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPlan, writePlan } from '../../daemon/app/spends/stored-plan.ts';
import type { ChainAdapter, ScriptList } from '../../daemon/chains/adapter.ts';
import type { PaymentRequest, Spending } from '../../daemon/chains/spending.ts';
import type { AssetId } from '../../daemon/domain/assets.ts';
import type { AccountKey, Branch } from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import type { SignedSpend, SpendPlan, UnsignedSpend } from '../../daemon/domain/spend.ts';
import { beginning } from './fact-book.ts';
import { SpendingBook } from './spending-book.ts';

/** Moves a chain whose money is spent. Amounts are in smallest units. */
export type SpendingControls = {
  /** A new adapter on this chain's source. */
  connect(list: ScriptList): ChainAdapter;
  account: AccountKey;
  /** What is paid. */
  asset: AssetId;
  /** An amount of it that is worth its fee. Addresses of ours get three times as much. */
  units: bigint;
  /** For an asset whose fees are paid in another: an amount of that which suffices for some transactions. */
  gas?: bigint;
  /** Pays an address; it need not be in a block yet. */
  pay(to: { address: string; asset: AssetId; units: bigint }): Promise<void>;
  mine(count: number): Promise<void>;
  /** The last blocks give way to others; their transactions return to the mempool, or go. */
  reorg?(depth: number): Promise<void>;
  /** Signs as the product's signer does. */
  sign(unsigned: UnsignedSpend): Promise<SignedSpend>;
  /** An address that is not ours, another one each time. */
  stranger(): Promise<string>;
  /** What an address of a stranger has of the asset in blocks. */
  received(address: string): Promise<bigint>;
  /** The source stops answering, until `reconnect`. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
  stop(): Promise<void>;
};

/** Registers a test where it applies: elsewhere there is nothing that could be skipped. */
const only = (applies: boolean) => (applies ? it : null);

export type SpendingHarness = {
  name: string;
  start(): Promise<SpendingControls>;
  /** Blocks on top of a payment to us, including its own, before it can be spent; 1 if none is named. */
  ripeAfter?: number;
  /** An account chain. */
  hasAccounts?: boolean;
  /** Its fees are paid in another asset than the one that is paid. */
  hasGas?: boolean;
  /** Neither recipients nor amounts can be read from a transaction's bytes. */
  isHidden?: boolean;
};

const FEE_MAX = 1n << 200n;
const signal = () => AbortSignal.timeout(25_000);
const sum = (list: readonly { units: bigint }[]): bigint => list.reduce((total, { units }) => total + units, 0n);

export function spendingConformance(harness: SpendingHarness): void {
  describe(`${harness.name}: spending`, () => {
    const { ripeAfter = 1, isHidden = false, hasAccounts = false, hasGas = false } = harness;
    let chain: SpendingControls;
    let adapter: ChainAdapter;
    let spending: Spending;
    let book: SpendingBook;
    let receiving = 0;
    let changes = 0;

    const derive = async (branch: Branch, index: number) =>
      book.own({ ...(await adapter.deriveAddress(chain.account, branch, index)), branch, index });

    beforeAll(async () => {
      chain = await harness.start();
      book = new SpendingBook();
      adapter = chain.connect(book);
      if (!adapter.spending) throw new Error('this adapter pays out');
      spending = adapter.spending;
      expect(adapter.accountBased ?? false).toBe(hasAccounts);
      expect(spending.feeAsset !== chain.asset).toBe(hasGas);
      book.checkpoint = await beginning(adapter);
      await derive(1, 0);
      await book.catchUp(adapter);
    });
    afterAll(async () => {
      await adapter?.close();
      await chain?.stop();
    });

    /** A new address of ours with three times the usual amount in a block, and with gas where that is another asset. */
    async function funded({ gas = chain.gas }: { gas?: bigint } = {}) {
      const to = await derive(0, receiving++);
      const { asset } = chain;
      await chain.pay({ address: to.address, asset, units: 3n * chain.units });
      if (hasGas && gas) await chain.pay({ address: to.address, asset: spending.feeAsset, units: gas });
      await mined(ripeAfter);
      return to;
    }

    async function mined(count = 1): Promise<void> {
      await chain.mine(count);
      await book.catchUp(adapter);
    }

    async function request(fields: Partial<PaymentRequest>): Promise<PaymentRequest> {
      const index = spending.changeAddress === 'fixed' ? 0 : ++changes;
      const change = index === 0 ? await adapter.deriveAddress(chain.account, 1, 0) : await derive(1, index);
      return {
        accountNo: 0,
        asset: chain.asset,
        payouts: [],
        conflictKeys: [],
        feeMin: 0n,
        feeMax: FEE_MAX,
        holdings: book.holdings(chain.asset, spending.feeAsset),
        change: { ...change, index },
        feeRate: await spending.feeRate(6, signal()),
        tipHeight: book.tip.height,
        ...fields,
      };
    }

    const planned = async (fields: Partial<PaymentRequest>): Promise<SpendPlan> =>
      spending.plan(await request(fields), signal);

    /** A payment of the usual amount to a stranger. */
    async function payment(fields: Partial<PaymentRequest> = {}): Promise<{ to: string; plan: SpendPlan }> {
      const to = await chain.stranger();
      return { to, plan: await planned({ payouts: [{ address: to, units: chain.units }], ...fields }) };
    }

    async function signed(plan: SpendPlan): Promise<SignedSpend> {
      // as the store gives it back
      const kept = readPlan(writePlan(plan));
      for (const key of spending.conflictKeys(kept)) book.reserved.add(key);
      const tx = await chain.sign(await spending.unsigned(kept, book.kept));
      for (const [outpoint, image] of Object.entries(tx.keyImages ?? {})) book.keyImages.set(image, outpoint);
      return tx;
    }

    const send = ({ raw }: SignedSpend): Promise<void> => spending.broadcast(raw, signal());

    /** The transaction that the books say has used a key of a plan, and its block's height. */
    const userOf = (plan: SpendPlan) => book.spentBy(spending.preferredKey(plan));

    it('plans what it is asked for, and describes it', async () => {
      await funded();
      const { to, plan } = await payment();
      expect(plan.fee).toBeGreaterThan(0n);
      expect(plan.outputs.filter(({ kind }) => kind === 'payout')).toMatchObject([{ address: to, units: chain.units }]);
      const keys = spending.conflictKeys(plan);
      expect(keys.length).toBeGreaterThan(0);
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys).toContain(spending.preferredKey(plan));
      expect(spending.sizeOf(plan)).toBeGreaterThan(0);
      expect(readPlan(writePlan(plan))).toEqual(plan);
      const described = spending.describe(plan);
      expect(described.conflictKeys.toSorted()).toEqual(keys.toSorted());
      const strangers = described.outputs.filter(({ changeIndex }) => changeIndex === null);
      expect(strangers).toMatchObject([{ asset: chain.asset, units: chain.units }]);
      expect(strangers.every((output) => spending.pays(output, to))).toBe(true);
      const { asset, holdings, feeRate, tipHeight } = await request({});
      const payout = { address: to, units: chain.units };
      const estimate = spending.estimate({ accountNo: 0, asset, holdings, feeRate, tipHeight, payout });
      expect(estimate.fee).toBeGreaterThan(0n);
      expect(spending.sendable(to, chain.units)).toBe(chain.units);
    });

    it('sends it any number of times, and finds it in a block', async () => {
      await funded();
      const { to, plan } = await payment();
      const tx = await signed(plan);
      expect(tx.fee).toBeLessThanOrEqual(plan.fee);
      await send(tx);
      await send(tx);
      await book.catchUp(adapter);
      if (!hasAccounts) expect(userOf(plan)).toEqual([{ txid: tx.txid, height: null }]);
      await mined();
      expect(await chain.received(to)).toBe(chain.units);
      expect(userOf(plan)).toEqual([{ txid: tx.txid, height: expect.any(Number) }]);
      await send(tx);
      if (!hasAccounts) return;
      const debits = [...book.debits.values()].filter(({ txid }) => txid === tx.txid);
      const fee = debits.filter(({ kind }) => kind === 'fee').map(({ amount }) => amount);
      expect(fee).toMatchObject([{ asset: spending.feeAsset }]);
      expect(fee[0]?.units).toBeGreaterThan(0n);
      expect(fee[0]?.units).toBeLessThanOrEqual(plan.fee);
      const paid = debits.filter(({ kind }) => kind === 'paid');
      expect(paid).toMatchObject([{ amount: { asset: chain.asset, units: chain.units } }]);
      expect(debits.length).toBe(2);
    });

    it('reads a transaction that was made elsewhere as the plan that it would have had', async () => {
      await funded();
      const { to, plan } = await payment();
      const tx = await signed(plan);
      await send(tx);
      await mined();
      const hash = [...book.spends.values()].find(({ txid }) => txid === tx.txid)?.block?.hash ?? null;
      const raw = await spending.transaction(tx.txid, hash, signal());
      const decoded = spending.decode(raw);
      expect(decoded.txid).toBe(tx.txid);
      if (isHidden) return;
      const keys = spending.conflictKeys(plan).toSorted();
      expect(decoded.conflictKeys.toSorted()).toEqual(keys);
      expect(decoded.outputs.some((output) => output.units === chain.units && spending.pays(output, to))).toBe(true);
      const recovered = spending.recover(raw, {
        accountNo: 0,
        fee: tx.fee,
        coin: (outpoint) =>
          book.credits.has(outpoint) ? book.holdings(chain.asset, spending.feeAsset).coin(outpoint) : null,
        positionOf: (own) => book.addresses.get(book.targetIdOf(own.script) ?? 0) ?? null,
        changeIndex: ({ script }) => {
          const place = book.addresses.get(book.targetIdOf(script) ?? 0);
          return place?.branch === 1 ? place.index : null;
        },
      });
      expect(spending.conflictKeys(recovered).toSorted()).toEqual(keys);
      const payouts = (of: SpendPlan) => of.outputs.filter(({ kind }) => kind === 'payout');
      expect(sum(payouts(recovered))).toBe(sum(payouts(plan)));
    });

    it('lets one of two transactions with a common key confirm', async () => {
      await funded();
      const first = await payment();
      const tx = await signed(first.plan);
      await send(tx);
      const key = spending.preferredKey(first.plan);
      const replaced = [{ fee: tx.fee, size: tx.size }];
      const to = await chain.stranger();
      const rate = await spending.feeRate(6, signal());
      const least = spending.replacementRate(replaced);
      const plan = await planned({
        payouts: [{ address: to, units: chain.units }],
        conflictKeys: [key],
        feeMin: tx.fee,
        feeRate: least > rate ? least : rate,
      });
      expect(spending.conflictKeys(plan)).toContain(key);
      const rival = await signed(plan);
      if (spending.replacement === 'none') {
        await expect(send(rival)).rejects.toMatchObject({ code: 'broadcast.refused' });
      } else {
        expect(plan.fee).toBeGreaterThan(first.plan.fee);
        await send(rival);
      }
      await mined();
      const won = spending.replacement === 'none' ? tx : rival;
      expect(userOf(plan)).toEqual([{ txid: won.txid, height: expect.any(Number) }]);
      const paid = [await chain.received(first.to), await chain.received(to)];
      expect(paid).toEqual(won === tx ? [chain.units, 0n] : [0n, chain.units]);
      // the loser can never confirm any more
      await expect(send(won === tx ? rival : tx)).rejects.toMatchObject({ code: 'broadcast.refused' });
    });

    it('cancels by using the same key for a payment to nobody', async () => {
      if (spending.replacement === 'none') return;
      await funded();
      const { to, plan } = await payment();
      const tx = await signed(plan);
      await send(tx);
      const cancel = await planned({
        conflictKeys: [spending.preferredKey(plan)],
        feeMin: tx.fee,
        feeRate: spending.replacementRate([{ fee: tx.fee, size: tx.size }]) + (await spending.feeRate(6, signal())),
      });
      expect(cancel.outputs.filter(({ kind }) => kind === 'payout')).toEqual([]);
      const canceling = await signed(cancel);
      await send(canceling);
      await mined();
      expect(await chain.received(to)).toBe(0n);
      expect(userOf(plan)).toMatchObject([{ txid: canceling.txid }]);
    });

    it('can be sent again after its block left the chain', async () => {
      if (!chain.reorg) return;
      await funded();
      const { to, plan } = await payment();
      const tx = await signed(plan);
      await send(tx);
      await mined();
      await chain.reorg(1);
      await book.catchUp(adapter);
      expect(userOf(plan).filter(({ height }) => height !== null)).toEqual([]);
      await send(tx);
      await mined();
      expect(userOf(plan)).toMatchObject([{ txid: tx.txid, height: expect.any(Number) }]);
      expect(await chain.received(to)).toBe(chain.units);
    });

    it('sweeps all that is there, less the fee', async () => {
      const from = await funded();
      const to = await chain.stranger();
      const held = () => sum(free().map((units) => ({ units })));
      const free = (): bigint[] => {
        const holdings = book.holdings(chain.asset, spending.feeAsset);
        if (hasAccounts) return [holdings.balance(from).units[chain.asset] ?? 0n];
        return holdings.coins().flatMap((coins) => coins.map(({ units }) => units));
      };
      const before = held();
      const plan = await planned({
        payouts: [{ address: to, units: null }],
        ...(hasAccounts ? { from } : {}),
      });
      expect(sum(plan.outputs.filter(({ kind }) => kind === 'payout'))).toBe(before - (hasGas ? 0n : plan.fee));
      await send(await signed(plan));
      await mined();
      expect(await chain.received(to)).toBe(sum(plan.outputs.filter(({ kind }) => kind === 'payout')));
      if (hasGas || !hasAccounts) expect(held()).toBe(0n);
    });

    it('refuses what cannot be planned, with a code that says why', async () => {
      await funded();
      const to = await chain.stranger();
      const wrong: [Partial<PaymentRequest>, string | RegExp][] = [
        [{ payouts: [{ address: to, units: 1n << 90n }] }, 'spend.insufficient'],
        [{ payouts: [{ address: to, units: chain.units }], feeMax: 0n }, 'spend.fee_too_high'],
        [{ payouts: [{ address: 'nonsense', units: chain.units }] }, 'withdrawal.address'],
      ];
      for (const [fields, code] of wrong) await expect(planned(fields)).rejects.toMatchObject({ code });
      for (const raw of ['', '00', 'zz', '{}']) {
        expect(() => spending.decode(raw)).toThrow(expect.objectContaining({ code: 'spend.malformed' }));
        await expect(spending.broadcast(raw, signal())).rejects.toMatchObject({ code: 'broadcast.refused' });
      }
    });

    it('waits while the source is away', async () => {
      await funded();
      const { to, plan } = await payment();
      const tx = await signed(plan);
      await chain.disconnect();
      try {
        await expect(send(tx)).rejects.toBeInstanceOf(Unavailable);
        await expect(spending.feeRate(6, signal())).rejects.toBeInstanceOf(Unavailable);
      } finally {
        await chain.reconnect();
      }
      await send(tx);
      await mined();
      expect(await chain.received(to)).toBe(chain.units);
    });

    only(hasAccounts)?.('gives the nonces of an address without a gap', async () => {
      const from = await funded();
      const [a, b] = [await payment({ from }), await payment({ from })];
      expect(spending.conflictKeys(b.plan)).toEqual(spending.conflictKeys(a.plan));
      const first = await signed(a.plan);
      const c = await payment({ from });
      expect(spending.keysBefore?.(c.plan)).toEqual(spending.conflictKeys(a.plan));
      const second = await signed(c.plan);
      await send(first);
      await send(second);
      await mined(2);
      expect([await chain.received(a.to), await chain.received(c.to)]).toEqual([chain.units, chain.units]);
    });

    only(hasAccounts && hasGas)?.('says that gas is missing, where, and how much', async () => {
      const from = await funded({ gas: 0n });
      const where = new RegExp(` ${spending.feeAsset} .*${from.address}`);
      const refused = { code: 'spend.gas', message: expect.stringMatching(where) };
      await expect(payment({ from })).rejects.toMatchObject(refused);
    });

    only(hasAccounts)?.('collects an address, which is neither paid nor received', async () => {
      const from = await funded();
      const plan = await planned({ payouts: [], from });
      expect(plan.outputs.map(({ kind }) => kind)).toEqual(['change']);
      const tx = await signed(plan);
      await send(tx);
      await mined();
      const left = book.holdings(chain.asset, spending.feeAsset).balance(from).units[chain.asset] ?? 0n;
      expect(left).toBeLessThan(chain.units);
      const moved = [...book.debits.values()].filter(({ txid, kind }) => txid === tx.txid && kind === 'moved');
      expect(moved.length).toBe(1);
      expect(book.credits.get(moved[0]?.id ?? '')).toMatchObject({ moved: true, amount: moved[0]?.amount });
    });
  });
}
