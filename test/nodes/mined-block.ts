/** Mines a block of regtest by hand, for nodes that cannot be told which transactions a block has (BCHN has no `generateblock`). */
import { randomBytes } from 'node:crypto';
import { doubleSha256, writeTransaction } from '../adapters/fixtures/serial.ts';

const VERSION = 0x2000_0000;
/** Regtest's easiest target: every second hash is below it. */
const BITS = 0x207f_ffff;
const TOP_BYTE_MAX = 0x7f;
const NONCES_MAX = 1_000;
const OP_RETURN = 0x6a;
/** Bitcoin Cash takes no transaction of fewer than 100 bytes. */
const SALT_BYTES = 60;

/** A push of the height in as few bytes as a script number needs (BIP-34). Heights up to 16 have codes of their own. */
function heightPush(height: number): Buffer {
  if (height <= 16) return Buffer.of(0x50 + height);
  const bytes: number[] = [];
  for (let left = height; left > 0; left >>= 8) bytes.push(left & 0xff);
  if (bytes.at(-1)! & 0x80) bytes.push(0);
  return Buffer.of(bytes.length, ...bytes);
}

function merkleRoot(transactions: Buffer[]): Buffer {
  let level = transactions.map(doubleSha256);
  while (level.length > 1) {
    const pairs = Array.from({ length: Math.ceil(level.length / 2) }, (_, at) => [level[2 * at]!, level[2 * at + 1]]);
    level = pairs.map(([left, right]) => doubleSha256(Buffer.concat([left!, right ?? left!])));
  }
  return level[0]!;
}

/** Ascending by id, as Bitcoin Cash has them since November 2018. */
function inCanonicalOrder(transactions: Buffer[]): Buffer[] {
  const idOf = (bytes: Buffer) => doubleSha256(bytes).reverse();
  return transactions.toSorted((one, other) => Buffer.compare(idOf(one), idOf(other)));
}

/** A block after `previous` with these transactions alone, all as hex. Its reward goes to nobody. */
export function minedBlock(block: {
  previous: string;
  height: number;
  timeSeconds: number;
  transactions: readonly string[];
}): string {
  const coinbase = writeTransaction({
    inputs: [
      {
        txid: '00'.repeat(32),
        vout: 0xffff_ffff,
        script: Buffer.concat([heightPush(block.height), Buffer.of(SALT_BYTES), randomBytes(SALT_BYTES)]),
      },
    ],
    outputs: [{ units: 0n, script: Buffer.of(OP_RETURN) }],
  });
  const transactions = [coinbase, ...inCanonicalOrder(block.transactions.map((raw) => Buffer.from(raw, 'hex')))];
  if (transactions.length >= 0xfd) throw new Error('the count of transactions is written in one byte');
  const header = Buffer.alloc(80);
  header.writeUInt32LE(VERSION, 0);
  Buffer.from(block.previous, 'hex').reverse().copy(header, 4);
  merkleRoot(transactions).copy(header, 36);
  header.writeUInt32LE(block.timeSeconds, 68);
  header.writeUInt32LE(BITS, 72);
  for (let nonce = 0; nonce < NONCES_MAX; nonce++) {
    header.writeUInt32LE(nonce, 76);
    if (doubleSha256(header).at(-1)! < TOP_BYTE_MAX)
      return Buffer.concat([header, Buffer.of(transactions.length), ...transactions]).toString('hex');
  }
  throw new Error(`no work within ${NONCES_MAX} nonces`);
}
