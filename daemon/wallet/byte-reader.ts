/** Reads exact numbers of bytes from a stream. */
import { Rejected } from '../domain/errors.ts';

/** Takes exact numbers of bytes from a stream. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** The next `count` bytes. The result is shorter only at the end of the stream. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [this.#held];
    let length = this.#held.length;
    while (length < count) {
      const { value, done } = await this.#chunks.next();
      if (done) break;
      parts.push(Buffer.from(value));
      length += value.length;
    }
    const all = Buffer.concat(parts);
    this.#held = all.subarray(count);
    return all.subarray(0, count);
  }

  /** Yields the next `count` bytes as they arrive. There are fewer only at the end of the stream. */
  async *next(count: number): AsyncGenerator<Uint8Array> {
    for (let missing = count; missing > 0; ) {
      if (this.#held.length === 0) {
        const { value, done } = await this.#chunks.next();
        if (done) return;
        this.#held = Buffer.from(value);
      }
      const part = this.#held.subarray(0, missing);
      this.#held = this.#held.subarray(part.length);
      missing -= part.length;
      yield part;
    }
  }

  /** Puts bytes back before those to come. */
  back(bytes: Uint8Array): void {
    this.#held = Buffer.concat([bytes, this.#held]);
  }

  /** Yields all bytes that were not taken yet. */
  async *rest(): AsyncGenerator<Uint8Array> {
    yield* this.next(Number.POSITIVE_INFINITY);
  }
}

/** The error for a backup that its key does not open completely. */
export const damaged = (): Rejected =>
  new Rejected('backup.damaged', 'This backup is damaged or was cut off: take another copy of it');
