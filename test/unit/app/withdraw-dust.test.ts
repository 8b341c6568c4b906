/** Money in more coins than one transaction may spend: everything leaves in several withdrawals, as the refusals say. */
import { expect, it } from 'vitest';
import { propose } from '../../../daemon/app/withdrawals/propose.ts';
import { textIn } from '../../../daemon/domain/messages.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { type CoinBench, PayBench } from './pay-bench.ts';

/** A coin is worth some times what it costs to spend. */
const COUNT = 620;
const UNITS = 1_000n;

async function withDust(chain: 'BTC' | 'LTC' | 'BCH'): Promise<CoinBench> {
  const pay = await PayBench.open(chain);
  const { app, bench } = pay;
  const to = app.store.get(targetById, { id: bench.unassigned() })!;
  for (let i = 0; i < COUNT; i++) pay.chain.deposit(to, UNITS);
  await pay.chain.mine(6);
  await pay.sync();
  expect(pay.available()).toBe(BigInt(COUNT) * UNITS);
  return pay;
}

/** Approves as the operator does. Returns why it cannot be paid; null: it is. */
async function send(pay: CoinBench, id: number): Promise<string | null> {
  const proposal = { kind: 'pay', id: `${id}`, speed: 'normal' } as const;
  const { preview, why } = await propose(pay.app, proposal);
  if (preview === null) return textIn(why);
  await pay.approve(id, preview.feeMax);
  await pay.pass();
  await pay.sync();
  await pay.chain.mine();
  await pay.sync();
  return pay.row(id).problem;
}

it.each(['BTC', 'LTC', 'BCH'] as const)('%s', async (chain) => {
  const pay = await withDust(chain);
  const to = pay.recipient();
  const paid: number[] = [];
  for (;;) {
    const all = await pay.request(null, to);
    const why = await send(pay, all);
    if (why === null) {
      expect(pay.row(all).state).toBe('completed');
      break;
    }
    await pay.reject(all);
    expect(why).toContain('Withdraw up to');
    const [, amount] = /Withdraw up to (0\.\d+) (?:BTC|LTC|BCH) at a time/.exec(why)!;
    const id = await pay.request(BigInt(Math.round(Number(amount) * 1e8)), to);
    expect(await send(pay, id)).toBeNull();
    expect(pay.row(id)).toMatchObject({ state: 'completed', problem: null });
    paid.push(id);
  }
  expect(paid.length).toBeLessThan(4);
  expect(pay.available()).toBe(0n);
  expect(pay.chain.unspent()).toBe(0n);
});
