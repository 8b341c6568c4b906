/**
 * The text of QR codes as a camera reads them: one code, or the many of BBQr (BBQr.md of Coinkite), which come in any order, and each again
 * and again.
 */
import { joinQRs } from 'bbqr';

/** The state of a reading. `ur`: a code of Blockchain Commons' UR, which is not read here. */
export type Read =
  | { is: 'whole'; bytes: Uint8Array<ArrayBuffer> }
  | { is: 'part'; have: number; of: number }
  | { is: 'ur' | 'broken' };

/** Encoding, type and number of the codes, which all have, and the place of this one. */
const PART = /^B\$([HZ2][A-Z]([0-9A-Z]{2}))([0-9A-Z]{2})/;
const BASE36 = 36;
/** A megabyte, in the largest codes. */
const PARTS_MAX = 400;

export class QrReading {
  #series = '';
  readonly #parts = new Map<number, string>();

  take(text: string): Read {
    if (/^ur:/i.test(text)) return { is: 'ur' };
    const part = PART.exec(text);
    if (part === null) return { is: 'whole', bytes: new TextEncoder().encode(text) };
    const [, series = '', total = '', place = ''] = part;
    const [of, at] = [Number.parseInt(total, BASE36), Number.parseInt(place, BASE36)];
    if (of === 0 || of > PARTS_MAX || at >= of) return { is: 'broken' };
    if (series !== this.#series || (this.#parts.get(at) ?? text) !== text) this.#parts.clear();
    this.#series = series;
    this.#parts.set(at, text);
    return this.#parts.size < of ? { is: 'part', have: this.#parts.size, of } : this.#join();
  }

  #join(): Read {
    const parts = [...this.#parts.values()];
    this.#parts.clear();
    try {
      return { is: 'whole', bytes: Uint8Array.from(joinQRs(parts).raw) };
    } catch {
      return { is: 'broken' };
    }
  }
}
