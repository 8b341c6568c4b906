/**
 * Two machines with one wallet pay the same withdrawals, each in another order: what was signed here can never confirm, because the other
 * machine used its coin or nonce for another payment, and paid this one with another coin or nonce.
 */
import { describe, expect, it } from 'vitest';
import { reservedBy } from '../../../daemon/app/spends/facts.ts';
import { reject } from '../../../daemon/app/withdrawals/approve.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { bury, expectPaid, movedWithin, notice, signed, takeAll } from './displaced-kit.ts';
import { FAMILIES } from './pay-families.ts';

describe.each(FAMILIES)('$name: a withdrawal that two machines signed, each with another coin or nonce', (family) => {
  it('is paid by the transaction of the other machine, which is named', async () => {
    const made = await signed(family, ({ paid }) => [paid[1]!.id]);
    const { pay, paid } = made;
    await takeAll(pay, paid);
    await pay.chain.mine();
    await notice(pay);
    await bury(pay, family);
    expectPaid(pay, family, made);
    expect(pay.alerts().map((one) => one.message)).toContainEqual(
      expect.stringContaining(`${paid[1]!.txid}, which another machine with this wallet made, paid exactly`),
    );
  });

  it('is so where each machine signed two in another order', async () => {
    const made = await signed(family, ({ paid }) => [paid[1]!.id, paid[0]!.id]);
    const { pay, paid } = made;
    await takeAll(pay, paid);
    await pay.chain.mine();
    await notice(pay);
    await bury(pay, family);
    expectPaid(pay, family, made);
  });

  it('is so where the payment is seen before what displaced it', async () => {
    const made = await signed(family, ({ paid }) => [paid[1]!.id]);
    const { pay, paid } = made;
    // on an account chain blocks have them in the order of nonces
    for (const { raw } of family.hasCoins ? [...paid].reverse() : paid) {
      await pay.chain.take(raw);
      await notice(pay);
    }
    await pay.chain.mine();
    await notice(pay);
    await bury(pay, family);
    expectPaid(pay, family, made);
  });

  it('is not sent again once a reorganisation lost what displaced it, which nobody here knew, as it was paid', async () => {
    const made = await signed(family, ({ paid }) => [paid[1]!.id]);
    await made.pay.app.store.write((tx) => reject(made.pay.app, tx, `${made.paid[0]!.id}`, null));
    const { pay, paid } = made;
    const [own] = pay.versions(paid[1]!.id);
    await takeAll(pay, paid);
    await pay.chain.mine();
    await notice(pay);
    pay.chain.refuses = null;
    await pay.chain.undo(1, []);
    await pay.chain.forget(paid[0]!.txid);
    pay.chain.offered.splice(0);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(pay.chain.offered).not.toContain(own!.txid);
    expect(pay.row(paid[1]!.id)).toMatchObject({ state: 'broadcast' });
  });

  it('is one of two of the same amount to one recipient, and one payment pays one of them', async () => {
    const made = await signed(family, ({ paid }) => [paid[1]!.id]);
    const { pay, paid } = made;
    const [, second] = paid;
    const alike = await pay.request(pay.row(second!.id).units, second!.address);
    await takeAll(pay, paid);
    await pay.chain.mine();
    await notice(pay);
    await bury(pay, family);
    expect(pay.chain.paidTo(second!.address)).toEqual([second!.txid]);
    const both = [second!.id, alike].map((id) => pay.row(id));
    expect(both.filter(({ state }) => state === 'completed').map(({ txid }) => txid)).toEqual([second!.txid]);
    const other = both.find(({ state }) => state !== 'completed');
    const unpaid = { requested: null, failed: expect.stringContaining('compare before it is paid again') };
    expect(other).toMatchObject({ reason: unpaid[other!.state as keyof typeof unpaid], txid: null });
  });

  it('ends with a warning where the other machine did not pay it, or not yet', async () => {
    const { pay, paid } = await signed(family, ({ paid }) => [paid[1]!.id]);
    const [first, second] = paid;
    await takeAll(pay, [first!]);
    await pay.chain.mine();
    await notice(pay);
    await bury(pay, family);
    expect(pay.row(second!.id)).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining(
        `conflict: transaction ${first!.txid}, which another machine with this wallet made`,
      ),
    });
    await takeAll(pay, [second!]);
    await pay.chain.mine();
    await notice(pay);
    expect(pay.row(second!.id).state).toBe('failed');
    expect(pay.alerts().map((one) => one.message)).toContainEqual(
      expect.stringContaining(`as much as the failed withdrawal ${second!.id}, to its recipient`),
    );
  });
});

/**
 * Of Monero the chain shows no recipients, and an unknown spend is noted once the signer told its key image, which this bench's does not.
 */
const NOTED_LATE = FAMILIES.filter(({ name }) => name !== 'XMR');

describe.each(NOTED_LATE)(
  '$name: a withdrawal that two machines signed, each with another coin or nonce,',
  (family) => {
    it('is paid by the other machine where blocks have buried both before that machine is noticed', async () => {
      const made = await signed(family, ({ paid }) => [paid[1]!.id]);
      const { pay, paid } = made;
      await takeAll(pay, paid);
      await pay.chain.mine(BURIED_BLOCKS[pay.bench.chain.adapter.chain] + family.lockBlocks + 1);
      await notice(pay);
      await bury(pay, family);
      expectPaid(pay, family, made);
    });

    it('keeps no coin and no nonce once a reorganisation lost what displaced it for good', async () => {
      const made = await signed(family, ({ paid }) => [paid[1]!.id]);
      const { pay, paid, waiting } = made;
      const [first, second] = paid;
      for (const id of [first!.id, waiting]) await pay.reject(id);
      const [own] = pay.versions(second!.id);
      await takeAll(pay, paid);
      await pay.chain.mine();
      await notice(pay);
      pay.chain.refuses = null;
      await pay.chain.undo(1, []);
      await pay.chain.forget(first!.txid);
      for (let i = 0; i < 2; i++) await pay.round();
      const [key] = pay.keys(own!.id);
      expect(reservedBy(pay.app.store, pay.bench.chain, key!, 0)).toBeNull();
      // all that is left, so that it takes what became free
      const left = await pay.withdraw(family.hasCoins ? null : pay.chain.coin / 8n);
      for (let i = 0; i < 3; i++) await pay.round();
      expect(pay.keys(pay.versions(left)[0]!.id)).toContain(key);
      await bury(pay, family);
      expect(pay.row(left)).toMatchObject({ state: 'completed', problem: null });
      expect(pay.row(second!.id)).toMatchObject({ state: 'completed', txid: second!.txid });
      expect(pay.chain.paidTo(second!.address)).toEqual([second!.txid]);
      expect(pay.available()).toBe(pay.chain.unspent());
    });

    it('is completed by the payment that was signed here where a block has that one after all', async () => {
      const { pay, paid } = await signed(family, ({ paid }) => [paid[1]!.id]);
      const [first, second] = paid;
      await pay.reject(first!.id);
      const [own] = pay.versions(second!.id);
      await takeAll(pay, paid);
      await notice(pay);
      expect(pay.row(second!.id)).toMatchObject({ state: 'broadcast' });
      for (const { txid } of [...paid].reverse()) await pay.chain.forget(txid);
      await pay.chain.take(own!.raw!);
      await pay.round();
      await bury(pay, family);
      expect(pay.chain.paidTo(second!.address)).toEqual([own!.txid]);
      expect(pay.row(second!.id)).toMatchObject({ state: 'completed', txid: own!.txid, problem: null });
    });

    it('is told of as paid twice where blocks have both payments in the end', async () => {
      const { pay, paid } = await signed(family, ({ paid }) => [paid[1]!.id]);
      const [first, second] = paid;
      await pay.reject(first!.id);
      const [own] = pay.versions(second!.id);
      await takeAll(pay, paid);
      await notice(pay);
      await pay.chain.forget(first!.txid);
      await pay.chain.forget(second!.txid);
      await pay.chain.take(own!.raw!);
      await pay.chain.take(second!.raw);
      await pay.chain.mine();
      await pay.round();
      await bury(pay, family);
      expect(pay.row(second!.id).state).toBe('completed');
      const told = `both paid withdrawal ${second!.id}`;
      expect(pay.alerts().map((one) => one.message)).toContainEqual(expect.stringContaining(told));
    });
  },
);

describe.each(FAMILIES.filter(({ hasCoins }) => !hasCoins))(
  '$name: a withdrawal that two machines signed with one nonce',
  (family) => {
    it('is paid by the transaction of the other machine, which moved money within the wallet by the nonce', async () => {
      const { pay, paid } = await signed(family, ({ paid }) => [paid[1]!.id]);
      const [first, second] = paid;
      await pay.reject(first!.id);
      await pay.chain.take(movedWithin(pay, first!.raw));
      await pay.chain.take(second!.raw);
      await pay.chain.mine(BURIED_BLOCKS[pay.bench.chain.adapter.chain] + family.lockBlocks + 1);
      await notice(pay);
      await bury(pay, family);
      expect(pay.row(second!.id)).toMatchObject({ state: 'completed', txid: second!.txid, reason: null });
    });
  },
);
