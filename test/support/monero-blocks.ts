/** Blocks of Monero as a node sends them in its binary form, written for tests alone. */
import { parseBlock } from '../../daemon/monero/block.ts';
import { parseTransaction } from '../../daemon/monero/transaction.ts';
import { varint } from '../../daemon/monero/varint.ts';
import { paying } from './monero-outputs.ts';

const HEAD = Buffer.from('011101010101020101', 'hex');
const [UINT64, STRING, BOOL, SECTION, LIST] = [5, 10, 11, 12, 0x80];

function lengthOf(count: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(count * 4 + 2);
  return bytes;
}

function written(value: unknown): [type: number, bytes: Buffer] {
  if (typeof value === 'boolean') return [BOOL, Buffer.from([value ? 1 : 0])];
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return [UINT64, bytes];
  }
  if (typeof value === 'string' || value instanceof Uint8Array) {
    const bytes = Buffer.from(value as string);
    return [STRING, Buffer.concat([lengthOf(bytes.length), bytes])];
  }
  if (Array.isArray(value)) {
    const values = value.map(written);
    return [
      LIST | (values[0]?.[0] ?? STRING),
      Buffer.concat([lengthOf(value.length), ...values.map(([, one]) => one)]),
    ];
  }
  return [SECTION, sectionOf(value as object)];
}

function sectionOf(section: object): Buffer {
  const values = Object.entries(section).map(([name, value]) => {
    const [type, bytes] = written(value);
    return Buffer.concat([Uint8Array.of(name.length), Buffer.from(name), Uint8Array.of(type), bytes]);
  });
  return Buffer.concat([lengthOf(values.length), ...values]);
}

/** A section in Monero's binary form. */
export const epee = (section: object): Buffer => Buffer.concat([HEAD, sectionOf(section)]);

/** A block that spends nothing and pays nobody but by these transactions. `nonce`: tells blocks of one height apart. */
export function blockOf(height: number, previous: string, txs: readonly Buffer[], nonce = 0) {
  const head = Buffer.concat([
    varint(16),
    varint(16),
    varint(1_700_000_000 + height),
    Buffer.from(previous, 'hex'),
    Buffer.from([nonce, 0, 0, 0]),
  ]);
  const coinbase = Buffer.concat([
    varint(2),
    varint(height + 60),
    varint(1),
    Uint8Array.of(255),
    varint(height),
    varint(1),
    varint(5),
    Uint8Array.of(3),
    new Uint8Array(33),
    varint(0),
    Uint8Array.of(0),
  ]);
  const read = txs.map((raw) => parseTransaction(raw));
  const ids = read.map(({ id }) => Buffer.from(id, 'hex'));
  const block = Buffer.concat([head, coinbase, varint(txs.length), ...ids]);
  const { hash, timeMs } = parseBlock(block);
  const outputs = 1 + read.reduce((sum, one) => sum + (one.version === 2 ? one.outputs.length : 0), 0);
  return { block, txs, hash, previous, timeMs, outputs };
}

/** The answer with these blocks. */
export const answerOf = (blocks: readonly { block: Buffer; txs: readonly Buffer[] }[]): Buffer =>
  epee({ blocks: blocks.map(({ block, txs }) => ({ block, txs })), status: 'OK' });

/** A transaction with one output, with bytes in place of its signatures: nodes check these, receivers do not. */
export function paymentTo(script: Uint8Array, units: bigint, secret: bigint): Buffer {
  const { output, publicKey } = paying(script, units, secret);
  const prefix = [varint(2), varint(0), varint(1), Uint8Array.of(2), varint(0), varint(1), varint(77)];
  const image = Buffer.alloc(32);
  image.writeBigUInt64LE(secret);
  const tagged = Uint8Array.of(3, ...output.key, output.viewTag ?? 0);
  const base = [Uint8Array.of(6), varint(9), output.sealedUnits ?? [], output.commitment ?? []];
  return Buffer.concat([
    ...prefix,
    image,
    varint(1),
    varint(0),
    tagged,
    varint(33),
    Uint8Array.of(1),
    publicKey,
    ...base.map((part) => Buffer.from(part)),
    Buffer.alloc(99, 3),
  ]);
}
