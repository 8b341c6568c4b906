/**
 * Static text that anybody may load from anywhere: scripts and their types. It is read once, packed once, and revalidated
 * by its hash.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { RequestHandler } from 'express';

const WEB = join(import.meta.dirname, '..', '..', 'web');
const ETAG_CHARACTERS = 22;

/**
 * The browser's code of a module below `daemon/web/`, named without its ending: as it was built or, where the program
 * runs from its sources, without its types.
 */
export function browserCode(name: string): string {
  const built = join(WEB, `${name}.js`);
  if (existsSync(built)) return readFileSync(built, 'utf8');
  return stripTypeScriptTypes(readFileSync(join(WEB, `${name}.ts`), 'utf8'));
}

/** A file below `daemon/web/`, as text. */
export const browserFile = (name: string): string => readFileSync(join(WEB, name), 'utf8');

export type Asset = { type: string; etag: string; plain: Buffer; packed: Buffer };

export function makeAsset(type: string, text: string): Asset {
  const plain = Buffer.from(text);
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, ETAG_CHARACTERS);
  // weak: the packed form has other bytes under the same tag
  return { type, etag: `W/"${hash}"`, plain, packed: gzipSync(plain, { level: 9 }) };
}

/**
 * Serves what `load` makes, which is called once, at the first request. `maxAgeSeconds`: how long browsers need not ask
 * whether it is still the same.
 */
export function serveAsset(load: () => Asset, maxAgeSeconds: number): RequestHandler {
  let asset: Asset | undefined;
  return (request, response) => {
    asset ??= load();
    response.set({
      'Cache-Control': `public, max-age=${maxAgeSeconds}`,
      'Content-Type': asset.type,
      ETag: asset.etag,
      Vary: 'Accept-Encoding',
      'X-Content-Type-Options': 'nosniff',
      // it is the same for everybody and says nothing about anybody: every page may load it, read or not
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    });
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    const packed = request.acceptsEncodings('gzip') !== false;
    if (packed) response.set('Content-Encoding', 'gzip');
    response.send(packed ? asset.packed : asset.plain);
  };
}
