/** What becomes of facts that a chain reports: each row says what was told, and what must be known after it. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { Bench, HOUR, type Paid } from './bench.ts';

let bench: Bench;
let paid: Paid;

beforeEach(async () => {
  bench = await Bench.open();
  paid = await bench.invoice();
});

/** The deposit that pays the invoice, unconfirmed or so many blocks under the tip. */
const full = (back: number | null = null, over: Parameters<Bench['credit']>[3] = {}) =>
  bench.credit(paid.targetId, paid.units, back, over);
const TX = () => `tx${paid.targetId}:0`;
const state = () => {
  const { status, received, confirmed } = bench.payment(paid.id);
  return [bench.invoiceStatus(paid.id), status, BigInt(received), BigInt(confirmed), bench.balance()];
};

describe('a deposit', () => {
  it('is received in the mempool, and pays in a block', async () => {
    await bench.tell({ credits: () => [full()] });
    expect(state()).toEqual(['unpaid', 'pending', paid.units, 0n, 0n]);
    expect(bench.row(TX())).toMatchObject({
      confirmed: false,
      settled: false,
      counted: false,
      gone: false,
      required: 1,
      claim: null,
    });
    expect(bench.webhook(paid.id)).toBeUndefined();
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    expect(state()).toEqual(['paid', 'paid', paid.units, paid.units, paid.units]);
    expect(bench.row(TX())).toMatchObject({ confirmed: true, settled: true, counted: true, claim: 'invoice' });
    expect(bench.webhook(paid.id)).toBe('waiting');
  });

  it('found in a block at first sight pays at once', async () => {
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    expect(state()).toEqual(['paid', 'paid', paid.units, paid.units, paid.units]);
  });

  it('told twice counts once', async () => {
    await bench.tell({ blocks: 1, credits: () => [full(0), full(0)] });
    await bench.tell({ credits: () => [full(0)] });
    expect(bench.creditsOf(paid.targetId)).toHaveLength(1);
    expect(bench.balance()).toBe(paid.units);
  });

  it('in a block stays when a source does not mention it', async () => {
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    for (const mempool of ['complete', 'unknown'] as const) await bench.tell({ blocks: 1, mempool });
    expect(state()).toEqual(['paid', 'paid', paid.units, paid.units, paid.units]);
  });

  it.each([
    ['complete', 'all', true],
    ['unknown', 'all', false],
    ['complete', 'others', false],
    ['complete', 'it', true],
  ] as const)(
    'unconfirmed and not mentioned, with the mempool %s and targets %s: gone %s',
    async (mempool, who, gone) => {
      await bench.tell({ credits: () => [full()] });
      const targets = who === 'all' ? 'all' : who === 'it' ? [paid.targetId] : [paid.targetId + 1];
      await bench.tell({ mempool, targets });
      expect(bench.row(TX()).gone).toBe(gone);
      expect(bench.payment(paid.id).received).toBe(gone ? 0n : paid.units);
    },
  );

  it('that went keeps when it was first seen, for when it comes back', async () => {
    await bench.tell({ credits: () => [full()] });
    const { first_seen_at } = bench.row(TX());
    await bench.tell();
    bench.advance();
    await bench.tell({ credits: () => [full()] });
    expect(bench.row(TX())).toMatchObject({ gone: false, first_seen_at });
    expect(bench.payment(paid.id).received).toBe(paid.units);
  });
});

describe('a block that leaves', () => {
  /** A deposit of an invoice that needs 3 confirmations: with 1 it can still change, with 3 it is settled. */
  const inBlock = async (confirmations: number): Promise<void> => {
    paid = await bench.invoice({ usd: 2_000n });
    await bench.tell({ blocks: 1, credits: () => [full(0)] });
    await bench.tell({ blocks: confirmations - 1 });
    expect(bench.row(TX()).settled).toBe(confirmations >= 3);
  };

  describe.each([1, 3])('with a deposit of %d confirmations', (confirmations) => {
    beforeEach(() => inBlock(confirmations));
    const back = { orphan: confirmations, blocks: confirmations + 1 };

    it('takes the deposit back to the mempool', async () => {
      await bench.tell({ ...back, credits: () => [full()] });
      expect(bench.row(TX())).toMatchObject({
        block_hash: null,
        block_height: null,
        confirmed: false,
        settled: false,
        gone: false,
      });
      expect(state().slice(2)).toEqual([paid.units, 0n, 0n]);
    });

    it('does so though the source does not mention it, while its mempool is unknown', async () => {
      await bench.tell({ ...back, mempool: 'unknown' });
      expect(bench.row(TX())).toMatchObject({ block_hash: null, confirmed: false, counted: false, gone: false });
      expect(state().slice(2)).toEqual([paid.units, 0n, 0n]);
    });

    it('and a complete mempool without it: it is gone, in the same update', async () => {
      await bench.tell(back);
      expect(bench.row(TX())).toMatchObject({ block_hash: null, confirmed: false, counted: false, gone: true });
      expect(state().slice(2)).toEqual([0n, 0n, 0n]);
    });

    it('puts it into another block', async () => {
      await bench.tell({ ...back, credits: () => [full(0)] });
      expect(bench.row(TX())).toMatchObject({
        block_hash: bench.tip.hash,
        block_height: bench.tip.height,
        gone: false,
      });
      expect(bench.row(TX())).toMatchObject({ confirmed: false, counted: true });
      expect(bench.balance()).toBe(paid.units);
      await bench.tell({ blocks: 2 });
      expect(bench.invoiceStatus(paid.id)).toBe('paid');
    });

    it('is taken over by a transaction that replaces the deposit, which counts as seen when that was', async () => {
      const { first_seen_at } = bench.row(TX());
      bench.advance();
      const inputs = full().inputs;
      await bench.tell({ ...back, credits: () => [full(0, { txid: 'other', inputs })] });
      expect(bench.row('other:0')).toMatchObject({ first_seen_at });
      expect(bench.row(TX()).gone).toBe(true);
      expect(BigInt(bench.payment(paid.id).received)).toBe(paid.units);
    });
  });

  it('leaves an invoice paid whose payment another one replaces in the same update, and shows what is too much', async () => {
    await inBlock(3);
    await bench.tell({
      orphan: 3,
      blocks: 4,
      credits: () => [bench.credit(paid.targetId, paid.units * 2n, 2, { txid: 'again' })],
    });
    expect(state()).toEqual(['paid', 'paid', paid.units * 2n, paid.units * 2n, paid.units * 2n]);
    expect([bench.row('again:0').claim, bench.alerts()]).toEqual(['invoice', []]);
    expect(bench.inbox()).toEqual([{ reason: 'overpaid', outpoint: 'again:0' }]);
  });

  it('undoes a paid invoice with one alarm, and no second webhook when it is made good', async () => {
    await inBlock(3);
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
    await bench.tell({ orphan: 3, blocks: 4 });
    await bench.tell({ blocks: 1 });
    expect(state()).toEqual(['paid', 'paid', 0n, 0n, 0n]);
    expect(bench.alerts()).toEqual(['invoice.undone']);
    await bench.tell({ blocks: 3, credits: () => [full(2, { txid: 'again' })] });
    expect(state()).toEqual(['paid', 'paid', paid.units, paid.units, paid.units]);
    expect(bench.row('again:0').claim).toBe('invoice');
    expect(bench.inbox()).toEqual([]);
    expect(bench.webhook(paid.id)).toBe('waiting');
    expect(bench.alerts()).toEqual([]);
    // the alarm is a new one the next time, or it would not be sent
    await bench.tell({ orphan: 6, blocks: 7 });
    expect(bench.alerts()).toEqual(['invoice.undone']);
  });
});

describe('a replacement', () => {
  type Row = [name: string, over: Partial<{ less: bigint; shares: boolean; elsewhere: boolean }>, inherits: boolean];
  it.each<Row>([
    ['that pays as much', {}, true],
    ['that pays less', { less: 1n }, true],
    ['that shares no input', { shares: false }, false],
    ['to another address', { elsewhere: true }, false],
  ])('%s inherits when it was first seen: %s', async (_, { less = 0n, shares = true, elsewhere }, inherits) => {
    const other = elsewhere ? await bench.invoice() : paid;
    await bench.tell({ credits: () => [full(null, { txid: 'first', inputs: ['a:0', 'b:1'] })] });
    const first = bench.row('first:0').first_seen_at;
    bench.advance();
    const second = () => [
      bench.credit(other.targetId, paid.units - less, null, { txid: 'second', inputs: [shares ? 'b:1' : 'c:2'] }),
    ];
    await bench.tell({ credits: second });
    expect(bench.row('second:0').first_seen_at).toBe(inherits ? first : bench.at);
    expect(bench.row('first:0').gone).toBe(true);
    expect(BigInt(bench.payment(other.id).received)).toBe(paid.units - less);
  });

  it('is at the rate of the quote that the first one was in', async () => {
    await bench.tell({ credits: () => [full(null, { txid: 'first', inputs: ['a:0'] })] });
    bench.advance(2 * HOUR);
    bench.rate('30000');
    await bench.tell({ credits: () => [full(null, { txid: 'second', inputs: ['a:0'] })] });
    expect(bench.row('second:0').value).toBe(bench.row('first:0').value);
  });
});

describe('when a deposit was first seen', () => {
  it.each<[name: string, blockAgo: number, seen: number]>([
    ['before the last sync is the last sync', 5 * HOUR, -3 * HOUR],
    ['between the last sync and now is its block’s time', 2 * HOUR, -2 * HOUR],
    ['in a block of the future is now', -HOUR, 0],
  ])('in a block of a time %s', async (_, blockAgo, seen) => {
    bench.advance(3 * HOUR);
    await bench.tell({
      blocks: 1,
      credits: () => [{ ...full(0), blockTime: bench.at - blockAgo }],
    });
    expect(bench.row(TX()).first_seen_at).toBe(bench.at + seen);
  });

  it('in the mempool is now', async () => {
    bench.advance(3 * HOUR);
    await bench.tell({ credits: () => [full()] });
    expect(bench.row(TX()).first_seen_at).toBe(bench.at);
  });

  it('after a restart counts from the stored time of sync', async () => {
    const synced = bench.storedSyncedAt();
    bench.chain.syncedAt = 0;
    bench.advance(3 * HOUR);
    await bench.tell({ blocks: 1, credits: () => [{ ...full(0), blockTime: synced - HOUR }] });
    expect(bench.row(TX()).first_seen_at).toBe(synced);
  });
});

describe('an update', () => {
  it('against another checkpoint changes nothing', async () => {
    const before = [state(), bench.storedTip(), bench.storedSyncedAt(), bench.chain.syncedAt];
    bench.advance(HOUR);
    for (const since of [
      { height: bench.tip.height, hash: 'another' },
      { height: bench.tip.height - 1, hash: bench.tip.hash },
    ]) {
      expect(await bench.tell({ since, credits: () => [full()] })).toBe(false);
    }
    expect([state(), bench.storedTip(), bench.storedSyncedAt(), bench.chain.syncedAt]).toEqual(before);
    expect(bench.creditsOf(paid.targetId)).toEqual([]);
  });

  it('is applied once: the same again is refused', async () => {
    const since = bench.block();
    expect(await bench.tell({ blocks: 1, credits: () => [full(0)] })).toBe(true);
    expect(await bench.tell({ since, credits: () => [full(0)] })).toBe(false);
    expect(bench.balance()).toBe(paid.units);
  });

  it('of one transaction that fails half-way leaves everything as it was', async () => {
    const before = [state(), bench.storedTip(), bench.chain.syncedAt, bench.chain.tipHeight];
    bench.advance(HOUR);
    const failing = bench.tell({ blocks: 1, turnMs: HOUR, credits: () => [full(0), bench.credit(999_999, 1n, 0)] });
    await expect(failing).rejects.toThrow('assertion failed');
    expect([state(), bench.storedTip(), bench.chain.syncedAt, bench.chain.tipHeight]).toEqual(before);
  });

  it('moves the time of sync only when it saw the whole mempool, and follows a clock that was put back', async () => {
    const began = bench.chain.syncedAt;
    bench.advance(HOUR);
    await bench.tell({ blocks: 1, mempool: 'unknown' });
    expect(bench.chain.syncedAt).toBe(began);
    await bench.tell({ beganAt: bench.at - 1_000 });
    expect(bench.chain.syncedAt).toBe(bench.at - 1_000);
    await bench.tell({ beganAt: began });
    expect(bench.chain.syncedAt).toBe(began);
    expect(bench.storedSyncedAt()).toBe(began);
  });
});

describe('a coin of ours', () => {
  const spend = (txid: string, back: number | null) => () => [
    { outpoint: TX(), txid, block: back === null ? null : bench.block(back) },
  ];
  beforeEach(() => bench.tell({ blocks: 1, credits: () => [full(0)] }));

  it('that is spent leaves the balance, already unconfirmed, and the invoice stays paid', async () => {
    await bench.tell({ spends: spend('spender', null) });
    expect(bench.balance()).toBe(0n);
    expect(bench.row(TX())).toMatchObject({
      spent_txid: 'spender',
      spent_block_hash: null,
      counted: false,
      confirmed: true,
    });
    await bench.tell({ blocks: 1, spends: spend('spender', 0) });
    expect(bench.row(TX())).toMatchObject({ spent_block_hash: bench.tip.hash, counted: false });
    expect(state().slice(0, 4)).toEqual(['paid', 'paid', paid.units, paid.units]);
  });

  it.each([
    ['complete', 'all', true],
    ['unknown', 'all', false],
    ['complete', 'others', false],
  ] as const)('whose spend is not mentioned, mempool %s, targets %s: back %s', async (mempool, who, back) => {
    await bench.tell({ spends: spend('spender', null) });
    await bench.tell({ mempool, targets: who === 'all' ? 'all' : [paid.targetId + 1] });
    expect(bench.balance()).toBe(back ? paid.units : 0n);
  });

  it('whose spend is in a block stays spent, mentioned or not', async () => {
    await bench.tell({ blocks: 1, spends: spend('spender', 0) });
    await bench.tell();
    await bench.tell({ spends: spend('other', null) });
    expect(bench.row(TX())).toMatchObject({ spent_txid: 'spender', counted: false });
  });

  it('is spent by another when that replaced the first', async () => {
    await bench.tell({ spends: spend('spender', null) });
    await bench.tell({ spends: spend('other', null) });
    expect(bench.row(TX())).toMatchObject({ spent_txid: 'other', counted: false });
  });

  it.each([
    ['and is in the mempool, it stays spent', true],
    ['and is nowhere, it is back in the same update', false],
  ])('whose spending block leaves %s', async (_, there) => {
    await bench.tell({ blocks: 1, spends: spend('spender', 0) });
    await bench.tell({ orphan: 1, blocks: 2, ...(there && { spends: spend('spender', null) }) });
    expect(bench.row(TX()).spent_txid).toBe(there ? 'spender' : null);
    expect(bench.balance()).toBe(there ? 0n : paid.units);
  });

  it('of a coinbase matures after 100 blocks', async () => {
    const target = bench.unassigned();
    await bench.tell({ blocks: 1, credits: () => [bench.credit(target, 50n, 0, { maturity: 100 })] });
    const before = bench.balance();
    await bench.tell({ blocks: 98 });
    expect(bench.balance()).toBe(before);
    await bench.tell({ blocks: 1 });
    expect(bench.balance()).toBe(before + 50n);
  });
});

describe('the running balance', () => {
  it('is at all times the sum of what is there, whatever is told', async () => {
    const step = fc.record({
      orphan: fc.integer({ min: 0, max: 2 }),
      blocks: fc.integer({ min: 0, max: 3 }),
      complete: fc.boolean(),
      who: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
      confirmed: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
      spends: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        bench = await Bench.open();
        const targets = [await bench.invoice(), await bench.invoice({ usd: 2_000n })].map(({ targetId }) => targetId);
        targets.push(bench.unassigned());
        for (const { orphan, blocks, complete, who, confirmed, spends } of steps) {
          await bench.tell({
            orphan,
            blocks: blocks + orphan,
            mempool: complete ? 'complete' : 'unknown',
            credits: () =>
              who.map((n) => {
                const known = bench.creditsOf(targets[n % 3]!).find((row) => row.txid === `t${n}`);
                const at = bench.blocks.findIndex(({ hash }) => hash === known?.block_hash);
                const back = at >= 0 ? bench.blocks.length - 1 - at : confirmed[n] && blocks + orphan > 0 ? 0 : null;
                return bench.credit(targets[n % 3]!, BigInt(n + 1) * 1_000n, back, { txid: `t${n}` });
              }),
            spends: () =>
              spends.map((n) => ({
                outpoint: `t${n}:0`,
                txid: `s${n}`,
                block: blocks + orphan > 0 ? bench.block() : null,
              })),
          });
          expect(bench.balance()).toBe(recomputed(targets));
        }
      }),
      { numRuns: 40 },
    );
  });

  /** From the facts alone: in a block of the best chain, and not spent. */
  function recomputed(targets: number[]): bigint {
    const best = new Set(bench.blocks.map(({ hash }) => hash));
    return targets
      .flatMap((targetId) => bench.creditsOf(targetId))
      .filter((row) => !row.gone && row.spent_txid === null && best.has(row.block_hash ?? ''))
      .reduce((sum, row) => sum + row.units, 0n);
  }
});
