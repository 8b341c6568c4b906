/** Words decide nothing: every message has other words here, and a withdrawal goes the same way. */
import { beforeAll, expect, it } from 'vitest';
import { MESSAGES } from '../../../daemon/domain/messages.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { LTC } from './pay-families.ts';

beforeAll(() => {
  const words: Record<string, string> = MESSAGES;
  for (const code of Object.keys(words)) words[code] = 'in other words';
});

it('a lost coin is told once, and its problem ends with the coin, whatever the words', async () => {
  const pay = await LTC.open();
  await pay.deposits([2n * pay.chain.coin], 5);
  const [young] = await pay.deposits([pay.chain.coin], 1);
  const id = await pay.withdraw((pay.chain.coin * 5n) / 2n);
  await pay.round();
  await pay.chain.undo(pay.chain.depthOf(young!.txid), [young!], []);
  await pay.sync();
  expect(pay.stored(id).problem?.code).toBe('wait.coin_away');
  expect(pay.row(id).problem).toBe('in other words');
  expect(pay.alerts()).toEqual([expect.objectContaining({ kind: 'withdrawal.coin_missing', subject: `${id}` })]);

  await pay.deposits([pay.chain.coin], 2);
  await pay.replace(id, 'speed-up');
  await pay.round();
  expect([pay.row(id).problem, pay.alerts()]).toEqual([null, []]);

  await pay.chain.mine(BURIED_BLOCKS.LTC);
  await pay.sync();
  expect(pay.row(id)).toMatchObject({ state: 'completed', problem: null });
});
