/**
 * A simulated chain of Monero: blocks and transactions in Monero's bytes, with one-time keys, view tags and commitments that are real,
 * and the rules of a node that the product depends on. Payers' signatures are no signatures. Of the product's own transactions, which
 * its signer made, the rings are compared with the chain, because a real node would find a ring with a false member by its signature.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { RingMember } from '../../../daemon/domain/spend.ts';
import { parseBlock } from '../../../daemon/monero/block.ts';
import { parseTransaction, type Transaction } from '../../../daemon/monero/transaction.ts';
import { varint } from '../../../daemon/monero/varint.ts';
import { paying } from '../../support/monero-outputs.ts';

const { Point } = ed25519;
const H = Point.fromHex('8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94');
/** The first block of mainnet, with which every regtest chain begins. */
const GENESIS = '418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3';
const REWARD = 600_000_000_000n;
const COINBASE_MATURITY = 60;
const LOCK_BLOCKS = 10;
/** Blocks before the run, so that rings have decoys. */
const BEGUN = 130;
const BLOCK_SECONDS = 120;

export type Tx = { id: string; raw: Buffer; read: Transaction };
export type ChainOutput = { key: string; mask: string; height: number; isCoinbase: boolean };
export type Mined = {
  height: number;
  hash: string;
  previous: string;
  timeMs: number;
  blob: Buffer;
  txs: readonly Tx[];
  /** The number of its first output among all outputs, and its outputs. */
  first: number;
  outputs: readonly ChainOutput[];
};

/** Coinbases are the same in every run: their points take most of the time. */
const coinbases = new Map<string, { bytes: Buffer; output: ChainOutput }>();

function coinbaseAt(height: number, branch: string) {
  const name = `${height}/${branch}`;
  const known = coinbases.get(name);
  if (known) return known;
  const scalar = Point.Fn.create(BigInt(`0x${Buffer.from(keccak_256(Buffer.from(name))).toString('hex')}`));
  const key = Point.BASE.multiply(scalar).toBytes();
  const publicKey = Point.BASE.multiply(Point.Fn.add(scalar, 1n)).toBytes();
  const bytes = Buffer.concat([
    varint(2),
    varint(height + COINBASE_MATURITY),
    varint(1),
    Uint8Array.of(255),
    varint(height),
    varint(1),
    varint(REWARD),
    Uint8Array.of(3),
    key,
    Uint8Array.of(7),
    varint(33),
    Uint8Array.of(1),
    publicKey,
    Uint8Array.of(0),
  ]);
  const mask = hexOf(Point.BASE.add(H.multiply(REWARD)).toBytes());
  const made = { bytes, output: { key: hexOf(key), mask, height, isCoinbase: true } };
  coinbases.set(name, made);
  return made;
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
export const txOf = (raw: Buffer): Tx => {
  const read = parseTransaction(raw);
  return { id: read.id, raw, read };
};

/** A transaction that pays, and spends the output of this key image (hex). `secret`: of the payer, another one each time. */
export function paymentOf(
  outputs: readonly { script: Uint8Array; units: bigint }[],
  image: string,
  secret: bigint,
): Tx {
  const paid = outputs.map(({ script, units }, n) => paying(script, units, secret + BigInt(n), n));
  const written = paid.map(({ output }) =>
    Buffer.concat([varint(0), Uint8Array.of(3), output.key, Uint8Array.of(output.viewTag ?? 0)]),
  );
  const keys = paid.map(({ publicKey }) => publicKey);
  const extra = Buffer.concat([
    Uint8Array.of(1),
    keys[0] as Uint8Array,
    ...(keys.length > 1 ? [Uint8Array.of(4), varint(keys.length), ...keys] : []),
  ]);
  const prefix = [varint(2), varint(0), varint(1), Uint8Array.of(2), varint(0), varint(1), varint(1)];
  const raw = Buffer.concat([
    ...prefix,
    Buffer.from(image, 'hex'),
    varint(paid.length),
    ...written,
    varint(extra.length),
    extra,
    Uint8Array.of(6),
    varint(30_000_000n),
    ...paid.map(({ output }) => output.sealedUnits ?? new Uint8Array(0)),
    ...paid.map(({ output }) => output.commitment ?? new Uint8Array(0)),
    Buffer.alloc(64, 5),
  ]);
  return txOf(raw);
}

/** One branch of blocks, and the transactions that wait. */
export class Chain {
  blocks: Mined[] = [];
  readonly pool = new Map<string, Tx>();
  readonly #branch: string;
  /** The rings of transactions that the product's signer made, by their ids. */
  readonly #rings: ReadonlyMap<string, readonly (readonly RingMember[])[]>;
  #forks = 0;

  constructor(branch: string, rings: Chain['rings']) {
    this.#branch = branch;
    this.#rings = rings;
  }

  get rings(): ReadonlyMap<string, readonly (readonly RingMember[])[]> {
    return this.#rings;
  }

  get tip(): Mined {
    return this.blocks.at(-1) as Mined;
  }

  /** Begins with blocks of the time before. */
  begin(nowMs: number): void {
    this.blocks = [
      {
        height: 0,
        hash: GENESIS,
        previous: '00'.repeat(32),
        timeMs: 0,
        blob: Buffer.alloc(0),
        txs: [],
        first: 0,
        outputs: [],
      },
    ];
    for (let left = BEGUN; left > 0; left--) this.#add(nowMs - left * BLOCK_SECONDS * 1_000, []);
  }

  /** Another branch from the block at a height on. */
  forkFrom(other: Chain, height: number): void {
    this.blocks = other.blocks.slice(0, height + 1);
    this.#forks++;
  }

  /** Mines what waits, in as many blocks. */
  mine(count: number, nowMs: number): void {
    for (let left = count; left > 0; left--) {
      const txs = [...this.pool.values()].filter((tx) => this.refusalOf(tx) === null);
      this.pool.clear();
      this.#add(nowMs, txs);
    }
  }

  #add(nowMs: number, txs: readonly Tx[]): void {
    const { height: below, hash: previous, first, outputs: before } = this.tip;
    const height = below + 1;
    const coinbase = coinbaseAt(height, `${this.#branch}${this.#forks}`);
    const head = [
      varint(16),
      varint(16),
      varint(Math.floor(nowMs / 1_000)),
      Buffer.from(previous, 'hex'),
      Buffer.alloc(4),
    ];
    const ids = txs.map(({ id }) => Buffer.from(id, 'hex'));
    const blob = Buffer.concat([...head, coinbase.bytes, varint(txs.length), ...ids]);
    const { hash, timeMs } = parseBlock(blob);
    const paid = txs.flatMap(({ read }) =>
      read.outputs.map(({ key, commitment }) => {
        return { key: hexOf(key), mask: hexOf(commitment ?? new Uint8Array(32)), height, isCoinbase: false };
      }),
    );
    const outputs = [coinbase.output, ...paid];
    this.blocks.push({ height, hash, previous, timeMs, blob, txs, first: first + before.length, outputs });
  }

  /** The last blocks give way to one more. `keeps`: whether a transaction of theirs waits again. */
  reorganise(depth: number, keeps: (tx: Tx) => boolean, nowMs: number): void {
    const gone = this.blocks.splice(this.blocks.length - depth);
    this.#forks++;
    const earlier = [...this.pool.values()];
    this.pool.clear();
    for (const tx of [...gone.flatMap(({ txs }) => txs).filter(keeps), ...earlier]) this.submit(tx);
    this.mine(depth + 1, nowMs);
  }

  /** Null: it is taken; else why not, as a node names it. */
  submit(tx: Tx): string | null {
    const refusal = this.blockOf(tx.id) ? 'double_spend' : this.refusalOf(tx);
    if (refusal === null) this.pool.set(tx.id, tx);
    return refusal;
  }

  refusalOf({ id, read }: Tx): string | null {
    const spent = (other: Tx): boolean =>
      other.id !== id && other.read.keyImages.some((one) => read.keyImages.includes(one));
    if ([...this.pool.values()].some(spent) || this.transactions().some(spent)) return 'double_spend';
    const isTrue = ({ index, key, commitment }: RingMember): boolean => {
      const output = this.outputAt(index);
      return output?.key === key && output.mask === commitment && this.isUnlocked(output);
    };
    return (this.#rings.get(id) ?? []).flat().every(isTrue) ? null : 'invalid_input';
  }

  transactions(): Tx[] {
    return this.blocks.flatMap(({ txs }) => [...txs]);
  }

  blockOf(id: string): Mined | undefined {
    return this.blocks.findLast(({ txs }) => txs.some((tx) => tx.id === id));
  }

  outputAt(index: number): ChainOutput | undefined {
    const block = this.blocks.findLast(({ first }) => first <= index);
    return block?.outputs[index - block.first];
  }

  isUnlocked({ height, isCoinbase }: ChainOutput): boolean {
    return this.tip.height + 1 >= height + (isCoinbase ? COINBASE_MATURITY : LOCK_BLOCKS);
  }
}
