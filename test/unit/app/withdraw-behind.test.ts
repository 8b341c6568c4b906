/**
 * Facts that arrive behind the place up to which the search for payments of a lost machine has come, on every kind of chain: what it
 * paid is found all the same, and is not paid once more.
 */

import { describe, expect, it } from 'vitest';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { takeOver } from '../../../daemon/app/withdrawals/restored-spends.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
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
