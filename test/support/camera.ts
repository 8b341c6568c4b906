/** A camera for Chromium: a file of pictures that show QR codes in turn, again and again. */
import { writeFile } from 'node:fs/promises';
import qrcode from 'qrcode';

const WIDTH = 1280;
const HEIGHT = 720;
/** Pictures a second: slower than the page looks. */
const RATE = 4;
const WHITE = 235;
const BLACK = 16;
const NO_COLOUR = 128;

/** Arguments of a Chromium whose camera shows `file`, and which lets each page use it. */
export const cameraOf = (file: string): string[] => [
  '--use-fake-device-for-media-stream',
  '--use-fake-ui-for-media-stream',
  `--use-file-for-fake-video-capture=${file}`,
];

/** Writes what the camera shows from its next use on. */
export async function showCodes(file: string, texts: readonly string[]): Promise<void> {
  const frames = texts.flatMap((text) => [Buffer.from('FRAME\n'), pictureOf(text)]);
  await writeFile(
    file,
    Buffer.concat([Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} F${RATE}:1 Ip A1:1 C420\n`), ...frames]),
  );
}

function pictureOf(text: string): Buffer {
  const { data, size } = qrcode.create(text, { errorCorrectionLevel: 'L' }).modules;
  const scale = Math.floor(HEIGHT / (size + 8));
  const [left, top] = [WIDTH, HEIGHT].map((side) => Math.floor((side - size * scale) / 2)) as [number, number];
  const picture = Buffer.alloc((WIDTH * HEIGHT * 3) / 2, NO_COLOUR).fill(WHITE, 0, WIDTH * HEIGHT);
  data.forEach((bit, at) => {
    if (!bit) return;
    const x = left + (at % size) * scale;
    for (let row = 0; row < scale; row++) {
      const start = (top + Math.floor(at / size) * scale + row) * WIDTH + x;
      picture.fill(BLACK, start, start + scale);
    }
  });
  return picture;
}
