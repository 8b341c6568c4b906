/** A shop's colour stays readable whatever it is, and its logo is a picture whatever it is called. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pictureOf } from '../../../daemon/app/shops/branding.ts';
import {
  BLACK,
  CONTRAST_MIN,
  contrast,
  DARK_GROUNDS,
  inkOn,
  LIGHT_GROUNDS,
  readableOn,
  WHITE,
} from '../../../daemon/domain/accent.ts';
import { accentStyle } from '../../../daemon/payment-page/render.ts';
import { STYLE } from '../../../daemon/payment-page/style.ts';

const colour = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`);

describe('contrast', () => {
  // the ratios that WCAG's own explanations and its technique G18 give
  it.each([
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#ffffff', 1],
    ['#777777', '#ffffff', 4.48],
    ['#767676', '#ffffff', 4.54],
    ['#ff0000', '#ffffff', 4],
  ])('%s on %s is %d', (a, b, ratio) => {
    expect(contrast(a, b)).toBeCloseTo(ratio, 2);
    expect(contrast(b, a)).toBe(contrast(a, b));
  });

  it('is kept for every colour, as text and as ground, in light and dark', () => {
    fc.assert(
      fc.property(colour, (accent) => {
        const style = accentStyle(accent);
        const rules = [...style.matchAll(/--fill:(#\w{6});--fill-ink:(#\w{6});--main:(#\w{6})/g)];
        expect(rules).toHaveLength(2);
        const grounds = [LIGHT_GROUNDS, DARK_GROUNDS];
        rules.forEach(([, fill, ink, text], i) => {
          expect(contrast(fill!, ink!)).toBeGreaterThanOrEqual(CONTRAST_MIN);
          for (const ground of grounds[i]!) expect(contrast(text!, ground)).toBeGreaterThanOrEqual(CONTRAST_MIN);
        });
      }),
    );
  });

  it('leaves a colour that is readable as it is', () => {
    expect(readableOn('#1c57c8', LIGHT_GROUNDS, BLACK)).toBe('#1c57c8');
    expect([inkOn('#1c57c8'), inkOn('#ffd400')]).toEqual([WHITE, BLACK]);
  });

  it("holds for the style sheet's own colours", () => {
    const [light, dark] = STYLE.split('@media (prefers-color-scheme:dark)') as [string, string];
    const read = (css: string, name: string): string => {
      const value = new RegExp(`--${name}:(#[0-9a-f]+)[;}]`).exec(css)![1]!;
      return value.length === 4 ? `#${[...value.slice(1)].map((digit) => digit + digit).join('')}` : value;
    };
    // on the payment page a card has the page's colour, and in the dark the raised one
    const sheets = [
      { css: light, card: 'page', field: 'raised' },
      { css: dark, card: 'raised', field: 'page' },
    ];
    for (const { css, card, field } of sheets) {
      const pairs = [
        ...['ink', 'quiet', 'main', 'good', 'warn', 'bad'].flatMap((text) => [
          [text, 'ground'],
          [text, card],
          [text, field],
        ]),
        ['fill-ink', 'fill'],
        ['warn', 'warn-ground'],
        ['ink', 'warn-ground'],
        ['quiet', 'warn-ground'],
        ['good', 'good-ground'],
        ['main', 'good-ground'],
      ] as [string, string][];
      const poor = pairs.filter(([a, b]) => contrast(read(css, a), read(css, b)) < CONTRAST_MIN);
      expect(poor).toEqual([]);
      // what is no text: borders of fields and buttons (WCAG 2.2, 1.4.11)
      for (const ground of [card, 'ground', field]) {
        expect(contrast(read(css, 'edge'), read(css, ground))).toBeGreaterThanOrEqual(3);
      }
    }
  });

  it('knows the grounds that the style sheet has', () => {
    for (const ground of [...LIGHT_GROUNDS, ...DARK_GROUNDS]) {
      expect(STYLE.replaceAll('#fff;', '#ffffff;')).toContain(`:${ground};`);
    }
  });
});

describe('pictures', () => {
  const bytes = (...parts: (string | number[])[]): Uint8Array =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
  const png = (width: number, height: number): Uint8Array => {
    const size = Buffer.alloc(8);
    size.writeUInt32BE(width, 0);
    size.writeUInt32BE(height, 4);
    return bytes('\x89PNG\r\n\x1a\n', [0, 0, 0, 13], 'IHDR', [...size], [8, 6, 0, 0, 0]);
  };
  const webp = (kind: string, body: number[]): Uint8Array =>
    bytes('RIFF', [40, 0, 0, 0], 'WEBP', kind, [10, 0, 0, 0], body, new Array(20).fill(0));

  it.each([
    ['PNG', png(200, 80), { type: 'image/png', width: 200, height: 80 }],
    [
      'JPEG',
      bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc2, 0, 11, 8, 0, 80, 0, 200, 1, 1, 17, 0]),
      { type: 'image/jpeg', width: 200, height: 80 },
    ],
    [
      'lossy WebP',
      webp('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, 200, 0, 80, 0]),
      { type: 'image/webp', width: 200, height: 80 },
    ],
    ['lossless WebP', webp('VP8L', [0x2f, 0xc7, 0xc0, 0x13, 0]), { type: 'image/webp', width: 200, height: 80 }],
    ['extended WebP', webp('VP8X', [0, 0, 0, 0, 199, 0, 0, 79, 0, 0]), { type: 'image/webp', width: 200, height: 80 }],
  ])('%s', (_, content, picture) => {
    expect(pictureOf(content)).toEqual(picture);
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['SVG', bytes('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
    ['HTML', bytes('<!doctype html><script>alert(1)</script>')],
    ['GIF', bytes('GIF89a', [200, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
    ['a PNG that was cut off', png(200, 80).slice(0, 20)],
    ['a PNG of no height', png(200, 0)],
    ['a JPEG without a frame', bytes([0xff, 0xd8, 0xff, 0xd9])],
    ['a JPEG whose segment has no length', bytes([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
    ['a WebP of an unknown kind', webp('ANIM', [])],
    ['RIFF that is sound', bytes('RIFF', [40, 0, 0, 0], 'WAVE', new Array(30).fill(0))],
  ])('%s is none', (_, content) => {
    expect(pictureOf(content)).toBeNull();
  });

  it('are judged without failing, whatever the bytes', () => {
    const start = fc.constantFrom(
      '',
      '\x89PNG\r\n\x1a\n',
      '\xff\xd8\xff',
      'RIFF\0\0\0\0WEBPVP8 ',
      'RIFF\0\0\0\0WEBPVP8X',
    );
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 64 }), (head, rest) => {
        const picture = pictureOf(Buffer.concat([Buffer.from(head, 'latin1'), rest]));
        if (picture) expect(Math.min(picture.width, picture.height)).toBeGreaterThan(0);
      }),
    );
  });
});
