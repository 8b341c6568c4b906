/** Which hosts follow from the origins of a client ID, and which URLs they let through. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allowsHost, hostsOf } from '../../../daemon/app/shops/clients.ts';
import type { Client } from '../../../daemon/app/shops/directory.ts';

it.each([
  [['https://shop.example'], ['shop.example']],
  [['https://www.shop.example', 'https://checkout.shop.example:8443'], ['shop.example']],
  [['https://www.shop.co.uk'], ['shop.co.uk']],
  [
    ['https://shop.github.io', 'https://www.shop.myshopify.com'],
    ['shop.github.io', 'shop.myshopify.com'],
  ],
  [['https://xn--bcher-kva.example'], ['xn--bcher-kva.example']],
  [
    ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'],
    ['localhost', '127.0.0.1', '[::1]'],
  ],
  [
    ['https://co.uk', 'https://github.io'],
    ['co.uk', 'github.io'],
  ],
  [
    ['http://abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrstuvwx.onion'],
    ['abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrstuvwx.onion'],
  ],
  [['nonsense'], []],
  [[], []],
])('the hosts of %j are %j', (origins, hosts) => {
  expect(hostsOf(origins)).toEqual(hosts);
});

const client = (hosts: string[]): Client => ({ id: 1, publicId: 'x', businessId: 1, origins: new Set(), hosts });

describe('a URL is let through', () => {
  it.each<[string, boolean]>([
    ['https://shop.example/x', true],
    ['https://SHOP.example:444/x', true],
    ['https://a.b.shop.example/', true],
    ['https://shop.example./', true],
    ['https://evilshop.example/', false],
    ['https://example/', false],
    ['https://shop.example.evil.example/', false],
    ['https://127.0.0.1/', false],
  ])('%s: %s', (url, allowed) => {
    expect(allowsHost(client(['shop.example']), url)).toBe(allowed);
    expect(allowsHost(client([]), url)).toBe(false);
  });

  it.each(['github.io', 'co.uk', 'localhost'])('below %s only at itself: others have their names there', (suffix) => {
    const own = client([suffix]);
    expect(allowsHost(own, `https://${suffix}/`)).toBe(true);
    expect(allowsHost(own, `https://you.${suffix}/`)).toBe(false);
  });

  it('exactly when its host ends in a listed one, at a dot', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/);
    fc.assert(
      fc.property(
        fc.array(label, { minLength: 1, maxLength: 4 }),
        fc.array(label, { minLength: 1, maxLength: 4 }),
        (a, b) => {
          const ends = a.length >= b.length && a.slice(-b.length).join() === b.join();
          expect(allowsHost(client([`${b.join('.')}.example`]), `https://${a.join('.')}.example/`)).toBe(ends);
        },
      ),
    );
  });
});
