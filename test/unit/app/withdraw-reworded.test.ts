/** Texts decide nothing: every message has other words here, and a withdrawal goes the same way. */
import { expect, it, vi } from 'vitest';
import type * as Messages from '../../../daemon/domain/messages.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { LTC } from './pay-families.ts';

vi.mock('../../../daemon/domain/messages.ts', async (original) => {
  const messages = await original<typeof Messages>();
  const message = (code: string, values: Messages.Message['values'] = {}): Messages.Message => ({
    code,
    values,
    text: `${Object.keys(values).join(' ')} in other words`,
  });
  return { ...messages, message };
});

it('a lost coin is told once, and its problem ends with the coin, whatever the words', async () => {
  const pay = await LTC.open();
  await pay.deposits([2n * pay.chain.coin], 5);
  const [young] = await pay.deposits([pay.chain.coin], 1);
  const id = await pay.withdraw((pay.chain.coin * 5n) / 2n);
  await pay.round();
  await pay.chain.undo(pay.chain.depthOf(young!.txid), [young!], []);
  await pay.sync();
  expect(pay.row(id)).toMatchObject({ problem: 'coin in other words', problem_template: { code: 'wait.coin_away' } });
  expect(pay.alerts()).toEqual([expect.objectContaining({ kind: 'withdrawal.coin_missing', subject: `${id}` })]);

  await pay.deposits([pay.chain.coin], 2);
  await pay.replace(id, 'speed-up');
  await pay.round();
  expect([pay.row(id).problem, pay.alerts()]).toEqual([null, []]);

  await pay.chain.mine(BURIED_BLOCKS.LTC);
  await pay.sync();
  expect(pay.row(id)).toMatchObject({ state: 'completed', problem: null });
});
