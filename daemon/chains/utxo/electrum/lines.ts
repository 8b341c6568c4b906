/** Cuts a stream into lines, of bounded length. A line that never ends costs no more than the limit. */

const NEWLINE = 0x0a;
/** A line may come byte by byte: so many pieces are joined to one, since each costs more than the byte in it. */
const PARTS_MAX = 1_000;

export class Lines {
  readonly #bytesMax: number;
  #parts: Buffer[] = [];
  #held = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Hands over every line that `chunk` completes, without its end. False when a line is too long: then it is over. */
  push(chunk: Buffer, take: (line: Buffer) => void): boolean {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, end);
      from = end + 1;
      if (this.#held + part.length > this.#bytesMax) return false;
      if (this.#held === 0) {
        take(part);
        continue;
      }
      const line = Buffer.concat([...this.#parts, part]);
      this.#parts = [];
      this.#held = 0;
      take(line);
    }
    const rest = chunk.subarray(from);
    if (this.#held + rest.length > this.#bytesMax) return false;
    if (rest.length > 0) this.#parts.push(from > 0 ? Buffer.from(rest) : rest);
    this.#held += rest.length;
    if (this.#parts.length > PARTS_MAX) this.#parts = [Buffer.concat(this.#parts)];
    return true;
  }
}
