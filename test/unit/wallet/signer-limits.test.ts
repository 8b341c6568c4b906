/** The limits that no approval exceeds: the fees of each family, by size and in all, and the time of an approval. */
import { describe, expect, it } from 'vitest';
import type { SpendPlan } from '../../../daemon/domain/spend.ts';
import {
  APPROVAL_MS,
  approvableFee,
  FEE_UNLIMITED,
  feeLimit,
  gasFeeLimit,
  moneroFeeLimit,
  needTimely,
} from '../../../daemon/wallet/signer/limits.ts';

const HOUR = 3_600_000;
const many = (length: number) => Array.from({ length }, () => ({}));
const scripts = (...lengths: number[]) => lengths.map((length) => ({ script: new Uint8Array(length) }));

describe('the highest fee', () => {
  it.each([
    ['BTC', 2, [22, 34], (18n + 2n * 69n + 31n + 43n) * 5_000n],
    ['LTC', 1, [22], (18n + 69n + 31n) * 5_000n],
    ['BCH', 3, [25], (18n + 3n * 149n + 34n) * 500n],
    ['BTC', 27, [50], 9_700_000n],
    ['BTC', 29, [22], 10_000_000n],
    ['BCH', 1_400, [25], 100_000_000n],
  ] as const)('of %s for %i inputs and outputs of %o bytes is %s', (chain, inputs, outputs, most) => {
    expect(feeLimit(chain, { inputs: many(inputs), outputs: scripts(...outputs) }, false)).toBe(most);
  });

  it.each([
    ['BTC', 10_000_000n],
    ['LTC', 1_000_000_000n],
    ['BCH', 100_000_000n],
  ] as const)('of %s to ourselves alone is that of any size', (chain, most) => {
    expect(feeLimit(chain, { inputs: many(1), outputs: scripts(22) }, true)).toBe(most);
  });

  it.each([
    ['ETH', 21_000n, 42_000_000_000_000_000n],
    ['ETH', 50_000n, 100_000_000_000_000_000n],
    ['ETH', 65_000n, 100_000_000_000_000_000n],
    ['BSC', 65_000n, 13_000_000_000_000_000n],
    ['BSC', 1_000_000n, 100_000_000_000_000_000n],
  ] as const)('of %s for %s gas is %s', (chain, gas, most) => expect(gasFeeLimit(chain, gas)).toBe(most));

  it.each([
    [1, 2, 145_000_000_000n],
    [2, 3, 215_000_000_000n],
    [20, 2, 1_000_000_000_000n],
    [21, 2, 1_000_000_000_000n],
  ])('of Monero for %i inputs and %i outputs is %s', (inputs, outputs, most) => {
    expect(moneroFeeLimit({ inputs: many(inputs), outputs: many(outputs) })).toBe(most);
  });

  it('that can be approved is that of the plan', () => {
    const [script] = scripts(22);
    const [change, payout] = [
      { kind: 'change', ...script },
      { kind: 'payout', ...script },
    ];
    const utxo = { kind: 'utxo', chain: 'BTC', inputs: many(1) };
    const inputs = many(1);
    const plans = [
      { ...utxo, outputs: [payout, change] },
      { ...utxo, outputs: [change] },
      { ...utxo, chain: 'XMR', outputs: [change] },
      { kind: 'evm', chain: 'BSC', gasLimit: 65_000n },
      { kind: 'monero', inputs, outputs: many(2) },
      { kind: 'sandbox' },
      { kind: 'sandbox-account' },
    ];
    expect(plans.map((plan) => approvableFee(plan as unknown as SpendPlan))).toEqual([
      745_000n,
      10_000_000n,
      FEE_UNLIMITED,
      13_000_000_000_000_000n,
      145_000_000_000n,
      FEE_UNLIMITED,
      FEE_UNLIMITED,
    ]);
    expect(FEE_UNLIMITED).toBe(2n ** 256n);
  });
});

it.each([
  [0, 'has expired'],
  [1, null],
  [APPROVAL_MS + HOUR, null],
  [APPROVAL_MS + HOUR + 1, 'up to seven days'],
])('an approval until %i milliseconds from now is refused: %s', (ahead, why) => {
  const now = Date.UTC(2026, 0);
  if (why === null) expect(() => needTimely(now + ahead, now)).not.toThrow();
  else expect(() => needTimely(now + ahead, now)).toThrow(why);
});
