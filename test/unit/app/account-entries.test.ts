/**
 * The ledger entries of a chain of accounts, which reports what left: seen, mined, reorganised and forgotten as credits are,
 * each in its own asset.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type ExportRow, exportPage } from '../../../daemon/app/books/export.ts';
import { reconcile } from '../../../daemon/app/books/reconcile.ts';
import { keyState } from '../../../daemon/app/spends/facts.ts';
import type { AssetId } from '../../../daemon/domain/assets.ts';
import type { Credit, Debit, DebitKind } from '../../../daemon/domain/chain.ts';
import { nonceKey } from '../../../daemon/domain/spend.ts';
import { insertTarget } from '../../../daemon/store/queries/credits.ts';
import type { DebitRow } from '../../../daemon/store/queries/debits.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import { Bench } from './bench.ts';

const everyDebit = statement((_: object) => sqlite.selectFrom('debit').selectAll().orderBy('id'));

const ETHER = 10n ** 18n;
const DOLLAR = 10n ** 6n;
const EVER = { from: { year: 1970, month: 1, day: 1 }, to: { year: 2100, month: 1, day: 1 } };

let bench: Bench;
afterEach(() => bench.app.store.close());

const debits = (): DebitRow[] => bench.app.store.all(everyDebit, {});

function debit(txid: string, kind: DebitKind, asset: AssetId, units: bigint, back: number | null, targetId = 1): Debit {
  const block = back === null ? null : bench.block(back);
  return { id: `${txid}:${kind}`, txid, targetId, kind, amount: { asset, units }, block };
}

const credit = (txid: string, asset: AssetId, units: bigint, back: number | null, targetId = 1): Credit =>
  bench.credit(targetId, units, back, { txid, asset });

const exported = (part: 'receipts' | 'spends'): ExportRow[] =>
  exportPage(bench.app, {
    business: bench.app.directory.business(bench.businessId),
    ...EVER,
    cursor: null,
  }).rows.filter(({ kind }) => (kind === 'receipt') === (part === 'receipts'));

const problems = async (): Promise<string[]> =>
  (await reconcile(bench.app, bench.chain, new AbortController().signal)).problems;

/** An account with a token and the coin that its fees are paid in, and what it pays. */
async function paying(): Promise<{ deposits: () => Credit[]; pays: (back: number | null) => Debit[] }> {
  bench = await Bench.open('ETH');
  const deposits = (back = 0) => [credit('d', 'USDT_ERC20', 50n * DOLLAR, back), credit('g', 'ETH', 2n * ETHER, back)];
  await bench.tell({ blocks: 1, credits: () => deposits(), debits: () => [] });
  return {
    deposits,
    pays: (back) => [
      debit('p', 'paid', 'USDT_ERC20', 20n * DOLLAR, back),
      debit('p', 'fee', 'ETH', ETHER / 100n, back),
    ],
  };
}

describe('what left an account', () => {
  it('is off the balance at once, and its fee in the coin that it is paid in', async () => {
    const { pays } = await paying();
    expect([bench.balance('USDT_ERC20'), bench.balance('ETH')]).toEqual([50n * DOLLAR, 2n * ETHER]);
    await bench.tell({ debits: () => pays(null) });
    expect([bench.balance('USDT_ERC20'), bench.balance('ETH')]).toEqual([30n * DOLLAR, 2n * ETHER - ETHER / 100n]);
    expect(exported('spends')).toEqual([]);
    await bench.tell({ blocks: 1, debits: () => pays(0) });
    expect(exported('spends')).toMatchObject([
      { kind: 'withdrawal', crypto: 'USDT_ERC20', amount: '20', tx_id: 'p' },
      { kind: 'fee', crypto: 'ETH', amount: '0.01', tx_id: 'p' },
    ]);
    // nobody here made it
    expect(await problems()).toEqual([
      expect.stringContaining('p: spent 20 USDT_ERC20'),
      expect.stringContaining('p: spent 0.01 ETH'),
    ]);
  });

  it('is back when its block leaves the chain without it, and is valued once', async () => {
    const { pays } = await paying();
    await bench.tell({ blocks: 2, debits: () => pays(1) });
    const [first] = debits();
    expect(first).toMatchObject({ block_height: bench.block(1).height, usd_rate: 6_000_000_000_000n });
    bench.advance();
    bench.rate('1');
    await bench.tell({ orphan: 2, blocks: 3, debits: () => pays(0) });
    expect(debits()[0]).toMatchObject({ at: first?.at, usd_rate: first?.usd_rate, block_height: bench.tip.height });
    await bench.tell({ orphan: 1, blocks: 2, mempool: 'unknown', debits: () => [] });
    expect(debits()).toMatchObject([{ block_hash: null }, { block_hash: null }]);
    expect(bench.balance('USDT_ERC20')).toBe(30n * DOLLAR);
    await bench.tell({ debits: () => [] });
    expect(debits()).toEqual([]);
    expect([bench.balance('USDT_ERC20'), bench.balance('ETH')]).toEqual([50n * DOLLAR, 2n * ETHER]);
  });

  it.each(['s:0', 's:0:2'])(
    'is neither received nor paid where it was only moved to an address of the same account, as %s',
    async (id) => {
      await paying();
      const { accountId } = bench;
      const tank = { account_id: accountId, chain_key: bench.chain.key, branch: 1, idx: 0, invoice_id: null };
      const targetId = await bench.app.store.write(
        (tx) => tx.run(insertTarget, { ...tank, script: Buffer.from('tank'), address: 'tank' }).id,
      );
      const sweep = (back: number | null) => ({
        debits: () => [
          { ...debit('s', 'moved', 'USDT_ERC20', 50n * DOLLAR, back), id: 's:0' },
          debit('s', 'fee', 'ETH', ETHER / 100n, back),
        ],
        credits: () => [{ ...credit('s', 'USDT_ERC20', 50n * DOLLAR, back, targetId), id, moved: true }],
      });
      await bench.tell({ blocks: 1, ...sweep(0) });
      expect([bench.balance('USDT_ERC20'), bench.balance('ETH')]).toEqual([50n * DOLLAR, 2n * ETHER - ETHER / 100n]);
      expect(exported('receipts').map(({ tx_id }) => tx_id)).toEqual(['d', 'g']);
      expect(exported('spends')).toMatchObject([{ kind: 'fee', crypto: 'ETH' }]);
      const { lines } = await reconcile(bench.app, bench.chain, new AbortController().signal);
      expect(lines).toEqual([
        { asset: 'USDT_ERC20', received: 50n * DOLLAR, paidOut: 0n, fees: 0n, adopted: 0n, held: 50n * DOLLAR },
        {
          asset: 'ETH',
          received: 2n * ETHER,
          paidOut: 0n,
          fees: ETHER / 100n,
          adopted: 0n,
          held: 2n * ETHER - ETHER / 100n,
        },
      ]);
    },
  );
});

describe('what used a conflict key that is no coin', () => {
  it('is known as long as a block or the mempool has it', async () => {
    bench = await Bench.open('ETH');
    const key = nonceKey('0xa', 7);
    const state = () => keyState(bench.app.store, bench.chain, key);
    const unused = { isThere: true, usedBy: null, block: null, failed: false, changeOf: null };
    const used = (txid: string, back: number | null) => ({
      debits: () => [],
      spends: () => [{ outpoint: key, txid, block: back === null ? null : bench.block(back) }],
    });
    expect(state()).toEqual(unused);
    await bench.tell(used('a', null));
    expect(state()).toEqual({ ...unused, usedBy: 'a' });
    // replaced in the mempool, then mined
    await bench.tell(used('b', null));
    expect(state()).toEqual({ ...unused, usedBy: 'b' });
    await bench.tell({ blocks: 1, ...used('a', 0) });
    expect(state()).toEqual({ ...unused, usedBy: 'a', block: bench.block() });
    // what the mempool says takes nothing back that a block holds, and nothing leaves a block but with it
    await bench.tell(used('b', null));
    await bench.tell({ blocks: 1, debits: () => [] });
    expect(state()).toEqual({ ...unused, usedBy: 'a', block: bench.block(1) });
    await bench.tell({ orphan: 2, blocks: 3, ...used('a', null) });
    expect(state()).toEqual({ ...unused, usedBy: 'a' });
    await bench.tell({ blocks: 1, ...used('b', 0) });
    await bench.tell({ orphan: 1, blocks: 2, mempool: 'unknown', debits: () => [] });
    expect(state()).toEqual({ ...unused, usedBy: 'b' });
    await bench.tell({ debits: () => [], targets: [1] });
    expect(state()).toEqual({ ...unused, usedBy: 'b' });
    await bench.tell({ debits: () => [] });
    expect(state()).toEqual(unused);
  });
});

/** What becomes of the n-th transaction: told in the mempool, in a block of the tip, or not at all. */
const fate = fc.constantFrom('pool', 'block', 'gone');
const event = fc.record({
  orphan: fc.integer({ min: 0, max: 2 }),
  fates: fc.array(fate, { minLength: 4, maxLength: 4 }),
  complete: fc.boolean(),
});

describe('any order of blocks, reorganisations and mempools', () => {
  it('leaves as debits what is there, and the balance less by that', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(0, 1_000),
        async (events, turnMs) => {
          bench = await Bench.open('ETH');
          // deeper than any of the reorganisations below
          await bench.tell({ blocks: 9, credits: () => [credit('g', 'ETH', ETHER, 8)], debits: () => [] });
          /** By transaction: the height of its block, null in the mempool. */
          const there = new Map<string, number | null>();
          for (const { orphan, fates, complete } of events) {
            const base = bench.tip.height - orphan;
            for (const [txid, height] of there) if (height !== null && height > base) there.set(txid, null);
            const height = base + orphan + 1;
            for (const [n, one] of fates.entries()) {
              const known = there.get(`${n}`);
              if (known !== null && known !== undefined) continue;
              if (one === 'block') there.set(`${n}`, height);
              else if (one === 'pool') there.set(`${n}`, null);
              else if (complete) there.delete(`${n}`);
            }
            const told = (txid: string, at: number | null): boolean =>
              complete ? at === null || at > base : fates[Number(txid)] !== 'gone' && (at === null || at > base);
            await bench.tell({
              orphan,
              blocks: orphan + 1,
              turnMs,
              mempool: complete ? 'complete' : 'unknown',
              debits: () =>
                [...there].flatMap(([txid, at]) =>
                  told(txid, at)
                    ? [debit(txid, 'paid', 'ETH', BigInt(Number(txid) + 1), at === null ? null : bench.tip.height - at)]
                    : [],
                ),
            });
            const rows = debits().map(({ txid, block_height }) => [txid, block_height]);
            expect(rows.sort()).toEqual([...there].sort());
            const left = [...there.keys()].reduce((sum, txid) => sum + BigInt(Number(txid) + 1), 0n);
            expect(bench.balance('ETH')).toBe(ETHER - left);
            const reports = await problems();
            expect(reports.filter((text) => !text.includes('we did not make it'))).toEqual([]);
          }
          await bench.app.store.close();
        },
      ),
      { numRuns: 40 },
    );
  });
});
