/**
 * How one source is asked, round after round. Some exchanges refuse a whole question for one pair that they do not trade any
 * more, and do not say which. Then each code is asked for alone, once; those that are refused are left out for a day.
 */
import { MS_PER_DAY } from '../domain/time.ts';
import { type GetOptions, Refused } from './http.ts';
import { fetchQuotes, type Reading, type Source } from './source.ts';

/** A pair that was delisted for an hour comes back. */
const LEFT_OUT_MS = MS_PER_DAY;

export class Asking {
  readonly #source: Source;
  /** By code: until when it is left out, by the caller's monotonic clock. */
  readonly #leftOut = new Map<string, number>();

  /** It refused each code alone: until then only the whole question is asked. */
  #wholeUntil = Number.NEGATIVE_INFINITY;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Throws `SourceFailure`. `passed`: milliseconds of a monotonic clock. Codes that are left out are `refused`. */
  async ask(passed: number, options: GetOptions): Promise<Reading> {
    for (const [code, until] of this.#leftOut) if (until <= passed) this.#leftOut.delete(code);
    const { choice } = this.#source;
    try {
      const reading = await this.#askFor(
        choice?.codes.filter((code) => !this.#leftOut.has(code)),
        options,
      );
      return { ...reading, refused: [...reading.refused, ...this.#leftOut.keys()] };
    } catch (error) {
      if (!(error instanceof Refused) || !choice || passed < this.#wholeUntil) throw error;
      return this.#askForEach(choice.codes, passed, options, error);
    }
  }

  #askFor(codes: readonly string[] | undefined, options: GetOptions): Promise<Reading> {
    const { choice, path } = this.#source;
    return fetchQuotes({ ...this.#source, path: choice && codes ? choice.path(codes) : path }, options);
  }

  /** Throws `whole`, the refusal of the whole question, if each code is refused, too: then it is not the pairs. */
  async #askForEach(codes: readonly string[], passed: number, options: GetOptions, whole: Refused): Promise<Reading> {
    const reading: Reading = { quotes: [], refused: [] };
    const refused: string[] = [];
    for (const code of codes) {
      try {
        const { quotes, refused: unusable } = await this.#askFor([code], options);
        reading.quotes.push(...quotes.filter((quote) => quote.code === code));
        reading.refused.push(...unusable);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        refused.push(code);
      }
    }
    if (refused.length === codes.length) {
      this.#wholeUntil = passed + LEFT_OUT_MS;
      throw whole;
    }
    for (const code of refused) this.#leftOut.set(code, passed + LEFT_OUT_MS);
    return { ...reading, refused: [...reading.refused, ...refused] };
  }
}
