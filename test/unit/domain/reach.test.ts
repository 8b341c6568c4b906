/** Who can open the payment pages, by the public address. */
import { expect, it } from 'vitest';
import { reachOf } from '../../../daemon/domain/reach.ts';

it.each([
  ['http://127.0.0.1:8480', 'computer'],
  ['http://localhost:8480', 'computer'],
  ['http://[::1]:8480', 'computer'],
  ['http://192.168.1.20:8480', 'network'],
  ['http://172.31.0.1', 'network'],
  ['http://172.32.0.1', 'everybody'],
  ['http://100.64.0.9', 'network'],
  ['http://[fd00::1]', 'network'],
  ['http://till.local', 'network'],
  ['http://nas', 'network'],
  ['https://pay.shop.example', 'everybody'],
  ['https://8.8.8.8', 'everybody'],
  [`http://${'a'.repeat(56)}.onion`, 'onion'],
])('%s: %s', (url, reach) => {
  expect(reachOf(url)).toBe(reach);
});
