/** The bytes of transactions and the roots of lists, beside EthereumJS's, which was written independently. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { Malformed } from '../../../daemon/chains/endpoints.ts';
import { type Fields, receiptBytes, senderOf, transactionBytes } from '../../../daemon/chains/evm/envelopes.ts';
import { hexOf, trieRoot } from '../../../daemon/chains/evm/trie.ts';
import { encodeRlp, numberBytes } from '../../../daemon/domain/rlp.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'nodes', 'node_modules', '@ethereumjs');
const hasYardstick = existsSync(FOLDER) || process.env.CI === 'true';
const load = <T>(name: string): Promise<T> =>
  import(pathToFileURL(join(FOLDER, name, 'dist', 'esm', 'index.js')).href) as Promise<T>;

type Trie = { put(key: Uint8Array, value: Uint8Array): Promise<void>; root(): Uint8Array };
type Signed = { serialize(): Uint8Array; getSenderAddress(): { bytes: Uint8Array }; toJSON(): Record<string, unknown> };
type Tx = { sign(key: Uint8Array): Signed };
type Maker = (fields: Record<string, unknown>, options: { common: object }) => Tx;
type Libraries = {
  mpt: { MerklePatriciaTrie: new () => Trie };
  tx: Record<string, Maker>;
  common: { Common: new (options: object) => object; Mainnet: object; Hardfork: Record<string, string> };
};

const word = (byte: string): string => `0x${byte.repeat(32)}`;
const TO = `0x${'22'.repeat(20)}`;
const KEY = new Uint8Array(32).fill(7);
const CALL = { nonce: 3, gasLimit: 90_000, to: TO, value: 10n ** 18n, data: '0xa9059cbb00ff' };
const FEES = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1n };
const ACCESS = [{ address: TO, storageKeys: [word('01'), word('00')] }];
const AUTHORIZATION = { chainId: '0x1', address: TO, nonce: '0x0', yParity: '0x1', r: word('0a'), s: word('0b') };

describe.skipIf(!hasYardstick)('transactions and lists, beside EthereumJS', () => {
  let libraries: Libraries;
  beforeAll(async () => {
    libraries = { mpt: await load('mpt'), tx: await load('tx'), common: await load('common') };
  });

  /** A transaction of EthereumJS, and its fields in the form of endpoints. */
  function made(maker: string, fields: Record<string, unknown>): { signed: Signed; told: Fields } {
    const { Common, Mainnet, Hardfork } = libraries.common;
    const crypto = { kzg: { loadTrustedSetup: () => 0 } };
    const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague, customCrypto: crypto });
    const signed = libraries.tx[maker]!({ ...CALL, ...fields }, { common }).sign(KEY);
    const { gasLimit, data, ...rest } = signed.toJSON();
    // it writes a zero in authorizations as no bytes, endpoints as a number
    const { authorizationList = [] } = fields;
    return { signed, told: { ...rest, gas: gasLimit, input: data, authorizationList } };
  }

  it.each<[string, string, Record<string, unknown>]>([
    ['of the first kind', 'createLegacyTx', { gasPrice: 5n }],
    ['of the first kind that makes a contract', 'createLegacyTx', { gasPrice: 5n, to: undefined }],
    ['of the first kind that calls nobody with nothing', 'createLegacyTx', { gasPrice: 0n, value: 0n, data: '0x' }],
    ['with a list of accesses', 'createAccessList2930Tx', { gasPrice: 5n, accessList: ACCESS }],
    ['with a base fee', 'createFeeMarket1559Tx', FEES],
    ['with a base fee and a list of accesses', 'createFeeMarket1559Tx', { ...FEES, accessList: ACCESS }],
    [
      'with blobs',
      'createBlob4844Tx',
      { ...FEES, maxFeePerBlobGas: 9n, blobVersionedHashes: [`0x01${'33'.repeat(31)}`] },
    ],
    ['with authorizations', 'createEOACode7702Tx', { ...FEES, authorizationList: [AUTHORIZATION] }],
  ])('make the same bytes and have the same sender: %s', (_, maker, fields) => {
    const { signed, told } = made(maker, fields);
    expect(hexOf(transactionBytes(told))).toBe(hexOf(signed.serialize()));
    expect(senderOf(told)).toBe(hexOf(signed.getSenderAddress().bytes));
    const other = { ...told, value: '0x7' };
    expect(hexOf(transactionBytes(other))).not.toBe(hexOf(signed.serialize()));
    expect(senderOf(other)).not.toBe(hexOf(signed.getSenderAddress().bytes));
  });

  it.each([0, 1, 2, 16, 17, 127, 128, 129, 200, 255, 256, 300])('make the same root of %s values', async (count) => {
    for (const length of [1, 30, 700]) {
      const values = Array.from({ length: count }, (_, i) => Buffer.alloc(length, `${i} `));
      const trie = new libraries.mpt.MerklePatriciaTrie();
      for (const [i, value] of values.entries()) await trie.put(encodeRlp(numberBytes(BigInt(i))), value);
      expect([length, await trieRoot(values, () => undefined)]).toEqual([length, hexOf(trie.root())]);
    }
  });
});

describe('transactions and receipts that are not known here', () => {
  const legacy = { nonce: '0x0', gasPrice: '0x1', gas: '0x5208', to: TO, value: '0x1', input: '0x' };
  const signed = { ...legacy, type: '0x0', v: '0x1b', r: '0x1', s: '0x1' };
  const receipt = { type: '0x2', status: '0x1', cumulativeGasUsed: '0x5208', logsBloom: '0x', logs: [] };

  it.each<[string, Fields]>([
    ['a later type', { ...signed, type: '0x5' }],
    ['no number', { ...signed, nonce: 'one' }],
    ['half a byte', { ...signed, input: '0x1' }],
    ['no signature', { ...signed, r: undefined }],
    ['a list that is none', { ...signed, type: '0x1', chainId: '0x1', accessList: {} }],
    ['an access of nothing', { ...signed, type: '0x1', chainId: '0x1', accessList: [null] }],
  ])('prove nothing: %s', (_, fields) => {
    expect(() => transactionBytes(fields)).toThrow(Malformed);
  });

  it('have no sender where nobody signed them', () => {
    expect(senderOf({ ...signed, r: '0x0', s: '0x0' })).toBeNull();
    expect(senderOf({ ...signed, v: '0x1' })).toBeNull();
  });

  it('prove nothing without the status or the events of a receipt', () => {
    expect(hexOf(receiptBytes(receipt))).toBe('0x02c60182520880c0');
    for (const change of [{ status: undefined }, { logs: null }, { logs: [7] }, { logsBloom: 7 }]) {
      expect(() => receiptBytes({ ...receipt, ...change })).toThrow(Malformed);
    }
  });
});
