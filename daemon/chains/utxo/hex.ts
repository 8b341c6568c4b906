/**
 * Reads the two kinds of results that can have many megabytes, a block in hex and the list of the mempool, directly
 * from the bytes of the answer, with pauses. `JSON.parse` would block the event loop.
 */
import { Unavailable } from '../../domain/errors.ts';
import type { Pause } from '../slices.ts';

const SLICE_BYTES = 512 * 1024;
/** The maximum length before the result in an answer; other layouts are parsed by JSON.parse. */
const PREFIX_BYTES_MAX = 100;
const TXID_CHARS = 64;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5d;

const malformed = () => new Unavailable('the node sent a malformed answer', 5);

/** The position after `mark`; -1 if it is not near the beginning. */
function afterMark(body: Buffer, mark: string): number {
  const at = body.subarray(0, PREFIX_BYTES_MAX).indexOf(mark);
  return at < 0 ? -1 : at + mark.length;
}

function resultOf(body: Buffer): unknown {
  try {
    return (JSON.parse(body.toString('utf8')) as { result?: unknown } | null)?.result;
  } catch {
    throw malformed();
  }
}

/** The bytes that the result of an answer has in hex. Throws `Unavailable` if it is no hex text. */
export async function hexResult(body: Buffer, pause: Pause): Promise<Buffer> {
  const start = afterMark(body, '"result":"');
  if (start < 0) {
    const result = resultOf(body);
    if (typeof result !== 'string') throw malformed();
    return hexResult(Buffer.from(`"result":"${result}"`, 'latin1'), pause);
  }
  const end = body.indexOf(QUOTE, start);
  if (end < 0 || (end - start) % 2 !== 0) throw malformed();
  const bytes = Buffer.allocUnsafe((end - start) / 2);
  for (let at = start; at < end; at += SLICE_BYTES) {
    const until = Math.min(end, at + SLICE_BYTES);
    const written = bytes.write(body.toString('latin1', at, until), (at - start) / 2, 'hex');
    if (written !== (until - at) / 2) throw malformed();
    const wait = pause();
    if (wait) await wait;
  }
  return bytes;
}

/** Passes the transaction ids of an answer to `take`, in order. Throws `Unavailable` if it is no list of ids. */
export async function eachTxid(body: Buffer, pause: Pause, take: (txid: string) => void): Promise<void> {
  const start = afterMark(body, '"result":[');
  let at = start;
  let count = 0;
  while (at >= 0 && body[at] === QUOTE && body[at + TXID_CHARS + 1] === QUOTE) {
    take(body.toString('latin1', at + 1, at + 1 + TXID_CHARS));
    at += TXID_CHARS + 2;
    if (body[at] === BRACKET) return;
    if (body[at] !== COMMA) break;
    at++;
    const wait = ++count % 128 === 0 ? pause() : undefined;
    if (wait) await wait;
  }
  if (at >= 0 && at === start && body[at] === BRACKET) return;
  // another layout, for example with spaces: starts again; repeated ids are harmless
  const list = resultOf(body);
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string' && item.length === TXID_CHARS)) {
    throw malformed();
  }
  for (const txid of list) take(txid);
}
