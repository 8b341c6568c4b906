/** Cuts a stream into lines, of bounded length. A line that never ends costs no more than the limit. */

const NEWLINE = 0x0a;
/** A line may come byte by byte: so many pieces are joined to one, since each costs more than the byte in it. */
const PARTS_MAX = 1_000;
/** What is kept of a line that is too long, at either end. */
export const END_BYTES = 256;

export type LineLimits = {
  /** The longest line that is handed over whole. */
  bytesMax: number;
  /** The longest one that is passed over; after a longer one the stream is over. */
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
   * Hands over every line that `chunk` completes, without its end; of one that is too long, the two ends only. False when a
   * line cannot even be passed over: then it is over.
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
