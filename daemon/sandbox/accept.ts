/**
 * Decides as a node does whether a real transaction may enter the mempool of a simulated BTC, LTC or BCH: its coins
 * exist and are unspent, its signatures hold, its outputs are worth at most its inputs, and conflicting transactions
 * are replaceable and paid a lower fee (BIP-125).
 */
import type { UtxoChain } from '../chains/utxo/params.ts';
import { assert, Rejected } from '../domain/errors.ts';
import { sumOf } from '../domain/money.ts';
import { addToMempool, evict, needRoom, tipOfChain, withDescendants } from './consensus.ts';
import { PREMINED, type SandboxOutput, type SandboxWriter } from './rows.ts';
import { checkSignatures, decode, isFinal, type SignedTransaction } from './signed.ts';

/** BIP-125 rule 5. */
const REPLACED_TXS_MAX = 100;

/**
 * Adds a transaction to the mempool. A known transaction is no error. Throws `Rejected` with `broadcast.unknown_input`,
 * `broadcast.bad_signature`, `broadcast.outputs_exceed_inputs`, `broadcast.not_final` or `broadcast.conflict`.
 */
export function accept(tx: SandboxWriter, chain: UtxoChain, signed: SignedTransaction, now: number): void {
  if (tx.transaction(chain, signed.txid)) return;
  needRoom(tx, chain);
  const coins = signed.inputs.map((outpoint) => {
    const coin = tx.output(chain, outpoint);
    if (!coin) throw new Rejected('broadcast.unknown_input', `There is no coin ${outpoint}`);
    return coin;
  });
  checkSignatures(chain, signed, coins);
  const fee = sumOf(coins) - sumOf(signed.outputs);
  if (fee < 0n) throw new Rejected('broadcast.outputs_exceed_inputs', 'The outputs are more than the inputs');
  if (!isFinal(signed, tipOfChain(tx, chain).height)) {
    throw new Rejected('broadcast.not_final', 'Its lock time is after the next block');
  }
  replaceConflicts(tx, chain, coins, fee);
  addToMempool(tx, chain, signed, now);
}

const conflict = (why: string): Rejected => new Rejected('broadcast.conflict', why);

function replaceConflicts(tx: SandboxWriter, chain: UtxoChain, coins: SandboxOutput[], fee: bigint): void {
  const replaced = new Set<number>();
  for (const { spentBy, outpoint } of coins) {
    if (spentBy === null) continue;
    const spender = tx.transactionById(spentBy);
    assert(spender, 'what spends a coin is kept as long as the coin');
    if (spender.height !== null) throw conflict(`The coin ${outpoint} was spent in a block`);
    assert(spender.raw !== null, 'the mempool has whole transactions');
    if (!decode(chain, Buffer.from(spender.raw, 'hex')).signals) {
      throw conflict(`The coin ${outpoint} is spent by a transaction that does not allow to be replaced`);
    }
    for (const id of withDescendants(tx, spentBy)) replaced.add(id);
  }
  if (replaced.size > REPLACED_TXS_MAX) throw conflict(`It would replace more than ${REPLACED_TXS_MAX} transactions`);
  if (coins.some(({ transactionId }) => replaced.has(transactionId))) throw conflict('It spends what it would replace');
  const fees = [...replaced].reduce((total, id) => total + sumOf(tx.spentBy(id)) - sumOf(tx.outputsOf(id)), 0n);
  if (replaced.size > 0 && fee <= fees) throw conflict(`To replace, it must pay a fee above ${fees}`);
  for (const id of replaced) if (tx.transactionById(id)) evict(tx, chain, id);
  // A premined coin is removed with its spending transaction; the new transaction spends it now.
  for (const coin of coins) {
    if (replaced.size > 0 && coin.transactionId === PREMINED && !tx.output(chain, coin.outpoint)) {
      tx.addOutput(chain, { ...coin, spentBy: null });
    }
  }
}
