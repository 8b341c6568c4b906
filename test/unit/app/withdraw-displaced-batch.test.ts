/** Two machines with one wallet, of which one pays several withdrawals at once, and the other by single transactions. */
import { describe, expect, it } from 'vitest';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import { batch, previewBatch } from '../../../daemon/app/withdrawals/batch.ts';
import { writeTransaction } from '../../adapters/fixtures/serial.ts';
import { bury, notice, type Restored, signed, takeAll } from './displaced-kit.ts';
import type { PayBench } from './pay-bench.ts';
import type { PayChain } from './pay-chain.ts';
import { BTC, LTC } from './pay-families.ts';
import { restored } from './restored-kit.ts';

type Paid = Restored['paid'][number];

async function approveBatch(pay: PayBench, ids: readonly number[]): Promise<void> {
  const names = ids.map(String);
  const { intents, until } = await previewBatch(pay.app, names);
  const given = intents.map(
    ({ uuid, feeMax }) => [uuid, { feeMax: BigInt(feeMax), until, units: null, mac: 'mac' }] as const,
  );
  await batch(pay.app, names, new Map(given));
  await pay.round();
}

describe.each([BTC, LTC])('$name: a payment of two that another transaction displaced', (family) => {
  /** The other machine paid one of the two with another coin, and what displaced the payment of both is lost. */
  const half = async () => {
    const made = await restored(family);
    const { pay, paid, waiting } = made;
    await takeOver(pay.app);
    pay.chain.refuses = () => 'the pool is full';
    await pay.reject(paid[0]!.id);
    await approveBatch(pay, [paid[1]!.id, waiting]);
    expect(pay.row(waiting).state).toBe('signed');
    await takeAll(pay, paid);
    await pay.chain.mine();
    await notice(pay);
    pay.chain.refuses = null;
    expect(pay.row(paid[1]!.id)).toMatchObject({ state: 'completed', txid: paid[1]!.txid });
    await pay.chain.undo(1, []);
    await pay.chain.forget(paid[0]!.txid);
    for (let i = 0; i < 2; i++) await pay.round();
    return made;
  };

  it('is paid anew without the one that the other machine paid', async () => {
    const { pay, paid, waiting } = await half();
    await pay.replace(waiting, 'speed-up', null, { anew: true });
    await pay.round();
    await bury(pay, family);
    expect(pay.chain.paidTo(paid[1]!.address)).toEqual([paid[1]!.txid]);
    expect(pay.row(waiting).state).toBe('completed');
  });

  it('is canceled without the one that the other machine paid', async () => {
    const { pay, paid, waiting } = await half();
    await pay.replace(waiting, 'cancel');
    await pay.round();
    await bury(pay, family);
    expect(pay.chain.paidTo(paid[1]!.address)).toEqual([paid[1]!.txid]);
    expect(pay.row(waiting).state).toBe('failed');
  });
});

describe.each([BTC, LTC])('$name: a transaction of another machine that spends the coins of two payments', (family) => {
  /** What pays these from the coins that the payments of two withdrawals were signed with here. */
  const both = async (pick: (paid: readonly Paid[]) => readonly Paid[]) => {
    const made = await signed(family, ({ paid }) => paid.map(({ id }) => id));
    const { pay, paid } = made;
    const chain = pay.chain as PayChain;
    const coins = paid.map(({ id }) => pay.keys(pay.versions(id)[0]!.id)[0]!);
    const outputs = pick(paid).map(({ id, address }) => ({
      units: pay.row(id).units,
      script: chain.scriptOf(address),
    }));
    const inputs = coins.map((coin) => ({ txid: coin.slice(0, 64), vout: Number(coin.slice(65)) }));
    const raw = writeTransaction({ inputs, outputs }).toString('hex');
    chain.take(raw);
    chain.mine();
    await notice(pay);
    await bury(pay, family);
    return { ...made, txid: chain.paidTo(pick(paid)[0]!.address)[0]! };
  };

  it('pays both', async () => {
    const { pay, paid, txid } = await both((paid) => paid);
    for (const { id } of paid) expect(pay.row(id)).toMatchObject({ state: 'completed', txid, reason: null });
  });

  it.each([0, 1])('pays the one whose recipient it pays (%i)', async (at) => {
    const { pay, paid, txid } = await both((paid) => [paid[at]!]);
    expect(pay.row(paid[at]!.id)).toMatchObject({ state: 'completed', txid, reason: null });
    expect(pay.row(paid[1 - at]!.id)).toMatchObject({ state: 'failed', reason: expect.stringContaining(txid) });
  });
});
