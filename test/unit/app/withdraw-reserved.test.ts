/** The money of withdrawals that wait for a decision, which no other payment takes. */
import { describe, expect, it } from 'vitest';
import { approve, previewWithdrawal } from '../../../daemon/app/withdrawals/approve.ts';
import { textOf } from '../../../daemon/domain/messages.ts';
import { FAMILIES } from './pay-families.ts';

type Pay = Awaited<ReturnType<(typeof FAMILIES)[number]['open']>>;

/** Approves a sweep as it is shown now. Returns the most that it may take. */
async function approveAsShown(pay: Pay, id: number): Promise<bigint> {
  const { preview } = await previewWithdrawal(pay.app, `${id}`);
  const units = BigInt(preview!.intents[0]!.units);
  const given = { until: pay.app.now() + 86_400_000, mac: 'mac', feeMax: preview!.feeMax, units };
  await pay.app.store.write((tx) => approve(pay.app, tx, `${id}`, given));
  return units;
}

describe.each(FAMILIES)('$name: taking everything', (family) => {
  const DEPTH = 1 + family.lockBlocks;

  it('leaves what another withdrawal has reserved that waits for its approval', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits(family.hasCoins ? [4n * coin, coin] : [4n * coin], DEPTH);
    const waits = await pay.request(2n * coin);
    const reserved = pay.row(waits).units + (family.hasGas ? 0n : pay.row(waits).fee_held);
    const total = family.hasCoins ? 5n * coin : 4n * coin;
    const all = await pay.request(null);
    const most = await approveAsShown(pay, all);
    expect(most).toBe(family.hasCoins ? coin : total - reserved);
    await pay.round();
    expect(pay.row(all).state).toBe('broadcast');
    await pay.chain.mine(DEPTH);
    await pay.sync();
    await pay.approve(waits);
    await pay.round();
    expect(pay.row(waits)).toMatchObject({ state: 'broadcast', problem: null });
  });

  it('leaves it also where the other one was asked for after the approval', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits(family.hasCoins ? [4n * coin, coin] : [4n * coin], DEPTH);
    const first = await pay.request(3n * coin);
    const all = await pay.request(null);
    await pay.reject(first);
    await approveAsShown(pay, all);
    // its row has what was free when it was asked for
    const waits = await pay.request(2n * coin);
    await pay.round();
    expect(pay.row(all).units).toBeLessThanOrEqual(family.hasCoins ? coin : 2n * coin);
    await pay.chain.mine(DEPTH);
    await pay.sync();
    await pay.approve(waits);
    await pay.round();
    expect(pay.row(waits)).toMatchObject({ state: 'broadcast', problem: null });
  });
});

/** More than any payment needs. */
const CONFIRMED = 12;

describe.each(FAMILIES.filter(({ hasCoins }) => hasCoins))('$name: coins', (family) => {
  const DEPTH = 1 + family.lockBlocks;

  it('that cannot be divided keep a sweep waiting, in words, until the other withdrawal is decided', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits([4n * coin], DEPTH);
    const waits = await pay.request(coin);
    const all = await pay.request(null);
    const { preview, why } = await previewWithdrawal(pay.app, `${all}`);
    expect(preview).toBeNull();
    expect(textOf(why!)).toContain('reserved');
    await pay.reject(waits);
    expect(await approveAsShown(pay, all)).toBe(4n * coin);
    await pay.round();
    expect(pay.row(all).state).toBe('broadcast');
  });

  it('of a refund that waits are spent by no other payment', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    const [deposit] = await pay.deposits([3n * coin], DEPTH);
    await pay.deposits([coin], DEPTH);
    const outpoint = `${deposit!.txid}:0`;
    const refund = await pay.insert({
      outpoint,
      units: 3n * coin,
      sweep: true,
      state: 'requested',
      approval: null,
      origin: 'refund',
    });
    const id = await pay.withdraw(coin / 2n);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    await pay.chain.mine(CONFIRMED);
    await pay.sync();
    const all = await pay.request(null);
    expect(await approveAsShown(pay, all)).toBeLessThan(coin);
    await pay.reject(all);
    await approveAsShown(pay, refund);
    await pay.round();
    expect(pay.row(refund)).toMatchObject({ state: 'broadcast', problem: null });
  });
});
