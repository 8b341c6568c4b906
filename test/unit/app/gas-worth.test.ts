/** Which deposits a plan collects: none that costs more than it brings. */
import { expect, it } from 'vitest';
import { type Find, isWorth } from '../../../daemon/app/gas/finds.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';

const USD = 100_000_000n;
const ETH = assetOf('ETH');
const TETHER = assetOf('USDT_ERC20');
const at = { address: '0x', script: new Uint8Array(), branch: 0 as const, index: 1, units: {} };

it.each<[string, Partial<Find>, boolean]>([
  ['a token above the minimum and its cost', {}, true],
  ['a token below the minimum', { usd: USD }, false],
  ['a token whose gas costs more', { costUsd: 6n * USD }, false],
  ['a token while gas has no rate', { costUsd: null }, true],
  ['a token without a rate', { usd: null }, false],
  ['the coin above its cost', { asset: ETH, units: 8n }, true],
  ['the coin below its cost', { asset: ETH, units: 7n }, false],
])('%s', (_, given, collected) => {
  const usual = {
    asset: TETHER,
    at,
    units: 5_000_000n,
    usd: 5n * USD,
    fund: 0n,
    cost: 7n,
    costUsd: USD,
    isBusy: false,
  };
  expect(isWorth({ ...usual, ...given }, 2n * USD, ETH)).toBe(collected);
});
