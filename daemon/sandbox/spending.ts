/** Sends the wallet's transactions to the simulated chains. */
import type { CoinSource } from '../chains/adapter.ts';
import { FEE_TERMS } from '../chains/utxo/spend/fees.ts';
import { decodeTransaction, withoutWitnesses } from '../chains/utxo/spend/transaction.ts';
import type { ChainId } from '../domain/assets.ts';
import { Rejected, Unavailable } from '../domain/errors.ts';
import { sumOf } from '../domain/money.ts';
import { sourceDown } from './adapter.ts';
import { isUtxo } from './addresses.ts';
import type { SandboxStore, SandboxTransaction } from './rows.ts';
import { SIMULATED_VSIZE, simulatedRate } from './simulated.ts';
import { nonceInBlocks } from './simulated-accounts.ts';

/** The limit of nodes (DEFAULT_ANCESTOR_LIMIT). */
const ANCESTORS_MAX = 25;
const RETRY_SECONDS = 30;

export class SandboxSpending implements CoinSource {
  readonly #chain: ChainId;
  readonly #store: SandboxStore;
  readonly #send: (raw: Uint8Array) => Promise<{ txid: string }>;

  constructor(chain: ChainId, store: SandboxStore, send: (raw: Uint8Array) => Promise<{ txid: string }>) {
    this.#chain = chain;
    this.#store = store;
    this.#send = send;
  }

  async feeRate(_targetBlocks: number, signal: AbortSignal): Promise<bigint> {
    this.#needAnswer(signal);
    return isUtxo(this.#chain) ? FEE_TERMS[this.#chain].fallback : simulatedRate(this.#chain);
  }

  async transaction(txid: string, _blockHash: string | null, signal: AbortSignal): Promise<string> {
    this.#needAnswer(signal);
    const raw = this.#store.transaction(this.#chain, txid)?.raw ?? null;
    const base = raw !== null && isUtxo(this.#chain) ? withoutWitnesses(raw, txid, this.#chain) : raw;
    if (base === null) throw new Unavailable(`The sandbox no longer has the transaction ${txid}`, RETRY_SECONDS);
    return base;
  }

  async nonce(address: string, signal: AbortSignal): Promise<bigint> {
    this.#needAnswer(signal);
    return nonceInBlocks(this.#store, this.#chain, address);
  }

  async unconfirmed(txid: string, signal: AbortSignal): Promise<{ fee: bigint; vsize: number } | null> {
    this.#needAnswer(signal);
    const row = this.#store.transaction(this.#chain, txid);
    if (!row || row.height !== null) return null;
    let fee = 0n;
    let vsize = 0;
    // Iterating a map includes entries that are added meanwhile.
    const family = new Map<number, SandboxTransaction>([[row.id, row]]);
    for (const member of family.values()) {
      const spent = this.#store.spentBy(member.id);
      fee += sumOf(spent) - sumOf(this.#store.outputsOf(member.id));
      vsize += this.#sizeOf(member);
      for (const { transactionId } of spent) {
        const parent = this.#store.transactionById(transactionId);
        if (parent && parent.height === null && family.size < ANCESTORS_MAX) family.set(parent.id, parent);
      }
    }
    return { fee, vsize };
  }

  async broadcast(raw: string, signal: AbortSignal): Promise<void> {
    this.#needAnswer(signal);
    try {
      await this.#send(Buffer.from(raw, isUtxo(this.#chain) ? 'hex' : 'utf8'));
    } catch (error) {
      if (error instanceof Rejected) throw new Rejected('broadcast.refused', error.message);
      throw error;
    }
  }

  async conflict(txid: string, inputs: readonly string[], _fromHeight: number, signal: AbortSignal) {
    this.#needAnswer(signal);
    for (const outpoint of inputs) {
      const spender = this.#store.output(this.#chain, outpoint)?.spentBy ?? null;
      const found = spender === null ? undefined : this.#store.transactionById(spender);
      if (!found || found.txid === txid || found.height === null) continue;
      const block = this.#store.blockAt(this.#chain, found.height);
      if (block) return { txid: found.txid, block: { height: block.height, hash: block.hash } };
    }
    return null;
  }

  #sizeOf({ raw }: SandboxTransaction): number {
    return raw !== null && isUtxo(this.#chain) ? decodeTransaction(raw, this.#chain, 'sandbox').vsize : SIMULATED_VSIZE;
  }

  #needAnswer(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#store.chain(this.#chain)?.down) throw sourceDown();
  }
}
