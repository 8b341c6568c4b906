/** The rows of the simulated chains, and each one's running total. `consensus.ts` decides which rows fit together. */
import type { AssetId, ChainId } from '../domain/assets.ts';
import type { Reader, Store, Tx } from '../store/store.ts';
import { type OutputRow, READ, type TransactionRow, WRITE } from './statements.ts';

export type SandboxChain = {
  /** True while the chain's source is switched off. */
  down: boolean;
  /** Counts the blocks and coins that were ever made on this chain, so that no two blocks or premined coins are alike. */
  sequence: number;
  /** Up to this height only blocks are kept whose transactions still matter; -1 when none was pruned. */
  pruned: number;
  /** How many transactions are kept. */
  transactions: number;
};

/** `time`: milliseconds since 1970; it never falls from one block to the next. */
export type SandboxBlock = { height: number; hash: string; time: number };

export type SandboxTransaction = {
  /** Ascending: a transaction's parents always have lower ids. */
  id: number;
  txid: string;
  /** Hex of a real transaction, JSON of a simulated one; null once a simulated one is buried deep. */
  raw: string | null;
  /** The outpoints that it spends, "txid:n". */
  inputs: string[];
  /** Of the block that holds it, null while it is in the mempool. */
  height: number | null;
};

/** The `transactionId` of a premined coin. */
export const PREMINED = 0;

export type SandboxOutput = {
  outpoint: string;
  transactionId: number;
  script: Uint8Array;
  asset: AssetId;
  units: bigint;
  /** The id of the transaction that spends it, in the mempool or in a block. */
  spentBy: number | null;
};

export type SandboxContents = { transaction: SandboxTransaction; outputs: SandboxOutput[] };

const transactionOf = (row: TransactionRow): SandboxTransaction => ({
  id: row.id,
  txid: row.txid,
  raw: row.raw,
  inputs: row.inputs,
  height: row.block_height,
});

const outputOf = (row: OutputRow): SandboxOutput => ({
  outpoint: row.outpoint,
  transactionId: row.tx_id,
  script: row.script,
  asset: row.asset,
  units: row.units,
  spentBy: row.spent_by,
});

/** SQLite's value for no limit. */
const ALL = -1;

export class SandboxReader {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  chain(chain: ChainId): SandboxChain | undefined {
    return this.#reader.get(READ.chain, { chain });
  }

  tip(chain: ChainId): SandboxBlock | undefined {
    return this.#reader.get(READ.tip, { chain });
  }

  blockAt(chain: ChainId, height: number): SandboxBlock | undefined {
    return this.#reader.get(READ.blockAt, { chain, height });
  }

  /** The first `limit` blocks above a height, ascending. */
  blocksAbove(chain: ChainId, height: number, limit: number): SandboxBlock[] {
    return this.#reader.all(READ.blocksAbove, { chain, height, limit });
  }

  /** The last `limit` blocks up to a height, ascending. */
  blocksUpTo(chain: ChainId, height: number, limit: number): SandboxBlock[] {
    return this.#reader.all(READ.blocksUpTo, { chain, height, limit }).reverse();
  }

  blockBefore(chain: ChainId, time: number): SandboxBlock | undefined {
    return this.#reader.get(READ.blockBefore, { chain, time });
  }

  transaction(chain: ChainId, txid: string): SandboxTransaction | undefined {
    const row = this.#reader.get(READ.transaction, { chain, txid });
    return row && transactionOf(row);
  }

  transactionById(id: number): SandboxTransaction | undefined {
    const row = this.#reader.get(READ.transactionById, { id });
    return row && transactionOf(row);
  }

  /** The first `limit` transactions of the block at a height, or of the mempool (null), ascending by id. */
  transactionsIn(chain: ChainId, height: number | null, limit: number): SandboxTransaction[] {
    const rows =
      height === null
        ? this.#reader.all(READ.mempool, { chain, limit })
        : this.#reader.all(READ.block, { chain, height, limit });
    return rows.map(transactionOf);
  }

  /** All of them, with their outputs. */
  contents(chain: ChainId, height: number | null): SandboxContents[] {
    const contents = this.transactionsIn(chain, height, ALL).map(
      (transaction): SandboxContents => ({ transaction, outputs: [] }),
    );
    if (contents.length === 0) return contents;
    const byId = new Map(contents.map((entry) => [entry.transaction.id, entry]));
    const rows =
      height === null
        ? this.#reader.all(READ.mempoolOutputs, { chain })
        : this.#reader.all(READ.blockOutputs, { chain, height });
    for (const row of rows) byId.get(row.tx_id)?.outputs.push(outputOf(row));
    return contents;
  }

  /** The height of the newest block with a transaction; null: there is none. */
  newestMined(chain: ChainId): number | null {
    return this.#reader.get(READ.newestMined, { chain })?.block_height ?? null;
  }

  mempoolSize(chain: ChainId): number {
    return this.#reader.get(READ.mempoolSize, { chain })?.size ?? 0;
  }

  output(chain: ChainId, outpoint: string): SandboxOutput | undefined {
    const row = this.#reader.get(READ.output, { chain, outpoint });
    return row && outputOf(row);
  }

  /** The outputs with outpoints from `from` up to `to`, spent or not. */
  outputsBetween(chain: ChainId, from: string, to: string): SandboxOutput[] {
    return this.#reader.all(READ.outputsBetween, { chain, from, to }).map(outputOf);
  }

  /** The unspent outputs of a script, the oldest first. */
  unspentAt(chain: ChainId, script: Uint8Array): SandboxOutput[] {
    return this.#reader.all(READ.unspentAt, { chain, script }).map(outputOf);
  }

  outputsOf(transactionId: number): SandboxOutput[] {
    return this.#reader.all(READ.outputsOf, { id: transactionId }).map(outputOf);
  }

  /** Those outputs that a transaction spends that are still kept. */
  spentBy(transactionId: number): SandboxOutput[] {
    return this.#reader.all(READ.spentBy, { id: transactionId }).map(outputOf);
  }
}

export class SandboxWriter extends SandboxReader {
  readonly #tx: Tx;

  constructor(tx: Tx) {
    super(tx);
    this.#tx = tx;
  }

  addChain(chain: ChainId): void {
    this.#tx.run(WRITE.addChain, { chain });
  }

  setDown(chain: ChainId, down: boolean): void {
    this.#tx.run(WRITE.setDown, { chain, down });
  }

  setPruned(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.setPruned, { chain, height });
  }

  nextSequence(chain: ChainId): number {
    this.#tx.run(WRITE.countUp, { chain });
    return this.chain(chain)?.sequence ?? 0;
  }

  addBlock(chain: ChainId, block: SandboxBlock): void {
    this.#tx.run(WRITE.addBlock, { chain, ...block });
  }

  removeBlock(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.removeBlock, { chain, height });
  }

  removeBlocksAbove(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.removeBlocksAbove, { chain, height });
  }

  /** Returns the new transaction's id. */
  addTransaction(chain: ChainId, row: { txid: string; raw: string; inputs: string[]; createdAt: number }): number {
    this.#tx.run(WRITE.countTransactions, { chain, by: 1 });
    return this.#tx.run(WRITE.addTransaction, { chain, ...row }).id;
  }

  /** Deletes a transaction with its outputs. */
  removeTransaction(chain: ChainId, id: number): void {
    this.#tx.run(WRITE.countTransactions, { chain, by: -1 });
    this.#tx.run(WRITE.removeOutputsOf, { id });
    this.#tx.run(WRITE.removeTransaction, { id });
  }

  forgetRaw(id: number): void {
    this.#tx.run(WRITE.forgetRaw, { id });
  }

  /** Puts the mempool's transactions up to an id into the block at a height. */
  confirm(chain: ChainId, lastId: number, height: number): void {
    this.#tx.run(WRITE.confirm, { chain, lastId, height });
  }

  /** Puts the transactions of all blocks above a height back into the mempool. */
  unconfirmAbove(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.unconfirmAbove, { chain, height });
  }

  addOutput(chain: ChainId, output: SandboxOutput): void {
    this.#tx.run(WRITE.addOutput, {
      chain,
      outpoint: output.outpoint,
      tx_id: output.transactionId,
      script: output.script,
      asset: output.asset,
      units: output.units,
      spent_by: output.spentBy,
    });
  }

  removeOutput(chain: ChainId, outpoint: string): void {
    this.#tx.run(WRITE.removeOutput, { chain, outpoint });
  }

  setSpentBy(chain: ChainId, outpoint: string, transactionId: number | null): void {
    this.#tx.run(WRITE.setSpentBy, { chain, outpoint, by: transactionId });
  }
}

export function sandboxStore(store: Store) {
  const rows = new SandboxReader(store);
  return Object.assign(rows, {
    write: <T>(work: (tx: SandboxWriter) => T): Promise<T> => store.write((tx) => work(new SandboxWriter(tx))),
  });
}

/** Reads are synchronous, each of one moment; every change is one transaction. */
export type SandboxStore = ReturnType<typeof sandboxStore>;
