/** Two machines with one wallet: the new one signed some of what the lost one paid, before it learnt of that. */
import { expect } from 'vitest';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import type { PayBench } from './pay-bench.ts';
import type { PayFamily } from './pay-families.ts';
import { deriveAllSkipped, restored } from './restored-kit.ts';

export type Restored = Awaited<ReturnType<typeof restored>>;

/** The new machine has signed some of what the lost one paid, and no node takes it. */
export async function signed(family: PayFamily, choose: (made: Restored) => number[]): Promise<Restored> {
  const made = await restored(family);
  const { pay } = made;
  await takeOver(pay.app);
  pay.chain.refuses = () => 'the pool is full';
  const ids = choose(made);
  for (const id of ids) {
    await pay.approve(id);
    await pay.round();
  }
  expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'signed'));
  return made;
}

/** The source tells of what it was given, and the operator confirms the quarantine that it begins. */
export async function notice(pay: PayBench): Promise<void> {
  for (let i = 0; i < 2; i++) await pay.round();
  if (!quarantineOf(pay.app.store)) return;
  await deriveAllSkipped(pay);
  for (let i = 0; i < 2; i++) await pay.round();
  await takeOver(pay.app);
}

export async function bury(pay: PayBench, family: PayFamily): Promise<void> {
  await pay.chain.mine(BURIED_BLOCKS[pay.bench.chain.adapter.chain] + family.lockBlocks);
  for (let i = 0; i < 3; i++) await pay.round();
}

export async function takeAll({ chain }: PayBench, paid: Restored['paid']): Promise<void> {
  for (const { raw } of paid) await chain.take(raw);
}

/** Each is paid once, by the lost machine, and the balance is what is there. */
export function expectPaid(pay: PayBench, family: PayFamily, { paid, waiting }: Restored): void {
  for (const { id, txid, address } of paid) {
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid, problem: null, reason: null });
    expect(pay.chain.paidTo(address)).toEqual([txid]);
  }
  const { units, fee_held } = pay.row(waiting);
  expect(pay.available()).toBe(pay.chain.unspent() - units - (family.hasGas ? 0n : fee_held));
}

/** On an account chain: what the lost machine could have made with the nonce of a payment: it moves money within the wallet. */
export function movedWithin({ app, bench }: PayBench, raw: string): string {
  const own = [1, 2].map((id) => app.store.get(targetById, { id })!);
  const { address } = own.find((one) => !raw.toLowerCase().includes(one.address.toLowerCase()))!;
  const { feeAsset } = bench.chain.spending;
  return JSON.stringify({ ...JSON.parse(raw), to: { address, asset: feeAsset, units: '1000' } });
}
