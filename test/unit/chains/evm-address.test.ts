/** EIP-55's vectors, and the address of a known key. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOfKey, checksumAddress, isValidAddress, scriptOf } from '../../../daemon/chains/evm/address.ts';

/** All of EIP-55's test cases. */
const EIP55 = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
];

describe('EVM addresses', () => {
  it.each(EIP55)('writes the checksum of %s', (address) => {
    const bytes = Uint8Array.from(Buffer.from(address.slice(2), 'hex'));
    expect(checksumAddress(bytes)).toBe(address);
    expect(scriptOf(address)).toEqual(bytes);
    expect(scriptOf(address.toLowerCase())).toEqual(bytes);
    expect(scriptOf(`0x${address.slice(2).toUpperCase()}`)).toEqual(bytes);
  });

  it('refuses every mixed-case address whose checksum is wrong', () => {
    const address = EIP55[4]!;
    const letters = [...address].flatMap((c, i) => (i > 1 && /[a-f]/i.test(c) ? [i] : []));
    const flipped = letters.map((i) => {
      const c = address.charAt(i);
      return address.slice(0, i) + (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()) + address.slice(i + 1);
    });
    expect(flipped.length).toBeGreaterThan(10);
    expect(flipped.filter(isValidAddress)).toEqual([]);
  });

  it.each([
    ['no prefix', EIP55[4]!.slice(2)],
    ['an upper-case prefix', EIP55[2]!.replace('0x', '0X')],
    ['39 digits', EIP55[2]!.slice(0, -1)],
    ['41 digits', `${EIP55[2]}0`],
    ['a letter that is no digit', EIP55[2]!.replace('d', 'g')],
    ['a space', ` ${EIP55[2]}`],
    ['a line break', `${EIP55[2]}\n`],
    ['nothing', ''],
  ])('refuses %s', (_, text) => {
    expect(isValidAddress(text)).toBe(false);
  });

  it('round-trips any 20 bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        expect(scriptOf(checksumAddress(bytes))).toEqual(bytes);
      }),
      { numRuns: 50 },
    );
  });

  it('knows the key of the generator point', () => {
    // Private key 1, whose address every implementation knows.
    const generator = Buffer.from('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798', 'hex');
    expect(addressOfKey(generator)).toEqual({
      address: '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf',
      script: Uint8Array.from(Buffer.from('7e5f4552091a69125d5dfcb7b8c2659029395bdf', 'hex')),
    });
  });
});
