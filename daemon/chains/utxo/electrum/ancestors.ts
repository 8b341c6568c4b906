/**
 * The fee and size of an unconfirmed transaction with its unconfirmed ancestors, as servers tell them. A child that
 * raises their fee pays by this sum, so a server that names confirmed ancestors as unconfirmed, or pads witnesses,
 * would have us overpay.
 */
import { slices } from '../../slices.ts';
import { type ParsedTransaction, ParseError, parseAnyTransaction } from '../block.ts';
import type { UtxoChain } from '../params.ts';
import { vsizeOf } from '../spend/sizes.ts';
import { scriptHashOf } from './histories/scripts.ts';
import type { HistoryEntry } from './servers/answers.ts';
import { isOfServer, isTooLong, TooLong } from './servers/faults.ts';
import type { Server } from './servers/server.ts';

/** Unconfirmed transactions that are added up: the most that hang together in a mempool (Bitcoin Core from 31 on; before, 25 in a chain). */
const ANCESTORS_MAX = 64;
/** Further scripts that one transaction pays, and scripts that it spends from, whose histories are asked for. */
const OTHERS_ASKED_MAX = 5;
const SPENT_ASKED_MAX = 5;
/** Transactions that are read for one sum. */
const READ_MAX = 500;
/** Such an output cannot be spent, and no server has a history of it. */
const OP_RETURN = 0x6a;

export type Sum = { fee: bigint; vsize: number };
/** One server's word. `confirmed`: it is in a block, or nowhere. */
type Answer = Sum | 'confirmed' | 'too many';

/** Null if the server does not answer as it should. */
export function sumOf(server: Server, txid: string, chain: UtxoChain): Promise<Answer | null> {
  return answerOf(addUp(server, txid, chain));
}

/** The answer of most operators, at least `least` of them; undefined if no single answer is that. */
export function agreedSum(
  servers: readonly Server[],
  told: readonly (Answer | null)[],
  least: number,
): Answer | undefined {
  const byAnswer = new Map<string, { answer: Answer; operators: Set<string> }>();
  for (const [n, answer] of told.entries()) {
    if (answer === null) continue;
    const key = typeof answer === 'string' ? answer : `${answer.fee} ${answer.vsize}`;
    const known = byAnswer.get(key) ?? { answer, operators: new Set<string>() };
    known.operators.add((servers[n] as Server).operator);
    byAnswer.set(key, known);
  }
  const [first, second] = [...byAnswer.values()].sort((a, b) => b.operators.size - a.operators.size);
  if (!first || first.operators.size < least || first.operators.size === second?.operators.size) return undefined;
  return first.answer;
}

/** Adds up the transactions themselves. The histories of the scripts that they pay or spend from show which ancestors are unconfirmed. */
async function addUp(server: Server, txid: string, chain: UtxoChain): Promise<Answer> {
  const known = new Map<string, MempoolEntry>();
  const read = async (id: string): Promise<MempoolEntry> => {
    const one = known.get(id) ?? (await fetch(server, id, chain));
    known.set(id, one);
    return one;
  };
  // what is read to judge another one does not count
  const peek = async (id: string) => (known.get(id) ?? (await fetch(server, id, chain))).transaction;
  const root = await answerOf(read(txid));
  if (!root || !(await isUnconfirmed(server, txid, root.transaction, 0, peek))) return 'confirmed';
  const total = { fee: 0n, vsize: 0 };
  const waiting = [txid];
  const counted = new Set(waiting);
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const { transaction, bytes } = await read(id);
    total.vsize += vsizeOf(chain === 'BCH' ? 4 * bytes : 3 * transaction.base().length + bytes);
    for (const { units } of transaction.outputs) total.fee -= units;
    for (const input of transaction.inputs) {
      if (known.size >= READ_MAX) return 'too many';
      const { transaction: parent } = await read(input.txid);
      const output = parent.outputs[input.vout];
      if (!output) throw server.caught(`transaction ${id} spends what is not there`);
      total.fee += output.units;
      if (counted.has(input.txid) || !(await isUnconfirmed(server, input.txid, parent, input.vout, peek))) continue;
      counted.add(input.txid);
      if (counted.size > ANCESTORS_MAX) return 'too many';
      waiting.push(input.txid);
    }
  }
  return total;
}

type MempoolEntry = { transaction: ParsedTransaction; bytes: number };

async function fetch(server: Server, txid: string, chain: UtxoChain): Promise<MempoolEntry> {
  const raw = await server.transaction(txid);
  const transaction = await parsedOrNull(raw, chain);
  if (transaction?.txid() !== txid) throw server.caught(`it sent another transaction than ${txid}`);
  return { transaction, bytes: raw.length };
}

/**
 * By the history of an output's script that names the transaction; where that one does not, by those of others that it pays, and then of
 * those that it spends from. The history of an exchange is longer than a server tells, in place of which Fulcrum tells an empty one, and a
 * note has none. A block's reward is in that block, or nowhere.
 */
async function isUnconfirmed(
  server: Server,
  txid: string,
  paid: ParsedTransaction,
  vout: number,
  read: (txid: string) => Promise<ParsedTransaction>,
): Promise<boolean> {
  const output = paid.outputs[vout];
  if (!output || paid.coinbase) return false;
  const entryIn = async (script: Uint8Array): Promise<HistoryEntry | undefined> =>
    (await historyOf(server, script))?.find((one) => one.txid === txid);
  const others = paid.outputs.filter((other) => other !== output && other.script[0] !== OP_RETURN);
  for (const { script } of [output, ...others.slice(0, OTHERS_ASKED_MAX)]) {
    const entry = await entryIn(script);
    if (entry) return entry.height <= 0;
  }
  for (const input of paid.inputs.slice(0, SPENT_ASKED_MAX)) {
    const coin = (await read(input.txid)).outputs[input.vout];
    const entry = coin && (await entryIn(coin.script));
    if (entry) return entry.height <= 0;
  }
  throw new TooLong(`no history of what transaction ${txid} pays or spends is told that names it`);
}

/** Null where it is too long. */
async function historyOf(server: Server, script: Uint8Array): Promise<HistoryEntry[] | null> {
  try {
    return await server.history(scriptHashOf(script));
  } catch (error) {
    if (isTooLong(error)) return null;
    throw error;
  }
}

/** A server's answer; null if it refused or disconnected. */
export async function answerOf<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (!isOfServer(error)) throw error;
    return null;
  }
}

/** A transaction of any known form, or null. */
export async function parsedOrNull(bytes: Buffer, chain: UtxoChain): Promise<ParsedTransaction | null> {
  try {
    return await parseAnyTransaction(bytes, chain, slices());
  } catch (error) {
    if (error instanceof ParseError) return null;
    throw error;
  }
}
