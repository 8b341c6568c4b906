/** The codes of BBQr as a camera meets them. */
import { splitQRs } from 'bbqr';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QrReading } from '../../../renderer/parts/qr-reading.ts';

const bytesOf = (seed: number, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => (seed * 31 + at * at * 7 + at) & 0xff);
const partsOf = (bytes: Uint8Array, fileType: 'P' | 'T' = 'P'): string[] =>
  splitQRs(bytes, fileType, { maxVersion: 10 }).parts;

describe('what a camera reads', () => {
  it('is the text of a single code', () => {
    const read = new QrReading().take('wpkh(…)');
    expect(read).toEqual({ is: 'whole', bytes: new TextEncoder().encode('wpkh(…)') });
  });

  it('is whole once each picture was seen, in any order and however often', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000 }), fc.infiniteStream(fc.nat()), (length, picks) => {
        const bytes = bytesOf(length, length);
        const parts = partsOf(bytes);
        const reading = new QrReading();
        const seen = new Set<number>();
        for (const pick of picks) {
          const at = pick % parts.length;
          seen.add(at);
          const read = reading.take(parts[at]!);
          if (seen.size === parts.length) {
            expect(read).toEqual({ is: 'whole', bytes });
            return;
          }
          expect(read).toEqual({ is: 'part', have: seen.size, of: parts.length });
        }
      }),
      { numRuns: 50 },
    );
  });

  it('begins anew where another series begins', () => {
    const [first, second] = [partsOf(bytesOf(1, 1_200)), partsOf(bytesOf(2, 1_200), 'T')];
    const reading = new QrReading();
    reading.take(first[0]!);
    expect(reading.take(second[1]!)).toEqual({ is: 'part', have: 1, of: second.length });
  });

  it('begins anew where a place has another picture: those of two files do not mix', () => {
    const [one, other] = [partsOf(bytesOf(1, 1_200)), partsOf(bytesOf(2, 1_200))];
    expect(one.length).toBe(other.length);
    const reading = new QrReading();
    reading.take(one[0]!);
    expect(reading.take(other[0]!)).toEqual({ is: 'part', have: 1, of: other.length });
    expect(other.map((part) => reading.take(part)).at(-1)).toEqual({ is: 'whole', bytes: bytesOf(2, 1_200) });
  });

  it.each([
    ['ur:crypto-psbt/1-2/lpadaocf', 'ur'],
    ['UR:CRYPTO-ACCOUNT/OEADCY', 'ur'],
    ['B$ZP0000AAAA', 'broken'],
    ['B$ZP0202AAAA', 'broken'],
    ['B$ZPZZ00AAAA', 'broken'],
    ['B$ZP0100!!!!', 'broken'],
  ])('%s is %s', (text, is) => {
    expect(new QrReading().take(text)).toEqual({ is });
  });
});
