/** Splits a stream into lines of bounded length. */

const NEWLINE = 0x0a;
/** Beyond this many pieces a line is joined, because each piece costs more than the byte in it. */
const PARTS_MAX = 1_000;
/** Bytes kept of either end of a line that is too long. */
export const END_BYTES = 256;

type LineLimits = {
  /** The longest line that is passed on completely. */
  bytesMax: number;
  /** The longest line that is skipped; a longer one ends the stream. */
  skippedBytesMax: number;
};

export class Lines {
  readonly #limits: LineLimits;
  #parts: Buffer[] = [];
  #held = 0;
  /** The beginning of a line that is too long; then the parts are its end so far. */
  #start: Buffer | null = null;

  constructor(limits: LineLimits) {
    this.#limits = limits;
  }

  /**
   * Passes on every line that `chunk` completes, without its line end; of one that is too long, only the two ends.
   * False if a line is too long to be skipped.
   */
  push(chunk: Buffer, take: (line: Buffer) => void, takeEnds: (start: Buffer, end: Buffer) => void): boolean {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, end);
      from = end + 1;
      if (this.#held + part.length > this.#limits.skippedBytesMax) return false;
      if (this.#held === 0 && part.length <= this.#limits.bytesMax) {
        take(part);
        continue;
      }
      this.#keep(part);
      const line = this.#joined();
      const start = this.#start;
      this.#parts = [];
      this.#held = 0;
      this.#start = null;
      if (start) takeEnds(start, line);
      else take(line);
    }
    const rest = chunk.subarray(from);
    if (this.#held + rest.length > this.#limits.skippedBytesMax) return false;
    if (rest.length > 0) this.#keep(from > 0 ? Buffer.from(rest) : rest);
    return true;
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#held += part.length;
    if (this.#held > this.#limits.bytesMax) {
      const all = this.#joined();
      this.#start ??= Buffer.from(all.subarray(0, END_BYTES));
      this.#parts = [Buffer.from(all.subarray(-END_BYTES))];
    } else if (this.#parts.length > PARTS_MAX) {
      this.#parts = [this.#joined()];
    }
  }

  #joined(): Buffer {
    return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
  }
}
