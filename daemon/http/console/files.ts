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

const ICON = /^icon-[\w-]+\.svg$/;

/** By which a browser installs the console as an app that opens the counter (Web Application Manifest, W3C). `icon`: its path. */
const manifestOf = (icon: string): string =>
  JSON.stringify({
    name: 'Countinghouse',
    short_name: 'Counter',
    id: '/counter',
    start_url: '/#/counter',
    scope: '/',
    display: 'fullscreen',
    background_color: '#eef1f5',
    theme_color: '#eef1f5',
    icons: [{ src: icon, sizes: 'any', type: 'image/svg+xml', purpose: 'any' }],
  });

/** The files by the path of their address. Throws if the console was not built. */
export function consoleFiles(): Map<string, Asset> {
  const folder = PLACES.find((place) => existsSync(join(place, ASSETS)));
  if (!folder) throw new Error('the console is not built: run `npm run build`');
  const file = (name: string): Asset =>
    makeAsset(TYPES[extname(name)] ?? 'application/octet-stream', readFileSync(join(folder, name), 'utf8'));
  const assets = readdirSync(join(folder, ASSETS)).filter((name) => extname(name) in TYPES);
  const icon = assets.find((name) => ICON.test(name));
  return new Map([
    ['/', file('index.html')],
    ['/manifest.webmanifest', makeAsset('application/manifest+json', manifestOf(`/${ASSETS}/${icon}`))],
    ...assets.map((name): [string, Asset] => [`/${ASSETS}/${name}`, file(join(ASSETS, name))]),
  ]);
}
