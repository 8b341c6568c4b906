/**
 * Withdrawals that were approved anew after a restore and are not signed, while an old payment of the lost machine appears that uses
 * their coin or nonce: what it paid counts as paid, and the rest is paid by another transaction.
 */
import { describe, expect, it } from 'vitest';
import { MAY_BE_PAID } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import { reject } from '../../../daemon/app/withdrawals/approve.ts';
import { batch as approveBatch } from '../../../daemon/app/withdrawals/batch.ts';
import { propose } from '../../../daemon/app/withdrawals/propose.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { textOf } from '../../../daemon/domain/messages.ts';
import { versionByTxid } from '../../../daemon/store/queries/withdrawals.ts';
import type { PayBench } from './pay-bench.ts';
import { FAMILIES, XMR } from './pay-families.ts';
import { deriveAllSkipped, restored } from './restored-kit.ts';

/** More than the sets of withdrawals that are compared. */
const MANY = 25;

/** The wallet is locked, so that what the operator approves now is planned, and not signed. */
async function planned(pay: PayBench, ids: readonly number[]): Promise<string[]> {
  const { refuses } = pay.signer;
  pay.signer.refuses = () => new Rejected('signer.locked', 'the wallet is locked');
  if (ids.length === 1) await pay.approve(ids[0]!);
  else {
    const batch = { kind: 'batch', ids: ids.map(String) } as const;
    const { intents, until } = (await propose(pay.app, batch)).preview!;
    const given = intents.map(({ uuid, feeMax }) => {
      return [uuid, { feeMax: BigInt(feeMax), until, units: null, mac: 'mac' }] as const;
    });
    await approveBatch(pay.app, batch.ids, new Map(given));
  }
  await pay.pass();
  pay.signer.refuses = refuses;
  const [version] = pay.versions(ids.at(-1)!);
  expect(version).toMatchObject({ txid: null });
  return pay.keys(version!.id);
}

describe.each(
  FAMILIES.flatMap((family) =>
    [1, 2].filter((count) => count === 1 || family.hasCoins).map((count) => ({ family, count })),
  ),
)('$family.name: $count approved anew and not signed, whose coin or nonce an old payment used', ({ family, count }) => {
  it('are planned anew as far as it paid them not', async () => {
    const { pay, ids, paid, waiting } = await restored(family);
    await takeOver(pay.app);
    const [old] = paid;
    const keys = await planned(pay, count === 1 ? [waiting] : [old!.id, waiting]);
    await pay.chain.take(old!.raw);
    await pay.sync();
    await pay.pass(false);
    const known = pay.app.store.get(versionByTxid, { txid: old!.txid, chain_key: pay.bench.chain.key });
    expect(pay.keys(known!.id).some((key) => keys.includes(key))).toBe(true);
    for (let i = 0; i < 3; i++) {
      await pay.round();
      await pay.chain.mine(1 + family.lockBlocks);
    }
    await pay.round();
    expect(pay.row(old!.id)).toMatchObject({ state: 'completed', txid: old!.txid });
    expect(pay.row(waiting)).toMatchObject({ state: 'completed', problem: null });
    for (const id of [old!.id, waiting]) expect(pay.chain.paidTo(pay.row(id).address)).toEqual([pay.row(id).txid]);
    expect(ids.map((id) => pay.row(id).state)).toEqual(['completed', 'requested', 'completed']);
    const { units, fee_held } = pay.row(ids[1]!);
    expect(pay.available()).toBe(pay.chain.unspent() - units - (family.hasGas ? 0n : fee_held));
  });
});

describe.each(FAMILIES)(
  '$name: one of after the restore, like one that the lost machine paid with its coin',
  (family) => {
    it('begins the quarantine anew, as a running copy would pay it, and counts as paid then', async () => {
      const { pay, paid } = await restored(family);
      await takeOver(pay.app);
      const [old] = paid;
      const id = await pay.request(pay.row(old!.id).units, old!.address);
      await pay.app.store.write((tx) => reject(pay.app, tx, `${old!.id}`, null));
      await planned(pay, [id]);
      await pay.chain.take(old!.raw);
      for (let i = 0; i < 2; i++) await pay.round();
      expect(quarantineOf(pay.app.store)).not.toBeNull();
      expect(pay.alerts()).toMatchObject([{ kind: 'data.older', message: expect.stringContaining(old!.txid) }]);
      await deriveAllSkipped(pay);
      for (let i = 0; i < 3; i++) {
        await pay.chain.mine(1 + family.lockBlocks);
        await pay.round();
      }
      await takeOver(pay.app);
      for (let i = 0; i < 2; i++) await pay.round();
      expect(pay.row(id)).toMatchObject({ state: 'completed', approved_by: 'restore', txid: old!.txid, problem: null });
      expect(pay.chain.paidTo(old!.address)).toEqual([old!.txid]);
    });
  },
);

/** As of Monero: what goes to others shows neither recipient nor amount. */
function hide(pay: PayBench, paid: readonly { address: string }[]): void {
  const { spending } = pay.bench.chain;
  const decode = spending.decode.bind(spending);
  spending.decode = (raw) => {
    const { outputs, ...rest } = decode(raw);
    const isOthers = ({ address }: (typeof outputs)[number]) => paid.some((one) => one.address === address);
    const hidden = outputs.filter(isOthers).map((one) => ({ ...one, address: null, script: new Uint8Array() }));
    return { ...rest, outputs: [...outputs.filter((one) => !isOthers(one)), ...hidden], hidden: hidden.length };
  };
}

const ASKED = {
  state: 'requested',
  approved_by: null,
  approval: null,
  deadline_at: null,
  spend_id: null,
  problem: textOf(MAY_BE_PAID),
};

describe('an old payment of Monero, which shows no recipient', () => {
  it('has the operator asked again about all that it may have paid', async () => {
    const { pay, ids, paid } = await restored(XMR);
    await takeOver(pay.app);
    hide(pay, paid);
    await planned(pay, ids.slice(1));
    await pay.chain.take(paid[0]!.raw);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(ids.map((id) => pay.row(id))).toMatchObject(ids.map(() => ASKED));
    expect(pay.signer.orders).toEqual([]);
    expect(pay.alerts()).toMatchObject([
      { message: expect.stringContaining(`some of the withdrawals ${ids.join(', ')}`) },
    ]);
  });

  it.each([
    ['one recipient', true],
    ['others', false],
  ])('also where more are of its amount than are compared, the first ones to %s', async (_, isSame) => {
    const address = isSame ? (await XMR.open()).recipient() : undefined;
    const { pay, paid, waiting } = await restored(XMR, Array(MANY).fill(address));
    await takeOver(pay.app);
    hide(pay, paid);
    await planned(pay, [waiting]);
    await pay.chain.take(paid[0]!.raw);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(pay.row(waiting)).toMatchObject(ASKED);
    expect(pay.signer.orders).toEqual([]);
    expect(pay.alerts()).toMatchObject([{ message: expect.stringContaining('some of the withdrawals 1, 2,') }]);
  });
});
