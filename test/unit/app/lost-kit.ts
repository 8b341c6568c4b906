/** A service that was restored while no node has what the lost machine signed. */
import { expect } from 'vitest';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import { approveProposal, propose } from '../../../daemon/app/withdrawals/propose.ts';
import { reclaim as reclaimNow } from '../../../daemon/app/withdrawals/reclaim.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { Review } from '../../../daemon/operator/review.ts';
import { until } from '../../support/until.ts';
import type { PayBench } from './pay-bench.ts';
import type { PayFamily } from './pay-families.ts';
import { deriveAllSkipped, JUMP } from './restored-kit.ts';

export const REFUSED = 'it is not approved';

type Signed = { txid: string; raw: string };

/**
 * A withdrawal that was approved before the backup, and signed after it, or before it if `isSent`. `twice`: canceled, too, or signed anew
 * where that cannot be. Returns the service that was restored. Its node has shown it what was signed, and has it no more.
 */
export async function lost(family: PayFamily, twice: boolean, isSent = false) {
  const before = await family.open();
  const { coin } = before.chain;
  await before.deposits([coin, coin], 1 + family.lockBlocks);
  const backup = before.moment();
  const twin = await backup();
  const id = await before.withdraw(coin / 4n);
  const approved = before.moment();
  await before.round();
  const sent = before.moment();
  if (twice && family.replaces) await before.replace(id, 'cancel');
  else if (twice) await refuseFirst(before, id);
  await before.round();
  const signed = before.versions(id).map(({ txid, raw }): Signed => ({ txid: txid!, raw: raw! }));
  expect(signed).toHaveLength(twice ? 2 : 1);
  for (const one of [twin, before]) await one.app.store.close();

  const pay: PayBench = await (isSent ? sent : approved)();
  // as on the real chains, where the answer lacks the signatures
  Object.assign(pay.bench.chain.spending, { isWhole: false });
  await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, pay.bench.at, JUMP));
  await deriveAllSkipped(pay);
  for (const { raw } of signed) {
    if (!family.replaces) await forgetAll(pay);
    await pay.chain.take(raw);
    await pay.round();
  }
  await takeOver(pay.app);
  await pay.round();
  expect(pay.chain.waiting()).toEqual([signed.at(-1)!.txid]);
  // as a wallet does that did not sign it
  pay.signer.refuses = ({ purpose }) =>
    purpose === 'cancel' ? new Rejected('signer.differs', 'what was never signed needs no cancellation') : null;
  expect(pay.versions(id).map(({ txid }) => txid)).toEqual(signed.map(({ txid }) => txid));
  for (const { txid } of signed) await pay.chain.forget(txid);
  await pay.round();
  return { pay, id, signed };
}

async function forgetAll({ chain }: PayBench): Promise<void> {
  for (const txid of chain.waiting()) await chain.forget(txid);
}

/** Every node refuses what was signed, so that it is signed anew. */
async function refuseFirst(pay: PayBench, id: number): Promise<void> {
  const { txid } = pay.versions(id)[0]!;
  const { spending } = pay.bench.chain;
  const plan = spending.plan.bind(spending);
  // a simulated transaction is named by its plan, so that one with the same fee would be the same
  spending.plan = (request, limit) => plan({ ...request, feeRate: (request.feeRate * 11n) / 10n }, limit);
  Object.assign(spending, { signsAnew: true });
  pay.chain.refuses = (one) => (one.txid === txid ? 'invalid input' : null);
  await forgetAll(pay);
  for (let i = 0; i < 4; i++) await pay.round();
}

/** Takes the coins back as the operator does: shown, approved, signed and sent. */
export async function reclaim(pay: PayBench, id: number, feeRate: bigint | null = null): Promise<void> {
  const proposal = { kind: 'cancel', id: `${id}`, feeRate, anew: true } as const;
  const { preview } = await propose(pay.app, proposal);
  const { intents, until: ends, raw, outputs: shown } = preview!;
  expect(intents).toMatchObject([{ address: 'self', units: '0', sweep: false }]);
  if (raw !== null) {
    const outputs = shown.map(({ changeIndex }) => ({ change_index: changeIndex }));
    const given = { purpose: preview!.purpose, intents, raw, outputs, until: ends };
    const review = Review.of(given, { kind: 'reclaim' }, pay.app.now());
    expect(review).toMatchObject({ payments: [], coins: intents[0]!.coins });
    expect(() => Review.of(given, { kind: 'cancel' }, pay.app.now())).toThrow('it pays only ourselves');
  }
  const approvals = intents.map(
    ({ uuid, feeMax }) => [uuid, { feeMax: BigInt(feeMax), until: ends, units: null, mac: 'mac' }] as const,
  );
  const sent = approveProposal(pay.app, proposal, new Map(approvals));
  await until('it is planned', async () => pay.versions(id).at(-1)?.txid === null);
  await pay.round();
  expect(await sent).toMatchObject({ outcome: { sent: true, problem: null } });
}

/** The operator has the coins taken back: approved, not signed yet. */
export async function order(pay: PayBench, id: number): Promise<void> {
  const proposal = { kind: 'cancel', id: `${id}`, feeRate: null, anew: true } as const;
  const { intents, until: ends } = (await propose(pay.app, proposal)).preview!;
  const given = { feeMax: BigInt(intents[0]!.feeMax), until: ends, units: null, mac: 'mac' };
  await reclaimNow(pay.app, pay.stored(id), null, [intents[0]!.uuid, given]);
}

/** The same, and the wallet refuses it. */
export async function refusedReclaim(pay: PayBench, id: number): Promise<void> {
  const { refuses } = pay.signer;
  pay.signer.refuses = () => new Rejected('signer.approval', REFUSED);
  await order(pay, id);
  await pay.round();
  pay.signer.refuses = refuses;
}

/** Until what was signed now is as deep as the decision needs. */
export async function bury(pay: PayBench): Promise<void> {
  await pay.round();
  await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
  await pay.round();
}
