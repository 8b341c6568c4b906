/**
 * Facts that arrive behind the place up to which the search for payments of a lost machine has come, on every kind of chain: what it
 * paid is found all the same, and is not paid once more.
 */

import { describe, expect, it, vi } from 'vitest';
import { isBehind, skip } from '../../../daemon/app/addresses/skipped.ts';
import { checkpointOf } from '../../../daemon/app/chains/checkpoint.ts';
import { ingestPast } from '../../../daemon/app/chains/ingest.ts';
import { beginQuarantine, jumpFarther } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { quarantineOf, restoredFrom } from '../../../daemon/app/recovery/quarantine.ts';
import { nextRescan, watchSkipped } from '../../../daemon/app/recovery/rescan.ts';
import type { Account } from '../../../daemon/app/shops/directory.ts';
import { takeOver, whyNotReady } from '../../../daemon/app/spends/restored-spends.ts';
import { message, textOf } from '../../../daemon/domain/messages.ts';
import { MS_PER_DAY } from '../../../daemon/domain/time.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { stepRescan } from '../../../daemon/store/queries/businesses.ts';
import { insertDebit } from '../../../daemon/store/queries/debits.ts';
import type { PayBench } from './pay-bench.ts';
import { FAMILIES } from './pay-families.ts';
import { deriveAllSkipped, JUMP, restored } from './restored-kit.ts';

type Paid = Awaited<ReturnType<typeof restored>>['paid'];

/** Shows what the lost machine paid in a block that is deep, without a pass of the worker. */
async function show(pay: PayBench, paid: Paid): Promise<void> {
  for (const { raw } of paid) await pay.chain.take(raw);
  await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain] + 10);
  await pay.sync();
}

function expectPaid(pay: PayBench, paid: Paid): void {
  for (const { id, txid } of paid)
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid, approved_by: 'restore', problem: null });
}

describe.each(FAMILIES)('$name: a backup of a service in quarantine', (family) => {
  it('is restored, and what its quarantine had not looked at yet is found', async () => {
    const { pay: first, paid } = await restored(family);
    await show(first, paid);
    const pay: PayBench = await first.moment()();
    await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: 'later' }, pay.bench.at, JUMP));
    await deriveAllSkipped(pay);
    for (let i = 0; i < 3; i++) await pay.round();
    await takeOver(pay.app);
    expectPaid(pay, paid);
  });
});

/** Has the source leave spends out, as one does that finds them by key images which it does not have yet. */
function hideSpends({ chain }: PayBench): () => void {
  const { sync } = chain.adapter;
  chain.adapter.sync = async (since, signal) => {
    const update = await sync.call(chain.adapter, since, signal);
    return update && { ...update, spends: [] };
  };
  return () => {
    chain.adapter.sync = sync;
  };
}

describe.each(FAMILIES.filter(({ name }) => name === 'LTC'))('$name: a spend that is seen late', (family) => {
  it.each([
    ['in the quarantine', false],
    ['while withdrawals wait after it', true],
  ])('is found %s, at a height that was searched', async (_, isEnded) => {
    const { pay, paid } = await restored(family);
    const { app, bench, chain } = pay;
    const since = checkpointOf(app.store, bench.chain)!;
    if (isEnded) await takeOver(app);
    const showSpends = hideSpends(pay);
    await show(pay, paid);
    for (let i = 0; i < 3; i++) await pay.round();
    showSpends();
    await ingestPast(app, bench.chain, (await chain.adapter.sync(since, new AbortController().signal))!);
    for (let i = 0; i < 2; i++) await pay.round();
    if (!isEnded) await takeOver(app);
    expectPaid(pay, paid);
  });
});

/** Stores entries of transactions that the source shows no more, so that the next sync removes them. */
async function insertVanished({ app, bench }: PayBench): Promise<void> {
  await app.store.write((tx) => {
    const own = { chain_key: bench.chain.key, account_id: bench.accountId, target_id: bench.unassigned(), kind: 'fee' };
    for (const txid of ['0xa', '0xb', '0xc', '0xd']) {
      const row = { ...own, ref: `${txid}:fee`, txid, asset: bench.chain.spending.feeAsset, units: 0n };
      const nowhere = { block_height: null, block_hash: null, at: null, usd_rate: null };
      const unrated = { book_currency: null, book_rate: null, book_rate_at: null };
      tx.run(insertDebit, { ...row, ...nowhere, ...unrated });
    }
  });
}

describe.each(FAMILIES.filter(({ hasCoins }) => !hasCoins))('$name: an entry that vanished', (family) => {
  it('gives its number to a payment of the lost machine, which is found', async () => {
    const before = await family.open();
    const { coin } = before.chain;
    await before.deposits([coin]);
    const id = await before.request(coin / 2n);
    const lost = await before.moment()();
    await lost.approve(id);
    for (let i = 0; i < 3; i++) await lost.round();
    const [{ txid, raw } = { txid: null, raw: null }] = lost.versions(id);

    const pay: PayBench = await before.moment()();
    await insertVanished(pay);
    await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, pay.bench.at, JUMP));
    await deriveAllSkipped(pay);
    await pay.chain.take(raw!);
    await pay.chain.mine();
    for (let i = 0; i < 3; i++) await pay.round();
    await takeOver(pay.app);
    expectPaid(pay, [{ id, txid: txid!, raw: raw!, address: '' }]);
  });
});

describe.each(FAMILIES.filter(({ name }) => name === 'LTC'))('$name: a coin that vanished', (family) => {
  it('gives its number to one that counts as stored since the quarantine began', async () => {
    const pay = await family.open();
    const { app, bench, chain } = pay;
    await pay.deposits([chain.coin]);
    const { txid } = await pay.deposit(chain.coin);
    await pay.sync();
    await chain.forget(txid);
    await pay.sync();
    await app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, JUMP));
    expect(quarantineOf(app.store)).toMatchObject({ stored: { credit: 2 } });
    bench.advance(2 * MS_PER_DAY);
    await chain.mine();
    await pay.sync();
    expect(quarantineOf(app.store)).toMatchObject({ stored: { credit: 1 }, behind: { times: 1 } });
  });
});

describe.each(FAMILIES)('$name: while skipped addresses are not all watched', (family) => {
  it('nothing is signed that the lost machine may have paid', async () => {
    const { pay, paid } = await restored(family);
    const { app, bench } = pay;
    await takeOver(app);
    await app.store.write((tx) => skip(tx, bench.accountId, 0, [{ from: 1_000, to: 1_010 }]));
    await show(pay, paid);
    const [{ id, txid, address }] = paid as [Paid[number]];
    await pay.approve(id);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(pay.row(id).problem).toBe(textOf(message('wait.unsynced')));
    expect(pay.signer.orders).toEqual([]);
    await deriveAllSkipped(pay);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid, problem: null });
    expect(pay.chain.paidTo(address)).toEqual([txid]);
  });
});

/** A source that is asked for each address. */
function askedFor({ chain }: PayBench): { begun: number; isLooking: boolean } {
  const state = { begun: 0, isLooking: true };
  Object.assign(chain.adapter, {
    rescan: () => {
      state.begun++;
      state.isLooking = true;
    },
    rescanning: () => state.isLooking,
  });
  return state;
}

describe.each(FAMILIES.filter(({ name }) => name === 'LTC'))(
  '$name: a source that is asked for addresses',
  (family) => {
    it('is asked for those of a second jump, too, before the quarantine ends', async () => {
      const { pay } = await restored(family);
      const { app, bench } = pay;
      const source = askedFor(pay);
      await pay.round();
      source.isLooking = false;
      for (let i = 0; i < 3; i++) await pay.round();
      expect([source.begun, whyNotReady(app, app.store)]).toEqual([1, null]);
      await app.store.write((tx) => jumpFarther(tx, quarantineOf(tx)!, [], bench.at, JUMP));
      await deriveAllSkipped(pay);
      await pay.round();
      expect(source.begun).toBe(2);
      for (let i = 0; i < 3; i++) await pay.round();
      await expect(takeOver(app)).rejects.toMatchObject({ code: 'restore.not_ready' });
      source.isLooking = false;
      for (let i = 0; i < 3; i++) await pay.round();
      await takeOver(app);
      expect(quarantineOf(app.store)).toBeNull();
    });

    it('gives way to a source of blocks, which reads those of before', async () => {
      const { pay } = await restored(family);
      const { app, bench } = pay;
      const since = checkpointOf(app.store, bench.chain)!;
      askedFor(pay);
      await pay.round();
      await pay.chain.mine(3);
      await pay.round();
      Object.assign(pay.chain.adapter, { rescan: undefined, rescanning: undefined });
      await expect(takeOver(app)).rejects.toThrow(/Blocks are being read again: mainnet:LTC/);
      expect(nextRescan(app, bench.chain, new Set())).toMatchObject({ checkpoint: since });
      await app.store.write((tx) => tx.run(stepRescan, { id: bench.accountId, from: JSON.stringify(since), to: null }));
      await takeOver(app);
      expect(quarantineOf(app.store)).toBeNull();
    });

    it('joins the configuration after the quarantine, and is asked before anything in doubt is signed', async () => {
      const { pay, paid } = await restored(family);
      const { app, bench } = pay;
      const others = vi.spyOn(app.chains, 'all').mockReturnValue([]);
      await takeOver(app);
      others.mockRestore();
      const source = askedFor(pay);
      await show(pay, paid);
      const [{ id, txid, address }] = paid as [Paid[number]];
      await pay.approve(id);
      for (let i = 0; i < 3; i++) await pay.round();
      expect(pay.row(id)).toMatchObject({ state: 'approved', problem: textOf(message('wait.unsynced')) });
      expect([source.begun, pay.signer.orders]).toEqual([1, []]);
      source.isLooking = false;
      for (let i = 0; i < 4; i++) await pay.round();
      expect(pay.row(id)).toMatchObject({ state: 'completed', txid, problem: null });
      expect(pay.chain.paidTo(address)).toEqual([txid]);
      expect(restoredFrom(app.store)?.ended?.chains).toEqual([bench.chain.key]);
    });

    it('reads no block before the addresses are watched that were skipped while it was not there', async () => {
      const { pay } = await restored(family);
      const { app, bench } = pay;
      await takeOver(app);
      await app.store.write((tx) => skip(tx, bench.accountId, 0, [{ from: 1_000, to: 1_010 }]));
      const [account] = app.directory.accounts() as [Account];
      Object.assign(bench.chain, { startedFrom: null, syncs: 0 });
      let isBegun = false;
      await watchSkipped(
        app,
        bench.chain,
        () => {
          isBegun = true;
        },
        () => false,
      );
      expect([isBegun, isBehind(app, account)]).toEqual([true, false]);
    });
  },
);
