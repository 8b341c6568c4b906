/** Reads lines of limited length from a stream. */
import type { Readable } from 'node:stream';

const NEWLINE = 0x0a;

/** Yields each line without its end; text after the last end is dropped. Throws at a line above `bytesMax`. */
export async function* readLines(stream: Readable, bytesMax: number): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, to)]).toString('utf8');
      parts = [];
      bytes = 0;
      from = to + 1;
    }
    parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > bytesMax) throw new Error(`a line is longer than ${bytesMax} bytes`);
  }
}
