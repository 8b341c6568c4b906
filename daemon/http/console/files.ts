/** The console's built files, read and compressed once. Their names contain their hashes, but for the page itself. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { BUILT_FOLDER } from '../../kit/program.ts';
import { type Asset, makeAsset } from '../assets/asset.ts';

const FOLDER = join(BUILT_FOLDER, 'renderer');
const ASSETS = 'assets';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

const ICON = /^icon-(?:(192|512)-)?[\w-]+\.(?:svg|png)$/;
type Icon = { src: string; sizes: string; type: string; purpose: 'any' | 'maskable' };

/** The icons among the built files. The largest picture also is the one of which a phone cuts its own shape. */
function iconsOf(assets: readonly string[]): Icon[] {
  return assets.flatMap((name): Icon[] => {
    const size = ICON.exec(name)?.[1];
    if (!ICON.test(name)) return [];
    const icon: Icon = {
      src: `/${ASSETS}/${name}`,
      sizes: size ? `${size}x${size}` : 'any',
      type: `${TYPES[extname(name)]}`,
      purpose: 'any',
    };
    return size === '512' ? [icon, { ...icon, purpose: 'maskable' }] : [icon];
  });
}

/** By which a browser installs the console as an app that opens the counter (Web Application Manifest, W3C). */
const manifestOf = (icons: Icon[]): string =>
  JSON.stringify({
    name: 'Countinghouse',
    short_name: 'Counter',
    id: '/counter',
    start_url: '/#/counter',
    scope: '/',
    display: 'fullscreen',
    display_override: ['fullscreen', 'standalone'],
    background_color: '#eef1f5',
    theme_color: '#eef1f5',
    icons,
  });

/** The files by the path of their address. Throws if the console was not built. */
export function consoleFiles(): Map<string, Asset> {
  if (!existsSync(join(FOLDER, ASSETS))) throw new Error('the console is not built: run `npm run build`');
  const file = (name: string): Asset =>
    makeAsset(TYPES[extname(name)] ?? 'application/octet-stream', readFileSync(join(FOLDER, name)));
  const assets = readdirSync(join(FOLDER, ASSETS)).filter((name) => extname(name) in TYPES);
  return new Map([
    ['/', file('index.html')],
    ['/manifest.webmanifest', makeAsset('application/manifest+json', manifestOf(iconsOf(assets)))],
    ...assets.map((name): [string, Asset] => [`/${ASSETS}/${name}`, file(join(ASSETS, name))]),
  ]);
}
