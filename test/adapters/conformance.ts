/**
 * What every chain adapter must do, whatever its source: one suite, run on the sandbox and on real nodes. It moves a
 * chain by the harness's controls, lets the adapter report, and asserts on what a book that follows the rules then says.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChainAdapter, ScriptList } from '../../daemon/chains/adapter.ts';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import type { AccountKey, Credit } from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { beginning, FactBook } from './fact-book.ts';

/** Moves a chain. Amounts are in smallest units. */
export type ChainControls = {
  /** A new adapter on this chain's source, as after a restart of the program. */
  connect(watch: ScriptList): ChainAdapter;
  account: AccountKey;
  /** Mines blocks with all that is in the mempool; their rewards go to nobody of ours, or to `rewardTo`. */
  mine(count: number, rewardTo?: string): Promise<void>;
  /** Puts one transaction with these outputs into the mempool; returns its id. */
  pay(outputs: { address: string; units: bigint }[]): Promise<string>;
  /** The last `depth` blocks give way to `depth + 1`; their transactions return to the mempool or, with `drop`, go. */
  reorg(depth: number, drop: boolean): Promise<void>;
  /** An unconfirmed transaction is replaced by one that pays somebody else. */
  replace(txid: string): Promise<void>;
  /** Every unconfirmed transaction is forgotten by the source. */
  evictAll(): Promise<void>;
  /** Spends a coin that was paid to branch 0 at this index; returns the transaction's id, which is in the mempool. */
  spend(credit: Credit, index: number): Promise<string>;
  /** The source falls back by one block without contradiction, until `catchUp`. */
  lag(): Promise<void>;
  catchUp(): Promise<void>;
  /** The source stops answering, until `reconnect`. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
  stop(): Promise<void>;
};

type Harness = {
  name: string;
  start(): Promise<ChainControls>;
  /** Confirmations before a mined reward may be spent; none where blocks have no reward. */
  rewardMaturity?: number;
  /** The source has no view of the mempool: what is paid is seen in its block. */
  confirmedOnly?: boolean;
  /** Blocks that the program is away for, at least one step's worth; 130 unless mining takes long. */
  awayBlocks?: number;
  /** Spends are told in another way than by coins. */
  spendsUnseen?: boolean;
  /** The source stays at a block that its node took back, until the node has another of that height. */
  neverBehind?: boolean;
  /** What one block brings to an address is one credit, whatever transactions it came by. */
  oneCreditPerBlock?: boolean;
};

/** Without a hint the chain is looked at every ten seconds. */
const HINT_WITHIN_MS = 9_000;
const signal = () => AbortSignal.timeout(25_000);

/** Waits for a condition, within a limit, which is against what never comes unless a test names one. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = 300_000,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function conformance(harness: Harness): void {
  describe(`${harness.name}: conformance`, () => {
    let chain: ChainControls;
    let adapter: ChainAdapter;
    let book: FactBook;
    let nextIndex = 0;
    let hints = 0;

    /** A target that was not used before. */
    const newTarget = async () => {
      const index = nextIndex++;
      const target = await adapter.deriveAddress(chain.account, 0, index);
      return { index, id: book.watch(target), address: target.address };
    };
    const open = () => {
      const opened = chain.connect(book);
      opened.onHint(() => {
        hints++;
      });
      return opened;
    };

    beforeAll(async () => {
      chain = await harness.start();
      book = new FactBook();
      adapter = open();
      book.checkpoint = await beginning(adapter);
      await book.catchUp(adapter);
    });
    afterAll(async () => {
      await adapter?.close();
      await chain?.stop();
    });

    it('derives addresses that it takes as valid, from public keys alone', async () => {
      const [first, second] = [await newTarget(), await newTarget()];
      expect(first.address).not.toBe(second.address);
      expect((await adapter.deriveAddress(chain.account, 0, first.index)).address).toBe(first.address);
      expect((await adapter.deriveAddress(chain.account, 1, first.index)).address).not.toBe(first.address);
      if (chain.account.kind === 'secp256k1') expect(childPublicKey(chain.account, 0, first.index)).toHaveLength(33);
      expect(adapter.isValidAddress(first.address)).toBe(true);
      expect(adapter.isValidAddress(`${first.address.slice(0, -1)}${first.address.endsWith('q') ? 'p' : 'q'}`)).toBe(
        false,
      );
    });

    it('reports no news as an empty update that reaches the tip', async () => {
      const before = book.checkpoint;
      const [update, ...more] = await book.catchUp(adapter);
      expect(more).toEqual([]);
      expect(update).toMatchObject({ orphaned: [], credits: [], spends: [], mempool: 'complete', checkpoint: before });
      expect(adapter.health()).toMatchObject({ tip: book.tip, lagging: false, error: null });
      expect(adapter.health().tipAgeMs).toBeLessThan(24 * 3_600_000);
    });

    if (harness.confirmedOnly)
      it('hints at a payment once it is in a block, and reports it there', async () => {
        const target = await newTarget();
        const txid = await chain.pay([{ address: target.address, units: 150_000n }]);
        await book.catchUp(adapter);
        expect(book.paid(target.id)).toEqual([]);
        const before = hints;
        await chain.mine(1);
        await until(() => hints > before, 'a hint at a block', HINT_WITHIN_MS);
        await book.catchUp(adapter);
        const seen = book.creditOf(target.id);
        expect(seen).toMatchObject({ txid, targetId: target.id, block: book.tip, amount: { units: 150_000n } });
        expect(seen.id).toMatch(new RegExp(`^${txid}:\\d+$`));
        expect(Math.abs(Date.now() - (seen.blockTime ?? 0))).toBeLessThan(3 * 3_600_000);
      });

    if (!harness.confirmedOnly)
      it('hints at a payment, reports it unconfirmed, then in its block', async () => {
        const target = await newTarget();
        const before = hints;
        const txid = await chain.pay([{ address: target.address, units: 150_000n }]);
        await until(() => hints > before, 'a hint at a payment', HINT_WITHIN_MS);
        await book.catchUp(adapter);
        const seen = book.creditOf(target.id);
        expect(seen).toMatchObject({ txid, targetId: target.id, block: null, amount: { units: 150_000n } });
        expect(seen.id).toMatch(new RegExp(`^${txid}:\\d+$`));
        expect(seen.inputs.length).toBeGreaterThan(0);
        expect(typeof seen.replaceable).toBe('boolean');
        const { height } = book.tip;
        const quiet = hints;
        await chain.mine(1);
        await until(() => hints > quiet, 'a hint at a block', HINT_WITHIN_MS);
        await book.catchUp(adapter);
        expect(book.tip.height).toBe(height + 1);
        expect(book.creditOf(target.id)).toMatchObject({ id: seen.id, block: book.tip });
        expect(Math.abs(Date.now() - (book.creditOf(target.id).blockTime ?? 0))).toBeLessThan(3 * 3_600_000);
      });

    it('reports a payment that it sees only in its block', async () => {
      const target = await newTarget();
      await chain.pay([{ address: target.address, units: 160_000n }]);
      await chain.mine(2);
      await book.catchUp(adapter);
      expect(book.paid(target.id)).toEqual([{ units: 160_000n, height: book.tip.height - 1 }]);
    });

    it('reports two targets in one transaction, and one target twice', async () => {
      const [one, two] = [await newTarget(), await newTarget()];
      await chain.pay([
        { address: one.address, units: 101_000n },
        { address: two.address, units: 102_000n },
        { address: one.address, units: 103_000n },
      ]);
      await book.catchUp(adapter);
      await chain.mine(1);
      await chain.pay([{ address: two.address, units: 104_000n }]);
      await book.catchUp(adapter);
      const { height } = book.tip;
      expect(book.paid(one.id)).toEqual(
        harness.oneCreditPerBlock
          ? [{ units: 204_000n, height }]
          : [
              { units: 101_000n, height },
              { units: 103_000n, height },
            ],
      );
      if (harness.confirmedOnly) await chain.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(two.id)).toEqual([
        { units: 102_000n, height },
        { units: 104_000n, height: harness.confirmedOnly ? height + 1 : null },
      ]);
    });

    if (!harness.spendsUnseen)
      it('reports a spend of ours unconfirmed, then in its block', async () => {
        const target = await newTarget();
        await chain.pay([{ address: target.address, units: 500_000n }]);
        await chain.mine(1);
        await book.catchUp(adapter);
        const coin = book.creditOf(target.id);
        const txid = await chain.spend(coin, target.index);
        await book.catchUp(adapter);
        expect(book.spentBy(coin.id)).toEqual([{ txid, height: null }]);
        await chain.mine(1);
        await book.catchUp(adapter);
        expect(book.spentBy(coin.id)).toEqual([{ txid, height: book.tip.height }]);
      });

    if (!harness.spendsUnseen)
      it.each([
        { mined: false, title: 'the mempool' },
        { mined: true, title: 'one block' },
      ])('reports a coin and its spend that it meets together in $title', async ({ mined }) => {
        const target = await newTarget();
        const txid = await chain.pay([{ address: target.address, units: 510_000n }]);
        // The coin is found by a book of its own, so that the one under test does not know it yet.
        const other = new FactBook();
        const second = chain.connect(other);
        other.watch(await adapter.deriveAddress(chain.account, 0, target.index));
        other.checkpoint = book.checkpoint;
        await other.catchUp(second);
        await second.close();
        const coin = other.creditOf(1);
        const spender = await chain.spend(coin, target.index);
        if (mined) await chain.mine(1);
        await book.catchUp(adapter);
        const height = mined ? book.tip.height : null;
        expect(book.creditOf(target.id).txid).toBe(txid);
        expect(book.spentBy(coin.id)).toEqual([{ txid: spender, height }]);
        await chain.mine(1);
      });

    if (harness.rewardMaturity !== undefined) {
      it('reports a mined reward with its maturity', async () => {
        const target = await newTarget();
        await chain.mine(1, target.address);
        await book.catchUp(adapter);
        expect(book.creditOf(target.id)).toMatchObject({
          block: book.tip,
          maturity: harness.rewardMaturity,
          inputs: [],
        });
      });
    }

    it.each([1, 3, 6])('takes a payment back to the mempool in a reorg of depth %i', async (depth) => {
      const target = await newTarget();
      await chain.pay([{ address: target.address, units: 200_000n }]);
      await chain.mine(depth);
      await book.catchUp(adapter);
      const { height } = book.tip;
      expect(book.paid(target.id)).toEqual([{ units: 200_000n, height: height - depth + 1 }]);
      await chain.reorg(depth, false);
      const updates = await book.catchUp(adapter);
      expect(updates.flatMap(({ orphaned }) => orphaned.map((block) => block.height))).toEqual(
        Array.from({ length: depth }, (_, i) => height - depth + 1 + i),
      );
      expect(book.tip.height).toBe(height + 1);
      expect(book.paid(target.id)).toEqual(harness.confirmedOnly ? [] : [{ units: 200_000n, height: null }]);
      await chain.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(target.id)).toEqual([{ units: 200_000n, height: height + 2 }]);
    });

    it.each([1, 3, 6])('loses a payment that a reorg of depth %i drops', async (depth) => {
      const [lost, kept] = [await newTarget(), await newTarget()];
      await chain.pay([{ address: kept.address, units: 220_000n }]);
      await chain.mine(1);
      await chain.pay([{ address: lost.address, units: 210_000n }]);
      await chain.mine(depth);
      await book.catchUp(adapter);
      const { height } = book.tip;
      expect(book.paid(lost.id)).toEqual([{ units: 210_000n, height: height - depth + 1 }]);
      await chain.reorg(depth, true);
      await book.catchUp(adapter);
      expect(book.paid(lost.id)).toEqual([]);
      expect(book.paid(kept.id)).toEqual([{ units: 220_000n, height: height - depth }]);
    });

    it('follows a reorg that happened while the program was down', async () => {
      const target = await newTarget();
      await chain.pay([{ address: target.address, units: 230_000n }]);
      await chain.mine(2);
      await book.catchUp(adapter);
      await adapter.close();
      await chain.reorg(2, false);
      await chain.mine(3);
      adapter = open();
      await book.catchUp(adapter);
      expect(book.paid(target.id)).toEqual([{ units: 230_000n, height: book.tip.height - 2 }]);
    });

    it.each(['after a restart', 'by the same process'])(
      'follows a reorg of which only the beginning was stored, %s',
      async (by) => {
        const target = await newTarget();
        await chain.pay([{ address: target.address, units: 235_000n }]);
        await chain.mine(2);
        await book.catchUp(adapter);
        await chain.reorg(2, false);
        await chain.mine(1);
        const sync = () => adapter.sync(book.checkpoint, signal());
        await until(async () => (await sync())?.orphaned.length === 2, 'the blocks to leave');
        book.breakOff(2);
        if (by === 'after a restart') {
          await adapter.close();
          adapter = open();
        }
        await book.catchUp(adapter);
        expect(book.paid(target.id)).toEqual([{ units: 235_000n, height: book.tip.height }]);
      },
    );

    if (!harness.confirmedOnly)
      it('loses an unconfirmed payment that was replaced', async () => {
        const target = await newTarget();
        const txid = await chain.pay([{ address: target.address, units: 240_000n }]);
        await book.catchUp(adapter);
        expect(book.creditOf(target.id).txid).toBe(txid);
        const before = hints;
        await chain.replace(txid);
        await until(() => hints > before, 'a hint at a replacement', HINT_WITHIN_MS);
        await book.catchUp(adapter);
        expect(book.paid(target.id)).toEqual([]);
        await chain.mine(1);
        await book.catchUp(adapter);
        expect(book.paid(target.id)).toEqual([]);
      });

    if (!harness.confirmedOnly)
      it('loses an unconfirmed payment that its source forgot', async () => {
        const target = await newTarget();
        await chain.pay([{ address: target.address, units: 250_000n }]);
        await book.catchUp(adapter);
        expect(book.paid(target.id)).toEqual([{ units: 250_000n, height: null }]);
        await chain.evictAll();
        await until(async () => {
          await book.catchUp(adapter).catch((error: unknown) => {
            if (!(error instanceof Unavailable)) throw error;
          });
          return book.paid(target.id).length === 0;
        }, 'the forgotten payment to go');
      });

    if (!harness.neverBehind)
      it('has no news while its source is behind, and says so', async () => {
        const target = await newTarget();
        await chain.pay([{ address: target.address, units: 260_000n }]);
        await chain.mine(1);
        await book.catchUp(adapter);
        const confirmed = book.paid(target.id);
        await chain.lag();
        await until(
          async () => (await adapter.sync(book.checkpoint, signal())) === null,
          'no news from a lagging source',
        );
        expect(adapter.health().lagging).toBe(true);
        await chain.catchUp();
        await book.catchUp(adapter);
        expect(adapter.health().lagging).toBe(false);
        expect(book.paid(target.id)).toEqual(confirmed);
      });

    it('is unavailable while its source is away, and finds what it missed afterwards, by itself', async () => {
      const [before, during] = [await newTarget(), await newTarget()];
      await chain.pay([{ address: before.address, units: 270_000n }]);
      await chain.mine(1);
      await book.catchUp(adapter);
      await chain.disconnect();
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(Unavailable);
      await until(() => adapter.health().error !== null, 'an error in the health');
      const quiet = hints;
      await chain.reconnect();
      await chain.pay([{ address: during.address, units: 280_000n }]);
      await chain.mine(1);
      await until(() => hints > quiet && adapter.health().error === null, 'a hint after the source came back');
      await book.catchUp(adapter);
      expect(book.paid(before.id)).toEqual([{ units: 270_000n, height: book.tip.height - 1 }]);
      expect(book.paid(during.id)).toEqual([{ units: 280_000n, height: book.tip.height }]);
    });

    it('catches up in bounded steps after a long time away', async () => {
      const [early, late] = [await newTarget(), await newTarget()];
      await adapter.close();
      const { height } = book.tip;
      await chain.pay([{ address: early.address, units: 290_000n }]);
      const away = harness.awayBlocks ?? 130;
      await chain.mine(away);
      await chain.pay([{ address: late.address, units: 300_000n }]);
      await chain.mine(5);
      adapter = open();
      const updates = await book.catchUp(adapter);
      expect(updates.length).toBeGreaterThan(1);
      expect(updates.slice(0, -1).map(({ mempool }) => mempool)).toEqual(updates.slice(0, -1).map(() => 'unknown'));
      expect(book.tip.height).toBe(height + away + 5);
      expect(book.checkpoint).toHaveLength(120);
      expect(book.paid(early.id)).toEqual([{ units: 290_000n, height: height + 1 }]);
      expect(book.paid(late.id)).toEqual([{ units: 300_000n, height: height + away + 1 }]);
    });

    it('begins before a birthday, so that nothing since is missed', async () => {
      const fresh = new FactBook();
      const birthday = Date.now() - 5 * 60_000;
      const second = chain.connect(fresh);
      const index = nextIndex++;
      const target = await second.deriveAddress(chain.account, 0, index);
      const id = fresh.watch(target);
      await chain.pay([{ address: target.address, units: 310_000n }]);
      await chain.mine(1);
      fresh.checkpoint = await beginning(second, birthday);
      await fresh.catchUp(second);
      await book.catchUp(adapter);
      expect(fresh.tip).toEqual(book.tip);
      expect(fresh.paid(id)).toEqual([{ units: 310_000n, height: book.tip.height }]);
      expect((await beginning(second, 0)).at(-1)?.height).toBe(0);
      expect((await beginning(second)).at(-1)).toEqual(book.tip);
      await second.close();
    });

    it('stops at once when it is told to', async () => {
      const stopped = AbortSignal.abort(new Error('told to stop'));
      await expect(adapter.sync(book.checkpoint, stopped)).rejects.toThrow('told to stop');
      await book.catchUp(adapter);
    });
  });
}
