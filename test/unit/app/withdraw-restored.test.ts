/**
 * Withdrawals that were approved before a backup and paid after it, on every kind of chain, when the new machine's source has
 * not heard of those transactions: nothing is paid that the operator does not approve again, and what was paid is found when
 * it appears. `test/scenario/restore-approved.test.ts` restores a backup of a whole daemon.
 */

import { describe, expect, it } from 'vitest';
import { skip } from '../../../daemon/app/addresses/skipped.ts';
import { checkpointOf } from '../../../daemon/app/chains/checkpoint.ts';
import { ingestPast } from '../../../daemon/app/chains/ingest.ts';
import { beginQuarantine, MAY_BE_PAID } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { beginAsOlder } from '../../../daemon/app/recovery/older.ts';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import type { Checkpoint } from '../../../daemon/domain/chain.ts';
import { message, textOf } from '../../../daemon/domain/messages.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { accountById, stepRescan } from '../../../daemon/store/queries/businesses.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { debitsOfTransaction } from '../../../daemon/store/queries/debits.ts';
import type { PayBench } from './pay-bench.ts';
import { FAMILIES, type PayFamily } from './pay-families.ts';
import { deriveAllSkipped, JUMP, PAID, restored } from './restored-kit.ts';

/** Beyond the addresses that are ready. */
const FAR_JUMP = 200;
/** More than any payment here costs, smallest units. */
const FEE = 10n ** 15n;

describe.each(FAMILIES)('$name: withdrawals approved before a backup', (family) => {
  it('all wait for the operator again, with the reason, also after the quarantine', async () => {
    const { pay, ids } = await restored(family);
    const waits = {
      state: 'requested',
      approved_by: null,
      approval: null,
      spend_id: null,
      problem: textOf(MAY_BE_PAID),
    };
    expect(ids.map((id) => pay.row(id))).toMatchObject(ids.map(() => waits));
    await takeOver(pay.app);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(ids.map((id) => pay.row(id))).toMatchObject(ids.map(() => waits));
    expect([pay.signer.orders, pay.chain.waiting()]).toEqual([[], []]);
  });

  it('are found paid when their transactions appear, before anything else is signed', async () => {
    const { pay, paid, waiting } = await restored(family);
    await takeOver(pay.app);
    for (const { raw } of paid) await pay.chain.take(raw);
    await pay.chain.mine();
    await pay.approve(waiting);
    await pay.round();
    await pay.chain.mine(1 + family.lockBlocks);
    await pay.round();
    await pay.chain.mine();
    await pay.sync();
    for (const { id, txid, address } of paid) {
      expect(pay.row(id)).toMatchObject({ state: 'completed', txid, problem: null });
      expect(pay.chain.paidTo(address)).toEqual([txid]);
    }
    expect(pay.row(waiting).state).toBe('completed');
    expect(pay.available()).toBe(pay.chain.unspent());
    expect(pay.alerts()).toEqual([]);
  });

  it('are paid once when one was approved anew before the old transactions appeared', async () => {
    const { pay, paid, waiting, ids } = await restored(family);
    await takeOver(pay.app);
    await pay.approve(waiting);
    await pay.round();
    expect(pay.row(waiting).state).toBe('broadcast');
    await pay.chain.mine();
    await pay.sync();
    // it may use the coins or the nonce of an old one: then its block decides
    for (const { raw } of paid) await (async () => pay.chain.take(raw))().catch(() => {});
    await pay.chain.mine();
    await pay.round();
    for (const { id, txid, address } of paid) {
      const found = pay.chain.depthOf(txid) > 0;
      expect(pay.row(id)).toMatchObject(found ? { state: 'completed', txid } : { state: 'requested', txid: null });
      expect(pay.chain.paidTo(address)).toEqual(found ? [txid] : []);
    }
    // what was not paid is, once it is approved anew
    for (const id of ids) if (pay.row(id).state === 'requested') await pay.approve(id);
    for (let i = 0; i < PAID + 1; i++) {
      await pay.round();
      await pay.chain.mine(1 + family.lockBlocks);
    }
    await pay.round();
    expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'completed'));
    expect(ids.map((id) => pay.chain.paidTo(pay.row(id).address).length)).toEqual(ids.map(() => 1));
    expect(pay.available()).toBe(pay.chain.unspent());
  });
});

// of Monero a spend is seen once the signer told its key image, which this bench's does not
/** What a copy of the data, with the same wallet, pays of a withdrawal that waits here. */
async function paidElsewhere(pay: PayBench, id: number): Promise<string[]> {
  const twin = await pay.moment()();
  await twin.approve(id);
  for (let i = 0; i < 3; i++) await twin.round();
  const raws = twin.versions(id).flatMap(({ txid, raw }) => (txid === null || raw === null ? [] : [raw]));
  expect(raws.length).toBeGreaterThan(0);
  return raws;
}

/**
 * Requests a withdrawal that needs the money of an invoice of now, has a copy pay it, and shows the payment in a block. `beside`: other
 * transactions of that block, before it.
 */
async function noticeAnother(pay: PayBench, family: PayFamily, beside: readonly string[] = []): Promise<void> {
  const { coin } = pay.chain;
  const { targetId } = await pay.bench.invoice({ crypto: pay.chain.asset });
  const { script, address } = pay.app.store.get(targetById, { id: targetId })!;
  pay.chain.deposit({ script, address }, coin * 8n);
  await pay.sync();
  await pay.chain.mine(1 + family.lockBlocks);
  await pay.sync();
  const raws = await paidElsewhere(pay, await pay.request(coin * 6n));
  expect(quarantineOf(pay.app.store)).toBeNull();
  for (const raw of [...beside, ...raws]) await pay.chain.take(raw);
  await pay.chain.mine();
  await pay.sync();
  expect(quarantineOf(pay.app.store)).not.toBeNull();
}

describe.each(FAMILIES.filter(({ name }) => name !== 'XMR'))('$name: another machine', (family) => {
  it('spends what came after the quarantine, and begins another one, while withdrawals of before wait', async () => {
    const { pay } = await restored(family);
    await takeOver(pay.app);
    await noticeAnother(pay, family);
    expect(pay.alerts()).toMatchObject([{ kind: 'data.older' }]);
    // once: what the operator approves meanwhile counts after it
    await deriveAllSkipped(pay);
    await pay.round();
    await takeOver(pay.app);
    expect(pay.signer.ended).toBe(1);
  });

  it.each([
    { when: 'in the same block', isBeside: true },
    { when: 'before it', isBeside: false },
  ])('is noticed, and what the lost one paid $when is found in the new quarantine', async ({ isBeside }) => {
    const { pay, paid } = await restored(family);
    await takeOver(pay.app);
    const raws = paid.map(({ raw }) => raw);
    if (!isBeside) {
      for (const raw of raws) await pay.chain.take(raw);
      await pay.chain.mine();
      await pay.sync();
      // any sign begins it
      const reason = message('older.database');
      await pay.app.store.write((tx) => beginAsOlder(pay.app, tx, reason));
    } else await noticeAnother(pay, family, raws);
    await deriveAllSkipped(pay);
    for (let i = 0; i < 3; i++) {
      await pay.chain.mine();
      await pay.round();
    }
    await takeOver(pay.app);
    for (const { id, txid } of paid) expect(pay.row(id)).toMatchObject({ state: 'completed', txid, problem: null });
  });

  it('has paid a newer withdrawal of money of before, which begins another one', async () => {
    const { pay } = await restored(family);
    await takeOver(pay.app);
    const id = await pay.request(pay.chain.coin / 5n);
    for (const raw of await paidElsewhere(pay, id)) await pay.chain.take(raw);
    await pay.chain.mine();
    await pay.round();
    expect(quarantineOf(pay.app.store)).not.toBeNull();
    await deriveAllSkipped(pay);
    for (let i = 0; i < 3; i++) {
      await pay.chain.mine(1);
      await pay.round();
    }
    expect(pay.row(id)).toMatchObject({ approved_by: 'restore', problem: null });
    expect(['broadcast', 'completed']).toContain(pay.row(id).state);
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([pay.row(id).txid]);
    expect(pay.alerts()).toMatchObject([{ kind: 'data.older' }]);
  });
});

/** Reads every block since a checkpoint again, with the addresses of now. */
async function readAgain({ app, bench, chain }: PayBench, since: Checkpoint): Promise<void> {
  const update = await chain.adapter.sync(since, new AbortController().signal);
  await ingestPast(app, bench.chain, update!);
}

/** What the books have of a transaction, smallest units by kind. */
function debitsOf({ app, bench }: PayBench, txid: string): Record<string, bigint> {
  const range = { from: `${txid}:`, to: `${txid};`, chain_key: bench.chain.key };
  return Object.fromEntries(app.store.all(debitsOfTransaction, range).map(({ kind, units }) => [kind, units]));
}

/** A machine on these data whose addresses have jumped, and which has read every block again with the skipped ones. */
async function jumped(pay: PayBench, since: Checkpoint): Promise<void> {
  const why = message('older.database');
  await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: null, why }, pay.bench.at, FAR_JUMP));
  await deriveAllSkipped(pay);
  await readAgain(pay, since);
  for (let i = 0; i < 3; i++) await pay.round();
  await takeOver(pay.app);
}

describe.each(FAMILIES.filter(({ name }) => name !== 'XMR'))(
  '$name: an address that another machine gave out',
  (family) => {
    it('paid a withdrawal long before the quarantine that has it watched, and the payment is found', async () => {
      const pay = await family.open();
      const { coin } = pay.chain;
      const since = checkpointOf(pay.app.store, pay.bench.chain)!;
      await pay.deposits([coin], 1);
      const { next_index } = pay.app.store.get(accountById, { id: pay.bench.accountId })!;
      await pay.chain.deposit(await pay.chain.adapter.deriveAddress(pay.chain.account, 0, next_index + 5), coin * 8n);
      await pay.chain.mine();
      await pay.sync();
      const requested = { state: 'requested', approved_by: null, approved_at: null, approval: null } as const;
      const id = await pay.insert({ ...requested, units: coin * 6n, fee_held: FEE, deadline_at: null });
      const twin = await pay.moment()();
      await jumped(twin, since);
      await twin.approve(id);
      for (let i = 0; i < 3; i++) await twin.round();
      const [{ txid, raw } = { txid: null, raw: null }] = twin.versions(id);
      await pay.chain.take(raw!);
      await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain] + 10);
      await pay.sync();
      expect([quarantineOf(pay.app.store), pay.row(id).state]).toEqual([null, 'requested']);

      await jumped(pay, since);
      expect(pay.row(id)).toMatchObject({ state: 'completed', txid, approved_by: 'restore' });
    });
  },
);

describe.each(FAMILIES.filter(({ name }) => name === 'LTC'))('$name: while blocks are read again', (family) => {
  it('a payment is not taken over, of which coins may not be known yet', async () => {
    const pay = await family.open();
    const { app, bench, chain } = pay;
    const { coin } = chain;
    const since = checkpointOf(app.store, bench.chain)!;
    await pay.deposits([coin], 1);
    const { next_index } = app.store.get(accountById, { id: bench.accountId })!;
    const unknown = next_index + 5;
    chain.deposit(await chain.adapter.deriveAddress(chain.account, 0, unknown), coin * 8n);
    await chain.mine();
    await pay.sync();
    const requested = { state: 'requested', approved_by: null, approved_at: null, approval: null } as const;
    // it takes both coins
    const units = (coin * 17n) / 2n;
    const id = await pay.insert({ ...requested, units, fee_held: FEE, deadline_at: null });
    const twin = await pay.moment()();
    await twin.app.store.write((tx) => skip(tx, bench.accountId, 0, [{ from: unknown, to: unknown + 1 }]));
    await deriveAllSkipped(twin);
    await readAgain(twin, since);
    await twin.approve(id);
    for (let i = 0; i < 3; i++) await twin.round();
    const [{ txid, raw, fee } = { txid: null, raw: null, fee: 0n }] = twin.versions(id);

    bench.chain.startedFrom = since;
    Object.assign(app, { jump: FAR_JUMP });
    await chain.take(raw!);
    await chain.mine();
    await pay.sync();
    expect(quarantineOf(app.store)).toMatchObject({ read_again: [bench.chain.key] });
    await deriveAllSkipped(pay);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'requested', txid: null });
    await expect(takeOver(app)).rejects.toThrow(/Blocks are being read again: mainnet:LTC/);

    await readAgain(pay, since);
    await app.store.write((tx) => tx.run(stepRescan, { id: bench.accountId, from: JSON.stringify(since), to: null }));
    for (let i = 0; i < 3; i++) await pay.round();
    await takeOver(app);
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid, fee, approved_by: 'restore' });
    expect(debitsOf(pay, txid!)).toEqual({ paid: units, fee, moved: coin * 9n - units - fee });
    expect(pay.alerts()).toEqual([]);
  });
});

describe.each(FAMILIES)('$name: a payment after a backup that nothing in it explains', (family) => {
  it('reserves its coins only while the chain shows it', async () => {
    const before = await family.open();
    const { coin } = before.chain;
    await before.deposits([coin], 1 + family.lockBlocks);
    const backup = before.moment();
    const id = await before.withdraw(coin / 4n);
    await before.round();
    const [{ txid, raw } = { txid: null, raw: null }] = before.versions(id);
    await before.app.store.close();

    const pay: PayBench = await backup();
    await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, pay.bench.at, JUMP));
    await deriveAllSkipped(pay);
    await pay.chain.take(raw!);
    await pay.round();
    await takeOver(pay.app);
    expect(pay.alerts()).toMatchObject([{ kind: 'restore.unknown_spend' }]);
    await pay.chain.forget(txid!);
    await pay.round();
    const again = await pay.withdraw(coin / 2n);
    await pay.round();
    expect([pay.row(again).state, pay.row(again).problem]).toEqual(['broadcast', null]);
    await pay.chain.mine(1 + family.lockBlocks);
    await pay.round();
    expect(pay.row(again).state).toBe('completed');
    expect(pay.available()).toBe(pay.chain.unspent());
  });
});

describe.each(FAMILIES)('$name: everything, sent after a backup that knew nothing of it', (family) => {
  it('is paid by the same transaction once the chain has lost that, and it is asked for again', async () => {
    const before = await family.open();
    const { coin } = before.chain;
    await before.deposits([coin], 1 + family.lockBlocks);
    const backup = before.moment();
    const address = before.recipient();
    const id = await before.withdraw(null, address);
    await before.round();
    const [{ txid, raw } = { txid: null, raw: null }] = before.versions(id);
    await before.app.store.close();

    const pay: PayBench = await backup();
    await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, pay.bench.at, JUMP));
    await deriveAllSkipped(pay);
    await pay.chain.take(raw!);
    await pay.round();
    await takeOver(pay.app);
    await pay.chain.forget(txid!);
    await pay.round();
    const again = await pay.withdraw(null, address);
    await pay.round();
    expect([pay.row(again).state, pay.row(again).problem]).toEqual(['broadcast', null]);
    expect(pay.versions(again).map((one) => one.txid)).toEqual([txid]);
    expect(pay.chain.waiting()).toEqual([txid]);
    await pay.chain.mine(1 + family.lockBlocks);
    await pay.round();
    expect(pay.row(again)).toMatchObject({ state: 'completed', txid });
    expect(pay.chain.paidTo(address)).toEqual([txid]);
    expect(pay.available()).toBe(pay.chain.unspent());
    const unknown = { sql: "SELECT count(*) n FROM spend WHERE purpose = 'unknown'", bind: () => [] };
    expect(pay.app.store.get(unknown as never, {})).toEqual({ n: 0 });
  });
});

describe.each(FAMILIES.filter(({ hasCoins }) => hasCoins))('$name: a payment after a backup', (family) => {
  it('whose bytes nobody has any more is approved anew, and conflicts with what was sent', async () => {
    const { pay, paid } = await restored(family);
    const [{ id, txid, raw, address } = { id: 0, txid: '', raw: '', address: '' }] = paid;
    // as on the real chain, where the answer lacks the signatures
    Object.assign(pay.bench.chain.spending, { isWhole: false });
    await pay.chain.take(raw);
    await pay.round();
    await takeOver(pay.app);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', approved_by: 'restore', approval: null });
    await pay.chain.forget(txid);
    await pay.round();
    expect([pay.chain.waiting(), pay.versions(id).map((one) => one.raw)]).toEqual([[], [null]]);

    // the restored wallet did not sign it: what allows a higher fee alone would begin no payment
    const unapproved = pay.replace(id, 'speed-up', null, { anew: true, signs: () => false });
    await expect(unapproved).rejects.toMatchObject({ code: 'withdrawal.approval' });
    await pay.replace(id, 'speed-up', (await pay.feeRate()) * 2n, { anew: true });
    await pay.round();
    const [order] = pay.signer.orders;
    expect(order?.withdrawals).toMatchObject([{ approval: { by: 'operator', mac: 'mac' } }]);
    const [old, next] = pay.versions(id);
    expect(pay.keys(next!.id)).toEqual(expect.arrayContaining(pay.keys(old!.id)));
    await pay.chain.mine(1 + family.lockBlocks);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: next!.txid });
    expect(pay.chain.paidTo(address)).toEqual([next!.txid]);
  });
});

describe.each(FAMILIES.filter(({ hasCoins }) => hasCoins))('$name: everything, sent after a backup', (family) => {
  it('has its network fee in the books, though nothing of it came back', async () => {
    const before = await family.open();
    const { coin } = before.chain;
    await before.deposits([coin, coin], 1 + family.lockBlocks);
    const id = await before.withdraw(null);
    const backup = before.moment();
    await before.round();
    const [{ txid, raw, fee } = { txid: null, raw: null, fee: 0n }] = before.versions(id);
    await before.app.store.close();

    const pay: PayBench = await backup();
    await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, pay.bench.at, JUMP));
    await deriveAllSkipped(pay);
    await pay.chain.take(raw!);
    await pay.chain.mine(1 + family.lockBlocks);
    await pay.round();
    await takeOver(pay.app);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid, fee });
    expect(debitsOf(pay, txid!)).toEqual({ paid: 2n * coin - fee, fee });
  });
});
