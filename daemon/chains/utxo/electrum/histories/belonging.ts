/**
 * Whether a transaction belongs into a script's history. A merkle proof shows that a transaction is in a block, not that a
 * server names it where it belongs: with the true proof of a stranger's transaction, servers that do not name it would look as
 * if they kept it back.
 *
 * A transaction spends money of a script only through an output that pays the script, and the transaction with that output is in
 * the same history.
 */
import type { ParsedTransaction } from '../../block.ts';

/** Earlier transactions that are fetched for one decision. */
const PARENTS_READ_MAX = 100;

export type Belongs = 'yes' | 'no' | 'unknown';

type Question = {
  transaction: ParsedTransaction;
  script: Uint8Array;
  /** The ids of all transactions of the history. */
  named: Pick<ReadonlyMap<string, unknown>, 'has'>;
  /** Whether an outpoint is known to pay the script. */
  isCoin: (outpoint: string) => boolean;
  /** A transaction of the history; null if the server does not give it. */
  read: (txid: string) => Promise<ParsedTransaction | null>;
};

export async function belongs({ transaction, script, named, isCoin, read }: Question): Promise<Belongs> {
  const pays = (of: ParsedTransaction, n: number): boolean => of.outputs[n]?.script.equals(script) ?? false;
  if (transaction.outputs.some((_, n) => pays(transaction, n))) return 'yes';
  const spent = new Map<string, number[]>();
  for (const { txid, vout } of transaction.inputs) {
    if (!named.has(txid)) continue;
    if (isCoin(`${txid}:${vout}`)) return 'yes';
    const outputs = spent.get(txid);
    if (outputs) outputs.push(vout);
    else spent.set(txid, [vout]);
  }
  let answer: Belongs = spent.size > PARENTS_READ_MAX ? 'unknown' : 'no';
  for (const [txid, outputs] of [...spent].slice(0, PARENTS_READ_MAX)) {
    const parent = await read(txid);
    if (!parent) answer = 'unknown';
    else if (outputs.some((n) => pays(parent, n))) return 'yes';
  }
  return answer;
}
