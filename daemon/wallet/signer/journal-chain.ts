/**
 * The order of a journal's lines, proved by their MACs: each covers the line before it. Two signers that did not know of each
 * other each continued the same line. Then the chain has several ends until a `joined` line names them.
 */
import { createHmac } from 'node:crypto';
import { type Epoch, sameMac } from './approval.ts';
import { altered, type Line, MAC_CHARS, NO_MAC, parseLine } from './journal-line.ts';

/** The state after a line: its MAC, its number, and the epoch then. */
type State = { mac: string; lines: number; epoch: Epoch };

/** A second signer knew all but so many of the lines that stand before its own. */
const UNKNOWN_LINES_MAX = 64;
/** The signers that wrote without knowing of each other. */
const ENDS_MAX = 16;

/** The kinds of lines that a second signer may have written: one that gives up earlier approvals, or begins, is not among them. */
const BESIDE: ReadonlySet<Line['kind']> = new Set(['sign', 'grant', 'gas', 'forward']);

export class Chain {
  readonly #key: Buffer;
  /** The newest states, oldest first; the last one is continued. */
  readonly #states: State[] = [{ mac: NO_MAC, lines: 0, epoch: null }];
  /** The states that no line continues, besides the last one. */
  #otherEnds: State[] = [];
  /** All lines of the file, of each signer. */
  #written = 0;

  constructor(key: Buffer) {
    this.#key = key;
  }

  get #last(): State {
    return this.#states.at(-1) as State;
  }

  /** The number and the MAC of the line that is continued. */
  get end(): { lines: number; mac: string } {
    return this.#last;
  }

  /** The MACs of the ends that no `joined` line names yet. */
  get otherEnds(): string[] {
    return this.#otherEnds.map(({ mac }) => mac);
  }

  /** The MAC of a line that continues the last one. */
  macOf(line: Line, json: string): string {
    const { mac, lines } = this.#last;
    return this.#mac({ mac, lines: line.kind === 'joined' ? this.#written : lines }, json);
  }

  /** The line that a text of the file has; null if its MAC is wrong. Throws `Rejected('signer.journal')`. */
  parse(text: string): { line: Line; isBeside: boolean; epoch: Epoch } | null {
    const [mac, json] = [text.slice(0, MAC_CHARS), text.slice(MAC_CHARS + 1)];
    if (text[MAC_CHARS] !== ' ') return null;
    const last = this.#last;
    if (sameMac(mac, this.#mac(last, json))) return { ...this.#took(mac, json, last), isBeside: false };
    if (this.#otherEnds.length > 0 && sameMac(mac, this.#mac({ mac: last.mac, lines: this.#written }, json))) {
      return { ...this.#took(mac, json, { ...last, lines: this.#written }), isBeside: false };
    }
    const known = [...this.#otherEnds, ...this.#states.slice(0, -1).reverse()];
    const from = known.find((state) => sameMac(mac, this.#mac(state, json)));
    if (!from) return null;
    // a copy of a line is no line of a signer
    if (known.some((state) => state.mac === mac) || last.mac === mac) throw altered();
    const { kind } = parseLine(json);
    if (!BESIDE.has(kind) || this.#otherEnds.length >= ENDS_MAX) throw altered();
    this.#otherEnds = [...this.#otherEnds.filter((end) => end !== from), last];
    return { ...this.#took(mac, json, from), isBeside: true };
  }

  /** Adds a line that was just written. */
  add(line: Line, mac: string): Epoch {
    const { epoch, lines } = this.#last;
    return this.#put(line, mac, { epoch, lines: line.kind === 'joined' ? this.#written : lines });
  }

  #took(mac: string, json: string, from: State): { line: Line; epoch: Epoch } {
    const line = parseLine(json);
    return { line, epoch: this.#put(line, mac, from) };
  }

  #put(line: Line, mac: string, from: Omit<State, 'mac'>): Epoch {
    if (line.kind === 'joined') {
      const named = new Set(line.macs);
      if (named.size !== this.#otherEnds.length || this.otherEnds.some((end) => !named.has(end))) throw altered();
      this.#otherEnds = [];
    }
    const epoch = line.kind === 'start' || line.kind === 'revoked' ? (line.epoch ?? null) : from.epoch;
    this.#states.push({ mac, lines: from.lines + 1, epoch });
    if (this.#states.length > UNKNOWN_LINES_MAX) this.#states.shift();
    this.#written += 1;
    return epoch;
  }

  #mac({ mac, lines }: Pick<State, 'mac' | 'lines'>, json: string): string {
    return createHmac('sha256', this.#key).update(`${mac}${lines} ${json}`).digest('hex');
  }
}
