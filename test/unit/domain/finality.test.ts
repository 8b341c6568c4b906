/** When a deposit is deep enough, in a final block or by its confirmations, and what is shown as required. */
import { describe, expect, it } from 'vitest';
import { FINALIZED } from '../../../daemon/domain/assets.ts';
import { isDeep, isStalled, shownRequired } from '../../../daemon/domain/finality.ts';

describe('a deposit', () => {
  const block = { depth: 3, height: 100, asset: 'USDT_ERC20' } as const;
  it.each([
    ['has its confirmations', { ...block, required: 3, finalized: null }, true],
    ['has one too few, in a final block', { ...block, required: 4, finalized: 100 }, false],
    ['is in the newest final block', { ...block, required: FINALIZED, finalized: 100 }, true],
    ['is in an older one', { ...block, required: FINALIZED, finalized: 101 }, true],
    ['is in none, however deep', { ...block, required: FINALIZED, finalized: 99, depth: 500 }, false],
    ['is in no block', { ...block, required: FINALIZED, finalized: 100, depth: 0, height: null }, false],
    ['has the depth instead', { ...block, required: FINALIZED, finalized: null, depth: 96 }, true],
    ['has one less than that', { ...block, required: FINALIZED, finalized: null, depth: 95 }, false],
    ['has that of BSC', { ...block, required: FINALIZED, finalized: null, depth: 240, asset: 'USDT_BEP20' }, true],
    ['has less on BSC', { ...block, required: FINALIZED, finalized: null, depth: 239, asset: 'USDT_BEP20' }, false],
  ] as const)('that %s is deep enough: %o', (_, given, isEnough) => {
    expect(isDeep(given)).toBe(isEnough);
  });

  it.each([
    [{ required: 3, confirmed: false, asset: 'BTC' }, 1, 3],
    [{ required: 3, confirmed: true, asset: 'BTC' }, 9, 3],
    [{ required: 3, confirmed: false, asset: 'LTC', maturity: 6 }, 4, 6],
    [{ required: 12, confirmed: false, asset: 'LTC', maturity: 6 }, 4, 12],
    [{ required: 1, confirmed: false, asset: 'BTC', maturity: 100 }, 7, 100],
    [{ required: 60, confirmed: false, asset: 'XMR', maturity: 10 }, 0, 60],
    [{ required: 0, confirmed: true, asset: 'XMR', maturity: 10 }, 0, 0],
    [{ required: 10, confirmed: false, asset: 'XMR', maturity: 60 }, 12, 60],
    [{ required: FINALIZED, confirmed: false, asset: 'PAXG' }, 0, 96],
    [{ required: FINALIZED, confirmed: false, asset: 'PAXG' }, 95, 96],
    [{ required: FINALIZED, confirmed: false, asset: 'PAXG' }, 96, 97],
    [{ required: FINALIZED, confirmed: true, asset: 'PAXG' }, 12, 12],
    [{ required: FINALIZED, confirmed: false, asset: 'BNB' }, 1, 15],
    [{ required: FINALIZED, confirmed: false, asset: 'BNB' }, 15, 16],
  ])('of %o at a depth of %i needs %i for display', (given, depth, shown) => {
    expect(shownRequired(given, depth)).toBe(shown);
  });
});

it.each([
  ['ETH', 1_192, 1_000, false],
  ['ETH', 1_193, 1_000, true],
  ['BSC', 1_200, 1_000, false],
  ['BSC', 1_201, 1_000, true],
  ['BSC', 9_999, null, false],
  ['BTC', 9_999, 1_000, false],
] as const)('%s at %i, with %s as the newest final block, is stalled: %s', (chain, height, finalized, stalled) => {
  expect(isStalled(chain, { height, finalized })).toBe(stalled);
});
