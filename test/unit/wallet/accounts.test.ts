/** Account derivation: BIP-32, BIP-84 and Ledger-Monero vectors, and known first addresses of "abandon … about". */
import { ed25519 } from '@noble/curves/ed25519.js';
import { HDKey } from '@scure/bip32';
import { beforeAll, describe, expect, it } from 'vitest';
import { addressOfKey as evmTargetOf } from '../../../daemon/chains/evm/address.ts';
import { childPublicKey } from '../../../daemon/chains/hd.ts';
import { addressOfKey } from '../../../daemon/chains/utxo/address.ts';
import { CHAINS, type ChainId, NETWORKS } from '../../../daemon/domain/assets.ts';
import { subaddress } from '../../../daemon/monero/address.ts';
import { accountKey, masterFingerprint } from '../../../daemon/wallet/accounts.ts';
import { seedOf } from '../../../daemon/wallet/mnemonic.ts';

let seed: Buffer;
beforeAll(async () => {
  seed = await seedOf(`${'abandon '.repeat(11)}about`, '');
});

const hex = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString('hex');

describe('the derivation in use', () => {
  /** BIP-32 test vectors 1, 3 and 4; the last two tell whether leading zeros are kept. */
  it.each([
    [
      '000102030405060708090a0b0c0d0e0f',
      "m/0'/1/2'/2/1000000000",
      'xprvA41z7zogVVwxVSgdKUHDy1SKmdb533PjDz7J6N6mV6uS3ze1ai8FHa8kmHScGpWmj4WggLyQjgPie1rFSruoUihUZREPSL39UNdE3BBDu76',
      'xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy',
    ],
    [
      'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542',
      "m/0/2147483647'/1/2147483646'/2",
      'xprvA2nrNbFZABcdryreWet9Ea4LvTJcGsqrMzxHx98MMrotbir7yrKCEXw7nadnHM8Dq38EGfSh6dqA9QWTyefMLEcBYJUuekgW4BYPJcr9E7j',
      'xpub6FnCn6nSzZAw5Tw7cgR9bi15UV96gLZhjDstkXXxvCLsUXBGXPdSnLFbdpq8p9HmGsApME5hQTZ3emM2rnY5agb9rXpVGyy3bdW6EEgAtqt',
    ],
    [
      '4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4acba45d239319ac14f863b8d5ab5a0d0c64d2e8a1e7d1457df2e5a3c51c73235be',
      "m/0'",
      'xprv9uPDJpEQgRQfDcW7BkF7eTya6RPxXeJCqCJGHuCJ4GiRVLzkTXBAJMu2qaMWPrS7AANYqdq6vcBcBUdJCVVFceUvJFjaPdGZ2y9WACViL4L',
      'xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y',
    ],
    [
      '3ddd5602285899a946114506157c7997e5444528f3003f6134712147db19b678',
      "m/0'/1'",
      'xprv9xJocDuwtYCMNAo3Zw76WENQeAS6WGXQ55RCy7tDJ8oALr4FWkuVoHJeHVAcAqiZLE7Je3vZJHxspZdFHfnBEjHqU5hG1Jaj32dVoS6XLT1',
      'xpub6BJA1jSqiukeaesWfxe6sNK9CCGaujFFSJLomWHprUL9DePQ4JDkM5d88n49sMGJxrhpjazuXYWdMf17C9T5XnxkopaeS7jGk1GyyVziaMt',
    ],
  ])('takes the BIP-32 vector %#', (vectorSeed, path, xprv, xpub) => {
    const node = HDKey.fromMasterSeed(Buffer.from(vectorSeed, 'hex')).derive(path);
    expect([node.privateExtendedKey, node.publicExtendedKey]).toEqual([xprv, xpub]);
  });
});

describe('accounts on mainnet', () => {
  it('are BIP-84’s on BTC', () => {
    const versions = { private: 0x04b2430c, public: 0x04b24746 };
    const zpub =
      'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
    const node = HDKey.fromExtendedKey(zpub, versions);
    const account = accountKey(seed, 'BTC', 'mainnet', 0);
    expect(account).toEqual({ kind: 'secp256k1', publicKey: hex(node.publicKey), chainCode: hex(node.chainCode) });
    const addresses = (
      [
        [0, 0],
        [0, 1],
        [1, 0],
      ] as const
    ).map(([branch, index]) => addressOfKey(childPublicKey(account, branch, index), 'BTC', 'mainnet').address);
    expect(addresses).toEqual([
      'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu',
      'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g',
      'bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el',
    ]);
  });

  it('are the usual ones on LTC, BCH, ETH and BSC', () => {
    const key = (chain: ChainId) => childPublicKey(accountKey(seed, chain, 'mainnet', 0), 0, 0);
    expect([
      addressOfKey(key('LTC'), 'LTC', 'mainnet').address,
      addressOfKey(key('BCH'), 'BCH', 'mainnet').address,
      evmTargetOf(key('ETH')).address,
      evmTargetOf(key('BSC')).address,
    ]).toEqual([
      'ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh',
      'bitcoincash:qqyx49mu0kkn9ftfj6hje6g2wfer34yfnq5tahq3q6',
      '0x9858EfFD232B4033E47d90003D41EC34EcaEda94',
      '0x9858EfFD232B4033E47d90003D41EC34EcaEda94',
    ]);
  });

  it('are Ledger’s on Monero', () => {
    const account = accountKey(seed, 'XMR', 'mainnet', 0);
    expect(account).toEqual({
      kind: 'monero',
      privateViewKey: '0f3fe25d0c6d4c94dde0c0bcc214b233e9c72927f813728b0f01f28f9d5e1201',
      publicSpendKey: 'dae41d6b13568fdd71ec3d20c2f614c65fe819f36ca5da8d24df3bd89b2bad9d',
    });
    // The published private spend key has that public half.
    const spend = Buffer.from('3b094ca7218f175e91fa2402b4ae239a2fe8262792a3e718533a1a357a1e4109', 'hex').reverse();
    expect(ed25519.Point.BASE.multiply(BigInt(`0x${spend.toString('hex')}`)).toHex()).toBe(
      'dae41d6b13568fdd71ec3d20c2f614c65fe819f36ca5da8d24df3bd89b2bad9d',
    );
    expect(subaddress(account, 0, 0, 'mainnet').address).toBe(
      '49vDbkSo7eve3J41sBdjvjaBUyz8qHohsQcGtRf63qEUTMBvmA45fpp5pSacMdSg7A3b71RejLzB8EkGbfjp5PELVF2N4Zn',
    );
  });
});

describe('accounts of other networks', () => {
  const publicKeyAt = (path: string) => hex(HDKey.fromMasterSeed(seed).derive(path).publicKey);

  it.each(['testnet', 'regtest', 'sandbox'] as const)('have coin type 1 on every chain of %s', (network) => {
    const keys = (['BTC', 'LTC', 'BCH', 'ETH', 'BSC'] as const).map((chain) => accountKey(seed, chain, network, 3));
    const [bip84, bip44] = [publicKeyAt("m/84'/1'/3'"), publicKeyAt("m/44'/1'/3'")];
    expect(keys.map((key) => key.kind === 'secp256k1' && key.publicKey)).toEqual([bip84, bip84, bip44, bip44, bip44]);
  });

  it('share no key with mainnet', () => {
    const keysOf = (network: (typeof NETWORKS)[number]) =>
      CHAINS.map((chain) => JSON.stringify(accountKey(seed, chain, network, 0)));
    const live = new Set(keysOf('mainnet'));
    const test = NETWORKS.filter((network) => network !== 'mainnet').flatMap(keysOf);
    expect(test.filter((key) => live.has(key))).toEqual([]);
  });
});

describe('account numbers', () => {
  it('give accounts of their own', () => {
    const keys = CHAINS.flatMap((chain) =>
      [0, 1, 2].map((account) => JSON.stringify(accountKey(seed, chain, 'mainnet', account))),
    );
    // ETH and BSC share theirs.
    expect(new Set(keys).size).toBe((CHAINS.length - 1) * 3);
  });

  it.each([-1, 0.5, 2 ** 31])('cannot be %d', (account) => {
    expect(() => accountKey(seed, 'BTC', 'mainnet', account)).toThrow('an account is from 0');
  });

  it('leave the seed as it was', () => {
    const before = seed.toString('hex');
    accountKey(seed, 'XMR', 'mainnet', 0);
    accountKey(seed, 'BTC', 'mainnet', 0);
    expect(seed.toString('hex')).toBe(before);
  });
});

describe('the fingerprint', () => {
  it('is BIP-32’s of the master key', () => {
    expect(masterFingerprint(seed)).toBe('73c5da0a');
  });
});
