/**
 * Payments that a lost machine signed, and cancellations, which no node has any more: the operator is told, and ends each by a command.
 * At most one of all transactions of a payment confirms, whatever comes back.
 */
import { describe, expect, it } from 'vitest';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import { showWithdrawal } from '../../../daemon/app/withdrawals/lists.ts';
import { approveProposal, propose } from '../../../daemon/app/withdrawals/propose.ts';
import { previewReplacement, replace } from '../../../daemon/app/withdrawals/replace.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { message, textOf } from '../../../daemon/domain/messages.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { bury, lost, REFUSED, reclaim, refusedReclaim } from './lost-kit.ts';
import type { PayBench } from './pay-bench.ts';
import { FAMILIES } from './pay-families.ts';
import { deriveAllSkipped, JUMP } from './restored-kit.ts';

const LOST = textOf(message('wait.lost'));
const COINS = FAMILIES.filter(({ hasCoins }) => hasCoins);

describe.each(
  COINS.flatMap((family) =>
    [false, true]
      .filter((canceled) => !canceled || family.replaces)
      .map((canceled) => ({ family, canceled, name: family.name, what: canceled ? 'a cancellation' : 'a payment' })),
  ),
)('$name: $what of a lost machine that no node has any more', ({ family, canceled }) => {
  it('waits, and says what to do', async () => {
    const { pay, id } = await lost(family, canceled);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: LOST });
    expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.coin_missing', subject: `${id}` }]);
    expect(pay.signer.orders).toEqual([]);
    expect(showWithdrawal(pay.app, `${id}`).isReclaimed).toBe(false);
  });

  it('is over with that when a node shows it again', async () => {
    const { pay, id, signed } = await lost(family, canceled);
    await pay.chain.take(signed[0]!.raw);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
    expect(pay.alerts()).toEqual([]);
    await bury(pay);
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: signed[0]!.txid });
  });

  it('is paid anew, by what excludes all that was signed', async () => {
    const { pay, id } = await lost(family, canceled);
    await pay.replace(id, 'speed-up', null, { anew: true });
    await pay.round();
    const versions = pay.versions(id);
    const newest = versions.at(-1)!;
    for (const { id: other } of versions) {
      expect(pay.keys(newest.id).some((key) => pay.keys(other).includes(key))).toBe(true);
    }
    expect(pay.row(id).problem).toBeNull();
    await bury(pay);
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: newest.txid });
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([newest.txid]);
    expect(pay.available()).toBe(pay.chain.unspent());
    expect(pay.alerts()).toEqual([]);
  });

  it('has its coins taken back, which ends it once that is deep', async () => {
    const { pay, id } = await lost(family, canceled);
    await reclaim(pay, id);
    const versions = pay.versions(id);
    expect(versions.at(-1)).toMatchObject({ kind: 'cancel', problem: null });
    expect(showWithdrawal(pay.app, `${id}`).isReclaimed).toBe(true);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
    await pay.chain.mine();
    await pay.round();
    // until then another block could still have the payment
    expect(pay.row(id).state).toBe('broadcast');
    await bury(pay);
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: textOf(message('ended.canceled')) });
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([]);
    expect(pay.available()).toBe(pay.chain.unspent());
    expect(pay.alerts()).toEqual([]);
  });

  it('still says what to do once the wallet refused to take its coins back', async () => {
    const { pay, id } = await lost(family, canceled);
    await refusedReclaim(pay, id);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: LOST });
    expect(pay.alerts()).toContainEqual(expect.objectContaining({ kind: 'withdrawal.coin_missing', subject: `${id}` }));
  });

  it('is paid anew once the wallet refused to take its coins back, and is no longer shown as being canceled', async () => {
    const { pay, id } = await lost(family, canceled);
    await refusedReclaim(pay, id);
    expect(pay.row(id).cancel).toBe(canceled);
    await pay.replace(id, 'speed-up', null, { anew: true });
    expect(pay.row(id).cancel).toBe(false);
    await bury(pay);
    expect(pay.row(id)).toMatchObject({ state: 'completed', cancel: false, txid: pay.versions(id).at(-1)!.txid });
  });

  it('needs the balance for a higher fee, also once it was to be canceled', async () => {
    const { pay, id } = await lost(family, canceled);
    await refusedReclaim(pay, id);
    const proposal = { kind: 'speed-up', feeRate: null, anew: true } as const;
    const { intents, until: ends } = await previewReplacement(pay.app, pay.stored(id), proposal);
    const feeMax = pay.available() + pay.row(id).fee_held + 1n;
    const given = { feeMax, units: null, until: ends, mac: 'mac' };
    const call = replace(pay.app, pay.stored(id), proposal, new Map([[intents[0]!.uuid, given]]));
    await expect(call).rejects.toMatchObject({ code: 'withdrawal.insufficient' });
    expect(pay.row(id).cancel).toBe(canceled);
  });

  if (family.replaces) {
    it.each(['signer.approval', 'vault.missing'] as const)(
      'says so, too, where the wallet refused another transaction while it was seen (%s)',
      async (code) => {
        const { pay, id, signed } = await lost(family, canceled);
        const { txid, raw } = signed.at(-1)!;
        await pay.chain.take(raw);
        await pay.round();
        pay.signer.refuses = () => new Rejected(code, REFUSED);
        await pay.replace(id, 'speed-up');
        await pay.round();
        const refused = { kind: 'withdrawal.refused', subject: `${id}` };
        expect([pay.row(id).problem, pay.alerts()]).toMatchObject([REFUSED, [refused]]);
        await pay.chain.forget(txid);
        await pay.round();
        expect(pay.row(id).problem).toBe(LOST);
        expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.coin_missing', subject: `${id}` }, refused]);
      },
    );

    it('has them taken back with a higher fee by the same command', async () => {
      const { pay, id } = await lost(family, canceled);
      await reclaim(pay, id);
      const first = pay.versions(id).at(-1)!;
      await reclaim(pay, id, (await pay.feeRate()) * 4n);
      const second = pay.versions(id).at(-1)!;
      expect(second.fee > first.fee).toBe(true);
      expect(pay.chain.waiting()).toEqual([second.txid]);
      await bury(pay);
      expect(pay.row(id)).toMatchObject({ state: 'failed', reason: textOf(message('ended.canceled')) });
      expect(pay.available()).toBe(pay.chain.unspent());
    });
  }

  it('is paid, and once, when its payment comes back while its coins are taken back', async () => {
    const { pay, id, signed } = await lost(family, canceled);
    await reclaim(pay, id);
    const [payment] = signed;
    for (const txid of pay.chain.waiting()) await pay.chain.forget(txid);
    await pay.chain.take(payment!.raw);
    await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: payment!.txid });
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([payment!.txid]);
    expect(pay.available()).toBe(pay.chain.unspent());
  });
});

describe.each(COINS.filter(({ replaces }) => replaces))('$name: a payment that a lost machine canceled', (family) => {
  it('is not sent from the backup, neither beside its cancellation nor once no node has that', async () => {
    const { pay, id, signed } = await lost(family, true, true);
    expect(pay.versions(id).map(({ raw }) => raw)).toEqual([signed[0]!.raw, null]);
    expect([pay.chain.offered, pay.chain.waiting()]).toEqual([[], []]);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: LOST });
    expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.coin_missing', subject: `${id}` }]);
  });

  it('can have its coins taken back, or be paid anew', async () => {
    const taken = await lost(family, true, true);
    await reclaim(taken.pay, taken.id);
    await bury(taken.pay);
    expect(taken.pay.row(taken.id)).toMatchObject({ state: 'failed', reason: textOf(message('ended.canceled')) });
    const { pay, id } = await lost(family, true, true);
    await pay.replace(id, 'speed-up', null, { anew: true });
    await bury(pay);
    const paid = pay.versions(id).at(-1)!.txid;
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: paid });
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([paid]);
  });
});

describe.each(COINS.filter(({ replaces }) => !replaces))(
  '$name: a payment that a lost machine signed anew',
  (family) => {
    it('is not sent as it was before, and is paid anew by the operator', async () => {
      const { pay, id, signed } = await lost(family, true, true);
      expect(pay.versions(id).map(({ raw }) => raw)).toEqual([signed[0]!.raw, null]);
      expect([pay.chain.offered, pay.row(id).problem]).toEqual([[], LOST]);
      await pay.replace(id, 'speed-up', (await pay.feeRate()) * 2n, { anew: true });
      await bury(pay);
      const paid = pay.versions(id).at(-1)!.txid;
      expect(pay.row(id)).toMatchObject({ state: 'completed', txid: paid });
      expect(pay.chain.paidTo(pay.row(id).address)).toEqual([paid]);
    });
  },
);

describe.each(COINS.filter(({ replaces }) => replaces))('$name: coins that paid several withdrawals', (family) => {
  it('are shown to end all of them before they are taken back', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits([coin]);
    const [first, second] = [`${await pay.request(coin / 4n)}`, `${await pay.request(coin / 5n)}`];
    const batch = { kind: 'batch', ids: [first, second] } as const;
    const { intents, until: ends } = (await propose(pay.app, batch)).preview!;
    const approvals = intents.map(
      ({ uuid, feeMax }) => [uuid, { feeMax: BigInt(feeMax), until: ends, units: null, mac: 'mac' }] as const,
    );
    await approveProposal(pay.app, batch, new Map(approvals));
    await pay.round();
    const proposed = await propose(pay.app, { kind: 'cancel', id: second, feeRate: null, anew: true });
    expect(proposed.rows.map(({ id }) => `${id}`)).toEqual([second, first]);
    const texts = proposed.preview!.warnings.map(({ code, said }) => [code, textOf(said)]);
    expect(texts).toEqual([
      ['also_ends', `Its coins pay more than this withdrawal. These end with it, unpaid: ${first}`],
    ]);
  });
});

describe.each(FAMILIES.filter(({ hasCoins }) => !hasCoins))('$name: what a lost machine signed', (family) => {
  it('is known whole, and sent again, a cancellation too', async () => {
    const before = await family.open();
    const { coin } = before.chain;
    await before.deposits([coin, coin]);
    const id = await before.withdraw(coin / 4n);
    const approved = before.moment();
    await before.round();
    await before.replace(id, 'cancel');
    await before.round();
    const signed = before.versions(id);
    await before.app.store.close();
    const pay: PayBench = await approved();
    await pay.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, pay.bench.at, JUMP));
    await deriveAllSkipped(pay);
    for (const { raw } of signed) {
      await pay.chain.take(raw!);
      await pay.round();
    }
    await takeOver(pay.app);
    for (const { txid } of signed) await pay.chain.forget(txid!);
    await pay.round();
    expect(pay.chain.waiting()).toEqual([signed.at(-1)!.txid]);
    const proposal = { kind: 'cancel', id: `${id}`, feeRate: null, anew: true } as const;
    await expect(propose(pay.app, proposal)).rejects.toThrow('cancel it without --anew');
    await bury(pay);
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: textOf(message('ended.canceled')) });
  });
});
