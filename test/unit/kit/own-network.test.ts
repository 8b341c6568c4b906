/** Which addresses are those of the internet. */
import { expect, it } from 'vitest';
import { isPublicAddress } from '../../../daemon/kit/own-network.ts';

it.each([
  ['8.8.8.8', true],
  ['10.0.0.1', false],
  ['127.0.0.1', false],
  ['0.0.0.0', false],
  ['2606:4700::1', true],
  ['fd00::1', false],
  ['::', false],
  // NAT64
  ['64:ff9b::808:808', true],
  ['64:ff9b::7f00:1', false],
  ['64:ff9b::a00:1', false],
  // 6to4
  ['2002:7f00:1::', false],
])('%s: %s', (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});
