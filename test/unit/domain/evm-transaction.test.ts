/** The bytes of transactions with a base fee, against viem, and against forms that no node accepts. */
import fc from 'fast-check';
import { encodeFunctionData, erc20Abi, fromRlp, type Hex, serializeTransaction, toRlp } from 'viem';
import { describe, expect, it } from 'vitest';
import { Rejected } from '../../../daemon/domain/errors.ts';
import {
  type EvmTransaction,
  parseTransaction,
  signedBytes,
  transactionOf,
  transferData,
  transferOf,
  unsignedBytes,
} from '../../../daemon/domain/evm-transaction.ts';
import { decodeRlp, encodeRlp, type Rlp } from '../../../daemon/domain/rlp.ts';
import type { EvmPlan } from '../../../daemon/domain/spend.ts';

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`;
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replace('0x', ''), 'hex'));
const sized = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

const { item: anyItem } = fc.letrec<{ item: Rlp }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'rlp' },
    fc.oneof(fc.uint8Array({ maxLength: 70 }), fc.uint8Array({ minLength: 250, maxLength: 300 })),
    fc.array(tie('item'), { maxLength: 5, depthIdentifier: 'rlp' }),
  ),
}));
const transactions: fc.Arbitrary<EvmTransaction> = fc.record({
  chainId: fc.constantFrom(1n, 56n, 1337n, 11_155_111n),
  nonce: fc.nat().map(BigInt),
  maxPriorityFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 64n }),
  maxFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 64n }),
  gasLimit: fc.bigInt({ min: 21_000n, max: 1_000_000n }),
  to: sized(20),
  value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  data: fc.oneof(fc.constant(new Uint8Array()), fc.uint8Array({ minLength: 68, maxLength: 68 })),
});
const asHex = (item: Rlp): unknown => (item instanceof Uint8Array ? hex(item) : item.map(asHex));

describe('RLP', () => {
  it('is as viem has it, both ways', () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        const encoded = encodeRlp(item);
        expect(hex(encoded)).toBe(toRlp(asHex(item) as Hex));
        expect(asHex(decodeRlp(encoded))).toEqual(fromRlp(hex(encoded)));
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['nothing', ''],
    ['a byte too many', '0102'],
    ['a small byte with a prefix', '8105'],
    ['a length that fits into the prefix', 'b80161'],
    ['a length with a leading zero', `b90038${'61'.repeat(56)}`],
    ['less than its length', '83616263'.slice(0, 6)],
    ['a list whose item ends outside', 'c283ff'],
    ['55 bytes with a length of their own', `b837${'61'.repeat(55)}`],
    ['a length of 8 bytes', 'bfffffffffffffffff'],
    ['a length of 8 bytes for 56', `bf0000000000000038${'61'.repeat(56)}`],
    ['half of a length', 'b9ff'],
    ['half of a length in a list', 'c2b93801'],
    ['lists in lists without end', 'c6c5c4c3c2c1c0'],
  ])('refuses %s', (_, text) => {
    expect(() => decodeRlp(bytes(text))).toThrow(new Rejected('spend.malformed', 'The bytes are not RLP'));
  });

  it.each<[string, Rlp]>([
    ['7f', Uint8Array.of(0x7f)],
    ['8180', Uint8Array.of(0x80)],
    [`b838${'61'.repeat(56)}`, new Uint8Array(56).fill(0x61)],
    ['c4c3c2c1c0', [[[[[]]]]]],
  ])('has %s as its only form', (text, item) => {
    expect(decodeRlp(bytes(text))).toEqual(item);
    expect(encodeRlp(item)).toEqual(bytes(text));
  });
});

describe('a transaction', () => {
  it('has the bytes and the id that viem gives it, unsigned and signed', () => {
    const signatures = fc.record({ yParity: fc.constantFrom(0 as const, 1 as const), r: sized(32), s: sized(32) });
    fc.assert(
      fc.property(transactions, signatures, (transaction, signature) => {
        const { to, data, ...numbers } = transaction;
        // viem refuses a tip above the whole fee
        fc.pre(numbers.maxPriorityFeePerGas <= numbers.maxFeePerGas && signature.r[0] !== 0 && signature.s[0] !== 0);
        const { gasLimit: gas, chainId, nonce, ...fees } = numbers;
        const ids = { chainId: Number(chainId), nonce: Number(nonce) };
        const theirs = { type: 'eip1559', ...ids, ...fees, gas, to: hex(to), data: hex(data) } as const;
        const unsigned = unsignedBytes(transaction);
        expect(hex(unsigned)).toBe(serializeTransaction(theirs));
        expect(parseTransaction(unsigned)).toEqual({ transaction, signature: null });
        const { yParity, r, s } = signature;
        const signed = signedBytes(transaction, signature);
        expect(hex(signed)).toBe(serializeTransaction(theirs, { yParity, r: hex(r), s: hex(s) }));
        expect(parseTransaction(signed)).toEqual({ transaction, signature });
      }),
      { numRuns: 100 },
    );
  });

  const recipient = new Uint8Array(20).fill(0x35);
  const fields: Rlp[] = [1, 0, 1, 1, 1].map((one) => (one ? Uint8Array.of(one) : new Uint8Array()));
  const whole: Rlp[] = [...fields, recipient, new Uint8Array(), new Uint8Array(), []];
  const signature = [1, 1, 1].map((one) => Uint8Array.of(one));
  const raw = (item: Rlp): Uint8Array => Uint8Array.of(2, ...encodeRlp(item));
  const other = (at: number, field: Rlp): Rlp => whole.map((one, i) => (i === at ? field : one));

  it.each<[string, Uint8Array, string]>([
    [
      'a legacy one',
      bytes('e98080825208943535353535353535353535353535353535353535880de0b6b3a764000080018080'),
      'another type',
    ],
    ['nothing', new Uint8Array(), 'another type'],
    ['one of another type', Uint8Array.of(3, ...encodeRlp(whole)), 'another type'],
    ['a string', raw(recipient), 'other fields'],
    ['one without its last field', raw(whole.slice(0, -1)), 'other fields'],
    ['half a signature', raw([...whole, ...signature.slice(1)]), 'other fields'],
    ['a field too many', raw([...whole, ...signature, recipient]), 'other fields'],
    ['one that makes a contract', raw(other(5, new Uint8Array())), 'no recipient'],
    ['a recipient of 21 bytes', raw(other(5, new Uint8Array(21))), 'no recipient'],
    ['one with an access list', raw(other(8, [[recipient, []]])), 'an access list'],
    ['one without an access list', raw(other(8, new Uint8Array())), 'an access list'],
    ['a list as a number', raw(other(1, [])), 'a list among its fields'],
    ['a list as data', raw(other(7, [])), 'a list among its fields'],
    ['a number with a leading zero', raw(other(6, Uint8Array.of(0))), 'a number that is not canonical'],
    ['a number of 33 bytes', raw(other(6, new Uint8Array(33).fill(1))), 'a number that is not canonical'],
    ['a parity of 2', raw([...whole, Uint8Array.of(2), ...signature.slice(1)]), 'another parity'],
  ])('refuses %s', (_, spoiled, why) => {
    const refusal = new Rejected('spend.malformed', `The bytes are no transaction with a base fee: ${why}`);
    expect(() => parseTransaction(spoiled)).toThrow(refusal);
    expect(parseTransaction(raw(whole)).transaction.to).toEqual(recipient);
  });

  it('refuses a byte behind it', () => {
    expect(() => parseTransaction(Uint8Array.of(...raw(whole), 0))).toThrow('The bytes are not RLP');
  });

  const plan: EvmPlan = {
    kind: 'evm',
    network: 'mainnet',
    chain: 'BSC',
    accountNo: 0,
    asset: 'BNB',
    contract: null,
    sender: { branch: 1, index: 0, address: '' },
    nonce: 7n,
    lowestNonce: 6n,
    gasLimit: 21_000n,
    maxFeePerGas: 5n,
    maxPriorityFeePerGas: 2n,
    outputs: [{ kind: 'payout', address: '', script: recipient, units: 9n }],
    fee: 105_000n,
  };
  const common = { chainId: 56n, nonce: 7n, maxPriorityFeePerGas: 2n, maxFeePerGas: 5n, gasLimit: 21_000n };

  it("of a plan sends the chain's coin, or calls the token", () => {
    const data = new Uint8Array();
    expect(transactionOf(plan)).toEqual({ ...common, to: recipient, value: 9n, data });
    const contract = `0x${'00'.repeat(2)}${'a7'.repeat(18)}`;
    expect(transactionOf({ ...plan, contract })).toEqual({
      ...common,
      to: bytes(contract),
      value: 0n,
      data: transferData(recipient, 9n),
    });
  });

  it.each([0, 2])('is not made of a plan with %i recipients', (count) => {
    const outputs = Array.from({ length: count }, () => plan.outputs[0]!);
    expect(() => transactionOf({ ...plan, outputs })).toThrow('a transaction has one recipient');
  });
});

describe("a token's transfer", () => {
  it('has the call data that viem makes, and no other call is one', () => {
    fc.assert(
      fc.property(sized(20), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.nat(67), (to, units, at) => {
        const data = transferData(to, units);
        expect(hex(data)).toBe(encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [hex(to), units] }));
        expect(transferOf(data)).toEqual({ to, units });
        // in the selector and in the padding of the address every byte counts
        const spoiled = data.map((byte, i) => (i === at ? byte ^ 1 : byte));
        if (at < 16) expect(transferOf(spoiled)).toBeNull();
        expect(transferOf(data.subarray(0, at))).toBeNull();
        expect(transferOf(Uint8Array.of(...data, at))).toBeNull();
      }),
      { numRuns: 50 },
    );
    const tooMuch = new RangeError('a number of more than 32 bytes');
    expect(() => transferData(new Uint8Array(20), 2n ** 256n)).toThrow(tooMuch);
  });
});
