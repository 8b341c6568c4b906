/** Adapts a merchant's colour to a contrast of at least 4.5 to 1 between text and ground (WCAG 2.2, 1.4.3). */

export const CONTRAST_MIN = 4.5;
const CHANNEL_MAX = 255;
const STEPS = 50;

type Rgb = readonly [red: number, green: number, blue: number];

export const WHITE = '#ffffff';
export const BLACK = '#000000';
/** The grounds of coloured text, the hardest first; see the style sheet. */
export const LIGHT_GROUNDS = ['#eef1f5', '#ffffff'];
export const DARK_GROUNDS = ['#1b2430', '#0d1218'];

const parse = (colour: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as never;

const write = (rgb: Rgb): string =>
  `#${rgb.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;

/** WCAG's relative luminance of an sRGB colour, 0 to 1. */
function luminance(colour: string): number {
  const [red, green, blue] = parse(colour).map((channel) => {
    const part = channel / CHANNEL_MAX;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as never as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** WCAG's contrast ratio of two colours ("#rrggbb"), 1 to 21. */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const mix = (from: Rgb, to: Rgb, part: number): Rgb =>
  from.map((channel, i) => channel + (to[i]! - channel) * part) as never;

/** The colour, moved towards black or white as little as necessary to be readable on all of these grounds. */
export function readableOn(colour: string, grounds: readonly string[], towards: string): string {
  for (let step = 0; step <= STEPS; step++) {
    const mixed = write(mix(parse(colour), parse(towards), step / STEPS));
    if (grounds.every((ground) => contrast(mixed, ground) >= CONTRAST_MIN)) return mixed;
  }
  return towards;
}

/** Black or white, whichever has more contrast: one of them has at least 4.58 to 1 on every colour. */
export const inkOn = (colour: string): string => (contrast(colour, WHITE) >= CONTRAST_MIN ? WHITE : BLACK);

/** The colours that the payment page makes of an accent: of a button, of its letters, and of coloured text. */
export type Accent = { fill: string; ink: string; text: string };

/** The colours of an accent on light and on dark grounds. */
export function accentOn(accent: string): { light: Accent; dark: Accent } {
  const on = (text: string, ground: string): Accent => {
    // a fill too close to its ground would not look like a button: use the readable colour
    const fill = contrast(accent, ground) >= 3 ? accent : text;
    return { fill, ink: inkOn(fill), text };
  };
  return {
    light: on(readableOn(accent, LIGHT_GROUNDS, BLACK), WHITE),
    dark: on(readableOn(accent, DARK_GROUNDS, WHITE), DARK_GROUNDS[0]!),
  };
}
