/** BIP-32's public derivation: the published vectors, and equality with private derivation on random paths. */
import { HDKey } from '@scure/bip32';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childPublicKey, deriveChild, INDEX_MAX, parentOf } from '../../../daemon/chains/hd.ts';
import type { AccountKey, Branch } from '../../../daemon/domain/chain.ts';

const hex = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString('hex');
const accountOf = (node: HDKey): AccountKey => ({
  kind: 'secp256k1',
  publicKey: hex(node.publicKey),
  chainCode: hex(node.chainCode),
});

/** The steps of BIP-32's test vectors 1 and 2 that are not hardened (3 and 4 have none): parent, index, child. */
const PUBLIC_STEPS: [string, number, string][] = [
  [
    'xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9xv5ski8PX9rL2dZXvgGDnw',
    1,
    'xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hqck2AxYysAA7xmALppuCkwQ',
  ],
  [
    'xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5',
    2,
    'xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV',
  ],
  [
    'xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV',
    1_000_000_000,
    'xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy',
  ],
  [
    'xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB',
    0,
    'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH',
  ],
  [
    'xpub6ASAVgeehLbnwdqV6UKMHVzgqAG8Gr6riv3Fxxpj8ksbH9ebxaEyBLZ85ySDhKiLDBrQSARLq1uNRts8RuJiHjaDMBU4Zn9h8LZNnBC5y4a',
    1,
    'xpub6DF8uhdarytz3FWdA8TvFSvvAh8dP3283MY7p2V4SeE2wyWmG5mg5EwVvmdMVCQcoNJxGoWaU9DCWh89LojfZ537wTfunKau47EL2dhHKon',
  ],
  [
    'xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDMzQLcgJvLJuZZvRcEL',
    2,
    'xpub6FnCn6nSzZAw5Tw7cgR9bi15UV96gLZhjDstkXXxvCLsUXBGXPdSnLFbdpq8p9HmGsApME5hQTZ3emM2rnY5agb9rXpVGyy3bdW6EEgAtqt',
  ],
];

describe('public child derivation', () => {
  it.each(PUBLIC_STEPS)('takes the BIP-32 step %# of the vectors', (parent, index, child) => {
    const from = HDKey.fromExtendedKey(parent);
    const to = HDKey.fromExtendedKey(child);
    const node = deriveChild(parentOf({ publicKey: from.publicKey!, chainCode: from.chainCode! }), index);
    expect([hex(node.publicKey), hex(node.chainCode)]).toEqual([hex(to.publicKey), hex(to.chainCode)]);
  });

  it('derives what the private keys derive', () => {
    const index = fc.oneof(fc.integer({ min: 0, max: INDEX_MAX }), fc.constantFrom(0, 1, INDEX_MAX));
    const seed = fc.uint8Array({ minLength: 16, maxLength: 64 });
    fc.assert(
      fc.property(seed, fc.constantFrom<Branch>(0, 1), index, (seedBytes, branch, i) => {
        const account = HDKey.fromMasterSeed(seedBytes).derive("m/84'/1'/0'");
        const expected = account.deriveChild(branch).deriveChild(i);
        // Twice: from a fresh branch node and from the cached one.
        for (let round = 0; round < 2; round++) {
          expect(hex(childPublicKey(accountOf(account), branch, i))).toBe(hex(expected.publicKey));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('keeps accounts and branches apart', () => {
    const [a, b] = [1, 2].map((fill) => accountOf(HDKey.fromMasterSeed(Buffer.alloc(32, fill))));
    const keys = [a!, b!].flatMap((account) =>
      ([0, 1] as const).map((branch) => hex(childPublicKey(account, branch, 7))),
    );
    expect(new Set(keys).size).toBe(4);
  });

  it('stays right when more accounts are used than the cache holds', () => {
    const master = HDKey.fromMasterSeed(Buffer.alloc(32, 3));
    const account = accountOf(master);
    const before = hex(childPublicKey(account, 0, 5));
    for (let i = 0; i < 600; i++) {
      // Chain codes of any value make distinct accounts without another derivation.
      const other: AccountKey = {
        kind: 'secp256k1',
        publicKey: hex(master.publicKey),
        chainCode: i.toString(16).padStart(64, '0'),
      };
      childPublicKey(other, 0, 0);
    }
    expect(hex(childPublicKey(account, 0, 5))).toBe(before);
  });

  it.each([-1, 0.5, 2 ** 31, Number.NaN])('refuses index %d', (index) => {
    const account = accountOf(HDKey.fromMasterSeed(Buffer.alloc(32, 1)));
    expect(() => childPublicKey(account, 0, index)).toThrow('index from 0 to 2^31 - 1');
  });

  it.each<[string, AccountKey]>([
    ['a Monero account', { kind: 'monero', privateViewKey: '00'.repeat(32), publicSpendKey: '00'.repeat(32) }],
    ['a short chain code', { kind: 'secp256k1', publicKey: `02${'11'.repeat(32)}`, chainCode: '00' }],
    ['text that is no hex', { kind: 'secp256k1', publicKey: 'zz'.repeat(33), chainCode: '00'.repeat(32) }],
    ['a point off the curve', { kind: 'secp256k1', publicKey: `02${'ff'.repeat(32)}`, chainCode: '00'.repeat(32) }],
  ])('refuses %s', (_, account) => {
    expect(() => childPublicKey(account, 0, 0)).toThrow();
  });
});
