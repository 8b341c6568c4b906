import { Transaction } from 'bitcoinjs-lib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ParsedTransaction,
  ParseError,
  parseHeader,
  parseTransaction,
  transactionsOf,
} from '../../../daemon/chains/utxo/block.ts';
import { hogExBlock } from '../../adapters/fixtures/hogex-block.ts';
import {
  compactSize,
  idOf,
  type Written,
  writeBlock,
  writeCoinbase,
  writeTransaction,
} from '../../adapters/fixtures/serial.ts';
import { cpuMs } from '../../bench/turns.ts';

/** The first block of Bitcoin, as published. */
const GENESIS =
  '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a' +
  '51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c010100000001000000000000000000000000000000000000000000000000000000000000' +
  '0000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f' +
  '66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b710' +
  '5cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000';

/** The signed transaction of BIP-143's example "Native P2WPKH". */
const BIP143 =
  '01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1dc26ba6a9cb' +
  '62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed' +
  '01eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb20600000000197' +
  '6a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988' +
  'ac000247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f' +
  '3358f51928d43c212a8caed02de67eebee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000';

const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex');
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const plain = (transaction: ParsedTransaction) => ({
  txid: transaction.txid(),
  inputs: transaction.inputs.map(({ txid, vout }) => `${txid}:${vout}`),
  outputs: transaction.outputs.map(({ units, script }) => ({ units, script: hexOf(script) })),
});

describe('blocks', () => {
  it("reads Bitcoin's first", () => {
    const bytes = bytesOf(GENESIS);
    expect(parseHeader(bytes)).toEqual({
      hash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
      previous: '00'.repeat(32),
      timeSeconds: 1_231_006_505,
    });
    const [coinbase, ...more] = transactionsOf(bytes, 'BTC');
    expect(more).toEqual([]);
    expect(coinbase?.txid()).toBe('4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b');
    expect(coinbase).toMatchObject({ coinbase: true, hogEx: false });
    expect(coinbase?.outputs.map(({ units }) => units)).toEqual([5_000_000_000n]);
  });

  it('reads a Litecoin block with a HogEx and an extension block as litecoind does', () => {
    const bytes = bytesOf(hogExBlock.hex);
    const { hash, previous, timeSeconds } = hogExBlock;
    expect(parseHeader(bytes)).toEqual({ hash, previous, timeSeconds });
    const transactions = [...transactionsOf(bytes, 'LTC')].map((one) => one!);
    expect(transactions.map(({ coinbase, hogEx }) => ({ coinbase, hogEx }))).toEqual([
      { coinbase: true, hogEx: false },
      { coinbase: false, hogEx: false },
      { coinbase: false, hogEx: true },
    ]);
    expect(transactions.map(plain).map((item, i) => (i === 0 ? { ...item, inputs: [] } : item))).toEqual(
      hogExBlock.transactions,
    );
    expect(() => [...transactionsOf(bytes, 'BTC')]).toThrow(ParseError);
  });

  it('refuses a HogEx that is not the last', () => {
    const [first, hogEx, last] = [
      writeCoinbase(1, Buffer.of(0x6a)),
      writeCoinbase(2, Buffer.of(0x6a)),
      writeCoinbase(3, Buffer.of(0x6a)),
    ];
    const bytes = writeTransaction(hogEx);
    const flagged = Buffer.concat([
      bytes.subarray(0, 4),
      bytesOf('0008'),
      bytes.subarray(4, -4),
      bytesOf('0000000000'),
    ]);
    const blockOf = (transactions: Buffer[], rest: string) => {
      const block = writeBlock({ previous: '00'.repeat(32), timeSeconds: 1, salt: 1, transactions });
      return Buffer.concat([block.bytes, bytesOf(rest)]);
    };
    const right = blockOf([writeTransaction(first), writeTransaction(last), flagged], '00');
    expect([...transactionsOf(right, 'LTC')].map((one) => one?.hogEx)).toEqual([false, false, true]);
    const wrong = blockOf([writeTransaction(first), flagged, writeTransaction(last)], '00');
    expect(() => [...transactionsOf(wrong, 'LTC')]).toThrow(/not the last transaction/);
  });

  it('refuses bytes after the last transaction', () => {
    const bytes = Buffer.concat([bytesOf(GENESIS), Buffer.of(0)]);
    expect(() => [...transactionsOf(bytes, 'BTC')]).toThrow('1 bytes after the last transaction');
  });

  it.each([
    ['GENESIS', GENESIS, 'BTC'],
    ['HogEx', hogExBlock.hex.slice(0, 1100), 'LTC'],
  ] as const)('refuses a block cut short anywhere (%s)', (_title, hex, chain) => {
    const bytes = bytesOf(hex);
    for (let length = 80; length < bytes.length; length++) {
      expect(() => [...transactionsOf(bytes.subarray(0, length), chain)]).toThrow(ParseError);
    }
    expect(() => parseHeader(bytes.subarray(0, 79))).toThrow(ParseError);
  });

  it.each([
    ['transactions', Buffer.concat([Buffer.alloc(80), bytesOf('feffffff7f')])],
    ['transactions (64 bits)', Buffer.concat([Buffer.alloc(80), bytesOf('ffffffffffffffffff')])],
    ['inputs', Buffer.concat([Buffer.alloc(80), bytesOf('0102000000feffffff7f'), Buffer.alloc(200)])],
    ['a script', Buffer.concat([Buffer.alloc(80), bytesOf('010200000001'), Buffer.alloc(36), bytesOf('fefffffeff')])],
  ])('refuses a hostile count of %s at once', (_what, bytes) => {
    const began = cpuMs();
    expect(() => [...transactionsOf(bytes, 'BTC')]).toThrow(ParseError);
    expect(cpuMs() - began).toBeLessThan(500);
  });
});

const script = fc.uint8Array({ maxLength: 300 });
const written: fc.Arbitrary<Written> = fc.record({
  version: fc.integer({ min: 0, max: 0x7fffffff }),
  lockTime: fc.nat(0xffff_ffff),
  inputs: fc.array(
    fc.record({
      txid: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hexOf),
      vout: fc.nat(0xffff_ffff),
      script,
      sequence: fc.nat(0xffff_ffff),
      witness: fc.array(script, { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 260 },
  ),
  outputs: fc.array(fc.record({ units: fc.bigInt(0n, 2_100_000_000_000_000n), script }), { maxLength: 260 }),
});

describe('transactions', () => {
  it('reads what BIP-143 publishes', () => {
    expect(plain(parseTransaction(bytesOf(BIP143), 'BTC'))).toEqual({
      txid: 'e8151a2af31c368a35053ddd4bdb285a8595c769a3ad83e0fa02314a602d4609',
      inputs: [
        '9f96ade4b41d5433f4eda31e1738ec2b36f6e7d1420d94a6af99801a88f7f7ff:0',
        '8ac60eb9575db5b2d987e29f301b5b819ea83a5c6579d282d189cc04b8e151ef:1',
      ],
      outputs: [
        { units: 112_340_000n, script: '76a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac' },
        { units: 223_450_000n, script: '76a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac' },
      ],
    });
  });

  it('reads back what was written, alone and in a block, on BTC and LTC', () => {
    fc.assert(
      fc.property(written, fc.constantFrom('BTC' as const, 'LTC' as const), (transaction, chain) => {
        const bytes = writeTransaction(transaction);
        const expected = {
          txid: idOf(transaction),
          inputs: transaction.inputs.map(({ txid, vout }) => `${txid}:${vout}`),
          outputs: transaction.outputs.map((output) => ({ units: output.units, script: hexOf(output.script) })),
        };
        expect(plain(parseTransaction(bytes, chain))).toEqual(expected);
        const coinbase = writeTransaction(writeCoinbase(1, Buffer.of(0x6a)));
        const block = writeBlock({
          previous: '11'.repeat(32),
          timeSeconds: 5,
          salt: 9,
          transactions: [coinbase, bytes],
        });
        expect(parseHeader(block.bytes)).toEqual({ hash: block.hash, previous: '11'.repeat(32), timeSeconds: 5 });
        expect([...transactionsOf(block.bytes, chain)].map((one) => one && plain(one))[1]).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('agrees with bitcoinjs-lib on ids and outputs', () => {
    fc.assert(
      fc.property(written, (transaction) => {
        const bytes = writeTransaction(transaction);
        const other = Transaction.fromBuffer(bytes);
        const parsed = plain(parseTransaction(bytes, 'BTC'));
        expect(parsed.txid).toBe(other.getId());
        expect(parsed.outputs).toEqual(
          other.outs.map(({ value, script: out }) => ({ units: value, script: hexOf(out) })),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('refuses a transaction cut short anywhere, and one with bytes left over', () => {
    const bytes = bytesOf(BIP143);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => parseTransaction(bytes.subarray(0, length), 'BTC')).toThrow(ParseError);
    }
    expect(() => parseTransaction(Buffer.concat([bytes, Buffer.of(0)]), 'BTC')).toThrow('1 bytes after a transaction');
  });

  it('ends on any bytes, with a transaction or a ParseError', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      // A real transaction with a few bytes changed goes deeper than noise does.
      fc
        .array(fc.tuple(fc.nat(bytesOf(BIP143).length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
        .map((changes) => {
          const bytes = bytesOf(BIP143);
          for (const [at, value] of changes) bytes[at] = value;
          return new Uint8Array(bytes);
        }),
    );
    fc.assert(
      fc.property(noise, fc.constantFrom('BTC' as const, 'LTC' as const, 'BCH' as const), (bytes, chain) => {
        try {
          expect(parseTransaction(Buffer.from(bytes), chain).inputs.length).toBeLessThan(20);
        } catch (error) {
          expect(error).toBeInstanceOf(ParseError);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    { chain: 'BTC' as const, flag: 2, reads: false },
    { chain: 'BTC' as const, flag: 8, reads: false },
    { chain: 'LTC' as const, flag: 8, reads: true },
    { chain: 'LTC' as const, flag: 4, reads: false },
    { chain: 'BCH' as const, flag: 1, reads: false },
  ])('on $chain takes the flag $flag: $reads', ({ chain, flag, reads }) => {
    // Version, marker and flag, no inputs, no outputs, an extension part of five bytes, lock time.
    const bytes = bytesOf(
      `02000000 00 ${flag.toString(16).padStart(2, '0')} 00 00 01 aabbccddee 00000000`.replaceAll(' ', ''),
    );
    if (reads) expect(plain(parseTransaction(bytes, chain))).toMatchObject({ inputs: [], outputs: [] });
    else expect(() => parseTransaction(bytes, chain)).toThrow(ParseError);
  });
});

describe('CashToken prefixes', () => {
  const category = '05'.repeat(32);
  const p2pkh = '76a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac';
  // Valid and invalid encodings after CHIP-2022-02-CashTokens.
  it.each([
    ['an amount of one byte', `ef${category}1001`, true],
    ['an amount of three bytes', `ef${category}10fdfd00`, true],
    ['an amount of five bytes', `ef${category}10fe00000100`, true],
    ['an amount of nine bytes', `ef${category}10ff0000000001000000`, true],
    ['an immutable token', `ef${category}20`, true],
    ['a mutable token', `ef${category}21`, true],
    ['a minting token with a commitment and an amount', `ef${category}7204deadbeef01`, true],
    ['no prefix', '', false],
    ['nothing that it says it has', `ef${category}00`, false],
    ['a reserved bit', `ef${category}90`, false],
    ['an unknown capability', `ef${category}23`, false],
    ['a capability without a token', `ef${category}1101`, false],
    ['a commitment without a token', `ef${category}5001aa01`, false],
    ['an empty commitment', `ef${category}6000`, false],
  ])('are told from scripts: %s', (_title, prefix, token) => {
    const field = bytesOf(prefix + p2pkh);
    const bytes = writeTransaction({
      inputs: [{ txid: category, vout: 1 }],
      outputs: [{ units: 1000n, script: field }],
    });
    const [output] = parseTransaction(bytes, 'BCH').outputs;
    expect(output?.token).toBe(token);
    expect(hexOf(output?.script ?? Buffer.of())).toBe(token ? p2pkh : prefix + p2pkh);
    expect(parseTransaction(bytes, 'BTC').outputs[0]?.token).toBe(false);
  });

  it('that run past the end of their field are none', () => {
    const field = Buffer.concat([bytesOf(`ef${category}60`), compactSize(50_000), Buffer.alloc(3)]);
    const bytes = writeTransaction({ inputs: [{ txid: category, vout: 1 }], outputs: [{ units: 1n, script: field }] });
    expect(parseTransaction(bytes, 'BCH').outputs[0]).toMatchObject({ token: false, units: 1n });
  });
});
