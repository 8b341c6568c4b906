/**
 * A block whose transactions and receipts are proved: together they make the roots of its header, and the header makes the hash of the
 * block. So nobody can put a payment, a fee or a failure into a block that the chain has.
 *
 * A receipt does not have the id of its transaction. It belongs to the transaction at its place, so both lists are needed.
 */
import { Malformed } from '../endpoints.ts';
import type { Pause } from '../slices.ts';
import {
  baseFeeOf,
  headerOf,
  type Log,
  logsOf,
  paidPriceOf,
  quantityOf,
  type Receipt,
  type Sending,
  sendingOf,
} from './answers.ts';
import { type Fields, receiptBytes, senderOf, transactionBytes } from './envelopes.ts';
import { hexOf, keccak, trieRoot } from './trie.ts';

/** `sender`: hex with 0x; null where nobody signed it. */
type ProvedTx = { receipt: Receipt; sending: Sending; sender: () => string | null };
/** By the ids of its transactions. */
export type ProvedBlock = ReadonlyMap<string, ProvedTx>;

/**
 * The block of this hash, from an answer with its transactions and one with its receipts. Throws `Malformed` where they
 * prove nothing, which is no lie: a later fork may have added a field or a type.
 */
export async function provedBlock(hash: string, block: unknown, receipts: unknown, pause: Pause): Promise<ProvedBlock> {
  const header = headerOf(block);
  const { transactions, transactionsRoot, receiptsRoot } = block as Fields;
  if (!header.isProved || header.hash !== hash) throw new Malformed('a header that its hash does not prove');
  if (!Array.isArray(transactions) || !Array.isArray(receipts) || transactions.length !== receipts.length) {
    throw new Malformed('another number of receipts than of transactions');
  }
  const signed = await eachOf(transactions, transactionBytes, pause);
  if ((await trieRoot(signed, pause)) !== lower(transactionsRoot)) {
    throw new Malformed('transactions that do not make the root of their block');
  }
  if ((await trieRoot(await eachOf(receipts, receiptBytes, pause), pause)) !== lower(receiptsRoot)) {
    throw new Malformed('receipts that do not make the root of their block');
  }
  const proved = new Map<string, ProvedTx>();
  const base = baseFeeOf(block);
  let gasBefore = 0n;
  let logsBefore = 0;
  for (const [at, one] of transactions.entries()) {
    const id = hexOf(await keccak(signed[at] ?? new Uint8Array(), pause));
    if (id !== lower(one.hash)) throw new Malformed('another id of a transaction than its bytes have');
    const { status, cumulativeGasUsed, logs } = receipts[at] as Fields;
    const gasAfter = quantityOf(cumulativeGasUsed, 'gas of a receipt');
    const own = await logsOf(logs, pause);
    const receipt = {
      txid: id,
      succeeded: quantityOf(status, 'status of a receipt') === 1n,
      height: header.height,
      blockHash: hash,
      fee: (gasAfter - gasBefore) * paidPriceOf(one, base),
      logs: own.map((log, i) => ({ ...log, txid: id, index: logsBefore + i })),
    };
    proved.set(id, { receipt, sending: sendingOf(one), sender: () => senderOf(one) });
    gasBefore = gasAfter;
    logsBefore += own.length;
  }
  return proved;
}

async function eachOf(list: readonly Fields[], read: (one: Fields) => Uint8Array, pause: Pause): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for (const one of list) {
    all.push(read(one));
    const wait = pause();
    if (wait) await wait;
  }
  return all;
}

const lower = (value: unknown): string => String(value).toLowerCase();

const partsOf = ({ contract, topics, data }: Log): unknown => [contract, topics, data];

/** Whether a block has a transaction that took this from its sender, with this outcome. */
export function isProvedSending(
  block: ProvedBlock,
  { receipt, sending }: { receipt: Receipt; sending: Sending },
): boolean {
  const found = block.get(receipt.txid);
  if (!found) return false;
  const { succeeded, fee, logs } = found.receipt;
  if (succeeded !== receipt.succeeded || fee !== receipt.fee) return false;
  const { to, value, nonce, transfer } = found.sending;
  const isSameCall = to === sending.to && value === sending.value && nonce === sending.nonce;
  const asked = (one: Sending['transfer']): string => (one ? `${hexOf(one.to)} ${one.units}` : '');
  if (!isSameCall || asked(transfer) !== asked(sending.transfer) || found.sender() !== sending.from) return false;
  return JSON.stringify(logs.map(partsOf)) === JSON.stringify(receipt.logs.map(partsOf));
}
