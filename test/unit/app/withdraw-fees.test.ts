/** What is held for a fee is not more than anybody may approve, and what is shown can be approved. */

import { describe, expect, it, vi } from 'vitest';
import type { Preview } from '../../../daemon/app/withdrawals/approve.ts';
import { approve, previewWithdrawal } from '../../../daemon/app/withdrawals/approve.ts';
import { batch, previewBatch } from '../../../daemon/app/withdrawals/batch.ts';
import { estimateHighestFee, requestWithdrawal } from '../../../daemon/app/withdrawals/request.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { textIn, textOf } from '../../../daemon/domain/messages.ts';
import { previewJson } from '../../../daemon/http/operator/present-withdrawals.ts';
import { type OperatorRequest, Review, type ReviewRequest } from '../../../daemon/operator/review.ts';
import { COIN, PayBench } from './pay-bench.ts';

/** A coin more than anybody may approve: 0.1 BTC. */
const HELD = COIN;

/** `feeRate`: what blocks ask for, smallest units per 1,000 virtual bytes. */
async function bench(count: number, feeRate = 2_000n): Promise<{ pay: PayBench; ids: number[] }> {
  const pay = await PayBench.open();
  pay.chain.feeRate = feeRate;
  await pay.deposits([9n * COIN]);
  const ids: number[] = [];
  for (let i = 0; i < count; i++) ids.push(await pay.request(COIN));
  const held = { sql: `UPDATE withdrawal SET fee_held = '${HELD}'`, bind: () => [] };
  await pay.app.store.write((tx) => tx.run(held, {}));
  return { pay, ids };
}

/** As the operator's own program reads what it is given. */
const read = (pay: PayBench, preview: Preview, asked: OperatorRequest): Review =>
  Review.of(previewJson(preview) as ReviewRequest, asked, pay.app.now())!;

const warned = ({ warnings }: Preview) =>
  warnings.filter(({ code }) => code === 'fee_lowered').map(({ said }) => textOf(said));

describe('a fee that was held when blocks asked for far more', () => {
  it('is lowered to what may be approved, which is said, and the withdrawal is paid', async () => {
    const { pay, ids } = await bench(1);
    const [id = 0] = ids;
    const { preview } = await previewWithdrawal(pay.app, `${id}`);
    const review = read(pay, preview!, { kind: 'approve' });
    // twice what blocks ask for now
    expect([preview!.fee, preview!.feeMax, review.feeMax]).toEqual([282n, 564n, 564n]);
    expect(warned(preview!)).toEqual([expect.stringMatching(/^A fee of 1 was held for withdrawal \d+, more than/)]);
    const given = { feeMax: preview!.feeMax, units: null, until: preview!.until, mac: 'mac' };
    await pay.app.store.write((tx) => approve(pay.app, tx, `${id}`, given));
    expect(pay.row(id).fee_held).toBe(preview!.feeMax);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });

  it('so it is of several in one transaction, together', async () => {
    const { pay, ids } = await bench(3);
    const names = ids.map((id) => `${id}`);
    const preview = await previewBatch(pay.app, names);
    const review = read(pay, preview, { kind: 'batch', count: 3 });
    expect(review.feeMax).toBe(preview.feeMax);
    expect(warned(preview)).toHaveLength(3);
    const given = ({ feeMax }: { feeMax: string }) => ({
      feeMax: BigInt(feeMax),
      units: null,
      until: preview.until,
      mac: 'mac',
    });
    await batch(pay.app, names, new Map(preview.intents.map((intent) => [intent.uuid, given(intent)])));
    await pay.round();
    for (const id of ids) expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });
});

it('says what it waits for while blocks ask for more than may be approved', async () => {
  const { pay, ids } = await bench(1, 6_000_000n);
  const { preview, why } = await previewWithdrawal(pay.app, `${ids[0]}`);
  expect(preview).toBeNull();
  expect(textIn(why)).toMatch(/^Its fee would be 0\.00\d+ BTC now, and nobody may approve more than 0\.00\d+: wait/);
});

it('pays everything only up to the approved fee when blocks ask for more since, and the approver is shown the new one', async () => {
  const pay = await PayBench.open();
  pay.chain.feeRate = 2_000n;
  await pay.deposits([9n * COIN]);
  const id = await pay.request(null);
  const approved = async () => {
    const { preview } = await previewWithdrawal(pay.app, `${id}`);
    const { feeMax } = read(pay, preview!, { kind: 'approve' });
    await pay.approve(id, feeMax);
    return feeMax;
  };
  const before = await approved();
  pay.chain.feeRate = 200_000n;
  const later = performance.now() + 60_000;
  vi.spyOn(performance, 'now').mockReturnValue(later);
  try {
    await pay.round();
    expect(pay.signer.orders).toEqual([]);
    expect(pay.row(id)).toMatchObject({ state: 'approved', problem: expect.stringMatching(/fee/) });
    const now = await approved();
    expect(now).toBeGreaterThan(before * 10n);
    await pay.round();
    const [{ fee } = { fee: 0n }] = pay.versions(id);
    expect([pay.row(id).state, fee > before && fee <= now]).toEqual(['broadcast', true]);
  } finally {
    vi.restoreAllMocks();
  }
});

it('is never 0 for a request that was to be refused a moment ago', async () => {
  const pay = await PayBench.open();
  await pay.deposits([9n * COIN]);
  const { app } = pay;
  const [business] = app.directory.businesses();
  const wanted = { asset: assetOf('BTC'), units: COIN, address: pay.recipient(), origin: 'operator' } as const;
  const rate = await estimateHighestFee(app, business!, () => {
    throw new Rejected('refund.too_much', 'Nothing is left');
  });
  const request = app.store.write((tx) => requestWithdrawal(app, tx, business!, wanted, rate));
  await expect(request).rejects.toMatchObject({ name: 'Unavailable', message: 'The network fee is not known yet' });
});
