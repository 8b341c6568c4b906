/**
 * What an Electrum server knows of a chain: all blocks of a (small) regtest node and its mempool, by script hash. It reads
 * transactions by code of its own, so that it does not share the mistakes of the program that it tests.
 *
 * Invariant: what a node told is fetched first and then taken in within one turn, so no answer mixes two states.
 */
import { createHash } from 'node:crypto';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A node's JSON-RPC, as Core's: throws when the node refuses. */
export type NodeRpc = { rpc<T = Json>(method: string, params: Json[]): Promise<T> };

type Tx = {
  txid: string;
  raw: Buffer;
  vsize: number;
  inputs: { txid: string; vout: number }[];
  /** `scripthash` is null where no server indexes: an output that cannot be spent. */
  outputs: { units: bigint; scripthash: string | null }[];
  /** Of its block; 0 in the mempool, -1 there with an unconfirmed input. */
  height: number;
  /** In its block. */
  position: number;
};

type Block = { hash: string; header: Buffer; txs: Tx[] };
export type HistoryItem = { tx_hash: string; height: number; fee?: number };
type UnspentItem = { tx_hash: string; tx_pos: number; height: number; value: number };

const HEADER_BYTES = 80;
const FLAG_WITNESS = 0x01;
const FLAG_MWEB = 0x08;
const OP_RETURN = 0x6a;
const UPDATE_TRIES_MAX = 10;

export const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();
export const sha256d = (bytes: Uint8Array): Buffer => sha256(sha256(bytes));
/** The order of bytes in which hashes are written. */
export const reversed = (bytes: Uint8Array): Buffer => Buffer.from(bytes).reverse();
export const writtenHash = (bytes: Uint8Array): string => reversed(sha256d(bytes)).toString('hex');
/** The script hash of the protocol: SHA-256 of the script, written in reverse. */
export const scripthashOf = (script: Uint8Array): string => reversed(sha256(script)).toString('hex');

/** The transactions of a block's bytes, or of bytes that hold one transaction (`alone`). */
class TxReader {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  take(length: number): Buffer {
    const part = this.bytes.subarray(this.at, this.at + length);
    if (part.length !== length) throw new Error('bytes end early');
    this.at += length;
    return part;
  }

  varint(): number {
    const first = this.take(1).readUInt8();
    if (first < 0xfd) return first;
    if (first === 0xfd) return this.take(2).readUInt16LE();
    if (first === 0xfe) return this.take(4).readUInt32LE();
    return Number(this.take(8).readBigUInt64LE());
  }

  tx(height: number, position: number, segwit: boolean): Tx {
    const start = this.at;
    this.take(4);
    let flags = 0;
    if (segwit && this.bytes[this.at] === 0) flags = this.take(2).readUInt8(1);
    const body = this.at;
    const inputs = Array.from({ length: this.varint() }, () => this.#input());
    const outputs = Array.from({ length: this.varint() }, () => this.#output());
    const bodyEnd = this.at;
    if (flags & FLAG_WITNESS) {
      for (const _ of inputs) for (let items = this.varint(); items > 0; items--) this.take(this.varint());
    }
    if (flags & FLAG_MWEB && this.take(1).readUInt8() !== 0) throw new Error('an extension transaction');
    this.take(4);
    const raw = Buffer.from(this.bytes.subarray(start, this.at));
    const base = Buffer.concat([
      raw.subarray(0, 4),
      this.bytes.subarray(body, bodyEnd),
      this.bytes.subarray(this.at - 4, this.at),
    ]);
    const vsize = Math.ceil((base.length * 3 + raw.length) / 4);
    return { txid: writtenHash(base), raw, vsize, inputs, outputs, height, position };
  }

  #input(): { txid: string; vout: number } {
    const txid = reversed(this.take(32)).toString('hex');
    const vout = this.take(4).readUInt32LE();
    this.take(this.varint());
    this.take(4);
    return { txid, vout };
  }

  #output(): { units: bigint; scripthash: string | null } {
    const units = this.take(8).readBigUInt64LE();
    const script = this.take(this.varint());
    const spendable = script[0] !== OP_RETURN && !(script[0] === 0 && script[1] === OP_RETURN);
    return { units, scripthash: spendable ? scripthashOf(script) : null };
  }
}

export function readTx(raw: Buffer, segwit: boolean): Tx {
  return new TxReader(raw).tx(0, 0, segwit);
}

function readBlock(bytes: Buffer, height: number, segwit: boolean): Block {
  const reader = new TxReader(bytes);
  const header = Buffer.from(reader.take(HEADER_BYTES));
  const txs = Array.from({ length: reader.varint() }, (_, position) => reader.tx(height, position, segwit));
  return { hash: writtenHash(header), header, txs };
}

/** The branch that leads from a leaf to the root, and the root, all as they are written. */
export function merkleBranch(leaves: readonly string[], index: number): { branch: string[]; root: string } {
  let level = leaves.map((leaf) => reversed(Buffer.from(leaf, 'hex')));
  const branch: string[] = [];
  for (let at = index; level.length > 1; at >>= 1) {
    if (level.length % 2 === 1) level.push(level.at(-1) as Buffer);
    branch.push(reversed(level[at ^ 1] as Buffer).toString('hex'));
    const pairs = level;
    level = Array.from({ length: pairs.length / 2 }, (_, i) =>
      sha256d(Buffer.concat([pairs[2 * i] as Buffer, pairs[2 * i + 1] as Buffer])),
    );
  }
  return { branch, root: reversed(level[0] as Buffer).toString('hex') };
}

export class ElectrumChain {
  readonly blocks: Block[] = [];
  readonly mempool = new Map<string, Tx>();
  readonly #node: NodeRpc;
  readonly #segwit: boolean;
  readonly #txs = new Map<string, Tx>();
  /** Confirmed transactions by script hash, in the order of the chain. */
  readonly #confirmed = new Map<string, Tx[]>();
  readonly #unconfirmed = new Map<string, Tx[]>();

  constructor(node: NodeRpc, segwit: boolean) {
    this.#node = node;
    this.#segwit = segwit;
  }

  get height(): number {
    return this.blocks.length - 1;
  }

  get tip(): Block {
    const tip = this.blocks.at(-1);
    if (!tip) throw new Error('not started');
    return tip;
  }

  tx(txid: string): Tx | undefined {
    return this.#txs.get(txid);
  }

  /** Takes in what the node has now. Returns whether the tip is another, and whether anything is. */
  async update(): Promise<{ tip: boolean; any: boolean }> {
    for (let tries = 0; tries < UPDATE_TRIES_MAX; tries++) {
      const best = await this.#node.rpc<string>('getbestblockhash', []);
      const { from, fresh } = await this.#newBlocks(best);
      const unconfirmed = await this.#newMempool();
      if ((await this.#node.rpc<string>('getbestblockhash', [])) !== best) continue;
      return this.#take(from, fresh, unconfirmed);
    }
    throw new Error('the node does not rest');
  }

  /** The blocks that lead from the last one in common (at height `from` - 1) to `best`. */
  async #newBlocks(best: string): Promise<{ from: number; fresh: Block[] }> {
    if (this.blocks.at(-1)?.hash === best) return { from: this.blocks.length, fresh: [] };
    const fresh: Block[] = [];
    let { height } = await this.#node.rpc<{ height: number }>('getblockheader', [best]);
    for (let hash = best; this.blocks[height]?.hash !== hash && height >= 0; height--) {
      const block = readBlock(
        Buffer.from(await this.#node.rpc<string>('getblock', [hash, false]), 'hex'),
        height,
        this.#segwit,
      );
      fresh.unshift(block);
      hash = reversed(block.header.subarray(4, 36)).toString('hex');
    }
    return { from: height + 1, fresh };
  }

  async #newMempool(): Promise<Tx[]> {
    const list: Tx[] = [];
    for (const txid of await this.#node.rpc<string[]>('getrawmempool', [])) {
      const known = this.mempool.get(txid);
      const raw = known ? null : await this.#node.rpc<string>('getrawtransaction', [txid, false]).catch(() => null);
      if (known) list.push(known);
      else if (raw) list.push(readTx(Buffer.from(raw, 'hex'), this.#segwit));
    }
    return list;
  }

  #take(from: number, fresh: Block[], unconfirmed: Tx[]): { tip: boolean; any: boolean } {
    const before = [...this.mempool.keys()].join();
    const tip = fresh.length > 0 || from < this.blocks.length;
    for (const txid of this.mempool.keys()) this.#txs.delete(txid);
    // From the tip down: the scripts of an input are found through the transaction that it spends.
    for (const gone of this.blocks.splice(from).reverse()) this.#disconnect(gone);
    for (const block of fresh) this.#connect(block);
    this.#setMempool(unconfirmed.filter(({ txid }) => !this.#txs.has(txid)));
    return { tip, any: tip || before !== [...this.mempool.keys()].join() };
  }

  #connect(block: Block): void {
    // First all, then each: a chain that orders by id spends coins before they are made.
    for (const tx of block.txs) this.#txs.set(tx.txid, tx);
    this.blocks.push(block);
    // The first block's reward cannot be spent and is no part of any history.
    if (this.height === 0) return;
    for (const tx of block.txs) {
      for (const scripthash of this.scripthashesOf(tx)) {
        const list = this.#confirmed.get(scripthash);
        if (list) list.push(tx);
        else this.#confirmed.set(scripthash, [tx]);
      }
    }
  }

  #disconnect(block: Block): void {
    const gone = new Set(block.txs);
    for (const tx of block.txs) {
      for (const scripthash of this.scripthashesOf(tx)) {
        const kept = (this.#confirmed.get(scripthash) ?? []).filter((other) => !gone.has(other));
        this.#confirmed.set(scripthash, kept);
      }
    }
    for (const tx of block.txs) this.#txs.delete(tx.txid);
  }

  #setMempool(list: Tx[]): void {
    this.mempool.clear();
    this.#unconfirmed.clear();
    for (const tx of list) {
      this.mempool.set(tx.txid, tx);
      this.#txs.set(tx.txid, tx);
    }
    for (const tx of list) {
      tx.height = tx.inputs.some(({ txid }) => this.mempool.has(txid)) ? -1 : 0;
      for (const scripthash of this.scripthashesOf(tx)) {
        const others = this.#unconfirmed.get(scripthash);
        if (others) others.push(tx);
        else this.#unconfirmed.set(scripthash, [tx]);
      }
    }
  }

  /** The scripts that a transaction pays or spends from. */
  scripthashesOf(tx: Tx): Set<string> {
    const spent = tx.inputs.map(({ txid, vout }) => this.#txs.get(txid)?.outputs[vout]?.scripthash);
    const all = [...tx.outputs.map(({ scripthash }) => scripthash), ...spent];
    return new Set(all.filter((scripthash) => typeof scripthash === 'string'));
  }

  #feeOf(tx: Tx): bigint {
    const paid = tx.inputs.reduce((sum, { txid, vout }) => sum + (this.#txs.get(txid)?.outputs[vout]?.units ?? 0n), 0n);
    return tx.outputs.reduce((left, { units }) => left - units, paid);
  }

  /** The unconfirmed transactions of a script: from protocol 1.6 on in a fixed order, before that in just any. */
  unconfirmedOf(scripthash: string, sorted: boolean): HistoryItem[] {
    const list = [...(this.#unconfirmed.get(scripthash) ?? [])];
    list.sort((a, b) => (sorted ? b.height - a.height || (a.txid < b.txid ? -1 : 1) : a.txid < b.txid ? 1 : -1));
    return list.map((tx) => ({ tx_hash: tx.txid, height: tx.height, fee: Number(this.#feeOf(tx)) }));
  }

  historyOf(scripthash: string, sorted: boolean): HistoryItem[] {
    const confirmed = (this.#confirmed.get(scripthash) ?? []).map((tx) => ({ tx_hash: tx.txid, height: tx.height }));
    return [...confirmed, ...this.unconfirmedOf(scripthash, sorted)];
  }

  /** The status of a script, which changes with its history; null where there is none. */
  statusOf(scripthash: string, sorted: boolean): string | null {
    const history = this.historyOf(scripthash, sorted);
    if (history.length === 0) return null;
    return sha256(history.map(({ tx_hash, height }) => `${tx_hash}:${height}:`).join('')).toString('hex');
  }

  unspentOf(scripthash: string): UnspentItem[] {
    const touching = [...(this.#confirmed.get(scripthash) ?? []), ...(this.#unconfirmed.get(scripthash) ?? [])];
    const spent = new Set(touching.flatMap((tx) => tx.inputs.map(({ txid, vout }) => `${txid}:${vout}`)));
    return touching.flatMap((tx) =>
      tx.outputs.flatMap((output, tx_pos) =>
        output.scripthash === scripthash && !spent.has(`${tx.txid}:${tx_pos}`)
          ? [{ tx_hash: tx.txid, tx_pos, height: Math.max(tx.height, 0), value: Number(output.units) }]
          : [],
      ),
    );
  }

  balanceOf(scripthash: string): { confirmed: number; unconfirmed: number } {
    const sum = (list: readonly Tx[]): bigint =>
      list.reduce((total, tx) => {
        const paid = tx.outputs.filter((output) => output.scripthash === scripthash);
        const coins = tx.inputs.map(({ txid, vout }) => this.#txs.get(txid)?.outputs[vout]);
        const spent = coins.filter((coin) => coin?.scripthash === scripthash);
        return total + paid.reduce((s, o) => s + o.units, 0n) - spent.reduce((s, o) => s + (o?.units ?? 0n), 0n);
      }, 0n);
    return {
      confirmed: Number(sum(this.#confirmed.get(scripthash) ?? [])),
      unconfirmed: Number(sum(this.#unconfirmed.get(scripthash) ?? [])),
    };
  }

  /** Pairs of a fee rate (units per virtual byte, rounded down) and the size of what pays it, highest first. */
  feeHistogram(): [number, number][] {
    const sizes = new Map<number, number>();
    for (const tx of this.mempool.values()) {
      const rate = Number(this.#feeOf(tx) / BigInt(tx.vsize));
      sizes.set(rate, (sizes.get(rate) ?? 0) + tx.vsize);
    }
    return [...sizes].sort(([a], [b]) => b - a);
  }
}
