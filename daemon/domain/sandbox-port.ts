/**
 * What the simulated chains need of the database: types only, so that the chains and the store need not know each
 * other. Rows are small and reads are synchronous; whatever changes them is one transaction.
 */
import type { AssetId, ChainId } from './assets.ts';

export type SandboxChain = {
  /** True while the chain's source is made not to answer. */
  down: boolean;
  /** Counts what was ever made on this chain, so that no two blocks or premined coins are alike. */
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

/** The `transactionId` of a coin that was there from the beginning. */
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

export interface SandboxReader {
  chain(chain: ChainId): SandboxChain | undefined;
  tip(chain: ChainId): SandboxBlock | undefined;
  blockAt(chain: ChainId, height: number): SandboxBlock | undefined;
  /** The first `limit` blocks above a height, ascending. */
  blocksAbove(chain: ChainId, height: number, limit: number): SandboxBlock[];
  /** The last `limit` blocks up to a height, ascending. */
  blocksUpTo(chain: ChainId, height: number, limit: number): SandboxBlock[];
  /** The last block whose time is before `time`. */
  blockBefore(chain: ChainId, time: number): SandboxBlock | undefined;
  transaction(chain: ChainId, txid: string): SandboxTransaction | undefined;
  transactionById(id: number): SandboxTransaction | undefined;
  /** The first `limit` transactions of the block at a height, or of the mempool (null), ascending by id. */
  transactionsIn(chain: ChainId, height: number | null, limit: number): SandboxTransaction[];
  /** The same, all of them and with their outputs. */
  contents(chain: ChainId, height: number | null): SandboxContents[];
  mempoolSize(chain: ChainId): number;
  output(chain: ChainId, outpoint: string): SandboxOutput | undefined;
  outputsOf(transactionId: number): SandboxOutput[];
  /** The outputs that a transaction spends, as far as they are kept. */
  spentBy(transactionId: number): SandboxOutput[];
}

export interface SandboxWriter extends SandboxReader {
  addChain(chain: ChainId): void;
  setDown(chain: ChainId, down: boolean): void;
  setPruned(chain: ChainId, height: number): void;
  /** Counts the sequence up and returns it. */
  nextSequence(chain: ChainId): number;
  addBlock(chain: ChainId, block: SandboxBlock): void;
  removeBlock(chain: ChainId, height: number): void;
  removeBlocksAbove(chain: ChainId, height: number): void;
  /** Returns the new transaction's id. */
  addTransaction(chain: ChainId, row: { txid: string; raw: string; inputs: string[]; createdAt: number }): number;
  /** Its outputs go with it. */
  removeTransaction(chain: ChainId, id: number): void;
  forgetRaw(id: number): void;
  /** Puts the mempool's transactions up to an id into the block at a height. */
  confirm(chain: ChainId, lastId: number, height: number): void;
  /** Puts the transactions of all blocks above a height back into the mempool. */
  unconfirmAbove(chain: ChainId, height: number): void;
  addOutput(chain: ChainId, output: SandboxOutput): void;
  removeOutput(chain: ChainId, outpoint: string): void;
  setSpentBy(chain: ChainId, outpoint: string, transactionId: number | null): void;
}
