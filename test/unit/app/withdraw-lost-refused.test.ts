/** A payment in place of a lost machine's that every node refuses: the alert names what the operator can do. */
import { describe, expect, it } from 'vitest';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import { message, textOf } from '../../../daemon/domain/messages.ts';
import { bury, lost, order, reclaim } from './lost-kit.ts';
import type { PayBench } from './pay-bench.ts';
import { BCH, FAMILIES, XMR } from './pay-families.ts';

import { restored } from './restored-kit.ts';

const COINS = FAMILIES.filter(({ hasCoins }) => hasCoins);

/** The advice of the alert about a transaction that every node refuses. */
const adviceOf = (pay: PayBench): string | undefined =>
  pay
    .alerts()
    .find(({ kind }) => kind === 'withdrawal.not_sent')
    ?.message.split('It is offered again. ')[1];

describe.each(COINS.filter(({ replaces }) => !replaces))(
  '$name: what takes coins back, and every node refuses',
  (family) => {
    it('is not replaced by itself by a cancellation, which the wallet would refuse, but by the same command', async () => {
      const { pay, id } = await lost(family, false);
      Object.assign(pay.bench.chain.spending, { signsAnew: true });
      pay.chain.refuses = () => 'invalid input';
      await order(pay, id);
      for (let i = 0; i < 4; i++) {
        await pay.round();
        pay.bench.advance(3_600_000);
      }
      expect(pay.versions(id)).toMatchObject([{ kind: 'pay' }, { kind: 'cancel', problem: 'invalid input' }]);
      expect(adviceOf(pay)).toBe(textOf(message('advice.reclaim', { id })));
      expect(pay.row(id).problem).toBeNull();
      expect(pay.alerts().map(({ kind }) => kind)).not.toContain('withdrawal.refused');
      pay.chain.refuses = null;
      await reclaim(pay, id, (await pay.feeRate()) * 2n);
      await bury(pay);
      expect(pay.row(id)).toMatchObject({ state: 'failed', reason: textOf(message('ended.canceled')) });
    });
  },
);

describe.each(COINS)('$name: what was lost, and every node refuses', (family) => {
  it('has its coins taken back by the command that its alert names', async () => {
    const { pay, id } = await lost(family, false);
    pay.chain.refuses = () => 'invalid input';
    await order(pay, id);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(adviceOf(pay)).toBe(textOf(message('advice.reclaim', { id })));
    // what an alert is not to name
    await expect(pay.replace(id, 'speed-up', null, { anew: true })).rejects.toThrow('nothing is approved anew');
    await expect(pay.replace(id, 'cancel')).rejects.toThrow('being canceled already');
  });

  it('is told to be signed once more when it was paid anew, as nothing earlier is under way', async () => {
    const { pay, id } = await lost(family, false);
    pay.chain.refuses = () => 'invalid input';
    await pay.replace(id, 'speed-up', null, { anew: true });
    for (let i = 0; i < 3; i++) await pay.round();
    expect(adviceOf(pay)).toBe(textOf(message('advice.sign_anew', { id })));
  });
});

describe.each([BCH, XMR])('$name: a payment of a lost machine that every node refuses', (family) => {
  it('is told to be approved as a first one, which the wallet signs', async () => {
    const { pay, paid } = await restored(family);
    const [{ id, raw, txid }] = paid as [(typeof paid)[number]];
    await pay.chain.take(raw);
    await pay.round();
    await takeOver(pay.app);
    pay.chain.refuses = () => 'invalid input';
    await pay.chain.forget(txid);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(adviceOf(pay)).toBe(textOf(message('advice.pay_anew', { id })));
    pay.chain.refuses = null;
    await pay.replace(id, 'speed-up', (await pay.feeRate()) * 2n, { anew: true });
    await pay.round();
    expect(pay.chain.waiting()).toContain(pay.versions(id).at(-1)!.txid);
    expect(adviceOf(pay)).toBeUndefined();
  });
});
