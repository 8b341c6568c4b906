/**
 * One GET of a public JSON document.
 *
 * Invariant: it always ends. Time and size are limited, redirects are refused, and no text of the answer reaches an
 * error message.
 */
import { type Json, parseJson } from './decimal.ts';

export const REQUEST_TIMEOUT_MS = 10_000;
/** Of the decoded body, so that compression does not circumvent the limit. */
export const RESPONSE_BYTES_MAX = 1_048_576;

/** A source gave no usable answer. The message is for the operator's log. */
export class SourceFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SourceFailure';
  }
}

/** The source understood the question and will not answer it: what it asks for does not exist there. */
export class Refused extends SourceFailure {}

/** Bad request, and not found. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404]);

export type GetOptions = {
  signal: AbortSignal;
  timeoutMs?: number;
  /** Is told the `Date` of the answer, or null. */
  onDate?: (date: string | null) => void;
};

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the stream and the connection.
    if (bytes > RESPONSE_BYTES_MAX) throw new SourceFailure(`the answer is longer than ${RESPONSE_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function failureOf(error: unknown, timeoutMs: number): Error {
  if (error instanceof SourceFailure) return error;
  if (!(error instanceof Error)) return new SourceFailure('the request failed');
  if (error.name === 'TimeoutError') return new SourceFailure(`no answer within ${timeoutMs} ms`);
  if (error.name === 'AbortError') return new SourceFailure('stopped');
  const code = error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : error.name;
  return new SourceFailure(`the request failed (${code})`);
}

/** The JSON document at `url`, with numbers as text. Throws `SourceFailure` unless a 200 with JSON arrives in time. */
export async function getJson(
  url: string,
  { signal, timeoutMs = REQUEST_TIMEOUT_MS, onDate }: GetOptions,
): Promise<Json> {
  let text: string;
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'application/json', 'user-agent': 'countinghouse' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    onDate?.(response.headers.get('date'));
    if (response.status !== 200) {
      await response.body?.cancel();
      const Failure = REFUSALS.has(response.status) ? Refused : SourceFailure;
      throw new Failure(`answered with status ${response.status}`);
    }
    text = await readBody(response);
  } catch (error) {
    throw failureOf(error, timeoutMs);
  }
  try {
    return parseJson(text);
  } catch (error) {
    throw new SourceFailure(
      error instanceof RangeError ? 'the answer has too many values, or too deep ones' : 'the answer is not JSON',
    );
  }
}
