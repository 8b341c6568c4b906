import { expect, it } from 'vitest';
import { macAt } from '../../../daemon/operator/keyholder.ts';

it('takes the MAC of what was asked, in its order', () => {
  expect(macAt(['ab', 'cd'], 0)).toBe('ab');
  expect(macAt(['ab', 'cd'], 1)).toBe('cd');
});

it.each([
  [[], 0],
  [['ab'], 1],
  [[''], 0],
])('never goes on without a MAC: %j at %d', (macs, at) => {
  expect(() => macAt(macs, at)).toThrow(`the signer made ${macs.length} MACs, and none for what was asked at ${at}`);
});
