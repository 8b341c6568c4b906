/** The console's built files, read and compressed once. Their names contain their hashes, but for the page itself. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type Asset, makeAsset } from '../assets/asset.ts';

const PLACES = [['renderer'], ['dist', 'renderer']].map((place) =>
  join(import.meta.dirname, '..', '..', '..', ...place),
);
const ASSETS = 'assets';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The files by the path of their address. Throws if the console was not built. */
export function consoleFiles(): Map<string, Asset> {
  const folder = PLACES.find((place) => existsSync(join(place, ASSETS)));
  if (!folder) throw new Error('the console is not built: run `npm run build`');
  const file = (name: string): Asset =>
    makeAsset(TYPES[extname(name)] ?? 'application/octet-stream', readFileSync(join(folder, name), 'utf8'));
  const assets = readdirSync(join(folder, ASSETS)).filter((name) => extname(name) in TYPES);
  return new Map([
    ['/', file('index.html')],
    ...assets.map((name): [string, Asset] => [`/${ASSETS}/${name}`, file(join(ASSETS, name))]),
  ]);
}
