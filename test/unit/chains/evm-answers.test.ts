/** Signed bytes that are put together again from an endpoint's answer, compared with those that viem signed. */
import { type parseSignature, parseTransaction, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { sendingOf, signedOf } from '../../../daemon/chains/evm/answers.ts';

const KEY = `0x${'01'.repeat(32)}` as const;

async function answered(nonce = 7) {
  const terms = { type: 'eip1559', chainId: 1, nonce, gas: 60_000n, to: `0x${'ab'.repeat(20)}` } as const;
  const fees = { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n, value: 5n } as const;
  const raw = await privateKeyToAccount(KEY).signTransaction({ ...terms, ...fees });
  const { r, s, yParity } = parseTransaction(raw) as ReturnType<typeof parseSignature>;
  const numbers = { chainId: 1n, nonce: BigInt(nonce), gas: terms.gas, ...fees };
  const fields = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, toHex(value)]));
  return {
    raw,
    value: { ...fields, type: '0x2', to: terms.to, input: '0x', accessList: [], r, s, yParity: toHex(yParity) },
  };
}

describe('a signed transaction in an answer', () => {
  it('is put together to the bytes that were signed', async () => {
    const { raw, value } = await answered();
    expect(toHex(signedOf(value) as Uint8Array)).toBe(raw);
  });

  it('is put together where the numbers of its signature begin with zeros, which some nodes leave out', async () => {
    const short = (text: string): boolean => text.startsWith('0x0');
    for (let nonce = 1, found = 0; found < 3; nonce++) {
      const { raw, value } = await answered(nonce);
      if (!short(value.r) && !short(value.s)) continue;
      found++;
      const least = (text: string): string => toHex(BigInt(text));
      expect(toHex(signedOf(value) as Uint8Array)).toBe(raw);
      expect(toHex(signedOf({ ...value, r: least(value.r), s: least(value.s) }) as Uint8Array)).toBe(raw);
    }
  });

  it.each([
    ['of the old type', { type: '0x0' }],
    ['with blobs', { type: '0x3' }],
    ['that makes a contract', { to: null }],
    ['that makes a contract, as some nodes tell it', { to: undefined }],
    ['with an access list', { accessList: [{ address: `0x${'cd'.repeat(20)}`, storageKeys: [] }] }],
  ])('%s is one of another program', async (_, change) => {
    const { value } = await answered();
    expect(signedOf({ ...value, ...change })).toBe('other');
  });
});

it.each([null, undefined])('a transaction that makes a contract has no recipient: %s', (to) => {
  const told = {
    hash: `0x${'1'.repeat(64)}`,
    from: `0x${'2'.repeat(40)}`,
    nonce: '0x0',
    to,
    value: '0x0',
    input: '0x60',
  };
  expect(sendingOf(told).to).toBeNull();
});
