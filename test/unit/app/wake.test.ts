/** Listeners for the workers' work: each hears of its own, in the order in which they began. */
import { expect, it } from 'vitest';
import { Wake } from '../../../daemon/app/wake.ts';

it('tells each listener of what it listens for, in the order in which they began', () => {
  const wake = new Wake();
  const told: string[] = [];
  wake.chain('mainnet:BTC'); // nobody listens yet
  wake.on({ chain: (key) => told.push(`first ${key}`), pool: () => told.push('pool') });
  wake.on({ chain: (key) => told.push(`second ${key}`), withdrawals: (key) => told.push(`pay ${key}`) });
  wake.chain('mainnet:LTC');
  wake.withdrawals('mainnet:ETH');
  wake.pool();
  expect(told).toEqual(['first mainnet:LTC', 'second mainnet:LTC', 'pay mainnet:ETH', 'pool']);
});

it.each(['webhooks', 'shopEvents', 'pool', 'business', 'allWithdrawals'] as const)(
  'tells of %s and of nothing else',
  (kind) => {
    const wake = new Wake();
    const told: string[] = [];
    wake.on({
      webhooks: () => told.push('webhooks'),
      shopEvents: () => told.push('shopEvents'),
      pool: () => told.push('pool'),
      business: () => told.push('business'),
      allWithdrawals: () => told.push('allWithdrawals'),
      chain: (key) => told.push(key),
      withdrawals: (key) => told.push(key),
    });
    wake[kind]();
    expect(told).toEqual([kind]);
  },
);
